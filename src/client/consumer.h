// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * consumer: one rank. A window of steps is fetched ahead by jobs of the executor; the caller's
 * thread takes verified items from its front.
 *
 * Who may do what: the follower, a finished job and `next` each hold the consumer's lock and
 * *pump*: whatever can be begun is begun. Nothing waits under the lock.
 */
#ifndef CLIENT_CONSUMER_H
#define CLIENT_CONSUMER_H

#include "base/hist.h"
#include "client/depth.h"
#include "client/slice.h"
#include "client/space.h"
#include "protocol/handout.h"
#include <batchweave/consumer.h>

#define PREFETCH_MAX 4096u

typedef struct consumer_options {
    bool has_position; /* d and c are given */
    bool has_rank;     /* rank and world are given */
    uint32_t d, c;
    uint32_t rank, world;
    uint32_t dp, cp, tp, pp; /* of the job; dp, cp 0: the namespace's */
    bool has_start;          /* with a group: else where the group stands */
    start_kind start;
    uint64_t start_step;
    const char *group;  /* NULL: none */
    const char *launch; /* "": the job's, of its scheduler */
    cursor_mode mode;
    bool has_tags; /* else the cursor's */
    uint32_t tag_count;
    tag_range tags[TAGS_MAX];
    bool skip_to_tip;
    uint32_t prefetch; /* steps; 0: as latency and consumption ask for */
    bool lend;         /* ahead only into lent buffers */
    bool verify;
    const clock_source *clock; /* to measure with; NULL: the machine's */
    const atomic_int *stop;    /* ends the open once it is not zero; NULL: nothing does */
} consumer_options;

struct bw_cursor {
    cursor cursor;
    buf json;
};

typedef enum fetch_state {
    FETCH_PLANNED, /* waits for its descriptor or for room in the byte budget */
    FETCH_SEGMENT, /* waits for the follower to read `needed` */
    FETCH_PASSED,  /* its tag is not wanted */
    FETCH_READING, /* a job has it */
    FETCH_SUSPECT, /* missing or damaged: waits for a proved newest manifest to judge by */
    FETCH_READY,
    FETCH_FAILED,
    FETCH_REPORTED /* … and the caller was told: the next call looks again */
} fetch_state;

/** One step of the window. */
typedef struct fetch {
    job job; /* of the first of a group */
    struct fetch *next_of_group;
    bw_consumer *consumer;
    fetch_state state;
    uint64_t step;
    uint32_t nth; /* of the slices that the rank reads of it */
    step_entry entry;
    slice_request request;
    slice *slice; /* ready */
    segment_ref needed;
    uint64_t in_tail;        /* version in whose tail it was found; 0: in a segment */
    uint64_t ticket;         /* suspect */
    uint32_t misses;         /* of the slice */
    uint32_t segment_misses; /* of the segment needed now */
    int64_t first_try_ns;
    bw_error error; /* failed: why; reading: the last attempt's */
} fetch;

typedef struct consumer_stats {
    uint64_t items, steps, passed, bytes, reads, refetches, waits;
    uint64_t lent_reads, lent_bytes, lent_missed;
    hist wait_ns, fetch_ns;
} consumer_stats;

struct bw_consumer {
    bw_space *space;
    bw_consumer *next; /* the follower's list */
    position position;
    uint32_t ranks;     /* of its job: so many may ask the store for what is new */
    uint32_t reads;     /* slices of one step */
    uint32_t slots_max; /* slices read ahead at most: whole steps */
    bool adapts;        /* the window follows `depth` */
    bool verify;
    const clock_source *clock; /* measures; deadlines are the machine's */
    char *group, *launch;      /* NULL: none */
    slice_pool *pool;
    lending *lending; /* NULL: slices lie in memory that is ours */
    gate changed;
    atomic_int interrupted;
    atomic_uint_least64_t wanted; /* the follower finds steps below it */
    lock lock;
    struct {
        handout *handout;
        manifest *manifest; /* the newest that was told; proved */
        uint64_t answered;  /* ticket that it answers */
        bw_error failure;   /* of the follower; code BW_OK: none */
        bw_error broken;    /* BW_BUG for good once an invariant was broken */
        /* A window of `window` slots, of which `count` are in use. All there are lie from `first`
         * on: more are made when the window grows, none is freed when it shrinks. */
        fetch **ring;
        uint32_t first, count, window, slots;
        depth depth;
        int64_t popped_ns;  /* when the last step was handed out; 0: none yet */
        int64_t waited_ns;  /* by the caller, since then */
        uint64_t plan_step; /* next step to plan */
        uint64_t
            unpacked_bytes; /* of the slice read last: the next one is likely to take as many */
        uint32_t jobs;      /* slices that jobs have */
        /* Reads that the next job is to do together; submitted before the lock is let go. */
        fetch *group;
        fetch **group_last;
        uint32_t group_count;
        uint64_t group_bytes;
        bool waiting; /* the caller, in next */
        bool short_of_room;
        bool closing;
        consumer_stats stats;
    } locked;
};

