// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/follower.h"

#include "base/alloc.h"
#include "client/consumer.h"
#include "client/polling.h"
#include <assert.h>

/* A walk that takes longer is given up, reported, and begun again. */
#define WALK_TIMEOUT_NS (30 * NS_PER_S)
/* How often a walk is looked at for what keeps it, so that who stops waiting for it can be told. */
#define WALK_LOOK_NS (100 * NS_PER_MS)
#define BEHIND_VERSIONS 8u
#define FAILURE_PAUSE_NS (200 * NS_PER_MS)
/* How soon a wait for an answer notices that it is to end. */
#define ANSWER_LOOK_NS (20 * NS_PER_MS)

struct follower {
    bw_space *space;
    drive *drive; /* the thread's, as the five below */
    chain *chain;
    rng rng;
    polling polling;
    bool failed; /* the last walk did */
    pthread_t thread;
    gate wake;
    gate told;
    atomic_int stopping;
    atomic_int resting; /* waits without limit: wants are to wake it */
    atomic_uint_least64_t asked;
    lock lock;
    struct {
        bw_consumer *consumers;
        manifest *newest;
        uint64_t answered;
        bw_error failure;   /* of the last walk; code BW_OK: none */
        bw_error hindrance; /* of the walk under way; code BW_OK: none is known */
        follower_counts counts;
    } locked;
};

static int64_t now(void)
{
    return clock_now(clock_system());
}

/* ---- called by consumers ---- */

uint64_t follower_ask(follower *f)
{
    const uint64_t ticket = atomic_fetch_add(&f->asked, 1u) + 1;
    gate_open(&f->wake);
    return ticket;
}

void follower_nudge(follower *f)
{
    if (atomic_load(&f->resting) != 0)
        gate_open(&f->wake);
}

void follower_ask_load(follower *f)
{
    gate_open(&f->wake);
}

/* Who asks is answered by the walk that is under way, or by the next. */
static bw_status late_locked(const follower *f, bw_error *error)
{
    const bw_error *why = &f->locked.hindrance;
    (void)error_set(error, BW_TIMEOUT, "the newest manifest was not found out in time: %s",
                    why->code != BW_OK ? why->message : "the store has not answered yet");
    if (why->code != BW_OK)
        error_set_key(error, why->key);
    return BW_TIMEOUT;
}

bw_status follower_answer(follower *f, uint64_t ticket, int64_t deadline_ns, const atomic_int *stop,
                          manifest **out, bw_error *error)
{
    for (;;) {
        const uint32_t seen = gate_ticket(&f->told);
        lock_acquire(&f->lock);
        const bool answered = f->locked.answered >= ticket;
        const bool late = !answered && now() >= deadline_ns;
        bw_status status = BW_OK;
        if (answered) {
            status = f->locked.failure.code;
            if (status == BW_OK)
                *out = manifest_ref(f->locked.newest);
            else
                error_copy(error, &f->locked.failure);
        } else if (late) {
            status = late_locked(f, error);
        }
        lock_release(&f->lock);
        if (answered || late)
            return status;
        if (stop != NULL && atomic_load(stop) != 0)
            return error_set(error, BW_INTERRUPTED,
                             "the wait for the newest manifest was interrupted");
        const int64_t look_ns = stop != NULL ? now() + ANSWER_LOOK_NS : TIME_NEVER;
        gate_wait(&f->told, seen, look_ns < deadline_ns ? look_ns : deadline_ns);
    }
}

static void offer_locked(follower *f, bw_consumer *c)
{
    const consumer_news news = {f->locked.newest, f->locked.answered, &f->locked.failure};
    consumer_offer(c, &news);
}

void follower_join(follower *f, bw_consumer *c)
{
    lock_acquire(&f->lock);
    c->next = f->locked.consumers;
    f->locked.consumers = c;
    offer_locked(f, c);
    lock_release(&f->lock);
    gate_open(&f->wake);
}

