// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A crew of ranks in lockstep: each reads its slice of a step, and no rank begins the next step
 * before all have this one, as a trainer's all-reduce would have it. One thread a rank; the last to
 * arrive does what is done once a step.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "delivery.h"
#include "patience.h"

#include <pthread.h>

typedef struct crew crew;

typedef struct rank {
    crew *crew;
    uint32_t index;
    bw_consumer *consumer;
    bw_error *error;
    delivery delivery;
    bool primary;     /* no lower rank shares its position: it is the one that writes */
    bw_status status; /* of its last step: BW_OK, BW_END, or a failure */
    uint64_t step;    /* the last one it has whole */
    uint64_t next_step;
    const char *line; /* its digest of that step */
    pthread_t thread;
} rank;

struct crew {
    rank *ranks;
    uint32_t count;
    int64_t timeout_ns;
    /** After each whole step, with all other ranks waiting. BW_END ends the run; a failure as well.
     * `last` is the arriver. */
    bw_status (*on_step)(void *context, rank *last);
    void *context;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    uint32_t arrived;
    uint64_t round;
    bool stop;
    bw_status ended; /* why: BW_END, what on_step said, or the first failure */
    rank *failed;    /* whose failure, or NULL */
    patience waiting;
};

/** Runs until the end. BW_END when the namespace ended or on_step said so, else the first failure;
 * `crew->failed` has its error. */
bw_status crew_run(crew *c);

#endif
