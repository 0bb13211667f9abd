// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A state of the search: what the store holds, what may still be applied late, and the situation of
 * each process; and the choices that lead on from it. Flat and without pointers: equal states have
 * equal bytes.
 */
#ifndef SCOPE_WORLD_H
#define SCOPE_WORLD_H

#include "locals.h"

#define PROCESSES 4u /* two producers, a sweeper, and another one or a producer that takes over */
#define GHOSTS_MAX 4u
#define LATE_MAX 4u
#define LOST_MAX 3u
#define SEGMENTS_MAX 6u
#define CHOICES_MAX 160u

typedef struct world {
    uint32_t head;                   /* content of the newest version of the chain */
    uint32_t gone;                   /* versions deleted, a bit each */
    uint32_t markers;                /* blocks */
    uint32_t ghosts[GHOSTS_MAX];     /* contents under retired names; ascending, as all below */
    uint32_t late[LATE_MAX];         /* writes whose sender no longer waits for them */
    uint32_t lost[LOST_MAX];         /* contents reported as lost whose version is open still */
    uint32_t segments[SEGMENTS_MAX]; /* that are durable */
    uint32_t local[PROCESSES];       /* 0: there is none */
    uint8_t deleted[PROCESSES];      /* of its delete: names done already, a bit each */
    uint8_t faults;                  /* left */
    uint8_t unused[3];
} world;

typedef enum how {
    HOW_TRULY,
    HOW_REPLY_LOST, /* applied; the sender does not know */
    HOW_DELAYED,    /* may be applied later; the sender does not know */
    HOW_TWICE,      /* applied, and may be applied once more later */
    HOW_REFUSED,    /* throttled: not applied, and the sender knows */
    HOW_DAMAGED,    /* a read with a wrong bit */
    HOW_LIST_EMPTY, /* a listing that shows nothing */
    HOW_LIST_OLD,   /* … or what is deleted, too */
    HOW_IN_PART,    /* one name of a delete; `which`: the name */
    HOW_LATE,       /* a late write is applied; `which` */
    HOW_KILLED,     /* the process dies, and starts again as another incarnation */
    HOW_TAKEN_OVER, /* another incarnation starts while it goes on */
    HOW_DEADLINE    /* of its commit */
} how;

typedef struct choice {
    uint8_t process, errand, how, which;
} choice;

/** The classes of faults that a search may use, a bit for each `how`. */
#define FAULTS_ALL                                                                                 \
    (1u << HOW_REPLY_LOST | 1u << HOW_DELAYED | 1u << HOW_TWICE | 1u << HOW_REFUSED |              \
     1u << HOW_DAMAGED | 1u << HOW_LIST_EMPTY | 1u << HOW_LIST_OLD | 1u << HOW_KILLED |            \
     1u << HOW_TAKEN_OVER | 1u << HOW_DEADLINE)

typedef struct world_plan {
    uint32_t producers, commits[IDS], sweepers, faults;
    uint32_t fault_classes;
    uint32_t block_size, tail_cap;
} world_plan;

void world_setup(const world_plan *plan);
const world_plan *world_planned(void);
void world_begin(world *w);
/** Everything that may happen next; 0: nothing more will happen. */
uint32_t world_choices(const world *w, choice *choices);
/** What happens. False: it breaks a rule; world_violation says which. */
bool world_take(const world *w, const choice *c, world *next);
/** A state in which no process will do anything any more. */
bool world_judge_end(const world *w);
/** "I7: …" */
const char *world_violation(void);
/** A line of the trace: what `c` does in `w`. */
void world_tell(const world *w, const choice *c, char *line, size_t size);

#endif
