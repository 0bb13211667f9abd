// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/read.h"

#include "base/invariant.h"
#include "base/mutant.h"

#include <string.h>

static bw_status check(const manifest *m, const genesis *g, uint64_t version,
                       const hash128 *previous, bw_error *error)
{
    MUST(version > 0);
    MUST(m->object != NULL);
    if (memcmp(m->uuid, g->uuid, UUID_BYTES) != 0 && !MUTANT(uuid_unchecked))
        return error_set(error, BW_WRONG_NAMESPACE, "a manifest of another namespace");
    if (m->version != version)
        return error_set(error, BW_CORRUPT, "a manifest of version %llu",
                         (unsigned long long)m->version);
    if (previous != NULL && !hash_equal(&m->previous, previous) && !MUTANT(link_unchecked))
        return error_set(error, BW_CORRUPT, "a manifest that does not follow version %llu",
                         (unsigned long long)(version - 1));
    return BW_OK;
}

bw_status manifest_read(machine_reply *reply, const genesis *g, uint64_t version,
                        const hash128 *previous, manifest **out, bw_error *error)
{
    manifest *m = NULL;
    bw_status status;
    MUST(reply->outcome == STORE_OK || reply_damaged(reply));
    *out = NULL;
    if (reply->outcome != STORE_OK) {
        status = error_set(error, BW_CORRUPT, "%s",
                           reply_damage(reply, "larger than a manifest can be"));
    } else {
        status = manifest_decode(reply->bytes, reply->size, genesis_slices(g), &m, error);
        if (status == BW_OK) {
            reply->bytes = NULL;
            MUST(m != NULL);
            status = check(m, g, version, previous, error);
        }
    }
    if (status == BW_OK) {
        *out = m;
        return BW_OK;
    }
    object_key key;
    key_manifest(&key, version);
    error_set_key(error, key.text);
    manifest_unref(m);
    return status;
}

bw_status page_prove(view object, const page_ref *ref, page *out, bw_error *error)
{
    hash128 hash;
    MUST(ref->version > 0);
    MUST(ref->bytes > 0);
    BW_TRY(hash_bytes(object.data, object.size, &hash));
    if (object.size != ref->bytes || !hash_equal(&hash, &ref->hash))
        return error_set(error, BW_CORRUPT, "not the page that a manifest refers to");
    return page_decode(object, out, error);
}

bw_status page_read(machine_reply *reply, const page_ref *ref, page *out, uint8_t **object,
                    bw_error *error)
{
    MUST(reply->outcome == STORE_OK || reply->outcome == STORE_NOT_FOUND || reply_damaged(reply));
    MUST(*object == NULL);
    if (reply->outcome != STORE_OK)
        return error_set(error, BW_CORRUPT, "the page that a manifest refers to is %s",
                         reply->outcome == STORE_NOT_FOUND
                             ? "missing"
                             : reply_damage(reply, "larger than a page can be"));
    BW_TRY(page_prove(view_of(reply->bytes, reply->size), ref, out, error));
    *object = reply->bytes;
    reply->bytes = NULL;
    return BW_OK;
}
