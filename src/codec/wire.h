// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Reading little-endian fields from bytes that cannot be trusted, and the head, body, CRC of every
 * object. (docs/format.md sections 1 and 2; writing is base/buf.h.)
 */
#ifndef CODEC_WIRE_H
#define CODEC_WIRE_H

#include "base/buf.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Bytes owned by someone else. */
typedef struct view {
    const uint8_t *data;
    size_t size;
} view;

static inline view view_of(const void *data, size_t size)
{
    return (view){(const uint8_t *)data, size};
}

static inline view view_text(const char *text)
{
    return view_of(text, strlen(text));
}

bool view_equal(view a, view b);
/** <0, 0, >0 by bytes, shorter first on a tie. */
int view_compare(view a, view b);

/** Sticky reader: a read past the end gives zeros and sets `failed`; ask once at the end. */
typedef struct wire_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
} wire_reader;

void wire_open(wire_reader *r, view bytes);
uint8_t wire_u8(wire_reader *r);
uint16_t wire_u16(wire_reader *r);
uint32_t wire_u32(wire_reader *r);
uint64_t wire_u64(wire_reader *r);
void wire_bytes(wire_reader *r, void *out, size_t size);
/** A view into the input. */
view wire_view(wire_reader *r, size_t size);
view wire_text8(wire_reader *r);
view wire_text16(wire_reader *r);
view wire_text32(wire_reader *r);
/** Minimal unsigned LEB128; a longer spelling or more than 64 bits fails. */
uint64_t wire_leb(wire_reader *r);
/** Reads `size` bytes that must be zero. */
void wire_zero(wire_reader *r, size_t size);
size_t wire_left(const wire_reader *r);
/** True when nothing failed and nothing is left. */
bool wire_done(const wire_reader *r);

/** Appends a length and the bytes; BW_TOO_LARGE in `out` when the length does not fit its field. */
void wire_put_text8(buf *out, view text);
void wire_put_text16(buf *out, view text);
void wire_put_text32(buf *out, view text);
void wire_put_leb(buf *out, uint64_t value);
/** Bytes that wire_put_leb takes. */
size_t wire_leb_bytes(uint64_t value);

#define OBJECT_HEAD_BYTES 16u
#define OBJECT_EXTRA_BYTES 20u /* head and CRC */
#define OBJECT_VERSION 1u

typedef enum object_kind {
    OBJECT_GENESIS,
    OBJECT_MANIFEST,
    OBJECT_SEGMENT,
    OBJECT_PAGE,
    OBJECT_MARKER,
    OBJECT_FOOTER,
    OBJECT_STATE,
    OBJECT_HINT,
    OBJECT_KINDS
} object_kind;

/** "manifest", for messages. */
const char *object_kind_name(object_kind kind);
/** The cap of the whole stored object. */
size_t object_bytes_max(object_kind kind);
/** Appends the head; returns where it stands, for object_finish. */
size_t object_begin(buf *out, object_kind kind);
/** Sets the body's length and appends the CRC; BW_TOO_LARGE in `out` when the object is above its
 * cap. */
void object_finish(buf *out, size_t at);
/** Checks the CRC, then magic, version, flags and length. BW_OK and the body; BW_CORRUPT; BW_FORMAT
 * for an intact object of another kind, a newer version or an unknown flag. */
bw_status object_open(view object, object_kind kind, view *body, bw_error *error);

#endif
