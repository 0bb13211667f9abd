// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A process: one actor with its machines, alive or dead, running or frozen. It can be killed at
 * every boundary: before and after each request leaves, before and after each answer arrives.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "protocol/chain.h"
#include "protocol/machine.h"
#include "sim.h"
#include "vstore.h"

typedef enum role_kind { ROLE_OTHER, ROLE_PRODUCER, ROLE_READER, ROLE_SWEEPER } role_kind;

typedef struct role {
    const char *name;
    role_kind kind;
    /** A new life begins; sets `state`. */
    void (*born)(process *p);
    /** The life is over: frees `state`. `killed` false: it ended by itself. */
    void (*dead)(process *p, bool killed);
    /** Something happened: go on. Called until it changes nothing (`moved`). */
    void (*advance)(process *p);
    /** The answer to a request of the actor's own. */
    void (*answered)(process *p, machine_reply *reply);
    /** Optional: frees what `keeps` holds, at the end. */
    void (*forget)(process *p);
    /** How long it stays dead, when killed. */
    int64_t rest_ns;
} role;

/** Reads of one object in a row that were damaged on their way to one process. */
typedef struct damaged {
    const object *object;
    uint32_t in_row;
} damaged;

/* Objects that are damaged and then never read whole: far fewer at a time. */
#define DAMAGED_KEPT 64u

struct process {
    sim *sim;
    uint32_t index;
    const role *role;
    char name[24];
    void *state; /* of this life */
    void *keeps; /* outlives it */
    uint32_t life;
    bool alive, doomed, moved, left;
    int64_t frozen_until_ns;
    int64_t timer_ns; /* when the actor wants to be called again */
    int64_t wake_ns;  /* the earliest wake that is scheduled */
    uint32_t requests;
    uint32_t boundaries;
    int64_t boundary_at; /* the last of them, on a tape */
    rng random;          /* of this life */
    machine machine;
    chain *chain; /* of the machine; for the counters */
    chain_counts counted;
    uint64_t newest_at_start;  /* the true newest when the machine began */
    uint64_t retired_at_start; /* blocks with a marker then */
    int64_t denied_until_ns, throttled_until_ns, skew_ms;
    damaged damaged[DAMAGED_KEPT]; /* objects whose last read was damaged: a ring */
    uint32_t damaged_next;
    const void *bad_object;   /* damaged whenever this process reads it … */
    int64_t bad_until_ns;     /* … until then */
    int64_t rest_ns;          /* how long it stays dead this time; 0: the role's */
    key_kind last_effect;     /* kind of the last name that it asked to write or delete */
    int64_t blocked_until_ns; /* a producer at a limit */
    uint32_t searched;        /* heads asked for */
    char launch[24];          /* of a trainer */
    uint32_t opens;           /* 1 + the id that it is opening; 0: none */
    clock_source clock;
};

process *process_add(sim *s, const role *r, const char *name);
void process_birth_at(process *p, int64_t at_ns);
void process_birth(process *p);
/** Ends the life. The actor does not use its state after the call. */
void process_end(process *p, bool killed);
/** Marks it dead at the next safe point: called with the actor at work. */
void process_doom(process *p);
/** Lets the machine and the actor go on as far as they can. */
void process_pump(process *p);
/** Something may kill it here. */
void process_boundary(process *p);
bool process_is_frozen(const process *p);
void process_freeze(process *p, int64_t until_ns);
/** The machine begins: it is driven until it no longer runs. */
void process_run(process *p, const machine_type *type, void *self, chain *c);
bool process_busy(const process *p);
/** What the chain met since the last call, as marks. */
void process_count_chain(process *p);
/** A place in the seed: this life's next boundary, as 48 bits. */
uint64_t process_where(const process *p, uint32_t ordinal);
void process_free(process *p);
/** An answer to a read of `o` has been spoilt, or has not. */
void process_note_read(process *p, const object *o, bool spoilt);
/** How many reads of `o` in a row have reached this life damaged, up to the last. */
uint32_t process_damaged(const process *p, const object *o);

/** A line of the story. */
void story(sim *s, const process *p, const char *format, ...) __attribute__((format(printf, 3, 4)));
void trace_add(sim *s, uint64_t a, uint64_t b);

#endif
