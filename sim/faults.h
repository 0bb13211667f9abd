// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The classes of faults. Each is left out of half of the seeds (swarm testing); each is counted
 * when it has had its effect, not when it was drawn. A fault has a name of its own, made of its
 * class and of the request or the life it hits, so that a failing seed can be run again with any
 * subset of its faults.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, per million at the middle rate, catalogue rows, what it is */
#define FAULT_LIST(X)                                                                              \
    X(CREATE_APPLIED, 20000, "S1 S9", "create applied, answered UNKNOWN")                          \
    X(CREATE_DROPPED, 20000, "S2 S10", "create not applied, answered UNKNOWN")                     \
    X(CREATE_LATE, 20000, "S3", "create answered UNKNOWN, applied later")                          \
    X(CREATE_VERY_LATE, 10000, "S3", "create answered UNKNOWN, applied after a long time")         \
    X(CREATE_SILENT, 8000, "S1", "create applied, answered UNKNOWN after a long silence")          \
    X(CREATE_RETRY, 20000, "S6 S8", "create not applied, answered RETRY")                          \
    X(CREATE_UNSUPPORTED, 500, "S7", "create not applied, answered UNSUPPORTED")                   \
    X(WRITE_TWICE, 20000, "S4", "write applied again soon")                                        \
    X(WRITE_TWICE_LATE, 10000, "S4 S21", "write applied again after a long time")                  \
    X(PUT_LOST_REPLY, 10000, "S1", "put or delete applied, answered RETRY")                        \
    X(PUT_DROPPED, 10000, "S2 S21", "put or delete not applied, answered RETRY")                   \
    X(PUT_LATE, 6000, "S3 S21", "put or delete answered RETRY, applied later")                     \
    X(INDEX_DROPPED, 380000, "S2", "put of an index segment not applied, answered RETRY")          \
    X(READ_RETRY, 6000, "S8 S9", "read answered RETRY")                                            \
    X(READ_CORRUPT, 4000, "S16", "a bit of what was read is flipped")                              \
    X(DAMAGE_STAYS, 300000, "S16", "what was read damaged is damaged for a while")                 \
    X(READ_SHORT, 4000, "S11 S12", "what was read is cut short")                                   \
    X(READ_TOO_LARGE, 1000, "S12", "a read finds more than can be")                                \
    X(DENIED, 400, "S19", "the store denies everything for a while")                               \
    X(FATAL, 600, "S20", "a request fails for good")                                               \
    X(THROTTLED, 800, "S8", "the store throttles a process for a while")                           \
    X(SLOW, 20000, "S15", "a request is slow on its way")                                          \
    X(SLOW_REPLY, 20000, "S15", "an answer is slow on its way")                                    \
    X(LIST_STALE, 100000, "S13", "a listing misses names or shows deleted ones")                   \
    X(LIST_UNORDERED, 60000, "S13", "a listing is unordered and repeats names")                    \
    X(HINT_MISSING, 100000, "S14", "the hint is not there")                                        \
    X(HINT_OLD, 100000, "S14", "the hint names a version long gone")                               \
    X(HINT_ABSURD, 60000, "S14", "the hint names a version that never was")                        \
    X(CLOCK, 3000, "S18", "the wall clock jumps")                                                  \
    X(KILL, 700, "P1", "a process is killed and started again")                                    \
    X(FREEZE, 700, "P2", "a process is frozen for a moment")                                       \
    X(FREEZE_LONG, 250, "P2 P3", "a process is frozen while blocks are retired")                   \
    X(FREEZE_SEND, 1500, "P2", "a process is frozen with a create on its lips")

#define FAULT_ENUM(name, rate, rows, text) FAULT_##name,
typedef enum fault_class { FAULT_LIST(FAULT_ENUM) FAULT_CLASSES } fault_class;

/* No fault, but named and left out like one: a request on its way for long, whatever the cause. */
#define FAULT_WAIT FAULT_CLASSES

typedef struct faults {
    bool on; /* off in the liveness phase */
    uint32_t rates[FAULT_CLASSES];
    uint64_t hits[FAULT_CLASSES];
    uint64_t left_out; /* a bit for each class */
    const uint64_t *kept;
    size_t kept_count;
    uint64_t *fired; /* in the order of time */
    size_t fired_max, *fired_count;
} faults;

struct sim;
const char *fault_name(fault_class class);
const char *fault_text(fault_class class);
const char *fault_rows(fault_class class);
/** Draws the swarm of a seed. */
void faults_open(struct sim *s);
/** All are 2^thin times rarer, but those of `louder`, a bit each, are 8 times as frequent. */
void faults_tune(faults *f, uint32_t thin, uint64_t louder);
/** Does this fault hit here? `where` names the place within the seed: 48 bits. */
bool fault_fires(struct sim *s, fault_class class, uint64_t where);
/** May it happen, by the faults that are kept? */
bool fault_is_kept(const faults *f, fault_class class, uint64_t where);
/** It happens: among those that are noted. */
void fault_note(faults *f, fault_class class, uint64_t where);
/** It has had its effect. */
void fault_hit(struct sim *s, fault_class class);
uint64_t faults_total(const faults *f);

#endif
