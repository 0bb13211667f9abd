// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Each version is held by several producers, and all of them hash and decode the same bytes: most
 * of what a virtual run does. A decoded manifest is immutable and counted, so whoever decodes what
 * was decoded not long ago is given that one. It changes no outcome, and nothing in the product:
 * the linker puts this in the place of manifest_decode (--wrap), and it does so only while a pacing
 * runs. One thread. */
#include "pacing_inner.h"

#include "base/alloc.h"
#include <string.h>

/* Versions that members hold at one time; of older ones each has its own. */
#define RECENT 64u

static struct {
    bool on;
    manifest *recent[RECENT];
    uint32_t count;
} share;

bw_status __real_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error);
bw_status __wrap_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error);

void pacing_share_begin(void)
{
    share.on = true;
}

void pacing_share_end(void)
{
    for (uint32_t i = 0; i < RECENT; i++)
        manifest_unref(share.recent[i]);
    memset(&share, 0, sizeof share);
}

static manifest *find(const uint8_t *object, size_t bytes)
{
    for (uint32_t i = 1; i <= RECENT && i <= share.count; i++) {
        manifest *m = share.recent[(share.count - i) % RECENT];
        if (m->object_bytes == bytes && memcmp(m->object, object, bytes) == 0)
            return m;
    }
    return NULL;
}

bw_status __wrap_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error)
{
    manifest *known = share.on ? find(object, bytes) : NULL;
    if (known != NULL) {
        mem_free(object);
        *out = manifest_ref(known);
        return BW_OK;
    }
    const bw_status status = __real_manifest_decode(object, bytes, slices, out, error);
    if (status == BW_OK && share.on) {
        manifest **slot = &share.recent[share.count++ % RECENT];
        manifest_unref(*slot);
        *slot = manifest_ref(*out);
    }
    return status;
}
