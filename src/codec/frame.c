// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/frame.h"

#include "base/crc32c.h"
#include "base/mutant.h"
#include "codec/genesis.h"
#include "codec/packing.h"
#include <string.h>

static const char magic[4] = {'B', 'W', 'S', 'L'};

#define AT_VERSION 4u
#define AT_FLAGS 6u
#define AT_NONCE 8u
#define AT_SLICE 16u
#define AT_ITEMS 20u
#define AT_FRAMED 24u
#define AT_PLAIN 32u
#define AT_STORED 40u
#define AT_KIND 48u
#define AT_ZERO 49u
#define AT_CRC 60u

#define ITEM_PAD 1u
#define ITEM_CODEC_SHIFT 8
#define ITEM_CODEC_MASK 0xff00u

bw_status frame_layout(frame_head *head, frame_item *items)
{
    if (head->items == 0)
        return BW_INVALID;
    if (head->items > ITEMS_MAX)
        return BW_TOO_LARGE;
    uint64_t end = frame_table_end(head->items), plain = 0, stored = 0, unpacked = 0;
    for (uint32_t i = 0; i < head->items; i++) {
        items[i].offset = align64(end);
        end = items[i].offset + items[i].stored_bytes;
        plain += items[i].plain_bytes;
        stored += items[i].stored_bytes;
        if (items[i].codec != CODEC_ZSTD)
            continue;
        items[i].unpacked_at = align64(unpacked);
        unpacked = items[i].unpacked_at + items[i].plain_bytes;
    }
    if (end > SLICE_BYTES_MAX || unpacked > SLICE_BYTES_MAX)
        return BW_TOO_LARGE;
    head->framed_bytes = end;
    head->plain_bytes = plain;
    head->stored_bytes = stored;
    return BW_OK;
}

bw_status frame_encode_head(const frame_head *head, const frame_item *items, buf *out)
{
    const size_t at = out->size;
    BW_TRY(buf_reserve(out, (size_t)frame_table_end(head->items)));
    buf_put(out, magic, sizeof magic);
    buf_put_u16(out, OBJECT_VERSION);
    buf_put_u16(out, 0);
    buf_put_u64(out, head->nonce);
    buf_put_u32(out, head->slice);
    buf_put_u32(out, head->items);
    buf_put_u64(out, head->framed_bytes);
    buf_put_u64(out, head->plain_bytes);
    buf_put_u64(out, head->stored_bytes);
    buf_put_u8(out, (uint8_t)head->kind);
    buf_put_zero(out, AT_CRC - AT_ZERO);
    buf_put_u32(out, 0);
    for (uint32_t i = 0; i < head->items; i++) {
        buf_put_u32(out, items[i].stored_bytes);
        buf_put_u32(out, items[i].plain_bytes);
        buf_put_u32(out, items[i].crc);
        buf_put_u32(out,
                    (items[i].pad ? ITEM_PAD : 0) | (uint32_t)items[i].codec << ITEM_CODEC_SHIFT);
    }
    uint8_t *frame = out->data + at;
    const uint32_t crc = crc32c(crc32c(0, frame, AT_CRC), frame + FRAME_HEAD_BYTES,
                                (size_t)FRAME_ITEM_BYTES * head->items);
    store_u32(frame + AT_CRC, crc);
    return buf_status(out);
}

static bw_status decode_item(const uint8_t *row, uint32_t index, frame_item *item, bw_error *error)
{
    const uint32_t flags = load_u32(row + 12);
    const uint32_t codec = (flags & ITEM_CODEC_MASK) >> ITEM_CODEC_SHIFT;
    *item = (frame_item){
        .stored_bytes = load_u32(row),
        .plain_bytes = load_u32(row + 4),
        .crc = load_u32(row + 8),
        .pad = (flags & ITEM_PAD) != 0,
        .codec = (item_codec)codec,
    };
    if ((flags & ~(ITEM_PAD | ITEM_CODEC_MASK)) != 0 || codec > CODEC_ZSTD)
        return error_set(error, BW_CORRUPT, "frame: item %u has unknown flags 0x%x", index, flags);
    if (item->pad &&
        (item->stored_bytes != 0 || item->plain_bytes != 0 || item->crc != 0 || codec != 0))
        return error_set(error, BW_CORRUPT, "frame: item %u is a pad but has bytes", index);
    if (codec == CODEC_ZSTD && !packed_lengths_fit(item->stored_bytes, item->plain_bytes))
        return error_set(error, BW_CORRUPT, "frame: item %u of %u bytes states %u unpacked", index,
                         item->stored_bytes, item->plain_bytes);
    if (codec == CODEC_NONE && item->stored_bytes != item->plain_bytes)
        return error_set(error, BW_CORRUPT, "frame: item %u is stored plain in another length",
                         index);
    return BW_OK;
}

