// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/cadence.h"

#include "base/clock.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <math.h>
#include <string.h>

#define FIXED_MS_DIGITS_MAX 7u
#define PER_CENT_DIGITS_MAX 2u

/* incr and aimd begin here; the paper says 10 and no unit of time. */
#define START_GAP_NS (10 * NS_PER_MS)
#define INCR_STEP_NS NS_PER_MS
#define AIMD_INTERVAL_STEP_NS (10 * NS_PER_MS)
#define AIMD_RATE_STEP_NS (10 * NS_PER_S) /* one attempt more in so long */
#define GAP_MIN_NS NS_PER_MS
/* dac asks for more from 500 producers on: beyond it conflicts are the lesser evil. */
#define GAP_MAX_NS (600 * NS_PER_S)

/* dac, the paper's values: conflict budget ε (per cent), duty budget δ, weight α of a new sample,
 * jitter ρ. */
#define DAC_CONFLICT_PER_CENT 5
#define DAC_DUTY 0.10
#define DAC_WEIGHT 0.20
#define DAC_JITTER 0.50

/* Digits only, 1 … 10^digits_max − 1; 0 otherwise. */
static int64_t parse_number(const char *text, size_t digits_max)
{
    const size_t size = strlen(text);
    if (size == 0 || size > digits_max)
        return 0;
    int64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        value = value * 10 + (text[i] - '0');
    }
    MUST(value >= 0);
    MUST(value <= 9999999);
    return value;
}

/* What follows `prefix` in `text`; NULL when it begins in another way. */
static const char *after(const char *text, const char *prefix)
{
    const size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

static void set_dac(cadence *c, int64_t per_cent, bool counts_map)
{
    MUST(per_cent > 0);
    MUST(per_cent < 100);
    c->policy = CADENCE_DAC;
    c->conflict_budget = -log1p(-(double)per_cent / 100.0);
    c->counts_map = counts_map;
}

static bool parse_choice(const char *text, cadence *c)
{
    static const struct {
        const char *name;
        cadence_policy policy;
        int64_t gap_ns;
    } plain[] = {
        {"naive", CADENCE_NAIVE, 0},
        {"incr", CADENCE_INCR, START_GAP_NS},
        {"aimd:interval", CADENCE_AIMD_INTERVAL, START_GAP_NS},
        {"aimd:rate", CADENCE_AIMD_RATE, START_GAP_NS},
        {"turn", CADENCE_TURN, 0},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(text, plain[i].name) == 0) {
            c->policy = plain[i].policy;
            c->gap_ns = plain[i].gap_ns;
            return true;
        }
    }
    const bool map = strcmp(text, "dac:map") == 0;
    if (map || strcmp(text, "dac") == 0) {
        set_dac(c, DAC_CONFLICT_PER_CENT, map);
        return true;
    }
    const char *number = after(text, "dac:");
    const int64_t per_cent = number != NULL ? parse_number(number, PER_CENT_DIGITS_MAX) : 0;
    if (per_cent > 0) {
        set_dac(c, per_cent, false);
        return true;
    }
    number = after(text, "fixed:");
    const int64_t ms = number != NULL ? parse_number(number, FIXED_MS_DIGITS_MAX) : 0;
    c->policy = CADENCE_FIXED;
    c->gap_ns = ms * NS_PER_MS;
    return ms > 0;
}

bw_status cadence_parse(const char *text, cadence *c, bw_error *error)
{
    MUST_OR(text != NULL, return BW_BUG);
    *c = (cadence){0};
    if (parse_choice(text, c))
        return BW_OK;
    *c = (cadence){0};
    return error_set(error, BW_INVALID,
                     "cadence \"%s\": choose turn, naive, fixed:N with N in milliseconds, incr, "
                     "aimd:interval, aimd:rate, dac, dac:P with P in per cent, or dac:map",
                     text);
}

