// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * turn: the cadence in which producers commit one after the other.
 *
 * Every manifest says whose turn was last (`turn`) and who publishes (the map). So all who hold the
 * same version agree who comes next, and how many come before oneself; each of them has a slot,
 * long enough to notice its predecessor's commit and to make its own. Whoever has nothing staged
 * asks for nothing: its slot passes. Timers are local and may only cost time: what is committed is
 * decided by the create alone.
 *
 * Members, those whose last commit is young, take turns by id. Others are guests: they attempt
 * when they like, and do not move the turn.
 *
 * The owner of a turn asks what to do whenever something happened, does it, and tells what came of
 * it. docs/design/cadence.md has the rules by number; the numbers here are those.
 */
#ifndef PROTOCOL_TURN_H
#define PROTOCOL_TURN_H

#include "base/rng.h"
#include "codec/manifest.h"

#define TURN_SAMPLES 16u

/** The last latencies of one kind of request. */
typedef struct turn_latency {
    int64_t ns[TURN_SAMPLES];
    uint32_t count;
    int64_t median_ns, high_ns; /* high: the second largest */
} turn_latency;

typedef struct turn {
    view id;
    uint32_t tail_cap;
    turn_latency get, put;
    uint32_t *scratch; /* by age, whether it is a member's; by producer, its age */
    size_t scratch_capacity;

    /* of the newest version held */
    uint64_t version;
    bool is_member;
    uint32_t members, before;    /* before: those whose turn is before ours */
    int64_t known_ns, absent_ns; /* since when it is known; when it was last seen absent */
    int64_t made_ns;             /* it was not made before this */
    int64_t slots_ns, window_ns; /* of those before us; kept free for guests, or for a fold */
    int64_t silence_ns;          /* after it everybody may */

    /* where to look next */
    uint64_t ahead;            /* so many versions ahead; 0: by the time that passes until then */
    int64_t look_ns, heard_ns; /* heard: of the last answer to anything */
    uint64_t missed;           /* was absent when it was asked for last, at missed_ns */
    int64_t missed_ns;

    int64_t interval_ns, observed_ns; /* between versions: in our rounds; seen */
    uint64_t own_version;
    int64_t own_ns;
    uint32_t conflicts; /* in a row */
    int64_t guest_ns;
} turn;

/** `id` must outlive it; `put_ns`: what a create took so far (the open's). */
void turn_open(turn *t, view id, uint32_t tail_cap, int64_t put_ns);
void turn_close(turn *t);

typedef enum turn_act {
    TURN_WAIT,     /* until at_ns */
    TURN_LOOK,     /* is `version` there? Then turn_looked */
    TURN_CATCH_UP, /* walk to the newest. Then turn_caught_up */
    TURN_COMMIT,   /* on what is held, without another look */
    TURN_VISIT     /* an ordinary commit, as of other cadences: it looks by itself where it must */
} turn_act;

typedef struct turn_advice {
    turn_act act;
    int64_t at_ns;
    uint64_t version;
} turn_advice;

/** `ready_ns`: since when the oldest batch is staged. Without one there is nothing to ask. */
turn_advice turn_ask(turn *t, int64_t ready_ns, int64_t now_ns);
/** A look at `version`, sent at `sent_ns`: held is what is held now. */
bw_status turn_looked(turn *t, uint64_t version, int64_t sent_ns, int64_t now_ns,
                      const manifest *held, rng *r);
/** A publish of ours ended: made, or lost to another's. `create_ns`: what its create took. */
bw_status turn_committed(turn *t, int64_t create_ns, int64_t now_ns, const manifest *held, rng *r);
/** What is held is the newest, or was when the walk ended; also after an open. */
bw_status turn_caught_up(turn *t, int64_t now_ns, const manifest *held, rng *r);
bw_status turn_lost(turn *t, int64_t now_ns, const manifest *held, rng *r);
/** What the map is told of us: how long others should wait for our commit. */
uint16_t turn_slot_ms(const turn *t);

/** Rule 1: whether a publish of `id` on this base sets `turn`. A pure function of the base. */
bool turn_is_member(const manifest *base, view id);

#endif