bw_status frame_decode_head(view bytes, frame_head *head, frame_item *items, uint32_t items_max,
                            bw_error *error)
{
    if (bytes.size < FRAME_HEAD_BYTES || memcmp(bytes.data, magic, sizeof magic) != 0)
        return error_set(error, BW_CORRUPT, "frame: no slice begins here");
    const uint8_t *at = bytes.data;
    const uint32_t count = load_u32(at + AT_ITEMS);
    if (count == 0 || count > ITEMS_MAX || count > items_max || frame_table_end(count) > bytes.size)
        return error_set(error, BW_CORRUPT, "frame: %u items where at most %u were expected", count,
                         items_max);
    const uint8_t *table = at + FRAME_HEAD_BYTES;
    if (crc32c(crc32c(0, at, AT_CRC), table, (size_t)FRAME_ITEM_BYTES * count) !=
        load_u32(at + AT_CRC))
        return error_set(error, BW_CORRUPT, "frame: the CRC does not match head and item table");
    if (load_u16(at + AT_VERSION) != OBJECT_VERSION || load_u16(at + AT_FLAGS) != 0)
        return error_set(error, BW_FORMAT, "frame: format version %u with flags 0x%x",
                         (unsigned)load_u16(at + AT_VERSION), (unsigned)load_u16(at + AT_FLAGS));
    wire_reader zeros;
    wire_open(&zeros, view_of(at + AT_ZERO, AT_CRC - AT_ZERO));
    wire_zero(&zeros, AT_CRC - AT_ZERO);
    if (at[AT_KIND] >= ITEM_KINDS || zeros.failed)
        return error_set(error, BW_CORRUPT, "frame: unknown kind or reserved bytes that are not 0");
    *head = (frame_head){
        .nonce = load_u64(at + AT_NONCE),
        .slice = load_u32(at + AT_SLICE),
        .items = count,
        .kind = (item_kind)at[AT_KIND],
    };
    for (uint32_t i = 0; i < count; i++)
        BW_TRY(decode_item(table + (size_t)FRAME_ITEM_BYTES * i, i, &items[i], error));
    if (frame_layout(head, items) != BW_OK || head->framed_bytes != load_u64(at + AT_FRAMED) ||
        head->plain_bytes != load_u64(at + AT_PLAIN) ||
        head->stored_bytes != load_u64(at + AT_STORED))
        return error_set(error, BW_CORRUPT, "frame: the lengths are not those of the items");
    return BW_OK;
}

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
    uint8_t all = 0;
    for (uint64_t i = 0; i < size; i++)
        all |= bytes[i];
    return all == 0;
}

bw_status frame_verify(view bytes, const frame_head *expected, frame_item *items,
                       uint32_t items_max, bw_error *error)
{
    frame_head head;
    BW_TRY(frame_decode_head(bytes, &head, items, items_max, error));
    if (head.nonce != expected->nonce || head.slice != expected->slice ||
        head.items != expected->items || head.kind != expected->kind ||
        head.framed_bytes != expected->framed_bytes || head.framed_bytes != bytes.size)
        return error_set(error, BW_CORRUPT,
                         "frame: another slice than the one asked for (slice %u)", head.slice);
    uint64_t end = frame_table_end(head.items);
    for (uint32_t i = 0; i < head.items; i++) {
        if (!is_zero(bytes.data + end, items[i].offset - end))
            return error_set(error, BW_CORRUPT, "frame: padding before item %u is not 0", i);
        end = items[i].offset + items[i].stored_bytes;
        if (!items[i].pad && !MUTANT(frame_crc_unchecked) &&
            crc32c(0, bytes.data + items[i].offset, items[i].stored_bytes) != items[i].crc)
            return error_set(error, BW_CORRUPT, "frame: the CRC does not match item %u", i);
    }
    return BW_OK;
}