const char *cadence_name(const cadence *c)
{
    static const char *const names[] = {
        [CADENCE_NAIVE] = "naive",         [CADENCE_FIXED] = "fixed",
        [CADENCE_INCR] = "incr",           [CADENCE_AIMD_INTERVAL] = "aimd:interval",
        [CADENCE_AIMD_RATE] = "aimd:rate", [CADENCE_DAC] = "dac",
        [CADENCE_TURN] = "turn",
    };
    MUST_OR(c->policy <= CADENCE_TURN, return "");
    MUST(names[c->policy] != NULL);
    return names[c->policy];
}

int64_t cadence_due(const cadence *c, int64_t staged_ns)
{
    return staged_ns > c->next_ns ? staged_ns : c->next_ns;
}

static int64_t clamp(double gap_ns, int64_t least)
{
    if (gap_ns >= (double)GAP_MAX_NS)
        return GAP_MAX_NS;
    return gap_ns <= (double)least ? least : (int64_t)gap_ns;
}

/* The least gap T ≥ 0 that keeps both budgets. N − 1 others attempt once in T + τ each, at moments
 * of their own: one of them falls into our window with probability 1 − exp(−(N−1)τ/(T+τ)), which
 * must not pass ε; and our own window must not take more than δ of the time. */
static int64_t dac_gap(cadence *c, const cadence_attempt *a)
{
    if (a->fragile_ns > 0)
        c->fragile_ns += DAC_WEIGHT * ((double)a->fragile_ns - c->fragile_ns);
    const uint32_t producers = c->counts_map ? a->mapped : a->active;
    const uint32_t others = producers > 0 ? producers - (MUTANT(dac_counts_itself) ? 0 : 1) : 0;
    MUST_OR(c->conflict_budget > 0, return GAP_MAX_NS);
    MUST(c->fragile_ns >= 0);
    MUST(a->active <= a->mapped);
    const double for_conflicts = others * c->fragile_ns / c->conflict_budget - c->fragile_ns;
    const double for_duty = (1 - DAC_DUTY) * c->fragile_ns / DAC_DUTY;
    const bool crowded = for_conflicts > for_duty || MUTANT(dac_without_duty);
    return clamp(crowded ? for_conflicts : for_duty, 0);
}

static int64_t next_gap(cadence *c, const cadence_attempt *a)
{
    const double gap_ns = (double)c->gap_ns;
    switch (c->policy) {
    case CADENCE_INCR:
        return a->conflict || MUTANT(incr_always) ? clamp(gap_ns + INCR_STEP_NS, 0) : c->gap_ns;
    case CADENCE_AIMD_INTERVAL:
        return clamp(a->conflict ? gap_ns / 2 : gap_ns + AIMD_INTERVAL_STEP_NS, GAP_MIN_NS);
    case CADENCE_AIMD_RATE:
        return clamp(a->conflict != MUTANT(aimd_readings_swapped)
                         ? gap_ns * 2
                         : gap_ns / (1 + gap_ns / AIMD_RATE_STEP_NS),
                     GAP_MIN_NS);
    case CADENCE_DAC:
        return a->conflict && MUTANT(dac_blind_to_conflicts) ? c->gap_ns : dac_gap(c, a);
    default:
        MUST(c->policy == CADENCE_NAIVE || c->policy == CADENCE_TURN || c->gap_ns > 0);
        return c->gap_ns;
    }
}

/* Drawn in [0, below]. */
static int64_t draw(rng *r, int64_t below)
{
    return below > 0 ? (int64_t)rng_below(r, (uint64_t)below + 1) : 0;
}

void cadence_attempted(cadence *c, const cadence_attempt *attempt, rng *r)
{
    c->gap_ns = next_gap(c, attempt);
    MUST(c->gap_ns >= 0);
    MUST(c->gap_ns <= GAP_MAX_NS || c->policy == CADENCE_FIXED);
    int64_t wait_ns = c->gap_ns;
    if (c->policy == CADENCE_DAC)
        wait_ns +=
            MUTANT(dac_without_jitter) ? 0 : draw(r, (int64_t)(DAC_JITTER * (double)c->gap_ns));
    else if (attempt->conflict)
        /* Anywhere in the gap: two producers with equal gaps would otherwise meet again and again.
         */
        wait_ns = draw(r, c->gap_ns);
    c->next_ns = attempt->now_ns + wait_ns;
    MUST(c->next_ns >= attempt->now_ns);
}
