// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/genesis.h"

#include <string.h>

#define LIMIT_MAX_LAG 1u
#define LIMIT_MAX_BYTES 2u

#define TAIL_CAP_MIN 64u
#define TAIL_CAP_MAX (1u << 20)
#define PART_BYTES_MIN 4096u
#define PART_BYTES_MAX (1ull << 40)

static bool layout_is_known(const char *layout)
{
    return layout[0] == '\0' || strcmp(layout, "contiguous") == 0 ||
           strcmp(layout, "headtail") == 0;
}

bw_status genesis_check(const genesis *g, bw_error *error)
{
    if (g->dp == 0 || g->cp == 0 || (uint64_t)g->dp * g->cp > SLICES_MAX)
        return error_set(error, BW_INVALID,
                         "mesh %u x %u: dp and cp are 1 or more, dp x cp at most %u", g->dp, g->cp,
                         SLICES_MAX);
    if (g->items_default == 0 || g->items_default > ITEMS_MAX)
        return error_set(error, BW_INVALID, "items %u: 1 to %u", g->items_default, ITEMS_MAX);
    if (g->block_size < 2)
        return error_set(error, BW_INVALID, "block size %u: 2 or more", g->block_size);
    if (g->tail_cap < TAIL_CAP_MIN || g->tail_cap > TAIL_CAP_MAX)
        return error_set(error, BW_INVALID, "tail cap %u: %u to %u bytes", g->tail_cap,
                         TAIL_CAP_MIN, TAIL_CAP_MAX);
    if (g->part_bytes < PART_BYTES_MIN || g->part_bytes > PART_BYTES_MAX || g->part_bytes % 64 != 0)
        return error_set(error, BW_INVALID, "part size %llu: a multiple of 64 from %u to 2^40",
                         (unsigned long long)g->part_bytes, PART_BYTES_MIN);
    if (g->page_min == 0)
        return error_set(error, BW_INVALID, "page min 0: 1 or more");
    if (!g->has_max_lag && g->max_lag != 0)
        return error_set(error, BW_INVALID, "max lag has a value but is not set");
    if (!g->has_max_bytes && g->max_bytes != 0)
        return error_set(error, BW_INVALID, "max bytes has a value but is not set");
    if (!layout_is_known(g->layout))
        return error_set(error, BW_INVALID, "layout `%s`: contiguous, headtail or none", g->layout);
    if (g->schema.size > SCHEMA_BYTES_MAX)
        return error_set(error, BW_INVALID, "schema of %zu bytes: at most %u", g->schema.size,
                         SCHEMA_BYTES_MAX);
    return BW_OK;
}

bw_status genesis_encode(const genesis *g, buf *out)
{
    BW_TRY(genesis_check(g, NULL));
    const size_t at = object_begin(out, OBJECT_GENESIS);
    buf_put(out, g->uuid, UUID_BYTES);
    buf_put_u64(out, g->created_ms);
    buf_put_u32(out, g->dp);
    buf_put_u32(out, g->cp);
    buf_put_u32(out, g->items_default);
    buf_put_u32(out, g->expected_producers);
    buf_put_u32(out, g->block_size);
    buf_put_u32(out, g->tail_cap);
    buf_put_u64(out, g->part_bytes);
    buf_put_u32(out, g->page_min);
    buf_put_u32(out,
                (g->has_max_lag ? LIMIT_MAX_LAG : 0) | (g->has_max_bytes ? LIMIT_MAX_BYTES : 0));
    buf_put_u64(out, g->max_lag);
    buf_put_u64(out, g->max_bytes);
    wire_put_text8(out, view_text(g->layout));
    wire_put_text32(out, g->schema);
    object_finish(out, at);
    return buf_status(out);
}

bw_status genesis_decode(view object, genesis *g, bw_error *error)
{
    view body;
    BW_TRY(object_open(object, OBJECT_GENESIS, &body, error));
    wire_reader r;
    wire_open(&r, body);
    memset(g, 0, sizeof *g);
    wire_bytes(&r, g->uuid, UUID_BYTES);
    g->created_ms = wire_u64(&r);
    g->dp = wire_u32(&r);
    g->cp = wire_u32(&r);
    g->items_default = wire_u32(&r);
    g->expected_producers = wire_u32(&r);
    g->block_size = wire_u32(&r);
    g->tail_cap = wire_u32(&r);
    g->part_bytes = wire_u64(&r);
    g->page_min = wire_u32(&r);
    const uint32_t limits = wire_u32(&r);
    g->has_max_lag = (limits & LIMIT_MAX_LAG) != 0;
    g->has_max_bytes = (limits & LIMIT_MAX_BYTES) != 0;
    g->max_lag = wire_u64(&r);
    g->max_bytes = wire_u64(&r);
    const view layout = wire_text8(&r);
    g->schema = wire_text32(&r);
    if (!wire_done(&r) || (limits & ~(LIMIT_MAX_LAG | LIMIT_MAX_BYTES)) != 0 ||
        layout.size > LAYOUT_BYTES_MAX ||
        (layout.size > 0 && memchr(layout.data, '\0', layout.size) != NULL))
        return error_set(error, BW_CORRUPT, "genesis: the fields do not fit the bytes");
    if (layout.size > 0)
        memcpy(g->layout, layout.data, layout.size);
    bw_error why;
    if (genesis_check(g, &why) != BW_OK)
        return error_set(error, BW_CORRUPT, "genesis: %s", why.message);
    return BW_OK;
}
