// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The inside of a producer. Private to act_producer.c and produce.c. */
#ifndef SIM_PRODUCER_H
#define SIM_PRODUCER_H

#include "act.h"
#include "check.h"
#include "protocol/cadence.h"
#include "protocol/commit.h"
#include "protocol/create.h"
#include "protocol/stage.h"
#include "protocol/turn.h"

#define UPLOADS_MAX 8u

/** A batch on its way: parts, then perhaps the resume state. */
typedef struct upload {
    tgb *tgb;
    uint64_t seq;
    uint32_t left;                 /* requests not answered OK */
    bool again[TGB_PARTS_MAX + 1]; /* to be sent again */
} upload;

typedef enum producer_phase {
    PRODUCER_WALKS,  /* opens the chain */
    PRODUCER_FOUNDS, /* finishes a genesis without version 1 */
    PRODUCER_OPENS,  /* commits its open */
    PRODUCER_READS,  /* its resume state, from an object */
    PRODUCER_RUNS
} producer_phase;

typedef struct producer {
    producer_phase phase;
    uint32_t id;
    char name[2];
    chain *chain;
    commit *commit;
    create *create;
    token128 token;
    uint32_t epoch;
    intent intent;
    stage *stage;
    cadence cadence;
    state_ref state_ref; /* of the state being read */
    uint64_t seq, offset;
    upload uploads[UPLOADS_MAX];
    uint32_t upload_count;
    commit_counts counted;
    bool committing, told, was_overdue, waits_overdue;
    size_t attempts_from;
    uint32_t quota; /* batches yet to be made in this life */
    bool finishes, calm;
    int64_t staged_ns, not_before_ns;
    uint32_t failures;
    turn turn; /* when producers take turns */
    turn_advice advice;
    bool looking, look_failed, trusted_newest, overslept;
    int64_t looked_ns;
    uint64_t looked_from; /* version held before the look */
} producer;

/* ---- produce.c: batches, uploads and publishes ---- */
void produce_begin(process *p, uint64_t seq, uint64_t offset);
void produce_advance(process *p);
void produce_answered(process *p, machine_reply *reply);
/** What was staged has this fate now that the life is over. */
void produce_forget(process *p, bool killed);
/** The text of the resume state behind an offset. */
uint32_t produce_state_text(uint64_t offset, bool long_one, char *text, size_t size);
/** How long whoever was fenced stays away. */
int64_t produce_fenced_rest(const process *p);
/** The life is over: what is staged is definitely lost, but for what is doubtful. */
void produce_fail(process *p);
tgb *produce_tgb(process *p, uint64_t seq);

/* ---- produce_turn.c: when producers take turns ---- */
/** `put_ns`: what the create of the open took. */
void turns_open(process *p, int64_t put_ns);
/** When something may be done; what, is in `advice`. */
int64_t turns_due(process *p);
/** A look, or a walk to the newest, as advised. */
void turns_look(process *p);
/** It is over. */
void turns_looked(process *p);
/** A commit begins, or has ended. */
void turns_commit(process *p);
void turns_committed(process *p, const commit_report *r);
void turns_forget(process *p, bool killed);

#endif
