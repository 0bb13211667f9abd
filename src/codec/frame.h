// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The frame of one slice (docs/format.md section 5.2): head, item table, items. */
#ifndef CODEC_FRAME_H
#define CODEC_FRAME_H

#include "codec/wire.h"

#define FRAME_HEAD_BYTES 64u
#define FRAME_ITEM_BYTES 16u
#define SLICE_BYTES_MAX (1ull << 32)

typedef enum item_kind {
    ITEM_RAW = 0,
    ITEM_SAMPLES = 1,
    ITEM_SAFETENSORS = 2,
    ITEM_KINDS
} item_kind;
typedef enum item_codec { CODEC_NONE = 0, CODEC_ZSTD = 1 } item_codec;

typedef struct frame_item {
    uint32_t stored_bytes, plain_bytes, crc;
    bool pad;
    item_codec codec;
    uint64_t offset;      /* of its stored bytes within the frame */
    uint64_t unpacked_at; /* of its plain bytes in the buffer of frame_unpack; CODEC_ZSTD only */
} frame_item;

typedef struct frame_head {
    uint64_t nonce;
    uint32_t slice;
    uint32_t items;
    uint64_t framed_bytes;
    uint64_t plain_bytes, stored_bytes;
    item_kind kind;
} frame_head;

static inline uint64_t align64(uint64_t x)
{
    return (x + 63u) & ~(uint64_t)63u;
}
/** Head and item table of a frame of `items` items. */
static inline uint64_t frame_table_end(uint32_t items)
{
    return FRAME_HEAD_BYTES + (uint64_t)FRAME_ITEM_BYTES * items;
}

/** The least framed length of a slice of `items` items: all of them empty. */
static inline uint64_t frame_bytes_min(uint32_t items)
{
    return align64(frame_table_end(items));
}

/** Sets every item's offsets and the head's three byte counts from the items' stored and plain
 * lengths. BW_TOO_LARGE above 4 GiB, framed or unpacked. */
bw_status frame_layout(frame_head *head, frame_item *items);
/** Appends head and item table; the caller writes the items at their offsets, zeros between. */
bw_status frame_encode_head(const frame_head *head, const frame_item *items, buf *out);

/** Reads and checks head and table from the first `bytes.size` ≥ frame_table_end bytes of a frame.
 * BW_CORRUPT, BW_FORMAT. `items` has room for `items_max`; more is BW_CORRUPT. */
bw_status frame_decode_head(view bytes, frame_head *head, frame_item *items, uint32_t items_max,
                            bw_error *error);
/** Head checked as above and as the descriptor expects it; every item's CRC and all padding
 * checked. `bytes` is the whole frame. */
bw_status frame_verify(view bytes, const frame_head *expected, frame_item *items,
                       uint32_t items_max, bw_error *error);

#endif
