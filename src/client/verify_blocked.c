// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A chain that is blocked by an object that is no manifest of it: what lies before can be proved
 * all the same, and an operator who must repair it needs to know how far it is good. */
#include "client/verify.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <string.h>

/* The manifest of this version, or why there is none. */
static bw_status read_version(verify *v, uint64_t version, object_key *key, bw_error *error)
{
    uint8_t *object = NULL;
    size_t size = 0;
    key_manifest(key, version);
    bw_status status =
        listing_get(v->s, key->text, object_bytes_max(OBJECT_MANIFEST), &object, &size, error);
    if (status == BW_OK)
        status = manifest_decode(object, size, genesis_slices(v->g), &v->m, error);
    if (status == BW_OK)
        object = NULL; /* the manifest's */
    mem_free(object);
    if (status == BW_OK &&
        (v->m->version != version || memcmp(v->m->uuid, v->g->uuid, UUID_BYTES) != 0)) {
        manifest_unref(v->m);
        v->m = NULL;
        status = error_set(error, BW_CORRUPT, "not version %" PRIu64 " of this namespace", version);
    }
    return status;
}

bw_status verify_before_block(verify *v, const bw_error *blocked, bw_error *error)
{
    key_fields fields;
    key_parse(view_text(blocked->key), &fields);
    if (fields.kind != KEY_MANIFEST || v->g == NULL || !verify_is_damage(blocked->code)) {
        error_copy(error, blocked);
        return blocked->code;
    }
    store *own = NULL;
    BW_TRY(space_store(v->r->space, &own, error));
    if (drive_new(own, &v->reader.drive) != BW_OK)
        return error_set(error, BW_NOMEM, "out of memory");
    v->s = drive_store(v->reader.drive);
    v->blocked_version = fields.number;
    BW_TRY(verify_found(v, "BLOCKED", blocked->key, NO_STEP, error, "%s", blocked->message));
    for (uint64_t version = fields.number - 1; version > 0; version--) {
        object_key key;
        bw_error why;
        error_clear(&why);
        const bw_status status = read_version(v, version, &key, &why);
        if (status == BW_OK)
            return BW_OK;
        if (status == BW_NOT_FOUND)
            break; /* retired: nothing is left to stand on */
        error_copy(error, &why);
        BW_TRY(verify_judge(v, status, "MANIFEST", key.text, NO_STEP, error));
    }
    error_copy(error, blocked);
    return blocked->code;
}
