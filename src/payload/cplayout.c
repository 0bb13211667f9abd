// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/cplayout.h"

#include <inttypes.h>
#include <string.h>

bool cp_layout_find(const char *name, cp_layout *layout)
{
    *layout = strcmp(name, "headtail") == 0 ? CP_HEADTAIL : CP_CONTIGUOUS;
    return *layout == CP_HEADTAIL || strcmp(name, "contiguous") == 0;
}

static uint64_t chunks(cp_layout layout, uint32_t cp)
{
    return layout == CP_HEADTAIL ? 2 * (uint64_t)cp : cp;
}

bool cp_layout_fits(cp_layout layout, uint64_t sequence, uint32_t cp)
{
    return cp > 0 && sequence % chunks(layout, cp) == 0;
}

bw_status cp_walk_begin(cp_walk *w, cp_layout layout, uint64_t sequence, uint32_t old_cp,
                        uint32_t cp, uint32_t rank, bw_error *error)
{
    if (rank >= cp || !cp_layout_fits(layout, sequence, old_cp) ||
        !cp_layout_fits(layout, sequence, cp))
        return error_set(error, BW_MESH_MISMATCH,
                         "a sequence of %" PRIu64 " cannot be cut for cp = %" PRIu32
                         " and for cp = %" PRIu32 ": it must be a multiple of %" PRIu64
                         " and of %" PRIu64,
                         sequence, old_cp, cp, chunks(layout, old_cp), chunks(layout, cp));
    const uint64_t size = sequence / chunks(layout, cp);
    *w = (cp_walk){.layout = layout,
                   .chunk = sequence / chunks(layout, old_cp),
                   .sequence = sequence,
                   .old_cp = old_cp,
                   .at = {rank * size},
                   .end = {(rank + (uint64_t)1) * size}};
    if (layout == CP_HEADTAIL) {
        w->at[1] = (2 * (uint64_t)cp - 1 - rank) * size;
        w->end[1] = w->at[1] + size;
    }
    return BW_OK;
}

bool cp_walk_next(cp_walk *w, cp_piece *piece)
{
    const unsigned run = w->at[0] < w->end[0] ? 0 : 1;
    if (w->at[run] == w->end[run])
        return false;
    const uint64_t at = w->at[run], index = at / w->chunk;
    /* The tail chunks lie, mirrored, behind the head chunks of their positions. */
    const bool tail = index >= w->old_cp;
    piece->rank = (uint32_t)(tail ? 2 * (uint64_t)w->old_cp - 1 - index : index);
    piece->from = at % w->chunk + (tail ? w->chunk : 0);
    const uint64_t chunk_end = (index + 1) * w->chunk;
    piece->length = (w->end[run] < chunk_end ? w->end[run] : chunk_end) - at;
    w->at[run] += piece->length;
    return true;
}
