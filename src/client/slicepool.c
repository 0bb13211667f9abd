// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/slicepool.h"

#include "base/alloc.h"
#include "base/thread.h"
#include <string.h>

/* A slice of more items is not kept: what one step claims must not stay for the life of a rank. */
#define KEPT_ITEMS_MAX 1024u

struct slice_pool {
    atomic_uint references;
    lock lock;
    struct {
        slice *kept; /* the one given last in front: its lines are still in the cache */
        uint32_t count, slices_max;
    } locked;
};

bw_status slice_pool_new(uint32_t slices_max, slice_pool **out)
{
    slice_pool *pool = mem_zalloc(sizeof *pool);
    if (pool == NULL || lock_init(&pool->lock) != BW_OK) {
        mem_free(pool);
        return BW_NOMEM;
    }
    atomic_init(&pool->references, 1u);
    pool->locked.slices_max = slices_max;
    *out = pool;
    return BW_OK;
}

static void unref(slice_pool *pool)
{
    if (atomic_fetch_sub(&pool->references, 1u) != 1u)
        return;
    lock_destroy(&pool->lock);
    mem_free(pool);
}

void slice_pool_close(slice_pool *pool)
{
    if (pool == NULL)
        return;
    lock_acquire(&pool->lock);
    slice *kept = pool->locked.kept;
    pool->locked.kept = NULL;
    pool->locked.count = pool->locked.slices_max = 0;
    lock_release(&pool->lock);
    while (kept != NULL) {
        slice *s = kept;
        kept = s->next_kept;
        mem_free(s);
    }
    unref(pool);
}

static slice *take_kept(slice_pool *pool)
{
    lock_acquire(&pool->lock);
    slice *s = pool->locked.kept;
    if (s != NULL) {
        pool->locked.kept = s->next_kept;
        pool->locked.count--;
    }
    lock_release(&pool->lock);
    return s;
}

static size_t bytes_for(uint32_t items)
{
    return sizeof(slice) + items * (sizeof(frame_item) + sizeof(bw_item));
}

slice *slice_pool_take(slice_pool *pool, uint32_t items)
{
    slice *s = pool != NULL ? take_kept(pool) : NULL;
    if (s != NULL && s->items_max < items) {
        mem_free(s);
        s = NULL;
    }
    const uint32_t items_max = s != NULL ? s->items_max : items;
    if (s == NULL)
        s = mem_alloc(bytes_for(items_max));
    if (s == NULL)
        return NULL;
    memset(s, 0, bytes_for(items_max));
    s->items_max = items_max;
    s->frames = (frame_item *)(void *)(s + 1);
    s->handles = (bw_item *)(void *)(s->frames + items_max);
    s->pool = pool;
    if (pool != NULL)
        atomic_fetch_add(&pool->references, 1u);
    return s;
}

void slice_pool_give(slice *s)
{
    slice_pool *pool = s->pool;
    if (pool == NULL) {
        mem_free(s);
        return;
    }
    lock_acquire(&pool->lock);
    const bool keep =
        s->items_max <= KEPT_ITEMS_MAX && pool->locked.count < pool->locked.slices_max;
    if (keep) {
        s->next_kept = pool->locked.kept;
        pool->locked.kept = s;
        pool->locked.count++;
    }
    lock_release(&pool->lock);
    if (!keep)
        mem_free(s);
    unref(pool);
}
