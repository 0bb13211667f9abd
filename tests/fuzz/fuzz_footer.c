// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include "base/alloc.h"
#include "codec/tgb.h"

static bw_status decode(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    return footer_decode(object, decoded, error);
}

/* Where the ids of the slice that is read go. */
typedef struct gathered {
    view *ids;
    uint32_t count, stop_at;
} gathered;

static int gather(void *context, view id)
{
    gathered *g = context;
    if (g->count == g->stop_at)
        return 7;
    g->ids[g->count++] = id;
    return 0;
}

static bw_status encode(const void *decoded, buf *out)
{
    footer f = *(const footer *)decoded;
    size_t all = 1;
    for (uint32_t i = 0; i < f.slice_count; i++)
        all += f.slices[i].sample_count;
    view *ids = mem_array(all, sizeof *ids);
    footer_slice *slices = mem_dup(f.slices, f.slice_count * sizeof *slices);
    PROMISE(ids != NULL && slices != NULL);
    view *next = ids;
    for (uint32_t i = 0; i < f.slice_count; i++) {
        gathered g = {.ids = next, .stop_at = UINT32_MAX};
        PROMISE(footer_samples(&f, i, gather, &g) == 0);
        PROMISE(g.count == slices[i].sample_count);
        slices[i].samples = next;
        next += g.count;
        g = (gathered){.ids = next, .stop_at = 0};
        PROMISE(footer_samples(&f, i, gather, &g) == (slices[i].sample_count > 0 ? 7 : 0));
    }
    f.slices = slices;
    const bw_status status = footer_encode(&f, out);
    mem_free(slices);
    mem_free(ids);
    return status;
}

static void walk(const void *decoded)
{
    const footer *f = decoded;
    PROMISE(f->slice_count == f->dp * f->cp);
    uint64_t *lengths = mem_array(f->slice_count, sizeof *lengths);
    PROMISE(lengths != NULL);
    for (uint32_t i = 0; i < f->slice_count; i++)
        lengths[i] = f->slices[i].framed_bytes;
    tgb_extent extent;
    const bw_status status = tgb_pack(lengths, f->slice_count, 4096, 100, NULL, &extent);
    PROMISE(status == BW_OK || status == BW_TOO_LARGE);
    mem_free(lengths);
}

static void release(void *decoded)
{
    footer_free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case footer_case = {decode, encode, walk, release};
    object_try(&footer_case, data, size);
    return 0;
}
