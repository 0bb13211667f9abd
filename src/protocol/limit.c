// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/limit.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include <inttypes.h>
#include <stdio.h>

/* A producer counts as active while its last commit is at most this many rounds of the map old. */
#define ACTIVE_ROUNDS 8u

uint32_t limit_active(const manifest *base)
{
    const uint64_t window = (uint64_t)ACTIVE_ROUNDS * base->producer_count;
    uint32_t active = 0;
    for (uint32_t k = 0; k < base->producer_count; k++) {
        const producer_entry *e = &base->producers[k];
        MUST(e->last_commit <= base->version);
        const bool gone = (e->finished || e->forgotten) && !MUTANT(limit_counts_departed);
        if (!gone && base->version - e->last_commit <= window)
            active++;
    }
    MUST(active <= base->producer_count);
    return active > 0 ? active : 1;
}

static uint64_t share(uint64_t room, uint64_t active)
{
    MUST_OR(active > 0, return 0);
    if (MUTANT(limit_unshared))
        return room;
    if (MUTANT(limit_share_rounds_down))
        return room / active;
    return room / active + (room % active != 0);
}

static uint64_t lag_room(const genesis *g, const manifest *base)
{
    const uint64_t frontier =
        MUTANT(max_lag_of_oldest_pin) ? manifest_w(base) : manifest_frontier(base);
    MUST(base->group_count > 0);
    MUST_OR(frontier <= base->next, return 0);
    const uint64_t ahead = base->next - frontier;
    if (!g->has_max_lag)
        return UINT64_MAX;
    return ahead < g->max_lag ? g->max_lag - ahead : 0;
}

static uint64_t bytes_room(const genesis *g, const manifest *base)
{
    MUST_OR(base->swept_bytes <= base->committed_bytes, return 0);
    const uint64_t held =
        base->committed_bytes - (MUTANT(max_bytes_of_all_time) ? 0 : base->swept_bytes);
    if (!g->has_max_bytes)
        return UINT64_MAX;
    return held < g->max_bytes ? g->max_bytes - held : 0;
}

/* How many fit into this share of the bytes; one, if the whole room has place for it. */
static uint64_t fitting(const descriptor *d, uint64_t count, uint64_t room, uint64_t mine)
{
    uint64_t bytes = 0, fit = 0;
    MUST(mine <= room);
    while (fit < count) {
        const uint64_t more = d[fit].shape.total_bytes;
        if (more > room - bytes || (fit > 0 && more > mine - bytes))
            break;
        bytes += more;
        fit++;
        if (bytes > mine)
            break;
    }
    MUST(fit <= count);
    return fit;
}

uint32_t limit_room(const genesis *g, const manifest *base, const descriptor *d, uint32_t count)
{
    if ((base->group_count == 0 && !MUTANT(limit_without_group)) || count == 0)
        return count;
    const uint64_t active = limit_active(base);
    const uint64_t steps = share(lag_room(g, base), active);
    const uint64_t room = bytes_room(g, base);
    const uint64_t fit = fitting(d, steps < count ? steps : count, room, share(room, active));
    MUST(fit <= count);
    MUST(fit <= steps);
    return (uint32_t)fit;
}

limit_kind limit_reached(const genesis *g, const manifest *base, uint64_t bytes, keeper *k)
{
    if (base->group_count == 0)
        return LIMIT_NONE;
    MUST(base->swept <= base->trim);
    if (lag_room(g, base) == 0) {
        (void)manifest_frontier_keeper(base, k);
        MUST(k->step <= base->next);
        return LIMIT_LAG;
    }
    if (bytes_room(g, base) >= bytes)
        return LIMIT_NONE;
    if (base->trim > base->swept && !MUTANT(limit_blames_pin))
        return LIMIT_SWEEP;
    (void)manifest_w_keeper(base, k);
    MUST(k->step <= base->next);
    return LIMIT_BYTES;
}

const char *limit_tell(const genesis *g, const manifest *base, limit_kind kind, const keeper *k,
                       char text[LIMIT_TEXT_BYTES])
{
    MUST(kind != LIMIT_NONE);
    if (kind == LIMIT_SWEEP) {
        (void)snprintf(text, LIMIT_TEXT_BYTES,
                       "max_bytes, %" PRIu64 ": %" PRIu64
                       " steps wait for a sweep (batchweave gc --apply)",
                       g->max_bytes, base->trim - base->swept);
        return text;
    }
    MUST_OR(k->group != NULL, return "a limit");
    MUST(k->pin == NULL || k->group->pin_count > 0);
    const view name = k->group->name, id = k->pin != NULL ? k->pin->id : view_text("");
    (void)snprintf(text, LIMIT_TEXT_BYTES,
                   "%s, %" PRIu64 ": group %.*s %s%.*s at step %" PRIu64
                   ", and last committed version %" PRIu64,
                   kind == LIMIT_LAG ? "max_lag" : "max_bytes",
                   kind == LIMIT_LAG ? g->max_lag : g->max_bytes, (int)name.size,
                   (const char *)name.data, k->pin != NULL ? "has pin " : "holds", (int)id.size,
                   (const char *)id.data, k->step, k->group->last_version);
    return text;
}
