// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** For tests of intents: bases that are filled by hand, and candidates as their readers see them.
 */
#ifndef TESTS_PROTOCOL_INTENT_BASES_H
#define TESTS_PROTOCOL_INTENT_BASES_H

#include "protocol/intent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const token128 mine, other;
extern genesis bases_genesis;
extern intent_scratch *bases_scratch;

/** Set-up and tear-down of each group of tests. */
int bases_begin(void **state);
int bases_end(void **state);

producer_entry entry_of(const char *id, uint32_t epoch, const token128 *token);
/** Version 9 with these producers, and nothing published. */
manifest base_of(producer_entry *entries, uint32_t count);
/** `e` has published `count` batches of 200 bytes and an offset each; all stand in the tail, which
 * lives until the next call. */
void base_publish(manifest *base, producer_entry *e, uint32_t count);
intent_aid aid_of(void);
/** Of epoch 1, one offset. */
descriptor batch_of(const char *id, uint64_t seq, uint64_t bytes);

/** Applies with bases_genesis, bases_scratch and aid_of. */
intent_verdict try_intent(intent *i, const manifest *base, manifest *draft, intent_result *result);
/** A candidate must be an object that a reader takes, one version on. The caller's: unref. */
manifest *next_of(const manifest *draft, const manifest *base);
/** The same, only looked at. */
void sound(const manifest *draft, const manifest *base);
/** Applied again to what came of it, the intent is there already, and the key harmless. */
void harmless_again(intent *i, const manifest *draft, const manifest *base);

#endif
