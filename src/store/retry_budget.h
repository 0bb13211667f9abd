// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * retry_budget: how many retries a store gets. A token bucket, pure.
 *
 * Each operation pays a few per cent of a token in, each retry takes one out and gets it back when
 * it is answered well. So retries that fail again are at most those few per cent of the operations,
 * and the sicker a store is the fewer retries it gets: with a share p of requests failing there are
 * at most (percent / 100) / p a request. A trickle by time lets a store that was down be found up
 * again.
 */
#ifndef STORE_RETRY_BUDGET_H
#define STORE_RETRY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_BUDGET_TOKENS_MAX 64
#define RETRY_BUDGET_TOKENS_A_SECOND 10

typedef struct retry_budget {
    double tokens, deposit;
    int64_t filled_ns; /* the trickle is in until then */
} retry_budget;

/** Full at first: a store is taken for healthy. */
void retry_budget_init(retry_budget *b, uint32_t percent, int64_t now_ns);
/** An operation began. */
void retry_budget_operation(retry_budget *b);
/** Takes a token for a retry; false when there is none. */
bool retry_budget_take(retry_budget *b, int64_t now_ns);
/** A retry was answered well. */
void retry_budget_give(retry_budget *b);
/** When time alone will have brought a token. */
int64_t retry_budget_due_ns(retry_budget *b, int64_t now_ns);

#endif
