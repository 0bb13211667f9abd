// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What one simulation was like in time: when each request was sent, met the store and was answered.
 * Played back, it conducts another run of the same setting with fewer faults. A request takes from
 * the tape its place in the seed, hence its dice, and its moments; it is known again by its
 * process, its kind and its object, at about the same time, and not by its number, which a fault
 * that is left out shifts. So what a missing fault does not concern stays where it was in time, and
 * what it does concern falls back into step. With all faults it is the same run.
 *
 * A wait is schedule and not a fault where it is no longer than a slow request may be: slow
 * requests can all be left out, long freezes cannot. What remains of them are the waits of more
 * than 0.3 s, which are noted, and can be left out, like faults: who may not wait for long is ahead
 * of the tape, and falls back into step by short waits.
 */
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include "network.h"

#define BEATS_MAX 262144u /* of a seed; what comes after that is not pinned */

/* Beyond this a wait is worth a line of the story. */
#define TAPE_LONG_WAIT_NS (300 * NS_PER_MS)

/* One request, or where a process was killed. */
typedef struct beat {
    uint64_t who;   /* process, kind and object */
    uint64_t where; /* its place in the seed */
    int64_t sent_ns, apply_ns, reply_ns;
    bool split; /* it was seen before it was answered */
} beat;

struct tape {
    bool plays;      /* false: it records */
    int64_t over_ns; /* when the faults were over, or a little after it failed */
    size_t count;
    beat beats[BEATS_MAX];
};

/** The recording is over. */
void tape_rewind(tape *t);
/** Faults are over at this look, as `over` says or as they were on the tape. */
bool tape_is_over(tape *t, int64_t now_ns, bool over);
/** Finds a request on the tape that is played, and gives it its place there. */
void tape_recognise(sim *s, flight *f);
/** Its moment after `from_ns`: as on the tape, where that is no longer than such waits may be. */
int64_t tape_moment(int64_t from_ns, int64_t on_tape_ns, int64_t drawn_ns, bool long_waits);
/** Records it. */
void tape_note(sim *s, const flight *f, int64_t apply_ns, int64_t reply_ns, bool split);
/** Is the process killed at this boundary, which is at `where` when it is recorded? */
bool tape_kills(process *p, uint64_t where);

#endif
