// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The people of the story: each drives real machines as the client does, and tells the checker
 * what it was told. */
#ifndef SIM_ACT_H
#define SIM_ACT_H

#include "process.h"
#include "protocol/commit.h"

void act_founders(sim *s);
void act_producer(sim *s, uint32_t index);
void act_rank(sim *s, uint32_t index);
void act_sweeper(sim *s, uint32_t index);
void act_operator(sim *s);
void act_opener(sim *s, uint32_t index);
void act_jobs(sim *s);
void act_trainers(sim *s);
void act_janitor(sim *s);

/** Every producer has left for good: nothing more will happen. */
bool act_all_left(const sim *s);
/** G11: everything staged is committed, every rank at the end, reclamation has converged. */
bool act_settled(const sim *s);
/** Says who has not settled. */
void act_complain(sim *s);

/** The status is a failure of the store that may pass, or explained by damage that we did: the
 * object that the error names was damaged in its last two reads. Anything else is a violation. */
bool act_may_pass(process *p, bw_status status, const bw_error *error);
/** How many reads of `key` in a row have reached this life damaged, up to the last. */
uint32_t act_damaged(const process *p, const char *key);
/** Gives a life its chain, and who commits on it at once, again and again. */
void act_committer(process *p, chain **its_chain, commit **out);
/** Looks again in a while. */
void act_rest(process *p, int64_t for_ns);

extern const role role_founder, role_producer, role_rank, role_sweeper, role_operator, role_opener,
    role_trainer, role_janitor;

/** A rank has reached the end of a sealed namespace. */
bool rank_ended(const process *p);
/** Every job has come to the end, and no group of one that is over is left. */
bool trainer_settled(const sim *s, const process **who);

#endif
