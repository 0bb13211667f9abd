// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/unmapper.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "client/gate.h"

/* A trainer may hold so long what it let go of; a hundred looks a second cost it nothing. */
#define ROUND_NS (10 * NS_PER_MS)
/* After so many looks at nothing it sleeps until it is woken. */
#define IDLE_ROUNDS 100u
/* Taken out together: the lock is never held over an unmapping. */
#define PIECES_TAKEN 16u

struct unmapper {
    void (*released)(void *context, uint64_t bytes);
    void *context;
    uint64_t bytes_max;
    pthread_t thread;
    gate wake;
    lock lock;
    struct {
        bool started, stopping;
        bool resting; /* the thread waits without limit */
        uint32_t count;
        uint64_t bytes;
        unmapper_piece pieces[UNMAPPER_PIECES_MAX];
    } locked;
};

bw_status unmapper_new(void (*released)(void *context, uint64_t bytes), void *context,
                       uint64_t bytes_max, unmapper **out)
{
    unmapper *u = mem_zalloc(sizeof *u);
    if (u == NULL || lock_init(&u->lock) != BW_OK) {
        mem_free(u);
        return BW_NOMEM;
    }
    u->released = released;
    u->context = context;
    u->bytes_max = bytes_max;
    gate_init(&u->wake);
    *out = u;
    return BW_OK;
}

void unmapper_free(unmapper *u)
{
    if (u == NULL)
        return;
    lock_destroy(&u->lock);
    mem_free(u);
}

void unmapper_release(const unmapper_piece *piece)
{
    if (piece->mapping.release != NULL) {
        store_mapping mapping = piece->mapping;
        store_mapping_release(&mapping);
    }
    mem_free(piece->buffer);
    mem_free(piece->unpacked);
}

/* Whether there was any. */
static bool flush(unmapper *u)
{
    bool any = false;
    for (;;) {
        unmapper_piece taken[PIECES_TAKEN];
        uint32_t count = 0;
        lock_acquire(&u->lock);
        while (count < PIECES_TAKEN && u->locked.count > 0) {
            taken[count] = u->locked.pieces[--u->locked.count];
            u->locked.bytes -= taken[count++].reserved;
        }
        lock_release(&u->lock);
        if (count == 0)
            return any;
        any = true;
        for (uint32_t i = 0; i < count; i++) {
            unmapper_release(&taken[i]);
            u->released(u->context, taken[i].reserved);
        }
    }
}

/* Until when the thread waits: it rests once nothing has come for long. */
static int64_t wait_until(unmapper *u, uint32_t idle)
{
    bool rests = false;
    if (idle > IDLE_ROUNDS) {
        lock_acquire(&u->lock);
        rests = u->locked.count == 0 && !u->locked.stopping;
        u->locked.resting = rests;
        lock_release(&u->lock);
    }
    return rests ? TIME_NEVER : clock_now(clock_system()) + ROUND_NS;
}

static bool is_stopping(unmapper *u)
{
    lock_acquire(&u->lock);
    const bool stopping = u->locked.stopping;
    lock_release(&u->lock);
    return stopping;
}

static void *unmap(void *context)
{
    unmapper *u = context;
    thread_stand_back();
    for (uint32_t idle = 0;;) {
        const uint32_t ticket = gate_ticket(&u->wake);
        if (is_stopping(u))
            return NULL;
        idle = flush(u) ? 0 : idle + 1;
        gate_wait(&u->wake, ticket, wait_until(u, idle));
    }
}

void unmapper_start(unmapper *u)
{
    lock_acquire(&u->lock);
    if (!u->locked.started && !u->locked.stopping)
        u->locked.started = thread_start(&u->thread, "bw-unmap", unmap, u) == BW_OK;
    lock_release(&u->lock);
}

void unmapper_stop(unmapper *u)
{
    lock_acquire(&u->lock);
    const bool started = u->locked.started && !u->locked.stopping;
    u->locked.stopping = true;
    lock_release(&u->lock);
    if (!started)
        return;
    gate_open(&u->wake);
    (void)pthread_join(u->thread, NULL);
    (void)flush(u);
}

bool unmapper_give(unmapper *u, const unmapper_piece *piece)
{
    /* In a forked child the lock may be the parent's thread's for ever. */
    if (!lock_try(&u->lock))
        return false;
    const bool taken =
        u->locked.started && !u->locked.stopping && u->locked.count < UNMAPPER_PIECES_MAX;
    bool wake = false;
    if (taken) {
        u->locked.pieces[u->locked.count++] = *piece;
        u->locked.bytes += piece->reserved;
        wake = u->locked.resting || u->locked.bytes > u->bytes_max;
        u->locked.resting = false;
    }
    lock_release(&u->lock);
    if (wake)
        gate_open(&u->wake);
    return taken;
}

void unmapper_hurry(unmapper *u)
{
    if (!lock_try(&u->lock))
        return; /* somebody gives, or it is at work */
    const bool any = u->locked.started && u->locked.count > 0;
    lock_release(&u->lock);
    if (any)
        gate_open(&u->wake);
}
