// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Traces for the real client to replay: one producer's whole life, and a reader's of a sealed
 * namespace, with faults by rules, played by the bare machines one event after the other. The
 * client, threads and all, must ask the store for the same things in the same order
 * (tests/sim/test_replay.c).
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "codec/genesis.h"
#include "store/mem.h"

#define REPLAY_RULES_BYTES 1024u
#define REPLAY_LINES_MAX 4096u
#define REPLAY_LINE_BYTES 96u

typedef struct replay_log {
    uint32_t count;
    bool parts;                                      /* note what is done with parts, too */
    char lines[REPLAY_LINES_MAX][REPLAY_LINE_BYTES]; /* "create manifest/… CREATED" */
    const store_op *ops[REPLAY_LINES_MAX];           /* in flight; NULL: answered */
} replay_log;

typedef struct replay_plan {
    genesis genesis;
    char rules[REPLAY_RULES_BYTES];      /* of the producer's store */
    char open_rules[REPLAY_RULES_BYTES]; /* of the store of who opens last */
    char read_rules[REPLAY_RULES_BYTES]; /* of a reader's store */
    uint32_t batches;
} replay_plan;

void replay_draw(uint64_t seed, replay_plan *plan);
/** Notes an operation as it is sent, and how it was answered; parts and probes are left out, hashes
 * are cut. */
void replay_note(replay_log *log, const store_op *op);
/** Plays it on `space`, which has the namespace. `log`: all that was asked. */
void replay_play(const replay_plan *plan, uint64_t seed, mem_space *space, replay_log *log);
/** Plays a reader of `space`, which is sealed, from the first step to the end: one step at a time,
 * each object looked at twice, what was reported as damaged asked for again. Returns how often
 * damage was reported. */
uint32_t replay_read(const replay_plan *plan, uint64_t seed, mem_space *space, replay_log *log);

#endif
