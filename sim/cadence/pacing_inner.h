// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The inside of a pacing. Private to pacing*.c. */
#ifndef SIM_CADENCE_PACING_INNER_H
#define SIM_CADENCE_PACING_INNER_H

#include "pacing.h"
#include "protocol/cadence.h"
#include "protocol/commit.h"
#include "protocol/turn.h"

typedef struct pacing pacing;

/* ---- the store: what its names hold ---- */

/** Versions that are kept: whoever asks for an older one is a defect of the plan. */
#define VERSIONS_KEPT 2048u

typedef struct stored {
    uint8_t *bytes;
    size_t size;
    manifest *made; /* NULL, or owns the bytes */
} stored;

typedef struct pacing_store {
    stored genesis, hint;
    stored versions[VERSIONS_KEPT];
    uint64_t newest;
} pacing_store;

void pacing_store_free(pacing_store *s);
/** What a write says; it takes effect now. */
store_outcome pacing_store_write(pacing_store *s, const machine_request *request);
/** What a read finds now; of a GET its bytes, which are the caller's to free. */
store_outcome pacing_store_look(const pacing_store *s, const machine_request *request,
                                stored *found);
/** Genesis and version 1. */
bw_status pacing_store_begin(pacing_store *s, genesis *g, bw_error *error);
/** What its maker decoded of it; NULL: it is not kept. */
manifest *pacing_store_made(const pacing_store *s, uint64_t version);
/** How many steps the newest version has. */
bw_status pacing_store_steps(const pacing_store *s, const genesis *g, uint64_t *steps,
                             bw_error *error);

/* ---- what is done once for all ---- */

void pacing_share_begin(const pacing_store *s);
void pacing_share_end(void);
/** Gives away what was decoded of these very bytes; NULL: it is not here. */
manifest *pacing_share_made(const uint8_t *object);
/** For a reader of `version`, in the place of its bytes; false: no memory. */
bool pacing_share_ticket(uint64_t version, uint8_t **bytes, size_t *size);

/* ---- processes ---- */

typedef enum pacing_role { ROLE_PRODUCER, ROLE_GUEST } pacing_role;

typedef struct pacing_process {
    pacing *of;
    uint32_t index, life;
    pacing_role role;
    bool alive, opened;
    char name[16];
    rng random;
    chain *chain;
    commit *commit;
    intent intent;
    token128 token;
    bool committing, told;
    int64_t began_ns, wake_ns, frozen_until_ns;

    /* a producer */
    cadence cadence;
    turn turn;
    turn_advice look; /* that is under way, sent at … */
    bool looking;
    int64_t looked_ns;
    uint32_t epoch;
    uint64_t seq;
    int64_t batch_ns, next_ns; /* the batch in the making ends then */
    int64_t *ready;            /* when the staged ones ended, oldest first */
    size_t ready_count, ready_capacity;
    descriptor *descriptors;
    size_t descriptor_capacity;

    /* a guest */
    int64_t every_ns, due_ns;
    uint64_t pins;
    pin pin;
    pin_key released;
    char pin_id[24], released_id[24];
} pacing_process;

typedef enum event_kind {
    EVENT_APPLY,
    EVENT_REPLY,
    EVENT_WAKE,
    EVENT_KILL,
    EVENT_BACK,
    EVENT_FREEZE,
    EVENT_MASS
} event_kind;

typedef struct flight {
    struct flight *next; /* of the spare ones */
    machine_request request;
    int64_t sent_ns;
    store_outcome outcome;
    stored found;
} flight;

typedef struct event {
    int64_t at_ns;
    uint64_t order; /* of two at one moment the first made comes first */
    event_kind kind;
    uint32_t process, life;
    flight *flight;
} event;

struct pacing {
    const pacing_plan *plan;
    pacing_report *report;
    pacing_store store;
    genesis genesis;
    rng random;
    int64_t now_ns;
    event *events; /* a heap */
    size_t event_count, event_capacity;
    uint64_t order;
    flight *spare;
    pacing_process *processes;
    uint32_t process_count;
    uint32_t run_of;     /* whose steps were the last ones */
    uint64_t run_length; /* how many of them */
    uint64_t shown;      /* batches that creates have shown, warm-up included */
    bw_status status;    /* the first defect ends it */
    bw_error error;
};

void pacing_defect(pacing *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool pacing_counts(const pacing *p);
void pacing_event(pacing *p, int64_t at_ns, event_kind kind, pacing_process *process, flight *f);

void process_begin(pacing *p, uint32_t index, pacing_role role);
void process_end(pacing_process *x);
/** Asks, settles, decides: whatever can be done now. */
void process_advance(pacing_process *x);
void process_reply(pacing_process *x, flight *f);
void process_tick(pacing_process *x);
/** A request of a process was taken. */
void pacing_send(pacing *p, pacing_process *x, const machine_request *request);
/** A create of its was applied now. */
void process_created(pacing_process *x, const machine_request *request, store_outcome outcome);
void process_kill(pacing_process *x);
void process_back(pacing_process *x);

#endif
