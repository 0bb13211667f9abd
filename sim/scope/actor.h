// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A producer or a sweeper: drives the real machines as src/client does, and says what it was told.
 * It lives in the arena whole.
 *
 * Whatever answers always the same (genesis, the hint that nobody has written, names that cannot
 * exist in this search) is answered at once; whatever else is asked for becomes an errand, and
 * waits for the search to decide.
 */
#ifndef SCOPE_ACTOR_H
#define SCOPE_ACTOR_H

#include "contents.h"

#define ERRANDS_MAX 24u
#define TOLD_MAX 6u
/** Lives that faults can give a process; beyond them are those that it gives itself. */
#define LIVES 8u

typedef enum errand_kind {
    ERRAND_MANIFEST, /* get; number: the version */
    ERRAND_MARKER,   /* get; number: the block */
    ERRAND_HEAD_MANIFEST,
    ERRAND_HEAD_MARKER,
    ERRAND_CREATE,        /* number: the content */
    ERRAND_CREATE_MARKER, /* number: the block */
    ERRAND_PUT,           /* number: the segment */
    ERRAND_DELETE,        /* number: a bit for each version */
    ERRAND_LIST,
    ERRAND_WRONG /* nothing that anybody may ask for here */
} errand_kind;

typedef struct errand {
    uint32_t id;
    errand_kind kind;
    uint32_t number;
} errand;

typedef enum answer_kind {
    ANSWER_OK,
    ANSWER_ABSENT,
    ANSWER_CREATED,
    ANSWER_EXISTS,
    ANSWER_UNKNOWN,
    ANSWER_RETRY,
    ANSWER_CONTENT, /* value: the content */
    ANSWER_DAMAGED, /* value: the content; one bit is wrong */
    ANSWER_NAMES,   /* value: a bit for each version listed */
    ANSWER_DEADLINE /* to no errand: the deadline of the commit passes */
} answer_kind;

typedef struct answer {
    answer_kind kind;
    uint32_t errand; /* which */
    uint32_t value;
} answer;

/** What the process was told by the machines at one event; the search judges it by the store. */
typedef enum told_kind {
    TOLD_OPENED,  /* a: epoch, b: seq */
    TOLD_ACKED,   /* batches up to seq b, by version a */
    TOLD_REBUILT, /* a new candidate, content a, while the attempt at b is open */
    TOLD_MADE,    /* content a is on the chain */
    TOLD_LOST,    /* content a is not, and never will be */
    TOLD_REFUSED, /* status a; b: 1 when nothing of ours may still land */
    TOLD_FAILED,  /* status a */
    TOLD_SWEPT    /* status a */
} told_kind;

typedef struct told {
    told_kind kind;
    uint32_t a, b;
} told;

typedef enum actor_end { ACTOR_RUNS, ACTOR_DONE, ACTOR_FENCED, ACTOR_FAILED } actor_end;

/** What the search sees of a process. */
typedef struct actor_face {
    bool sweeper;
    uint8_t id;
    uint8_t life;
    actor_end end;
    uint32_t epoch;  /* 0: not open */
    uint32_t acked;  /* seq */
    bool troubled;   /* in this life it was told of a request that failed, or ran out of time */
    bool denied;     /* it was told that what it staged beyond is definitely not published */
    bool committing; /* its deadline may pass */
    uint32_t held;   /* content; 0: none */
    uint32_t errand_count;
    errand errands[ERRANDS_MAX];
} actor_face;

typedef struct actor_plan {
    uint32_t commits[IDS]; /* batches of each producer, a commit each */
    uint32_t passes;       /* of the sweeper */
    uint32_t blocks_max;   /* beyond which no marker is looked for */
} actor_plan;

void actor_setup(const actor_plan *plan);
/** Each makes a process in the arena and takes it as far as it goes without an errand answered. A
 * cold one has seen nothing; another holds version 1, as whoever opened the chain before anything
 * happened. */
void actor_new_producer(uint32_t id, uint32_t life, bool cold);
void actor_new_sweeper(uint32_t life, bool cold);
/** The process in the arena is given an answer. */
void actor_answer(const answer *a);
/** What it was told since the last call. */
uint32_t actor_told(told *out);
void actor_look(actor_face *face);
/** Of the batch of a life: how the checker knows it on the chain. */
uint64_t batch_nonce(uint32_t id, uint32_t life, uint64_t seq);

#endif
