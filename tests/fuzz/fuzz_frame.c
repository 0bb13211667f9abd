// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The frame of a slice: as it is, then with all CRCs made to fit, and (chosen by a byte of the CRC
 * that is replaced) with the three byte counts of the head made to fit as well. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "codec/packing.h"
#include "fuzz.h"
#include <string.h>

#define ITEMS 4096u
#define UNPACKED_MAX (1u << 22)
#define AT_ITEMS 20u
#define AT_FRAMED 24u
#define AT_CRC 60u

static frame_item items[ITEMS];

/* What is claimed is bounded by what is there, and unpacking stays within it. */
static void check_unpack(view bytes, const frame_head *head)
{
    const uint64_t claimed = frame_unpacked_bytes(items, head->items);
    PROMISE(claimed <= (uint64_t)bytes.size * PACKED_RATIO_MAX + 64u * head->items);
    if (claimed == 0 || claimed > UNPACKED_MAX)
        return;
    bw_error error = {.code = BW_OK};
    uint8_t *plain = mem_alloc((size_t)claimed);
    PROMISE(plain != NULL);
    const bw_status status = frame_unpack(bytes, items, head->items, plain, &error);
    PROMISE(status == BW_OK || status == BW_CORRUPT);
    if (status != BW_OK)
        check_told(status, &error);
    mem_free(plain);
}

static void check_verify(view bytes, const frame_head *head)
{
    bw_error error = {.code = BW_OK};
    const bw_status status = frame_verify(bytes, head, items, ITEMS, &error);
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT);
        check_told(status, &error);
        return;
    }
    PROMISE(head->framed_bytes == bytes.size);
    check_unpack(bytes, head);
    frame_head other = *head;
    other.nonce ^= 1;
    PROMISE(frame_verify(bytes, &other, items, ITEMS, NULL) == BW_CORRUPT);
    other = *head;
    other.slice ^= 1;
    PROMISE(frame_verify(bytes, &other, items, ITEMS, NULL) == BW_CORRUPT);
    PROMISE(frame_verify(bytes, head, items, head->items - 1, NULL) == BW_CORRUPT);
}

static void try_frame(view bytes)
{
    frame_head head;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = frame_decode_head(bytes, &head, items, ITEMS, &error);
    PROMISE(meter_peak() == 0);
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT || status == BW_FORMAT);
        check_told(status, &error);
        return;
    }
    uint64_t end = frame_table_end(head.items);
    for (uint32_t i = 0; i < head.items; i++) {
        PROMISE(items[i].offset >= end && items[i].offset % 64 == 0);
        end = items[i].offset + items[i].stored_bytes;
    }
    PROMISE(end == head.framed_bytes);
    buf out;
    buf_init(&out, SIZE_MAX);
    PROMISE(frame_encode_head(&head, items, &out) == BW_OK);
    PROMISE(out.size <= bytes.size && memcmp(out.data, bytes.data, out.size) == 0);
    buf_free(&out);
    check_verify(bytes, &head);
}

/* Items beyond the end of the bytes keep the CRC they claim. */
static void seal_items(uint8_t *frame, size_t size, uint32_t count, bool lengths)
{
    uint64_t end = frame_table_end(count), stored = 0, plain = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = frame + FRAME_HEAD_BYTES + (size_t)FRAME_ITEM_BYTES * i;
        const uint64_t at = align64(end), bytes = load_u32(row);
        const bool pad = (row[12] & 1) != 0;
        if (!pad && at <= size && bytes <= size - at)
            store_u32(row + 8, crc32c(0, frame + at, (size_t)bytes));
        end = at + bytes;
        stored += bytes;
        plain += load_u32(row + 4);
    }
    if (lengths) {
        store_u64(frame + AT_FRAMED, end);
        store_u64(frame + AT_FRAMED + 8, plain);
        store_u64(frame + AT_FRAMED + 16, stored);
    }
}

static void seal(uint8_t *frame, size_t size)
{
    const uint32_t count = load_u32(frame + AT_ITEMS);
    if (count == 0 || count > ITEMS || frame_table_end(count) > size)
        return;
    seal_items(frame, size, count, (frame[AT_CRC] & 1) != 0);
    const uint32_t crc = crc32c(crc32c(0, frame, AT_CRC), frame + FRAME_HEAD_BYTES,
                                (size_t)FRAME_ITEM_BYTES * count);
    store_u32(frame + AT_CRC, crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_frame(view_of(data, size));
    if (size < FRAME_HEAD_BYTES)
        return 0;
    uint8_t *copy = mem_dup(data, size);
    PROMISE(copy != NULL);
    seal(copy, size);
    try_frame(view_of(copy, size));
    mem_free(copy);
    return 0;
}
