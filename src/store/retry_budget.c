// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/retry_budget.h"

#include "base/clock.h"

static void add(retry_budget *b, double tokens)
{
    b->tokens += tokens;
    if (b->tokens > RETRY_BUDGET_TOKENS_MAX)
        b->tokens = RETRY_BUDGET_TOKENS_MAX;
}

static void trickle(retry_budget *b, int64_t now_ns)
{
    if (now_ns <= b->filled_ns)
        return;
    add(b, (double)(now_ns - b->filled_ns) * RETRY_BUDGET_TOKENS_A_SECOND / (double)NS_PER_S);
    b->filled_ns = now_ns;
}

void retry_budget_init(retry_budget *b, uint32_t percent, int64_t now_ns)
{
    *b = (retry_budget){
        .tokens = RETRY_BUDGET_TOKENS_MAX, .deposit = (double)percent / 100, .filled_ns = now_ns};
}

void retry_budget_operation(retry_budget *b)
{
    add(b, b->deposit);
}

bool retry_budget_take(retry_budget *b, int64_t now_ns)
{
    trickle(b, now_ns);
    if (b->tokens < 1)
        return false;
    b->tokens -= 1;
    return true;
}

void retry_budget_give(retry_budget *b)
{
    add(b, 1);
}

int64_t retry_budget_due_ns(retry_budget *b, int64_t now_ns)
{
    trickle(b, now_ns);
    const double missing = 1 - b->tokens;
    if (missing <= 0)
        return now_ns;
    return now_ns + (int64_t)(missing * (double)NS_PER_S / RETRY_BUDGET_TOKENS_A_SECOND) + 1;
}
