// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * producer: batches in, events out. Uploads run as jobs of the executor, commits in one thread of
 * its own.
 *
 * Locks: `put_lock` (one put at a time) before `lock`; both before the executor's. User code never
 * runs on our threads.
 */
#ifndef CLIENT_PRODUCER_H
#define CLIENT_PRODUCER_H

#include "base/hist.h"
#include "client/space.h"
#include "protocol/cadence.h"
#include "protocol/commit.h"
#include "protocol/stage.h"
#include "protocol/turn.h"
#include <batchweave/producer.h>

#define MEDIA_TYPE_MAX 255u
#define EVENT_MESSAGE_MAX 512u

typedef struct producer_options {
    cadence cadence;
    bool cadence_by_store; /* instead: what is best where round trips are as long as the store's */
    item_kind kind;
    char media_type[MEDIA_TYPE_MAX + 1];
    bool reopen;
    uint32_t zstd_level; /* 0: items are stored as they are */
    int64_t commit_timeout_ns;
    uint64_t staged_bytes_max;
    uint32_t staged_batches_max;
    uint32_t events_max;    /* queued; a put waits while so many were not taken. 0: no RELEASED and
                               COMMITTED are queued */
    const atomic_int *stop; /* ends the open once it is not zero; NULL: nothing does */
} producer_options;

/* ---- batch.c: a batch as the caller fills it, and its layout ---- */

typedef struct batch_item {
    struct iovec one;   /* the piece, when there is one */
    struct iovec *more; /* the pieces, when there are several: owned */
    uint32_t pieces;
    uint32_t bytes;
    uint8_t *packed; /* compressed: what is stored instead; owned */
    uint32_t packed_bytes;
    enum { ITEM_UNSET, ITEM_SET, ITEM_PAD } state;
} batch_item;

typedef struct batch_sample {
    uint32_t slice;
    uint32_t bytes;
    size_t at; /* in `ids` */
} batch_sample;

/** One part's upload. */
typedef struct part_job {
    job job;
    bw_batch *batch;
    uint32_t part, first_slice, end_slice;
    bool finished; /* under the producer's lock */
} part_job;

struct bw_batch {
    bw_producer *producer;
    uint32_t slices, items;
    batch_item *table; /* [slice × items + item] */
    buf ids;
    batch_sample *samples;
    size_t sample_count, sample_capacity;
    uint64_t tokens, tag;
    uint8_t *metadata;
    size_t metadata_bytes;

    /* from batch_layout on */
    uint64_t nonce;
    place *places;
    tgb_extent extent;
    shape shape;
    buf side, footer;

    /* from put on */
    uint64_t seq, token;
    buf state_object; /* empty: the state is inline or none */
    part_job *parts;
    bw_event *released;
    int64_t put_ns;
    atomic_bool state_put;
    uint32_t parts_left; /* the producer's lock, as the two below */
    bool aborted;
    bw_batch *next, **link; /* uploads in progress */
};

bw_status batch_new(bw_producer *p, uint32_t items, bw_batch **out, bw_error *error);
void batch_free(bw_batch *b);
bw_status batch_set_item(bw_batch *b, uint32_t d, uint32_t c, uint32_t item,
                         const struct iovec *pieces, int count, bw_error *error);
bw_status batch_set_pad(bw_batch *b, uint32_t d, uint32_t c, uint32_t item, bw_error *error);
bw_status batch_add_samples(bw_batch *b, uint32_t d, uint32_t c, const char *const *ids,
                            size_t count, uint64_t tokens, bw_error *error);
bw_status batch_set_meta(bw_batch *b, uint64_t tag, const void *json, size_t bytes,
                         bw_error *error);
/** Checks that all items are set, and finds out where everything will lie. May be repeated. */
bw_status batch_layout(bw_batch *b, uint64_t nonce, bw_error *error);
/** Fills the rows of one slice's frame (lengths, pads, no CRC). */
const struct iovec *batch_item_pieces(const batch_item *item);
void batch_frame_items(const bw_batch *b, uint32_t slice, frame_item *rows);

/* ---- events.c ---- */

struct bw_event {
    bw_event *next;
    bw_event_kind kind;
    uint64_t token, step, version;
    char message[]; /* room for EVENT_MESSAGE_MAX + 1, or just the NUL */
};

typedef struct event_queue {
    bw_event *first, **last;
    uint32_t count;
    bw_event *spare; /* made before they are needed: one for each batch that is staged */
    int fd;          /* readable while the queue is not empty */
} event_queue;

