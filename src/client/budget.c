// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/budget.h"

#include "base/alloc.h"
#include <assert.h>
#include <stdatomic.h>

/* Of the budget, the part that may wait for the unmapper's next round. */
#define WAITING_PART 8u

struct budget {
    unmapper *unmapper;
    slice_buffers *buffers;
    uint64_t bytes_max;
    atomic_uint_least64_t used;
    atomic_uint references;
};

static void give_back(void *context, uint64_t bytes)
{
    budget_give(context, bytes);
}

bw_status budget_new(uint64_t bytes_max, budget **out)
{
    budget *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return BW_NOMEM;
    if (unmapper_new(give_back, b, bytes_max / WAITING_PART, &b->unmapper) != BW_OK ||
        slice_buffers_new(&b->buffers) != BW_OK) {
        unmapper_free(b->unmapper);
        mem_free(b);
        return BW_NOMEM;
    }
    b->bytes_max = bytes_max;
    atomic_init(&b->used, 0u);
    atomic_init(&b->references, 1u);
    *out = b;
    return BW_OK;
}

budget *budget_ref(budget *b)
{
    atomic_fetch_add(&b->references, 1u);
    return b;
}

void budget_unref(budget *b)
{
    if (b == NULL || atomic_fetch_sub(&b->references, 1u) != 1u)
        return;
    unmapper_free(b->unmapper);
    slice_buffers_free(b->buffers);
    mem_free(b);
}

static bool take(budget *b, uint64_t bytes, bool force)
{
    uint64_t used = atomic_load(&b->used);
    do {
        if (!force && (used > b->bytes_max || bytes > b->bytes_max - used))
            return false;
    } while (!atomic_compare_exchange_weak(&b->used, &used, used + bytes));
    return true;
}

bool budget_take(budget *b, uint64_t bytes, bool force)
{
    if (take(b, bytes, force))
        return true;
    unmapper_hurry(b->unmapper);
    return false;
}

void budget_give(budget *b, uint64_t bytes)
{
    const uint64_t before = atomic_fetch_sub(&b->used, bytes);
    assert(before >= bytes);
    (void)before;
}

uint64_t budget_used(budget *b)
{
    return atomic_load(&b->used);
}

static uint64_t room(const budget *b, uint64_t used)
{
    return used < b->bytes_max ? b->bytes_max - used : 0;
}

slice_buffer budget_buffer(budget *b, uint64_t bytes)
{
    return slice_buffers_take(b->buffers, bytes, room(b, budget_used(b)));
}

bool budget_keep(budget *b, slice_buffer one, uint64_t reserved)
{
    if (!slice_buffers_keep(b->buffers, one, room(b, budget_used(b) - reserved)))
        return false;
    budget_give(b, reserved);
    return true;
}

void budget_stop_keeping(budget *b)
{
    slice_buffers_stop(b->buffers);
}

unmapper *budget_unmapper(budget *b)
{
    return b->unmapper;
}
