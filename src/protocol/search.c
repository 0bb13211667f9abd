// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/search.h"

#include "base/invariant.h"

#define SEARCH_WAYS 32u
/* Powers of two of one round. Most rows end within the first, and a question costs money where a
 * store is far. */
#define WAVE_POWERS 12u

static void add_probe(search *s, uint64_t number)
{
    MUST_OR(s->probe_count < SEARCH_PROBES_MAX, return );
    MUST(s->probe_count == 0 || s->probes[s->probe_count - 1] < number);
    s->present[s->probe_count] = false;
    s->probes[s->probe_count++] = number;
}

/* The next powers of two above the first place. */
static void add_wave(search *s)
{
    MUST(s->power <= s->powers);
    MUST(s->first < s->end);
    const uint32_t wave_end = s->power + WAVE_POWERS;
    while (s->power < s->powers && s->power < wave_end &&
           (uint64_t)1 << s->power < s->end - s->first)
        add_probe(s, s->first + ((uint64_t)1 << s->power++));
    if (s->power < wave_end)
        s->power = s->powers; /* no further one is possible */
}

void search_start(search *s, uint64_t first, bool known, uint64_t end, uint32_t powers)
{
    MUST(first < end);
    MUST(powers <= SEARCH_POWERS_MAX);
    s->found = known;
    s->first = s->low = first;
    s->end = s->high = end;
    s->power = 0;
    s->powers = powers;
    s->probe_count = s->answered = 0;
    if (!known)
        add_probe(s, first);
    add_wave(s);
}

/* Splits (low, high) into 32 parts, or asks about all that are left. */
static void narrow(search *s)
{
    MUST(s->found);
    MUST(s->probe_count == 0);
    MUST_OR(s->low < s->high, return );
    s->power = s->powers;
    const uint64_t width = s->high - s->low;
    const uint64_t ways = width < SEARCH_WAYS ? width : SEARCH_WAYS;
    for (uint64_t i = 1; i < ways; i++)
        add_probe(s, s->low + width / ways * i + width % ways * i / ways);
    MUST(s->probe_count == 0 || s->probes[s->probe_count - 1] < s->high);
}

static void close_round(search *s)
{
    MUST(s->answered == s->probe_count);
    const bool all_present = s->present[s->probe_count - 1];
    for (uint32_t i = 0; i < s->probe_count; i++) {
        if (s->present[i]) {
            s->found = true;
            s->low = s->probes[i];
        }
    }
    for (uint32_t i = s->probe_count; i > 0; i--)
        if (!s->present[i - 1] && (!s->found || s->probes[i - 1] > s->low))
            s->high = s->probes[i - 1];
    /* Nothing at the first place: nothing anywhere. A last power that is present says nothing about
     * what is beyond. */
    s->probe_count = s->answered = 0;
    if (s->found && all_present)
        add_wave(s);
    if (s->found && s->probe_count == 0)
        narrow(s);
}

bool search_answer(search *s, uint64_t number, bool present)
{
    uint32_t i = 0;
    while (i + 1 < s->probe_count && s->probes[i] != number)
        i++;
    MUST_OR(i < s->probe_count, return false);
    MUST_OR(s->probes[i] == number, return false);
    MUST(s->answered < s->probe_count);
    s->present[i] = present;
    if (++s->answered < s->probe_count)
        return false;
    close_round(s);
    return true;
}

bool search_done(const search *s)
{
    return s->probe_count == 0;
}
