// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/lending.h"

#include "base/alloc.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>

struct lending {
    atomic_uint references;
    lock lock;
    struct {
        lent_buffer *all; /* a ring has few: they are looked through */
        lending_counts counts;
        uint64_t largest;
    } locked;
};

bw_status lending_new(lending **out)
{
    lending *l = mem_zalloc(sizeof *l);
    if (l == NULL || lock_init(&l->lock) != BW_OK) {
        mem_free(l);
        return BW_NOMEM;
    }
    atomic_init(&l->references, 1u);
    *out = l;
    return BW_OK;
}

static void unref(lending *l)
{
    if (atomic_fetch_sub(&l->references, 1u) != 1u)
        return;
    while (l->locked.all != NULL) {
        lent_buffer *b = l->locked.all;
        l->locked.all = b->next;
        mem_free(b);
    }
    lock_destroy(&l->lock);
    mem_free(l);
}

void lending_close(lending *l)
{
    if (l != NULL)
        unref(l);
}

static bool overlap(const lent_buffer *a, const lent_buffer *b)
{
    const uintptr_t at = (uintptr_t)a->data, other = (uintptr_t)b->data;
    return at < other ? other - at < a->bytes : at - other < b->bytes;
}

static bw_status check_locked(const lending *l, const lent_buffer *new, bw_error *error)
{
    if ((uintptr_t) new->data % LENT_ALIGNMENT != 0 || new->bytes < LENT_ALIGNMENT)
        return error_set(error, BW_INVALID,
                         "a lent buffer of %" PRIu64
                         " bytes: it must begin at a multiple of %u and have as many at least",
                         new->bytes, LENT_ALIGNMENT);
    if (l->locked.counts.buffers >= LENT_BUFFERS_MAX)
        return error_set(error, BW_INVALID, "more than %u lent buffers", LENT_BUFFERS_MAX);
    for (const lent_buffer *b = l->locked.all; b != NULL; b = b->next)
        if (overlap(b, new))
            return error_set(error, BW_INVALID,
                             "the lent buffer of token %" PRIu64 " overlaps the one of token "
                             "%" PRIu64,
                             new->token, b->token);
    return BW_OK;
}

bw_status lending_add(lending *l, void *data, size_t bytes, uint64_t token, bw_error *error)
{
    lent_buffer *b = mem_alloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    *b = (lent_buffer){.data = data, .bytes = bytes, .token = token, .ring = l};
    lock_acquire(&l->lock);
    const bw_status status = check_locked(l, b, error);
    if (status == BW_OK) {
        b->next = l->locked.all;
        l->locked.all = b;
        l->locked.counts.buffers++;
        l->locked.counts.free++;
        l->locked.largest = b->bytes > l->locked.largest ? b->bytes : l->locked.largest;
    }
    lock_release(&l->lock);
    if (status != BW_OK)
        mem_free(b);
    return status;
}

lending_answer lending_take(lending *l, uint64_t bytes, lent_buffer **out)
{
    lent_buffer *best = NULL;
    lock_acquire(&l->lock);
    const bool small = l->locked.all != NULL && l->locked.largest < bytes;
    for (lent_buffer *b = l->locked.all; b != NULL; b = b->next)
        if (!b->taken && b->bytes >= bytes && (best == NULL || b->bytes < best->bytes))
            best = b;
    if (best != NULL) {
        best->taken = true;
        l->locked.counts.free--;
        atomic_fetch_add(&l->references, 1u);
        *out = best;
    }
    lock_release(&l->lock);
    return best != NULL ? LENDING_TAKEN : small ? LENDING_SMALL : LENDING_FULL;
}

void lending_give(lent_buffer *b)
{
    lending *l = b->ring;
    lock_acquire(&l->lock);
    b->taken = false;
    l->locked.counts.free++;
    lock_release(&l->lock);
    unref(l);
}

lending_counts lending_count(lending *l)
{
    lock_acquire(&l->lock);
    const lending_counts counts = l->locked.counts;
    lock_release(&l->lock);
    return counts;
}
