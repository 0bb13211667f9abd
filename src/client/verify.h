// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * verify: proves a namespace from its bytes alone.
 *
 * The newest proved manifest says what there must be. Its steps are walked first, which gives the
 * sum before each of them; then the chain of older manifests is held against those sums; then
 * everything that is stored is listed and what nothing refers to is told apart. Damage is a finding
 * and the walk goes on; a store that fails ends it.
 *
 * On a live namespace a sweep may pass: what is missing is judged by a manifest proved newest after
 * the miss.
 */
#ifndef CLIENT_VERIFY_H
#define CLIENT_VERIFY_H

#include "client/listing.h"
#include "client/reports.h"

/** Names of objects that something refers to; a set of 64-bit hashes, since only "is anything else
 * there" is asked. */
typedef struct key_set {
    uint64_t *hashes;
    size_t count, capacity;
    bool sorted;
} key_set;

/** One producer's entry, and how far its batches were seen. */
typedef struct tiling {
    const producer_entry *entry;
    uint64_t seq, offset;
    uint32_t epoch;
    bool gap; /* a sweep took steps behind these, and we have not seen how many were its */
} tiling;

/** The sum before a step, where no damage hides it. */
typedef struct known_sum {
    uint64_t step;
    hash128 sum;
} known_sum;

typedef struct verify {
    report *r;
    reader reader;
    store *s; /* the reader's */
    const genesis *g;
    manifest *m;              /* the newest when it began */
    uint64_t blocked_version; /* `m` is the last one before what blocks the chain; 0: it goes on */
    page page;
    uint8_t *page_object;
    key_set referenced;

    /* steps */
    uint64_t first;  /* first step that is described; below it nothing is proved */
    known_sum *sums; /* ascending; as many as there are descriptors, whatever a manifest claims */
    size_t sum_count, sum_capacity;
    uint64_t at;     /* next step of the walk */
    hash128 sum;     /* before it */
    bool known;      /* … is known */
    tiling *tilings; /* sorted by id, as the map and then the page */
    uint32_t tiling_count;
    uint64_t retained_bytes;
    bool passed; /* a sweep took a segment before we came to it */

    /* counts for the summary */
    uint64_t findings, first_version, blocks_retired, segments, parts, items, pads, states;
    uint64_t apart[KEY_FOREIGN + 1];
    uint64_t ghosts, newer;
} verify;

#define NO_STEP UINT64_MAX

/** Hands out a finding: BW_OK, or BW_INTERRUPTED. Codes are in docs/reports.md. */
bw_status verify_found(verify *v, const char *code, const char *key, uint64_t step, bw_error *error,
                       const char *format, ...) __attribute__((format(printf, 6, 7)));
/** Whether it tells of the bytes that lie there, and not of us or of the way to them. */
bool verify_is_damage(bw_status status);
/** A failed read or check: damage becomes a finding `code`, everything else ends the walk. */
bw_status verify_judge(verify *v, bw_status status, const char *code, const char *key,
                       uint64_t step, bw_error *error);
/** True when a manifest proved newest now no longer needs `step` (below its trim) or describes it
 * (below its swept). */
bw_status verify_is_trimmed(verify *v, uint64_t step, bool swept, bool *trimmed, bw_error *error);

/** verify_blocked.c: the chain cannot be read to its end, `blocked` says why: a finding, and `m` is
 * the last manifest before. That error, when it is another one, or none is left. */
bw_status verify_before_block(verify *v, const bw_error *blocked, bw_error *error);

bw_status key_set_add(key_set *set, const char *key);
bool key_set_has(key_set *set, const char *key);
void key_set_free(key_set *set);

/** verify_steps.c: references, segments, sums, and each step by verify_batch. */
bw_status verify_steps(verify *v, bw_error *error);
/** verify_producers.c: tilings are set up, fed step by step, and held against the map and the page.
 */
bw_status verify_producers_begin(verify *v, bw_error *error);
bw_status verify_producers_step(verify *v, uint64_t step, const descriptor *d, bw_error *error);
/** Steps that are not looked at any more, of whomever. */
void verify_producers_gap(verify *v);
bw_status verify_producers_end(verify *v, bw_error *error);
/** verify_data.c: the parts of one step. */
bw_status verify_batch(verify *v, uint64_t step, const descriptor *d, bw_error *error);
/** verify_chain.c: markers, and the manifests above the highest. */
bw_status verify_chain(verify *v, bw_error *error);
/** verify_rest.c: what is stored beside. */
bw_status verify_rest(verify *v, bw_error *error);

#endif
