// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/packing.h"

#include "base/alloc.h"
#include "base/mutant.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

struct packer {
    ZSTD_CCtx *context;
    uint8_t *out; /* as long as the longest item: what does not fit is not worth it */
    size_t capacity, size;
    uint32_t bytes;   /* of the item at hand */
    bool fits;        /* so far */
    bw_status status; /* of zstd */
};

bool packed_lengths_fit(uint32_t stored_bytes, uint32_t plain_bytes)
{
    return stored_bytes > 0 && plain_bytes > 0 && plain_bytes <= PACKED_PLAIN_MAX &&
           ((plain_bytes - 1) / PACKED_RATIO_MAX < stored_bytes || MUTANT(packed_bomb_allowed));
}

bw_status packer_new(uint32_t level, packer **out)
{
    if (level == 0 || level > PACKING_LEVEL_MAX)
        return BW_INVALID;
    packer *p = mem_zalloc(sizeof *p);
    if (p == NULL)
        return BW_NOMEM;
    p->context = ZSTD_createCCtx();
    if (p->context == NULL) {
        mem_free(p);
        return BW_NOMEM;
    }
    (void)ZSTD_CCtx_setParameter(p->context, ZSTD_c_compressionLevel, (int)level);
    *out = p;
    return BW_OK;
}

void packer_free(packer *p)
{
    if (p == NULL)
        return;
    (void)ZSTD_freeCCtx(p->context);
    mem_free(p->out);
    mem_free(p);
}

/* The window that the frame's header asks for, which a reader of streams would have to keep. */
static uint64_t window_bytes(view stored, uint32_t plain_bytes)
{
    const uint8_t single_segment = 0x20;
    if ((stored.data[4] & single_segment) != 0)
        return plain_bytes;
    const uint32_t exponent = stored.data[5] >> 3, mantissa = stored.data[5] & 7u;
    const uint64_t base = 1ull << (10 + exponent);
    return base + base / 8 * mantissa;
}

/* One frame of just these bytes and that content, which nothing else is needed to read. */
static bool is_frame(view stored, uint32_t plain_bytes)
{
    static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    return stored.size >= 6 && memcmp(stored.data, magic, sizeof magic) == 0 &&
           ZSTD_getFrameContentSize(stored.data, stored.size) == plain_bytes &&
           ZSTD_getDictID_fromFrame(stored.data, stored.size) == 0 &&
           window_bytes(stored, plain_bytes) <= PACKED_WINDOW_MAX &&
           ZSTD_findFrameCompressedSize(stored.data, stored.size) == stored.size;
}

bw_status packer_begin(packer *p, uint32_t bytes)
{
    p->bytes = bytes;
    p->size = 0;
    p->status = BW_OK;
    p->fits = bytes > 1 && bytes <= PACKED_PLAIN_MAX;
    if (!p->fits)
        return BW_OK;
    void *memory = p->out;
    if (mem_grow(&memory, &p->capacity, bytes, 1) != 0)
        return BW_NOMEM;
    p->out = memory;
    (void)ZSTD_CCtx_reset(p->context, ZSTD_reset_session_only);
    (void)ZSTD_CCtx_setPledgedSrcSize(p->context, bytes);
    return BW_OK;
}

static void compress(packer *p, view piece, bool last)
{
    ZSTD_outBuffer out = {.dst = p->out, .size = p->bytes - 1, .pos = p->size};
    ZSTD_inBuffer in = {.src = piece.data, .size = piece.size, .pos = 0};
    size_t left;
    do {
        left = ZSTD_compressStream2(p->context, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    } while (!ZSTD_isError(left) && out.pos < out.size && (in.pos < in.size || (last && left > 0)));
    p->size = out.pos;
    p->fits = !ZSTD_isError(left) && in.pos == in.size && (!last || left == 0);
    if (ZSTD_isError(left))
        p->status = ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? BW_NOMEM : BW_BUG;
}

void packer_add(packer *p, view piece)
{
    if (p->fits)
        compress(p, piece, false);
}

bw_status packer_end(packer *p, uint8_t **packed, uint32_t *packed_bytes)
{
    *packed = NULL;
    *packed_bytes = 0;
    if (p->fits)
        compress(p, view_of("", 0), true);
    if (!p->fits || !packed_lengths_fit((uint32_t)p->size, p->bytes) ||
        !is_frame(view_of(p->out, p->size), p->bytes))
        return p->status;
    *packed = mem_dup(p->out, p->size);
    if (*packed == NULL)
        return BW_NOMEM;
    *packed_bytes = (uint32_t)p->size;
    return BW_OK;
}

uint64_t frame_unpacked_bytes(const frame_item *items, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].codec == CODEC_ZSTD)
            bytes = items[i].unpacked_at + items[i].plain_bytes;
    return bytes;
}

static bw_status unpack_item(ZSTD_DCtx *context, view stored, const frame_item *item, uint8_t *out,
                             uint32_t index, bw_error *error)
{
    if (!is_frame(stored, item->plain_bytes))
        return error_set(error, BW_CORRUPT,
                         "frame: item %u is not one zstd frame of %u bytes with a window of at "
                         "most %u",
                         index, item->plain_bytes, PACKED_WINDOW_MAX);
    const size_t made = ZSTD_decompressDCtx(context, out + item->unpacked_at, item->plain_bytes,
                                            stored.data, stored.size);
    if (ZSTD_isError(made) && ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation)
        return error_set(error, BW_NOMEM, "no memory to unpack item %u", index);
    if (made != item->plain_bytes)
        return error_set(error, BW_CORRUPT, "frame: item %u cannot be unpacked: %s", index,
                         ZSTD_isError(made) ? ZSTD_getErrorName(made) : "another length");
    return BW_OK;
}

bw_status frame_unpack(view frame, const frame_item *items, uint32_t count, uint8_t *out,
                       bw_error *error)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    bw_status status = BW_OK;
    if (context == NULL)
        return error_set(error, BW_NOMEM, "no memory to unpack a slice");
    for (uint32_t i = 0; i < count && status == BW_OK; i++) {
        const frame_item *item = &items[i];
        if (item->codec == CODEC_ZSTD)
            status = unpack_item(context, view_of(frame.data + item->offset, item->stored_bytes),
                                 item, out, i, error);
    }
    (void)ZSTD_freeDCtx(context);
    return status;
}
