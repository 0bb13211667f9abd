// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The head, body and CRC that every object but the parts of a TGB is made of (docs/format.md
 * section 2). */
#include "codec/wire.h"

#include "base/crc32c.h"
#include "base/mutant.h"
#include <string.h>

#define MAGIC_BYTES 4u
#define AT_VERSION 4u
#define AT_FLAGS 6u
#define AT_BODY_BYTES 8u
#define CRC_BYTES 4u

#define MIB ((size_t)1 << 20)
#define SMALL_OBJECT_BYTES 64u

static const struct {
    char magic[MAGIC_BYTES + 1];
    const char *name;
    size_t bytes_max;
} kinds[OBJECT_KINDS] = {
    [OBJECT_GENESIS] = {"BWGN", "genesis", 1 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_MANIFEST] = {"BWMF", "manifest", 16 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_SEGMENT] = {"BWSG", "segment", 16 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_PAGE] = {"BWPG", "page", 16 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_MARKER] = {"BWRT", "retirement marker", SMALL_OBJECT_BYTES},
    [OBJECT_FOOTER] = {"BWTF", "footer", 16 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_STATE] = {"BWST", "resume state", 16 * MIB + OBJECT_EXTRA_BYTES},
    [OBJECT_HINT] = {"BWHT", "hint", SMALL_OBJECT_BYTES},
};

const char *object_kind_name(object_kind kind)
{
    return kind < OBJECT_KINDS ? kinds[kind].name : "unknown object";
}

size_t object_bytes_max(object_kind kind)
{
    return kind < OBJECT_KINDS ? kinds[kind].bytes_max : 0;
}

/* OBJECT_KINDS when the magic is none of ours. */
static object_kind kind_of(const uint8_t *head)
{
    object_kind kind = OBJECT_GENESIS;
    while (kind < OBJECT_KINDS && memcmp(head, kinds[kind].magic, MAGIC_BYTES) != 0)
        kind++;
    return kind;
}

size_t object_begin(buf *out, object_kind kind)
{
    const size_t at = out->size;
    buf_put(out, kinds[kind].magic, MAGIC_BYTES);
    buf_put_u16(out, OBJECT_VERSION);
    buf_put_u16(out, 0);
    buf_put_u64(out, 0);
    return at;
}

void object_finish(buf *out, size_t at)
{
    if (buf_status(out) != BW_OK)
        return;
    uint8_t *head = out->data + at;
    const size_t bytes = out->size - at + CRC_BYTES;
    if (bytes > object_bytes_max(kind_of(head))) {
        out->failed = BW_TOO_LARGE;
        return;
    }
    store_u64(head + AT_BODY_BYTES, bytes - OBJECT_EXTRA_BYTES);
    buf_put_u32(out, crc32c(0, head, bytes - CRC_BYTES));
}

bw_status object_open(view object, object_kind kind, view *body, bw_error *error)
{
    const char *name = object_kind_name(kind);
    if (object.size < OBJECT_EXTRA_BYTES)
        return error_set(error, BW_CORRUPT, "%s: %zu bytes are too few for any object", name,
                         object.size);
    if (object.size > object_bytes_max(kind))
        return error_set(error, BW_CORRUPT, "%s: %zu bytes are above the cap of %zu", name,
                         object.size, object_bytes_max(kind));
    const size_t covered = object.size - CRC_BYTES;
    if (crc32c(0, object.data, covered) != load_u32(object.data + covered) &&
        !MUTANT(crc_unchecked))
        return error_set(error, BW_CORRUPT, "%s: the CRC does not match the bytes", name);
    const object_kind found = kind_of(object.data);
    if (found != kind)
        return error_set(error, BW_FORMAT, "%s expected, found: %s", name, object_kind_name(found));
    const uint16_t version = load_u16(object.data + AT_VERSION);
    if (version != OBJECT_VERSION)
        return error_set(error, BW_FORMAT, "%s: format version %u, this reader knows %u", name,
                         (unsigned)version, OBJECT_VERSION);
    const uint16_t flags = load_u16(object.data + AT_FLAGS);
    if (flags != 0)
        return error_set(error, BW_FORMAT, "%s: flags 0x%x that a reader must understand", name,
                         (unsigned)flags);
    if (load_u64(object.data + AT_BODY_BYTES) != object.size - OBJECT_EXTRA_BYTES)
        return error_set(error, BW_CORRUPT, "%s: the body's length is not the object's", name);
    *body = view_of(object.data + OBJECT_HEAD_BYTES, object.size - OBJECT_EXTRA_BYTES);
    return BW_OK;
}
