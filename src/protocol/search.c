// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/search.h"

#include "base/invariant.h"

#define SEARCH_WAYS 32u

static void add_probe(search *s, uint64_t number)
{
    MUST_OR(s->probe_count < SEARCH_PROBES_MAX, return );
    MUST(s->probe_count == 0 || s->probes[s->probe_count - 1] < number);
    s->present[s->probe_count] = false;
    s->probes[s->probe_count++] = number;
}

void search_start(search *s, uint64_t first, bool known, uint64_t end, uint32_t powers)
{
    MUST(first < end);
    MUST(powers < SEARCH_PROBES_MAX);
    s->found = known;
    s->low = first;
    s->high = end;
    s->probe_count = s->answered = 0;
    if (!known)
        add_probe(s, first);
    for (uint32_t k = 0; k < powers && (uint64_t)1 << k < end - first; k++)
        add_probe(s, first + ((uint64_t)1 << k));
}

/* Splits (low, high) into 32 parts, or asks about all that are left. */
static void narrow(search *s)
{
    MUST(s->found);
    MUST_OR(s->low < s->high, return );
    s->probe_count = s->answered = 0;
    const uint64_t width = s->high - s->low;
    const uint64_t ways = width < SEARCH_WAYS ? width : SEARCH_WAYS;
    for (uint64_t i = 1; i < ways; i++)
        add_probe(s, s->low + width / ways * i + width % ways * i / ways);
    MUST(s->probe_count == 0 || s->probes[s->probe_count - 1] < s->high);
}

static void close_round(search *s)
{
    MUST(s->answered == s->probe_count);
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
    if (s->found)
        narrow(s);
    else
        s->probe_count = s->answered = 0;
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
