// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The deterministic simulator (docs/design/simulator.md): the real protocol machines, driven on a
 * virtual clock against a virtual store, with every fault drawn from the seed.
 *
 * One simulation is one struct, one thread, and the same for the same seed whatever the compiler.
 * A simulation that breaks a rule notes its first violation and stops.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/clock.h"
#include "base/rng.h"
#include "codec/genesis.h"
#include "codec/key.h"
#include "faults.h"
#include "marks.h"

#define PROCESSES_MAX 24u
#define GROUPS_HERE_MAX 2u
#define VIOLATION_BYTES 512u

typedef struct process process;
typedef struct flight flight;
typedef struct vstore vstore;
typedef struct history history;
typedef struct tape tape;

typedef enum event_kind {
    EVENT_APPLY, /* a request reaches the store */
    EVENT_REPLY, /* an answer reaches its process */
    EVENT_WAKE,  /* a timer of a process */
    EVENT_BIRTH, /* a dead process starts again */
} event_kind;

typedef struct event {
    int64_t at_ns;
    uint64_t order; /* ties are broken by the order of scheduling */
    event_kind kind;
    flight *flight;
    process *process;
} event;

/** What a seed chooses. */
typedef struct sim_plan {
    uint32_t dp, cp, items, block_size, tail_cap, expected;
    uint32_t ids, producers, ranks, sweepers, openers;
    uint32_t versions; /* the safety phase ends here … */
    int64_t safety_ns; /* … or here */
    int64_t latency_ns, patience_ns, gap_ns;
    uint32_t conflict_retries, stage_max, prefetch;
    bool rival_founder, seals_early;
    bool storm;      /* of ghosts: creates come late and blocks are retired at once */
    bool polls_only; /* ranks never ask for a proved newest */
    uint32_t rank_slices[2];
    uint32_t skip_count; /* ranges that the job leaves out, from its first cursor on */
    uint64_t skips[2][2];
    bool tagged; /* batches have tags, and the job reads only some */
    bool turns;  /* producers take turns: they look ahead, and trust what they found … */
    bool hasty;  /* … and now and then when it is no turn of theirs */
    uint32_t groups;
    uint32_t max_lag, max_bytes; /* 0: no limit */
    bool group_rivals, removes, forgets;
    bool leavers; /* producers finish early and often, and come back */
    uint32_t page_min;
    bool feud;         /* rivals take over from each other all the time */
    bool month;        /* one namespace that lives for days (month.h) */
    uint32_t pace;     /* people are so many times slower than the network */
    uint32_t stride;   /* steps between checkpoints, and of a sweep, are so many times more */
    uint32_t patience; /* what people do rarely is so many times rarer */
} sim_plan;

typedef enum sim_phase { PHASE_SAFETY, PHASE_LIVENESS, PHASE_OVER } sim_phase;

typedef struct sim {
    uint64_t seed;
    uint64_t dice; /* what every draw but the plan's depends on; the seed unless asked otherwise */
    rng random;    /* of the plan and of lives; never of faults */
    int64_t now_ns;
    sim_phase phase;
    sim_plan plan;
    genesis genesis;

    event *heap;
    size_t events, event_capacity;
    uint64_t order;
    flight *spare; /* flights to be used again */
    flight *flying;

    faults faults;
    marks marks;
    vstore *store;
    history *history;
    uint32_t process_count;
    process *processes[PROCESSES_MAX];
    struct job *jobs[GROUPS_HERE_MAX];
    struct month *month; /* NULL: a seed */
    tape *tape;          /* NULL: none */
    bool *taken;         /* of its beats, when it is played */

    uint64_t requests, handled;
    uint64_t trace; /* hash of everything that happened */
    bool story;     /* tell it on stdout */
    bool only_faults;
    bool violated;
    char invariant[16];
    char violation[VIOLATION_BYTES];
} sim;

/** What one simulation was like. */
typedef struct sim_result {
    uint64_t seed, trace;
    bool violated;
    bool calm; /* when the faults were over, or at the end */
    char invariant[16];
    char violation[VIOLATION_BYTES];
    uint64_t versions, steps, commits, faults, requests, slices, blocks_retired, rollbacks, sweeps;
    int64_t virtual_ns;
    uint64_t fault_hits[FAULT_CLASSES];
    uint64_t marks[MARK_COUNT];
} sim_result;

typedef struct sim_options {
    bool story;
    /** Shrinking: only these faults may happen (sorted); NULL: all that the seed draws. */
    const uint64_t *kept;
    size_t kept_count;
    /** Where the faults that happened are noted, up to `fired_max`; NULL: nowhere. */
    uint64_t *fired;
    size_t fired_max, *fired_count;
    uint32_t versions;   /* 0: the plan's */
    uint64_t left_out;   /* classes of faults, a bit each, that may not happen */
    uint64_t louder;     /* classes of faults, a bit each, that are more frequent */
    uint64_t dice;       /* the same plan with other draws; 0: the seed's own */
    uint32_t absent;     /* processes, a bit each, that never start */
    uint32_t thin;       /* faults are 2^thin times rarer */
    bool only_faults;    /* ends when the faults do: nothing is asked of what follows */
    struct month *month; /* not a seed: days of it */
    tape *tape;          /* recorded, or played */
} sim_options;

void simulate(uint64_t seed, const sim_options *options, sim_result *result);

/* ---- for the parts of the simulator ---- */

/** The pace of people. */
int64_t sim_pace(const sim *s, int64_t for_ns);
void sim_schedule(sim *s, int64_t at_ns, event_kind kind, flight *f, process *p);
/** The first violation is kept; the simulation ends. */
void sim_violate(sim *s, const char *invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Ends the simulator itself: a defect of the simulator or no memory. */
void sim_defect(const char *what) __attribute__((noreturn));
void *sim_alloc(size_t bytes); /* zeroed; never NULL */

/** A number that depends on these alone: the same whatever else happens. */
uint64_t sim_draw(const sim *s, uint32_t salt, uint64_t where);
/** Uniform enough in [0, bound). */
uint64_t sim_draw_below(const sim *s, uint32_t salt, uint64_t where, uint64_t bound);

#endif
