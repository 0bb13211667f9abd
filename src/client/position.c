// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include <stdlib.h>

/* Who starts processes tells each of them its rank in the environment, by names of its own. */
typedef struct launcher {
    const char *rank, *world;
} launcher;

/* torchrun comes first: it is started on each node, often by one of the others, and the processes
 * that it starts inherit what that said of torchrun itself. */
static const launcher launchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
};
#define LAUNCHERS (sizeof launchers / sizeof launchers[0])

static const char *environment(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? text : NULL;
}

static bool read_number(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    for (; text != NULL && *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *out = (uint32_t)value;
    return text != NULL;
}

/* Slurm gives the size of an allocation to what is not one of its tasks as well. */
static bool speaks(const launcher *l)
{
    return environment(l->rank) != NULL || (l == &launchers[0] && environment(l->world) != NULL);
}

/* The launcher that says which rank this is; NULL: none does. All that speak must agree. */
static bw_status by_environment(uint32_t *rank, uint32_t *world, const launcher **out,
                                bw_error *error)
{
    *out = NULL;
    for (size_t k = 0; k < LAUNCHERS; k++) {
        const launcher *l = &launchers[k];
        uint32_t its_rank, its_world;
        if (!speaks(l))
            continue;
        if (!read_number(environment(l->rank), &its_rank) ||
            !read_number(environment(l->world), &its_world))
            return error_set(error, BW_INVALID,
                             "of %s and %s in the environment, one is missing or no number",
                             l->rank, l->world);
        if (*out != NULL && (its_rank != *rank || its_world != *world))
            return error_set(error, BW_INVALID,
                             "the environment names two ranks: %u of %u by %s and %s, %u of %u by "
                             "%s and %s; set rank and world",
                             *rank, *world, (*out)->rank, (*out)->world, its_rank, its_world,
                             l->rank, l->world);
        if (*out == NULL)
            *out = l;
        *rank = its_rank;
        *world = its_world;
        if (k == 0 && environment("TORCHELASTIC_RUN_ID") != NULL)
            break;
    }
    return BW_OK;
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
                         "world size %u is not dp %u x cp %u; a job of another dp sets dp, one "
                         "whose tensor- or pipeline-parallel ranks share a position tp and pp",
                         world, m.dp, m.cp);
    return status;
}

/* Where nobody says how many there are. */
static uint32_t ranks_of_mesh(const consumer_options *options, const genesis *g)
{
    const uint32_t sides[] = {options->dp != 0 ? options->dp : g->dp,
                              options->cp != 0 ? options->cp : g->cp, options->tp, options->pp};
    uint64_t ranks = 1;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        ranks *= sides[i] > 0 ? sides[i] : 1;
        ranks = ranks < UINT32_MAX ? ranks : UINT32_MAX;
    }
    return (uint32_t)ranks;
}

bw_status position_resolve(const consumer_options *options, const genesis *g, consumer_seat *out,
                           bw_error *error)
{
    *out = (consumer_seat){
        .alone = genesis_slices(g) == 1, .commits = true, .ranks = ranks_of_mesh(options, g)};
    if (options->has_position) {
        out->position = (position){options->d, options->c};
        out->commits = options->d == 0 && options->c == 0;
        return BW_OK;
    }
    uint32_t rank = options->rank, world = options->world;
    if (!options->has_rank) {
        const launcher *told;
        BW_TRY(by_environment(&rank, &world, &told, error));
        if (told == NULL && out->alone)
            return BW_OK;
        if (told == NULL)
            return error_set(error, BW_INVALID,
                             "which of the %u positions is this? Set rank and world, or d and c; "
                             "the environment says nothing either: neither torchrun's RANK and "
                             "WORLD_SIZE, nor Slurm's SLURM_PROCID, nor MPI's",
                             genesis_slices(g));
    }
    out->alone = out->alone && world == 1;
    out->commits = rank == 0;
    out->ranks = world;
    return by_rank(options, g, rank, world, &out->position, error);
}
