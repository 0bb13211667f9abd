// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/slicebuffers.h"

#include "base/alloc.h"
#include "base/thread.h"

#define ALIGNMENT 64u
/* The C library has small ones at hand by itself. */
#define KEPT_BYTES_MIN (32u << 10)
/* Of what is kept, how many are looked at for one that fits. */
#define LOOKS_MAX 64u
/* One may be larger than asked for by this share. */
#define EXCESS_PART 8u

/* Lies in the buffer that is kept. */
typedef struct kept {
    struct kept *older, *newer;
    uint64_t bytes;
} kept;

struct slice_buffers {
    lock lock;
    struct {
        kept *newest, *oldest;
        uint64_t bytes;
        bool stopped;
    } locked;
};

bw_status slice_buffers_new(slice_buffers **out)
{
    slice_buffers *b = mem_zalloc(sizeof *b);
    if (b == NULL || lock_init(&b->lock) != BW_OK) {
        mem_free(b);
        return BW_NOMEM;
    }
    *out = b;
    return BW_OK;
}

void slice_buffer_free(slice_buffer *one)
{
    mem_free(one->data);
    *one = (slice_buffer){0};
}

static void unlink_locked(slice_buffers *b, kept *k)
{
    *(k->newer != NULL ? &k->newer->older : &b->locked.newest) = k->older;
    *(k->older != NULL ? &k->older->newer : &b->locked.oldest) = k->newer;
    b->locked.bytes -= k->bytes;
}

/* The one given last that fits: its lines may still be in the cache. */
static kept *find_locked(const slice_buffers *b, uint64_t bytes)
{
    kept *k = b->locked.newest;
    for (unsigned looks = 0; k != NULL && looks < LOOKS_MAX; looks++) {
        if (k->bytes >= bytes && k->bytes - bytes <= bytes / EXCESS_PART)
            return k;
        k = k->older;
    }
    return NULL;
}

/* Takes out what is too much, oldest first: a list by `older`. */
static kept *shed_locked(slice_buffers *b, uint64_t kept_max)
{
    kept *shed = NULL;
    while (b->locked.bytes > kept_max) {
        kept *k = b->locked.oldest;
        unlink_locked(b, k);
        k->older = shed;
        shed = k;
    }
    return shed;
}

static void free_list(kept *k)
{
    while (k != NULL) {
        kept *older = k->older;
        mem_free(k);
        k = older;
    }
}

slice_buffer slice_buffers_take(slice_buffers *b, uint64_t bytes, uint64_t kept_max)
{
    lock_acquire(&b->lock);
    kept *k = find_locked(b, bytes);
    if (k != NULL)
        unlink_locked(b, k);
    kept *shed = shed_locked(b, kept_max);
    lock_release(&b->lock);
    free_list(shed);
    if (k != NULL)
        return (slice_buffer){.data = (uint8_t *)k, .bytes = k->bytes};
    return (slice_buffer){.data = mem_aligned(ALIGNMENT, (size_t)bytes), .bytes = bytes};
}

bool slice_buffers_keep(slice_buffers *b, slice_buffer one, uint64_t kept_max)
{
    if (one.bytes < KEPT_BYTES_MIN || one.bytes > kept_max)
        return false;
    /* In a forked child the lock may be the parent's thread's for ever. */
    if (!lock_try(&b->lock))
        return false;
    const bool keeps = !b->locked.stopped && b->locked.bytes <= kept_max - one.bytes;
    if (keeps) {
        kept *k = (kept *)(void *)one.data;
        *k = (kept){.older = b->locked.newest, .bytes = one.bytes};
        *(k->older != NULL ? &k->older->newer : &b->locked.oldest) = k;
        b->locked.newest = k;
        b->locked.bytes += one.bytes;
    }
    lock_release(&b->lock);
    return keeps;
}

void slice_buffers_stop(slice_buffers *b)
{
    lock_acquire(&b->lock);
    b->locked.stopped = true;
    kept *shed = shed_locked(b, 0);
    lock_release(&b->lock);
    free_list(shed);
}

void slice_buffers_free(slice_buffers *b)
{
    if (b == NULL)
        return;
    free_list(b->locked.newest);
    lock_destroy(&b->lock);
    mem_free(b);
}
