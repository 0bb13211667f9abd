// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** space: one open namespace: its stores, its genesis, its one follower and its segments. */
#ifndef CLIENT_SPACE_H
#define CLIENT_SPACE_H

#include "client/drive.h"
#include "client/reclaimer.h"
#include "client/runtime.h"
#include "client/segments.h"
#include "protocol/chain.h"
#include "store/decorators.h"
#include <batchweave/space.h>

typedef struct space_options {
    bool writable;
    bool raw; /* the chain is not read: only for looking at objects */
    bool durable;
    bool reclaim;           /* a pass of the sweep after each pin */
    int64_t retry_limit_ns; /* of one operation on the store */
    resume_point from;      /* where its first consumer goes on */
    const atomic_int *stop; /* ends the open, or init, once it is not zero; NULL: nothing does */
} space_options;

typedef struct follower follower;

struct bw_space {
    bw_runtime *runtime;
    char *url;
    space_options options;
    const genesis
        *genesis; /* the chain's, which lives as long as the space; raw: the one below, or NULL */
    genesis raw_genesis;
    uint8_t *raw_object; /* what raw_genesis views into */
    hash128 genesis_hash;
    char uuid[HASH_HEX_BYTES];
    store_meter meter; /* every request of this space, each attempt counted */
    segments segments;
    reclaimer reclaimer;
    atomic_uint users; /* open producers and consumers */
    atomic_bool begun; /* a consumer has */
    bool behind;       /* opened by an older manifest, at `from`: the newest is yet to be found */
    store *workers[EXECUTOR_THREADS_MAX]; /* each touched by one executor thread only */
    store_retry_purse *purse;             /* NULL: retries without a budget */
    lock lock;                            /* guards the fields below */
    store *base;
    chain *chain; /* the follower's once it runs */
    drive *drive;
    follower *follower;
};

/** On a store that is open; both take it over in every case. */
bw_status space_init_on(bw_runtime *runtime, store *s, const space_options *options,
                        const genesis *draft, bw_error *error);
bw_status space_open_on(bw_runtime *runtime, store *s, const char *url,
                        const space_options *options, int64_t timeout_ns, bw_space **out,
                        bw_error *error);
void space_close(bw_space *space);
bw_status space_seal(bw_space *space, bool force, int64_t timeout_ns, bw_error *error);

/** A handle for one more thread, with retries. Release with store_close. Any thread. */
bw_status space_store(bw_space *space, store **out, bw_error *error);
/** The handle of an executor thread, made at its first use; owned by the space. */
bw_status space_worker_store(bw_space *space, uint32_t worker, store **out, bw_error *error);
/** BW_FORKED with its message, or BW_OK. */
bw_status space_check_process(const bw_space *space, bw_error *error);
/** BW_INVALID for a raw space, which has no chain. */
bw_status space_check_chain(const bw_space *space, bw_error *error);

/** A walk of `c` on `d` until `deadline_ns`: the walk's result. */
bw_status chain_walk(chain *c, drive *d, chain_goal goal, int64_t deadline_ns,
                     const drive_stop *stop, bw_error *error);

/** A reader of its own for one call: a proved newest manifest, and a drive to read on with. `stop`
 * (may be NULL) ends what runs on it with BW_INTERRUPTED once it is not zero. */
typedef struct reader {
    drive *drive;
    chain *chain;
} reader;
bw_status reader_open(bw_space *space, int64_t deadline_ns, const atomic_int *stop, reader *out,
                      bw_error *error);
/** Harmless on a zeroed reader. */
void reader_close(reader *r);
/** The descriptor of `step` in the newest manifest: BW_TRIMMED (below its trim step),
 * BW_BEYOND_END, BW_CORRUPT. */
bw_status reader_step(bw_space *space, reader *r, uint64_t step, int64_t deadline_ns,
                      step_entry *out, bw_error *error);

#endif