bw_status events_init(event_queue *q, bw_error *error);
void events_destroy(event_queue *q);
/** NULL when out of memory. */
bw_event *event_new(bw_event_kind kind, bool with_message);
void event_free(bw_event *e);
void events_push(event_queue *q, bw_event *e);
bw_event *events_pop(event_queue *q);

/* ---- the producer ---- */

typedef struct producer_stats {
    uint64_t batches_put, batches_committed, bytes_uploaded;
    uint64_t commits, conflicts, unknowns, committed_offset;
    hist upload_ns, commit_ns;
} producer_stats;

/** The committer's own, touched by its thread only (and by open before it starts). */
typedef struct committer {
    drive *drive;
    chain *chain;
    commit *commit;
    cadence cadence;
    turn turn; /* with CADENCE_TURN */
    rng rng;
    int64_t not_before_ns;  /* backoff after a failure or an urgent conflict */
    uint32_t failures;      /* in a row */
    uint64_t limit_version; /* by which it stands at a limit; 0: it does not, or is to try again */
} committer;

struct bw_producer {
    bw_space *space;
    producer_options options;
    char id[NAME_MAX_BYTES + 1];
    token128 token;
    uint32_t epoch;
    uint64_t resume_offset;
    uint8_t *resume_state;
    size_t resume_state_bytes;

    gate changed; /* what callers wait for */
    gate work;    /* what the committer waits for */
    atomic_int interrupted;
    atomic_int stopping;
    committer worker;
    lock put_lock;
    lock lock;
    struct {
        stage *stage;
        event_queue events;
        bw_event *last_event; /* says how the handle ended; NULL once it did */
        bw_batch *uploads;
        uint32_t jobs; /* with the executor */
        bool started;
        pthread_t thread;
        uint64_t urgent_seq; /* to be published at once when it is ready */
        int64_t ready_ns;    /* since when the first staged batch is ready; 0: it is not */
        bool finishing, finished;
        bool attempt_open;   /* a commit is being driven */
        bool overdue;        /* … and outlived its deadline */
        bw_error failure;    /* code BW_OK: none; else the handle is finished */
        bw_error blocked;    /* code BW_OK: none */
        bool commit_blocked; /* … and it is the commit, not an upload */
        producer_stats stats;
    } locked;
};

bw_status producer_open(bw_space *space, const char *id, const producer_options *options,
                        int64_t timeout_ns, bw_producer **out, bw_error *error);
bw_status producer_put(bw_producer *p, bw_batch *b, uint64_t end_offset, view state, uint64_t token,
                       int64_t timeout_ns, bw_error *error);
bw_status producer_event(bw_producer *p, int64_t timeout_ns, bw_event **out, bw_error *error);
bw_status producer_flush(bw_producer *p, bool urgent, int64_t timeout_ns, bw_error *error);
bw_status producer_finish(bw_producer *p, int64_t timeout_ns, bw_error *error);
void producer_interrupt(bw_producer *p, bool on);
bw_status producer_stats_json(bw_producer *p, char *json, size_t cap, size_t *length,
                              bw_error *error);
bw_status producer_close(bw_producer *p, int64_t timeout_ns, bw_error *error);

/* ---- upload.c ---- */

/** Makes `part` a job of its own; batch and part are set. */
void upload_prepare(part_job *part);
/** Hands all parts of a staged batch to the executor. Under `lock`. */
void upload_start_locked(bw_batch *b);
/** Takes back what has not begun; what runs is waited for. Only when `stopping` is set. */
void upload_cancel_all(bw_producer *p);

/* ---- committer.c ---- */

bw_status committer_start_locked(bw_producer *p);
/** What `id` left behind, by the open's own commit: epoch, offset, state. */
bw_status committer_open(bw_producer *p, int64_t deadline_ns, uint64_t *seq, bw_error *error);

/* ---- shared by the three; under `lock` ---- */

/** The handle is finished: sticky, the first one stays. Pushes FENCED or FAILED. */
void producer_fail_locked(bw_producer *p, const bw_error *why);
/** Before the lock is released by who used the stage: fails the handle when an invariant was broken
 * in this thread. */
void producer_mind_locked(bw_producer *p);
/** Something holds it up that may pass; pushes BLOCKED unless it is known. */
void producer_blocked_locked(bw_producer *p, const bw_error *why);
void producer_notice_locked(bw_producer *p, bw_event_kind kind, uint64_t version,
                            const char *message);

#endif