bw_status consumer_open(bw_space *space, const consumer_options *options, const cursor *from,
                        int64_t timeout_ns, bw_consumer **out, bw_error *error);
bw_status consumer_next(bw_consumer *c, int64_t timeout_ns, bw_item **item, bw_error *error);
bw_status consumer_lend(bw_consumer *c, void *data, size_t bytes, uint64_t token, bw_error *error);
bw_status consumer_cursor(bw_consumer *c, bw_cursor **out, bw_error *error);
/** Where a job begins that tells its ranks by other means than a group. */
bw_status consumer_start(bw_space *space, const consumer_options *options, const cursor *from,
                         int64_t timeout_ns, bw_cursor **out, bw_error *error);
bw_status cursor_wrap(const cursor *from, bw_cursor **out, bw_error *error);
void cursor_unwrap(bw_cursor *c);
bw_status consumer_wait_reason(bw_consumer *c, char *json, size_t cap, size_t *length,
                               bw_error *error);
bw_status consumer_stats_json(bw_consumer *c, char *json, size_t cap, size_t *length,
                              bw_error *error);
void consumer_interrupt(bw_consumer *c, bool on);
void consumer_close(bw_consumer *c);

typedef struct consumer_seat {
    position position;
    bool alone;     /* the job has no other rank */
    bool commits;   /* it is the rank that speaks for the job */
    uint32_t ranks; /* of the job; as many as it has positions where that is all there is to know */
} consumer_seat;
/** Where this process stands in the mesh: from the options, else the environment of torchrun, Slurm
 * or MPI, else the only position there is. */
bw_status position_resolve(const consumer_options *options, const genesis *g, consumer_seat *out,
                           bw_error *error);
/** Finds out where the rank begins; registers or joins the group's launch. */
bw_status consumer_begin(bw_consumer *c, const consumer_options *options, const consumer_seat *seat,
                         const cursor *from, int64_t deadline_ns, bw_error *error);

/* ---- for the follower ---- */

typedef struct consumer_news {
    manifest *newest;
    uint64_t answered;
    const bw_error *failure;
} consumer_news;
void consumer_offer(bw_consumer *c, const consumer_news *news);
/** A segment that it waits for. */
bool consumer_needs(bw_consumer *c, segment_ref *needed);
void consumer_loaded(bw_consumer *c, const segment_ref *ref, bw_status status,
                     const bw_error *error);

/* ---- prefetch.c; under the consumer's lock ---- */

static inline fetch *consumer_slot(const bw_consumer *c, uint32_t index)
{
    return c->locked.ring[(c->locked.first + index) % c->slots_max];
}
/** What the next item is read from; NULL when its step is not known to be committed. */
fetch *consumer_front(bw_consumer *c);
void prefetch_pump_locked(bw_consumer *c);
/** So many slots, or as many as there is memory for. */
void prefetch_resize_locked(bw_consumer *c, uint32_t window);
/** The front step was handed out. */
void prefetch_pop_locked(bw_consumer *c);
/** Before the lock is released by who used handout or lookup: the handle is finished when an
 * invariant was broken in this thread. */
void consumer_mind_locked(bw_consumer *c);
/** Forgets a failure; the next pump begins anew. */
void prefetch_retry_locked(fetch *f);
/** Drops everything; returns when no job is left. Takes the lock itself. */
void prefetch_close(bw_consumer *c);

#endif
