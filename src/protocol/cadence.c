// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/cadence.h"

#include "base/clock.h"
#include "base/invariant.h"
#include <string.h>

#define FIXED_MS_DIGITS_MAX 7u

/* Digits only, 1 … 9,999,999; 0 otherwise. */
static int64_t parse_ms(const char *text)
{
    const size_t size = strlen(text);
    if (size == 0 || size > FIXED_MS_DIGITS_MAX)
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

bw_status cadence_parse(const char *text, cadence *c, bw_error *error)
{
    static const char fixed[] = "fixed:";
    MUST_OR(text != NULL, return BW_BUG);
    *c = (cadence){.policy = CADENCE_NAIVE};
    if (strcmp(text, "naive") == 0)
        return BW_OK;
    if (strncmp(text, fixed, sizeof fixed - 1) == 0) {
        const int64_t ms = parse_ms(text + sizeof fixed - 1);
        if (ms > 0) {
            c->policy = CADENCE_FIXED;
            c->gap_ns = ms * NS_PER_MS;
            MUST(c->gap_ns / NS_PER_MS == ms);
            return BW_OK;
        }
    }
    return error_set(error, BW_INVALID,
                     "cadence \"%s\": choose naive, or fixed:N with N in milliseconds", text);
}

int64_t cadence_due(const cadence *c, int64_t staged_ns)
{
    return staged_ns > c->next_ns ? staged_ns : c->next_ns;
}

void cadence_attempted(cadence *c, const cadence_attempt *attempt, rng *r)
{
    if (c->policy == CADENCE_NAIVE) {
        c->next_ns = attempt->now_ns;
        return;
    }
    MUST_OR(c->policy == CADENCE_FIXED, return );
    MUST_OR(c->gap_ns > 0, return );
    /* After a conflict the next attempt falls anywhere in the gap: two producers with equal gaps
     * would otherwise meet again and again. */
    const int64_t gap = attempt->conflict ? (int64_t)rng_below(r, (uint64_t)c->gap_ns) : c->gap_ns;
    MUST(gap <= c->gap_ns);
    c->next_ns = attempt->now_ns + gap;
}
