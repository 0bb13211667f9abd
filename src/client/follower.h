// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * follower: one thread a space that knows the newest proved manifest and tells all consumers.
 *
 * It polls only while some consumer's look-ahead is low, at an interval learnt from the commits it
 * sees. Consumers call it without a lock of theirs being needed; it calls them under its own lock,
 * then theirs (never the other way round).
 */
#ifndef CLIENT_FOLLOWER_H
#define CLIENT_FOLLOWER_H

#include "client/space.h"
#include <batchweave/consumer.h>

/** Starts it unless it runs; takes over the space's chain and drive. */
bw_status follower_start(bw_space *space, bw_error *error);
/** Ends the thread. No consumer may be joined; NULL is fine. */
void follower_free(follower *f);

/** From now on `c` is told of news, and once at once. */
void follower_join(follower *f, bw_consumer *c);
/** On return `c` is told nothing more. */
void follower_leave(follower *f, bw_consumer *c);

/** Asks for a manifest that is proved newest at a moment after this call; returns the ticket of the
 * answer. Any thread, under any lock. */
uint64_t follower_ask(follower *f);
/** Waits for that answer: the manifest (a reference for the caller), or why there is none. `stop`
 * (may be NULL) ends the wait with BW_INTERRUPTED once it is not zero. */
bw_status follower_answer(follower *f, uint64_t ticket, int64_t deadline_ns, const atomic_int *stop,
                          manifest **out, bw_error *error);
/** A consumer's look-ahead has become low. Costs a load unless the follower rests. */
void follower_nudge(follower *f);
/** A consumer needs a segment (consumer_needs). */
void follower_ask_load(follower *f);

typedef struct follower_counts {
    chain_counts chain;
    int64_t interval_ns; /* between polls */
} follower_counts;
void follower_counted(follower *f, follower_counts *out);

#endif
