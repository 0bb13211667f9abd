// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A namespace on the file store, driven in the caller's thread by the commit machine and the driver
 * that ship. Its batches are descriptors only: what is measured is the chain.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include "bench.h"
#include "delay.h"

#include "client/drive.h"
#include "protocol/commit.h"
#include "store/decorators.h"

#define RIG_PRODUCERS_MAX 32u
#define RIG_DP 8u /* unless it is shaped otherwise */
/* Most descriptors of one rig_publish. A commit takes 1 MiB of them, each counted with a shape of
 * its own. */
#define RIG_BATCH_MAX 10000u
/* Descriptors that lift an empty tail just above half its cap of 8 KiB (82 bytes of tables and 40
 * each): the next commit folds them. Published so many at a time, a history has the segments that
 * commits of one batch each would have left. */
#define RIG_FOLD_BATCHES 101u

typedef struct rig_producer {
    char id[8];
    token128 token;
    uint32_t epoch;
    uint64_t seq, offset;
} rig_producer;

/** What its batches look like. */
typedef struct rig_shape {
    uint32_t dp;
    uint32_t slice_bytes;
    uint32_t state_bytes;  /* of the resume state that producer 0 commits with each batch */
    delay_medians latency; /* of a store behind a network; 0: none. Alike in all rigs: one seed. */
} rig_shape;
#define RIG_STATE_MAX 256u /* what a manifest holds inline */

typedef struct rig {
    store_meter meter;
    drive *drive;
    chain *chain;
    commit *commit;
    rng random;
    char path[BENCH_PATH_MAX];
    rig_shape shape;
    uint8_t state[RIG_STATE_MAX];
    rig_producer producers[RIG_PRODUCERS_MAX];
    uint32_t producer_count;
    descriptor *descriptors;
    view *states;
} rig;

/** Makes the namespace parent/name, opens it and `producers` ids. Close it in any case. */
bw_status rig_open(rig *r, const char *parent, const char *name, bool durable, uint32_t producers,
                   bw_error *error);
bw_status rig_open_shaped(rig *r, const char *parent, const char *name, bool durable,
                          uint32_t producers, const rig_shape *like, bw_error *error);
/** Its files stay until the end of the program. */
void rig_close(rig *r);
/** One commit that publishes the next `count` batches of a producer. */
bw_status rig_publish(rig *r, uint32_t producer, uint32_t count, bw_error *error);
/** Publishes `steps` batches, `batch` ≤ RIG_BATCH_MAX a commit. */
bw_status rig_preload(rig *r, uint64_t steps, uint32_t batch, bw_error *error);

/** What its commits wrote so far. */
typedef struct rig_written {
    uint64_t manifests, manifest_bytes;
    uint64_t segments, segment_bytes;
} rig_written;
rig_written rig_wrote(const rig *r);

#endif
