// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include <stdlib.h>

/* A decimal of the environment: 0 absent, 1 read, -1 no number. */
static int read_number(const char *name, uint32_t *out)
{
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return 0;
    uint64_t value = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX)
            return -1;
    }
    *out = (uint32_t)value;
    return 1;
}

static bw_status by_rank(const consumer_options *options, const genesis *g, uint32_t rank,
                         uint32_t world, position *out, bw_error *error)
{
    const mesh m = {
        .dp = options->dp != 0 ? options->dp : g->dp,
        .cp = options->cp != 0 ? options->cp : g->cp,
        .tp = options->tp,
        .pp = options->pp,
    };
    if (m.cp != g->cp)
        return error_set(error, BW_MESH_MISMATCH, "the job has cp %u, the namespace %u", m.cp,
                         g->cp);
    const bw_status status = mesh_position(&m, rank, world, out, error);
    if (status == BW_MESH_MISMATCH && m.tp == 1 && m.pp == 1)
        return error_set(error, status,
                         "world size %u is not dp %u x cp %u; when tensor- or pipeline-parallel "
                         "ranks share a position, set tp and pp",
                         world, m.dp, m.cp);
    return status;
}

bw_status position_resolve(const consumer_options *options, const genesis *g, consumer_seat *out,
                           bw_error *error)
{
    *out = (consumer_seat){.alone = genesis_slices(g) == 1, .commits = true};
    if (options->has_position) {
        out->position = (position){options->d, options->c};
        out->commits = options->d == 0 && options->c == 0;
        return BW_OK;
    }
    uint32_t rank = options->rank, world = options->world;
    if (!options->has_rank) {
        const int has_rank = read_number("RANK", &rank);
        const int has_world = read_number("WORLD_SIZE", &world);
        if (has_rank == 0 && has_world == 0) {
            if (out->alone)
                return BW_OK;
            return error_set(error, BW_INVALID,
                             "which of the %u positions is this? Set rank and world, or d and c; "
                             "torchrun's RANK and WORLD_SIZE are not set either",
                             genesis_slices(g));
        }
        if (has_rank != 1 || has_world != 1)
            return error_set(error, BW_INVALID,
                             "of RANK and WORLD_SIZE in the environment, one is missing or no "
                             "number");
    }
    out->alone = out->alone && world == 1;
    out->commits = rank == 0;
    return by_rank(options, g, rank, world, &out->position, error);
}
