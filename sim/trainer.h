// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A training job: what outlives its processes. Shared by its trainers, the rank that reads for it,
 * and the operator. */
#ifndef SIM_TRAINER_H
#define SIM_TRAINER_H

#include "act.h"
#include "check.h"
#include "codec/cursor.h"

#define SAVED_MAX 24u

/** A checkpoint on the job's disk. */
typedef struct saved {
    char id[NAME_TEXT];
    uint64_t nonce; /* of its pin */
    bool in_doubt;  /* a pin commit that its trainer never saw the end of */
    cursor at;      /* without skips */
} saved;

typedef struct job {
    char name[2];
    saved saved[SAVED_MAX];
    uint32_t count;
    uint64_t launches;       /* that were made */
    uint64_t launch_version; /* of the newest */
    char launch[NAME_TEXT];
    launch_start how;
    cursor start; /* where it began; `given`: with this cursor */
    cursor given;
    bool has_rank, rank_died;
    uint64_t rank_step; /* where the rank stands */
    bool over;          /* its processes are gone for good */
} job;

/** By the nonce of its pin; NULL: not on the disk. */
saved *job_find(job *j, const saved *wanted);
void job_drop(job *j, const saved *wanted);
/** The oldest makes room. */
void job_add(job *j, const saved *new);

#endif
