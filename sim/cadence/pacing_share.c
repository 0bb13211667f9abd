// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What all processes would do alike is done once: most of a virtual run would be that. The linker
 * puts these in the place of two functions of the codec (--wrap), and they do so only while a
 * pacing runs. They change no outcome, and nothing in the product. One thread.
 *
 * A version is kept as what its maker decoded of its own candidate. Decoded manifests are immutable
 * and counted: whoever reads the version gets a ticket, and for that the very same one.
 *
 * Hashes find damage and mix-ups, and nobody makes any here: a quick one does. (No
 * check sum: that of an object with its own is the same for all.) */
#include "pacing_inner.h"

#include "base/alloc.h"
#include <string.h>

/* Candidates on their way: of more the versions are kept as bytes, and each reader decodes them. */
#define RECENT 256u
#define ODD_FACTOR 0x9e3779b97f4a7c15u

typedef struct ticket {
    uint64_t version;
    char mark[8]; /* no object of the format is so short */
} ticket;

static const char mark[8] = "decoded";

static struct {
    const pacing_store *store; /* NULL: each does all for itself */
    manifest *recent[RECENT];
    uint32_t count;
} share;

bw_status __real_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error);
bw_status __wrap_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error);
bw_status __real_hash_bytes(const void *bytes, size_t size, hash128 *out);
bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out);

void pacing_share_begin(const pacing_store *s)
{
    share.store = s;
}

void pacing_share_end(void)
{
    for (uint32_t i = 0; i < RECENT; i++)
        manifest_unref(share.recent[i]);
    memset(&share, 0, sizeof share);
}

manifest *pacing_share_made(const uint8_t *object)
{
    for (uint32_t i = 1; i <= RECENT && i <= share.count; i++) {
        manifest **slot = &share.recent[(share.count - i) % RECENT], *m = *slot;
        if (m == NULL || m->object != object)
            continue;
        *slot = NULL;
        return m;
    }
    return NULL;
}

bool pacing_share_ticket(uint64_t version, uint8_t **bytes, size_t *size)
{
    ticket t = {.version = version};
    memcpy(t.mark, mark, sizeof mark);
    *bytes = mem_dup(&t, sizeof t);
    *size = sizeof t;
    return *bytes != NULL;
}

static manifest *of_ticket(const uint8_t *object, size_t bytes)
{
    ticket t;
    if (share.store == NULL || bytes != sizeof t)
        return NULL;
    memcpy(&t, object, sizeof t);
    return memcmp(t.mark, mark, sizeof mark) == 0 ? pacing_store_made(share.store, t.version)
                                                  : NULL;
}

bw_status __wrap_manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                                 bw_error *error)
{
    manifest *known = of_ticket(object, bytes);
    if (known != NULL) {
        mem_free(object);
        *out = manifest_ref(known);
        return BW_OK;
    }
    const bw_status status = __real_manifest_decode(object, bytes, slices, out, error);
    if (status == BW_OK && share.store != NULL) {
        manifest **slot = &share.recent[share.count++ % RECENT];
        manifest_unref(*slot);
        *slot = manifest_ref(*out);
    }
    return status;
}

static uint64_t mix(uint64_t word, const uint8_t bytes[8])
{
    uint64_t next;
    memcpy(&next, bytes, sizeof next);
    word = (word ^ next) * ODD_FACTOR;
    return word ^ word >> 29;
}

bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out)
{
    if (share.store == NULL)
        return __real_hash_bytes(bytes, size, out);
    const uint8_t *at = bytes;
    uint64_t words[2] = {size, ~size};
    uint8_t rest[sizeof words] = {0};
    for (; size >= sizeof rest; size -= sizeof rest, at += sizeof rest) {
        words[0] = mix(words[0], at);
        words[1] = mix(words[1], at + 8);
    }
    if (size > 0)
        memcpy(rest, at, size);
    words[0] = mix(words[0] + words[1], rest);
    words[1] = mix(words[1] ^ words[0], rest + 8);
    memcpy(out->bytes, words, sizeof out->bytes);
    return BW_OK;
}
