// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A training job: what outlives its processes. Shared by its trainers, the rank that reads for it,
 * and the operator. */
#ifndef SIM_TRAINER_H
#define SIM_TRAINER_H

#include "act.h"
#include "check.h"
#include "protocol/commit.h"
#include "protocol/handout.h"

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
/* ---- the inside of a trainer: act_trainer.c and train.c ---- */

#define POSITIONS_MAX 4u

typedef enum trainer_phase { TRAINER_WALKS, TRAINER_LAUNCHES, TRAINER_TRAINS } trainer_phase;

typedef struct trainer {
    trainer_phase phase;
    job *job;
    bool rival;
    chain *chain;
    commit *commit;
    intent intent;
    bool committing, walking, was_overdue;
    size_t attempts_from;
    char launch[NAME_TEXT];
    launch_start how;
    cursor given; /* or the template of its mesh */
    uint32_t dp;
    cursor_mode mode;
    handout *handouts[POSITIONS_MAX]; /* one for each row of the job's mesh */
    uint32_t every, keep;
    uint64_t start_step;  /* where it began */
    uint64_t pinned_step; /* of the newest pin, or where it began */
    uint32_t pinned_item;
    bool pins_first; /* at once, where its launch began */
    bool in_place;   /* checkpoints are overwritten: one id for all */
    int64_t idle_ns, poll_ns;
    saved live[PINS_MAX]; /* in the order in which they were made */
    uint32_t live_count;
    saved making;
    bool makes;
    bool again; /* … what an earlier launch made */
    pin pin;
    pin_key keys[PINS_MAX];
    saved dropping[PINS_MAX];
    uint32_t drop_count;
    uint32_t pins_left; /* until the job is over */
} trainer;

void trainer_walk(process *p, trainer *t, chain_goal goal);
void trainer_commit(process *p, trainer *t);
/** The launch is made: goes on. */
void train(process *p, trainer *t);
void train_pinned(process *p, trainer *t);
/** A pin was refused as trimmed. */
void train_trimmed(process *p, trainer *t);

#endif
