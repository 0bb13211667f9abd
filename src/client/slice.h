// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * slice: the verified bytes of one slice in memory, and the items that are views into it.
 *
 * Counted: the slice and each item handed out hold it, and it outlives consumer, space and runtime.
 * Its bytes are the mapped file or a buffer of its own, and one for items that were stored packed;
 * or a lent buffer: the frame, and behind it what was packed.
 */
#ifndef CLIENT_SLICE_H
#define CLIENT_SLICE_H

#include "client/budget.h"
#include "client/lending.h"
#include "protocol/handout.h"
#include "store/store.h"
#include <batchweave/space.h>
#include <stdatomic.h>

/* A map begins and ends within pages: half of one at either end; a buffer has its head. */
#define SLICE_SLACK_BYTES 4096u

typedef struct slice slice;
typedef struct slice_pool slice_pool;

struct bw_item {
    slice *owner;
    const uint8_t *data;   /* its plain bytes */
    uint32_t index;        /* within the slice */
    uint32_t order, total; /* among the items of the step that are this rank's */
};

struct slice {
    atomic_uint references;
    uint32_t items_max; /* room in the two arrays */
    slice_pool *pool;   /* where it goes when nobody holds it; NULL: it is freed */
    slice *next_kept;
    budget *budget;
    uint64_t reserved; /* bytes to give back */
    store_mapping mapping;
    slice_buffer buffer;
    slice_buffer unpacked; /* of packed items, or none */
    lent_buffer *lent;     /* or NULL; then mapping and buffer are none */
    const uint8_t *data;   /* the frame; NULL when all of it was unpacked */
    uint64_t step, nonce, tag, tokens;
    uint32_t d, c;
    uint32_t items;
    item_kind kind;
    bw_item *handles;   /* one an item */
    frame_item *frames; /* one an item */
};

typedef struct slice_request {
    const genesis *genesis;
    const handout *handout; /* only what slice_place needs */
    fetch_plan plan;        /* its views live as long as the request */
    slice_pool *pool;       /* to take the slice from; may be NULL */
    budget *budget;
    uint64_t reserved; /* taken already; corrected when footer and frame tell the lengths */
    lent_buffer *lent; /* to read into, or NULL; then only what finds no room there is reserved */
    bool verify;       /* false: the head is checked, items and padding are not (benchmarks) */
    bool map;          /* by mapping where the store can */
} slice_request;

/** The one request that reads a slice. */
typedef struct slice_read {
    store_op op;
    slice_buffer buffer; /* where to; none when it is mapped */
    bool made;           /* the buffer is ours; else it is lent */
    store_mapping mapping;
    const uint8_t *data;
} slice_read;

/** What to reserve for it: exact, or the mean of the step's slices while a footer has to tell. */
uint64_t slice_estimate(const genesis *g, const fetch_plan *plan);
/**
 * Reads and checks it, in the caller's thread: one request, two when the footer must tell the
 * place. On BW_OK the slice has taken over the reservation and the lent buffer, or given it back
 * when nothing lies there. BW_NOT_FOUND and BW_CORRUPT (key, step
 * and slice in the error) are no verdict yet; else what the store says.
 */
bw_status slice_fetch(slice_request *r, store *s, slice **out, bw_error *error);
/** The same in two halves, for many at once: on BW_OK `read->op` is to be submitted, and
 * slice_finish to be called when it is over. With nothing in flight on `s` when the footer must
 * tell the place.
 */
bw_status slice_prepare(slice_request *r, store *s, slice_read *read, bw_error *error);
bw_status slice_finish(slice_request *r, slice_read *read, slice **out, bw_error *error);
void slice_unref(slice *s);
/** Item `index`, holding the slice; release with bw_item_release. */
bw_item *slice_item(slice *s, uint32_t index);
/** The lent buffer that its bytes lie in, or NULL. */
const lent_buffer *item_lent(const bw_item *item);
void item_release(bw_item *item);
/** "raw", "samples", "safetensors". */
const char *kind_name(item_kind kind);

#endif
