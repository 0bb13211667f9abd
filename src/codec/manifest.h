// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The manifest (docs/format.md sections 9 – 12): the complete state of a namespace at one version.
 *
 * One struct serves both ways. A decoded manifest owns its bytes and arrays, is immutable and
 * counted, so that threads share it. A draft is the same struct filled by an intent with views into
 * its base; it owns nothing.
 */
#ifndef CODEC_MANIFEST_H
#define CODEC_MANIFEST_H

#include "codec/genesis.h"
#include "codec/segment.h"
#include <stdatomic.h>

/** Steps, versions and seqs: a cursor can say no more, and there is always a next one. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)
#define TOKEN_BYTES 16u
#define STATE_INLINE_MAX 256u
#define STATE_BYTES_MAX (1u << 20)
#define GROUPS_MAX 64u
#define PINS_MAX 64u
#define PIN_ID_MAX 128u
#define LAUNCH_MAX 128u

typedef struct token128 {
    uint8_t bytes[TOKEN_BYTES];
} token128;

static inline bool token_equal(const token128 *a, const token128 *b)
{
    return __builtin_memcmp(a->bytes, b->bytes, TOKEN_BYTES) == 0;
}

/** A resume state that is an object of its own; with the entry's id these name it. */
typedef struct state_ref {
    uint32_t epoch;
    uint64_t seq, nonce;
    uint32_t bytes;
    hash128 hash;
} state_ref;

typedef struct producer_entry {
    view id;
    uint32_t epoch;
    bool finished, forgotten, state_is_object;
    uint16_t slot_ms;
    uint64_t last_publish, last_commit; /* versions */
    token128 token;
    uint64_t seq, offset;
    uint64_t swept_seq, swept_offset;
    view state;          /* state_is_object false */
    state_ref state_ref; /* state_is_object true */
} producer_entry;

typedef struct pin {
    view id;
    uint64_t nonce;
    uint64_t step;
    uint32_t item;
    hash128 cursor_hash;
} pin;

typedef struct group {
    view name;
    view launch;
    uint64_t launch_number;
    uint64_t hold;
    bool pinned; /* the hold is no longer where the launch began: a pin of its moved it up */
    hash128 cursor_hash;
    uint64_t last_version, last_clock_ms;
    uint32_t pin_count;
    pin *pins;
} group;

typedef struct page_ref {
    uint64_t version, nonce;
    hash128 hash;
    uint64_t bytes;
    uint32_t entries;
} page_ref;

typedef struct manifest {
    uint8_t uuid[UUID_BYTES];
    uint64_t version;
    token128 nonce;
    hash128 previous;
    uint64_t clock_ms;
    uint64_t next, trim, swept; /* steps */
    bool sealed, has_page;
    uint64_t committed_bytes, swept_bytes, finished_producers;
    hash128 sum;
    view committer, turn;
    page_ref page;
    uint32_t ref_count;
    segment_ref *refs;
    block tail;
    uint32_t producer_count;
    producer_entry *producers;
    uint32_t group_count;
    group *groups;

    /* of decoded manifests */
    hash128 hash; /* of the stored object */
    uint8_t *object;
    size_t object_bytes;
    pin *pin_storage;
    atomic_int references;
} manifest;

/** First step that the tail describes. */
static inline uint64_t manifest_tail_first(const manifest *m)
{
    return m->next - m->tail.records;
}

/** The stored object of a draft. `tail.bytes` must be an encoded block. BW_MANIFEST_FULL above the
 * hard cap. */
bw_status manifest_encode(const manifest *draft, buf *out);
/** Checks every rule of section 10. Takes over `object` (from mem_alloc) on success only. One
 * reference is the caller's. */
bw_status manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                          bw_error *error);
manifest *manifest_ref(manifest *m);
void manifest_unref(manifest *m); /* NULL is fine */

/** By id, binary search; NULL when absent. */
const producer_entry *manifest_producer(const manifest *m, view id);
const group *manifest_group(const manifest *m, view name);
/** What keeps a step: a group's hold, or one of its pins. */
typedef struct keeper {
    const group *group;
    const pin *pin; /* NULL: the hold */
    uint64_t step;
} keeper;
/** W: the least hold or pin of any group, and whose it is. False: there is no group. */
bool manifest_w_keeper(const manifest *m, keeper *k);
/** F: the least of each group's highest hold or pin, which producers may not outrun by more than
 * max_lag. False: there is no group. */
bool manifest_frontier_keeper(const manifest *m, keeper *k);
/** Without a group W is `trim`, and F is `next` (docs/protocol.md). */
uint64_t manifest_w(const manifest *m);
uint64_t manifest_frontier(const manifest *m);

void producer_entry_encode(const producer_entry *e, buf *out);

typedef struct page {
    uint8_t uuid[UUID_BYTES];
    uint64_t version;
    uint32_t count;
    producer_entry *entries; /* owned by a decoded page: page_free */
} page;
bw_status page_encode(const page *p, buf *out);
/** The object must outlive the page. */
bw_status page_decode(view object, page *p, bw_error *error);
void page_free(page *p);
const producer_entry *page_producer(const page *p, view id);

#endif
