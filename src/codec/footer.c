// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/genesis.h"
#include "codec/tgb.h"
#include <string.h>

#define SLICE_FIXED_BYTES 16u /* of each slice: framed length, items set, count of samples */

bw_status footer_encode(const footer *f, buf *out)
{
    if (f->dp == 0 || f->cp == 0 || f->slice_count != (uint64_t)f->dp * f->cp)
        return BW_INVALID;
    if (f->metadata.size > METADATA_BYTES_MAX)
        return BW_TOO_LARGE;
    const size_t at = object_begin(out, OBJECT_FOOTER);
    buf_put_u64(out, f->nonce);
    buf_put_u32(out, f->dp);
    buf_put_u32(out, f->cp);
    buf_put_u32(out, f->items);
    buf_put_u8(out, (uint8_t)f->kind);
    buf_put_zero(out, 3);
    wire_put_text8(out, f->media_type);
    wire_put_text32(out, f->metadata);
    for (uint32_t i = 0; i < f->slice_count; i++)
        buf_put_u64(out, f->slices[i].framed_bytes);
    for (uint32_t i = 0; i < f->slice_count; i++)
        buf_put_u32(out, f->slices[i].items_set);
    for (uint32_t i = 0; i < f->slice_count; i++) {
        const footer_slice *slice = &f->slices[i];
        buf_put_u32(out, slice->sample_count);
        for (uint32_t k = 0; k < slice->sample_count; k++)
            wire_put_text16(out, slice->samples[k]);
    }
    object_finish(out, at);
    return buf_status(out);
}

/* The part before the slices. */
static bw_status read_head(wire_reader *r, footer *f, bw_error *error)
{
    f->nonce = wire_u64(r);
    f->dp = wire_u32(r);
    f->cp = wire_u32(r);
    f->items = wire_u32(r);
    const uint8_t kind = wire_u8(r);
    wire_zero(r, 3);
    f->media_type = wire_text8(r);
    f->metadata = wire_text32(r);
    if (r->failed || kind >= ITEM_KINDS || f->items == 0 || f->items > ITEMS_MAX ||
        f->metadata.size > METADATA_BYTES_MAX)
        return error_set(error, BW_CORRUPT, "footer: the first fields break the format");
    f->kind = (item_kind)kind;
    const uint64_t slices = (uint64_t)f->dp * f->cp;
    if (slices == 0 || slices > SLICES_MAX || slices * SLICE_FIXED_BYTES > wire_left(r))
        return error_set(error, BW_CORRUPT, "footer: a mesh of %u x %u in %zu bytes", f->dp, f->cp,
                         f->body.size);
    f->slice_count = (uint32_t)slices;
    return BW_OK;
}

static bool read_slices(wire_reader *r, footer *f)
{
    bool good = true;
    for (uint32_t i = 0; i < f->slice_count; i++) {
        f->slices[i].framed_bytes = wire_u64(r);
        good &= f->slices[i].framed_bytes >= frame_bytes_min(f->items) &&
                f->slices[i].framed_bytes <= SLICE_BYTES_MAX;
    }
    for (uint32_t i = 0; i < f->slice_count; i++) {
        f->slices[i].items_set = wire_u32(r);
        good &= f->slices[i].items_set <= f->items;
    }
    for (uint32_t i = 0; i < f->slice_count; i++) {
        const uint32_t count = wire_u32(r);
        f->slices[i].sample_count = count;
        f->samples_at[i] = (uint64_t)(r->at - f->body.data);
        for (uint32_t k = 0; k < count && !r->failed; k++)
            (void)wire_text16(r);
    }
    return good && wire_done(r);
}

bw_status footer_decode(view object, footer *f, bw_error *error)
{
    memset(f, 0, sizeof *f);
    BW_TRY(object_open(object, OBJECT_FOOTER, &f->body, error));
    wire_reader r;
    wire_open(&r, f->body);
    BW_TRY(read_head(&r, f, error));
    f->slices = mem_array(f->slice_count, sizeof *f->slices);
    f->samples_at = mem_array(f->slice_count, sizeof *f->samples_at);
    bw_status status = BW_OK;
    if (f->slices == NULL || f->samples_at == NULL)
        status = error_set(error, BW_NOMEM, "footer: no memory for %u slices", f->slice_count);
    else if (!read_slices(&r, f))
        status = error_set(error, BW_CORRUPT, "footer: the slices break the format");
    if (status != BW_OK)
        footer_free(f);
    return status;
}

void footer_free(footer *f)
{
    mem_free(f->slices);
    mem_free(f->samples_at);
    memset(f, 0, sizeof *f);
}

int footer_samples(const footer *f, uint32_t slice, int (*each)(void *context, view id),
                   void *context)
{
    wire_reader r;
    const uint64_t at = f->samples_at[slice];
    wire_open(&r, view_of(f->body.data + at, f->body.size - at));
    for (uint32_t k = 0; k < f->slices[slice].sample_count; k++) {
        const int answer = each(context, wire_text16(&r));
        if (answer != 0)
            return answer;
    }
    return 0;
}
