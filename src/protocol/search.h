// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * search: the last present number of a row that is present up to somewhere and absent beyond, found
 * by a few rounds of questions asked at once: first and first + 2^k, twelve of these a round while
 * the last is present; then 32-way narrowing.
 * Markers and manifests lie in such rows.
 *
 * A row that changes meanwhile, or a ghost, misleads it; whoever uses the answer proves it.
 */
#ifndef PROTOCOL_SEARCH_H
#define PROTOCOL_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define SEARCH_PROBES_MAX 32u
#define SEARCH_POWERS_MAX 64u

typedef struct search {
    bool found;   /* `low` is present */
    uint64_t low; /* the highest known to be present */
    uint64_t
        high; /* the lowest above it that is known to be absent, or one beyond the last possible */
    uint64_t first, end;
    uint32_t power, powers;             /* of two: the next, and how many */
    uint64_t probes[SEARCH_PROBES_MAX]; /* ascending: ask about all of them */
    uint32_t probe_count, answered;
    bool present[SEARCH_PROBES_MAX];
} search;

/** From `first`, which is present already if `known`, up to `end` (exclusive); `powers` is how many
 * powers of two are asked for before it narrows, at most
 * SEARCH_POWERS_MAX. */
void search_start(search *s, uint64_t first, bool known, uint64_t end, uint32_t powers);
/** One answer. True when it was the last of its round: look at search_done, else ask about the new
 * probes. */
bool search_answer(search *s, uint64_t number, bool present);
bool search_done(const search *s);

#endif