void follower_leave(follower *f, bw_consumer *c)
{
    lock_acquire(&f->lock);
    for (bw_consumer **at = &f->locked.consumers; *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    lock_release(&f->lock);
}

void follower_counted(follower *f, follower_counts *out)
{
    lock_acquire(&f->lock);
    *out = f->locked.counts;
    lock_release(&f->lock);
}

/* ---- the thread ---- */

/* The ranks that are read for here, of the largest job among them. */
static int64_t poll_floor_locked(const follower *f)
{
    uint32_t ranks = 0, here = 0;
    for (const bw_consumer *c = f->locked.consumers; c != NULL; c = c->next, here++)
        ranks = c->ranks > ranks ? c->ranks : ranks;
    return polling_floor_ns(ranks, here);
}

static int64_t poll_interval(follower *f)
{
    const bool local = (drive_store(f->drive)->features & STORE_IS_LOCAL) != 0;
    lock_acquire(&f->lock);
    const int64_t floor_ns = poll_floor_locked(f);
    const int64_t interval_ns =
        polling_jitter_ns(polling_interval_ns(&f->polling, local, floor_ns, now()), &f->rng);
    f->locked.counts.interval_ns = interval_ns;
    lock_release(&f->lock);
    return interval_ns;
}

/* Tells all consumers what the last walk brought; `answered` is the ticket it answers. */
static void publish(follower *f, bw_status status, const bw_error *error, uint64_t answered)
{
    manifest *held = chain_held(f->chain);
    lock_acquire(&f->lock);
    f->locked.failure.code = BW_OK;
    if (status != BW_OK) {
        f->locked.failure = *error;
        f->locked.failure.code = status;
    }
    if (held != NULL && held != f->locked.newest) {
        if (held->version > f->locked.newest->version)
            polling_learn(&f->polling, held->version - f->locked.newest->version, now());
        manifest_unref(f->locked.newest);
        f->locked.newest = manifest_ref(held);
    }
    if (answered > f->locked.answered)
        f->locked.answered = answered;
    f->locked.counts.chain = *chain_counted(f->chain);
    for (bw_consumer *c = f->locked.consumers; c != NULL; c = c->next)
        offer_locked(f, c);
    gate_open(&f->told);
    lock_release(&f->lock);
}

static void tell_hindrance(follower *f, const bw_error *why)
{
    lock_acquire(&f->lock);
    if (why != NULL)
        f->locked.hindrance = *why;
    else
        error_clear(&f->locked.hindrance);
    lock_release(&f->lock);
}

static bw_status drive_watched(follower *f, int64_t end_ns)
{
    const drive_stop stop = {&f->wake, &f->stopping};
    bw_error why;
    for (;;) {
        const int64_t look_ns = now() + WALK_LOOK_NS;
        const bw_status status = drive_run(f->drive, (machine){&chain_machine, f->chain},
                                           look_ns < end_ns ? look_ns : end_ns, &stop);
        if (status != BW_TIMEOUT || now() >= end_ns)
            return status;
        if (store_failing(drive_store(f->drive), &why))
            tell_hindrance(f, &why);
    }
}

/* chain_walk, which tells meanwhile what the store fails with. */
static bw_status walk_watched(follower *f, chain_goal goal, bw_error *error)
{
    const int64_t end_ns = now() + WALK_TIMEOUT_NS;
    bw_status status = BW_OK;
    if (chain_machine.running(f->chain)) /* an earlier walk that ran out of time */
        status = drive_watched(f, end_ns);
    if (status == BW_OK) {
        chain_start(f->chain, goal, now());
        status = drive_watched(f, end_ns);
    }
    tell_hindrance(f, NULL);
    return status == BW_OK ? chain_result(f->chain, error)
                           : drive_tell(f->drive, status, error, "reading the chain of manifests");
}

static void walk(follower *f, chain_goal goal, uint64_t answers)
{
    bw_error error;
    error_clear(&error);
    const bw_status status = walk_watched(f, goal, &error);
    if (status == BW_INTERRUPTED)
        return;
    f->failed = status != BW_OK;
    /* A poll that brought nothing leaves consumers alone. */
    if (answers > 0 || f->failed || f->locked.failure.code != BW_OK ||
        chain_held(f->chain) != f->locked.newest)
        publish(f, status, &error, answers);
}

/* One segment that a consumer needs, read here so that ranks which need the same one read it once.
 */
static bool load_segment(follower *f)
{
    segment_ref needed;
    bw_consumer *owner = NULL;
    lock_acquire(&f->lock);
    for (bw_consumer *c = f->locked.consumers; c != NULL && owner == NULL; c = c->next)
        if (consumer_needs(c, &needed))
            owner = c;
    lock_release(&f->lock);
    if (owner == NULL)
        return false;
    bw_error error;
    error_clear(&error);
    const bw_status status = segments_load(&f->space->segments, drive_store(f->drive),
                                           f->space->genesis, &needed, &error);
    /* A segment may be missing because it was swept: then the newest manifest no longer references
     * it. */
    if (status != BW_OK)
        walk(f, CHAIN_NEWEST, atomic_load(&f->asked));
    lock_acquire(&f->lock);
    for (bw_consumer *c = f->locked.consumers; c != NULL; c = c->next)
        consumer_loaded(c, &needed, status, &error);
    lock_release(&f->lock);
    return true;
}

/* Does some consumer want steps beyond the newest manifest? */
static bool is_wanted(follower *f)
{
    bool wanted = false;
    lock_acquire(&f->lock);
    const manifest *m = f->locked.newest;
    if (!m->sealed)
        for (const bw_consumer *c = f->locked.consumers; c != NULL; c = c->next)
            wanted |= atomic_load(&c->wanted) > m->next;
    lock_release(&f->lock);
    return wanted;
}

static void rest(follower *f, uint32_t ticket)
{
    if (f->failed) {
        gate_wait(&f->wake, ticket, now() + FAILURE_PAUSE_NS);
        return;
    }
    /* Resting is announced before the wants are read: who raises a want afterwards sees it and
     * opens the gate. */
    atomic_store(&f->resting, 1);
    if (is_wanted(f)) {
        atomic_store(&f->resting, 0);
        gate_wait(&f->wake, ticket, now() + poll_interval(f));
        return;
    }
    if (atomic_load(&f->stopping) == 0)
        gate_wait(&f->wake, ticket, TIME_NEVER);
    atomic_store(&f->resting, 0);
}

static void *follower_run(void *context)
{
    follower *f = context;
    uint64_t answered = 0;
    bool behind = false; /* the last poll brought so much that there is likely more */
    while (atomic_load(&f->stopping) == 0) {
        const uint32_t ticket = gate_ticket(&f->wake);
        const uint64_t asked = atomic_load(&f->asked);
        /* First what somebody waits for to read its next step. */
        if (load_segment(f))
            continue;
        if (asked > answered) {
            walk(f, CHAIN_NEWEST, asked);
            answered = asked;
        } else {
            if (!behind)
                rest(f, ticket);
            const uint64_t version = f->locked.newest->version;
            if (f->failed || is_wanted(f))
                walk(f, CHAIN_POLL, 0);
            behind = f->locked.newest->version - version >= BEHIND_VERSIONS;
        }
    }
    return NULL;
}

static follower *follower_new(bw_space *space)
{
    follower *f = mem_zalloc(sizeof *f);
    if (f == NULL)
        return NULL;
    if (lock_init(&f->lock) != BW_OK) {
        mem_free(f);
        return NULL;
    }
    f->space = space;
    gate_init(&f->wake);
    gate_init(&f->told);
    atomic_init(&f->stopping, 0);
    atomic_init(&f->resting, 0);
    atomic_init(&f->asked, 0u);
    rng_seed(&f->rng, runtime_random(space->runtime));
    polling_init(&f->polling, now());
    f->drive = space->drive;
    f->chain = space->chain;
    f->locked.newest = manifest_ref(chain_held(f->chain));
    return f;
}

bw_status follower_start(bw_space *space, bw_error *error)
{
    bw_status status = BW_OK;
    lock_acquire(&space->lock);
    if (space->follower == NULL) {
        follower *f = follower_new(space);
        status = f == NULL ? BW_NOMEM : thread_start(&f->thread, "bw-follow", follower_run, f);
        if (status == BW_OK) {
            space->follower = f;
        } else if (f != NULL) {
            manifest_unref(f->locked.newest);
            lock_destroy(&f->lock);
            mem_free(f);
        }
    }
    lock_release(&space->lock);
    return status == BW_OK ? BW_OK
                           : error_set(error, status, "no memory for the follower's thread");
}

void follower_free(follower *f)
{
    if (f == NULL)
        return;
    assert(f->locked.consumers == NULL);
    atomic_store(&f->stopping, 1);
    gate_open(&f->wake);
    (void)pthread_join(f->thread, NULL);
    manifest_unref(f->locked.newest);
    lock_destroy(&f->lock);
    mem_free(f);
}
