// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Genesis: identity, mesh and limits of a namespace (docs/format.md section 4). */
#ifndef CODEC_GENESIS_H
#define CODEC_GENESIS_H

#include "codec/wire.h"

#define UUID_BYTES 16u
#define SLICES_MAX (1u << 20)
#define ITEMS_MAX (1u << 20)
#define LAYOUT_BYTES_MAX 16u
#define SCHEMA_BYTES_MAX 65536u

#define GENESIS_BLOCK_SIZE_DEFAULT 1024u
#define GENESIS_TAIL_CAP_DEFAULT 8192u
#define GENESIS_PART_BYTES_DEFAULT (64ull << 20)
#define GENESIS_PAGE_MIN_DEFAULT 64u

typedef struct genesis {
    uint8_t uuid[UUID_BYTES];
    uint64_t created_ms;
    uint32_t dp, cp;
    uint32_t items_default;
    uint32_t expected_producers;
    uint32_t block_size;
    uint32_t tail_cap;
    uint64_t part_bytes;
    uint32_t page_min;
    bool has_max_lag, has_max_bytes;
    uint64_t max_lag, max_bytes;
    char layout[LAYOUT_BYTES_MAX + 1];
    view schema; /* decoded: points into the object's bytes */
} genesis;

static inline uint32_t genesis_slices(const genesis *g)
{
    return g->dp * g->cp;
}
static inline uint64_t genesis_block(const genesis *g, uint64_t version)
{
    return version / g->block_size;
}
/** Checks every rule of section 4; BW_INVALID names the field. */
bw_status genesis_check(const genesis *g, bw_error *error);
bw_status genesis_encode(const genesis *g, buf *out);
bw_status genesis_decode(view object, genesis *g, bw_error *error);

#endif
