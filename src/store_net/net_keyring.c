// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_keyring.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/thread.h"

#include <stdio.h>
#include <string.h>

/* How long before their end keys are replaced: an EC2 instance has new ones five minutes before,
 * and many processes shall not ask in the same second. Short-lived ones: halfway. */
#define LEAD_MIN_NS (180 * NS_PER_S)
#define LEAD_MORE_NS (120 * NS_PER_S)
#define AGAIN_MIN_NS NS_PER_S
#define AGAIN_MAX_NS (30 * NS_PER_S)

struct net_keyring {
    net_chain *chain; /* of who fetches */
    atomic_bool stop;
    lock mutex;
    struct {
        net_keyset *current;
        rng random;
        int64_t due_ns; /* when to fetch; TIME_NEVER */
        bool fetching;
        bool started; /* there is a thread to join */
        pthread_t thread;
        uint32_t failures; /* in a row */
        bw_error why;
    } locked;
};

/* ---- sets ---- */

static net_keyset *set_new(net_keys *keys, uint64_t number)
{
    net_keyset *set = mem_zalloc(sizeof *set);
    if (set == NULL)
        return NULL;
    set->keys = *keys;
    memset(keys, 0, sizeof *keys);
    set->number = number;
    set->since_ns = clock_now(clock_system());
    atomic_init(&set->references, 1u);
    return set;
}

void net_keyset_give(net_keyset *set)
{
    if (set == NULL || atomic_fetch_sub(&set->references, 1u) != 1u)
        return;
    net_keys_clear(&set->keys);
    mem_free(set);
}

/* ---- when ---- */

static int64_t random_below(net_keyring *r, int64_t bound_ns)
{
    return (int64_t)rng_below(&r->locked.random, (uint64_t)bound_ns);
}

static int64_t due_of_locked(net_keyring *r, const net_keys *keys)
{
    if (keys->expires_ns == 0)
        return TIME_NEVER;
    const int64_t now_ns = clock_now(clock_system());
    const int64_t half_ns = (keys->expires_ns - now_ns) / 2;
    const int64_t lead_ns = LEAD_MIN_NS + random_below(r, LEAD_MORE_NS);
    const int64_t due_ns = keys->expires_ns - (lead_ns < half_ns ? lead_ns : half_ns);
    return due_ns > now_ns + AGAIN_MIN_NS / 2 ? due_ns : now_ns + AGAIN_MIN_NS / 2;
}

static int64_t again_locked(net_keyring *r)
{
    const uint32_t doublings = r->locked.failures < 6 ? r->locked.failures : 6;
    int64_t wait_ns = AGAIN_MIN_NS << doublings >> 1;
    wait_ns = wait_ns < AGAIN_MAX_NS ? wait_ns : AGAIN_MAX_NS;
    return clock_now(clock_system()) + wait_ns / 2 + random_below(r, wait_ns / 2);
}

/* ---- fetching ---- */

static bool same(const net_keys *a, const net_keys *b)
{
    return strcmp(a->key_id, b->key_id) == 0 &&
           strcmp(secret_text(&a->key), secret_text(&b->key)) == 0 &&
           strcmp(secret_text(&a->token), secret_text(&b->token)) == 0;
}

static void fetched_locked(net_keyring *r, bw_status status, net_keys *keys, const bw_error *why)
{
    net_keyset *set = NULL;
    const net_keys *old = &r->locked.current->keys;
    if (status == BW_OK && same(old, keys))
        status = error_set(&r->locked.why, BW_DENIED, "%s still has the old keys", old->source);
    else if (status != BW_OK)
        error_copy(&r->locked.why, why);
    else if ((set = set_new(keys, r->locked.current->number + 1)) == NULL)
        status = error_set(&r->locked.why, BW_NOMEM, "no memory for credentials");
    if (status != BW_OK) {
        r->locked.failures++;
        r->locked.due_ns = again_locked(r);
        return;
    }
    net_keyset_give(r->locked.current);
    r->locked.current = set;
    r->locked.failures = 0;
    r->locked.due_ns = due_of_locked(r, &set->keys);
}

static void *fetch(void *context)
{
    net_keyring *r = context;
    net_keys keys;
    bw_error why = {.code = BW_OK};
    const bw_status status = net_chain_again(r->chain, &keys, &why);
    lock_acquire(&r->mutex);
    fetched_locked(r, status, &keys, &why);
    r->locked.fetching = false;
    lock_release(&r->mutex);
    net_keys_clear(&keys);
    return NULL;
}

static void fetch_if_due_locked(net_keyring *r)
{
    if (r->locked.fetching || r->locked.due_ns == TIME_NEVER ||
        clock_now(clock_system()) < r->locked.due_ns)
        return;
    /* The one before has let go of the lock for the last time: it ends at once. */
    if (r->locked.started)
        (void)pthread_join(r->locked.thread, NULL);
    r->locked.started = thread_start(&r->locked.thread, "bw-keys", fetch, r) == BW_OK;
    r->locked.fetching = r->locked.started;
    if (!r->locked.started)
        r->locked.due_ns = again_locked(r);
}

/* ---- for the driver ---- */

bw_status net_keyring_open(net_chain *chain, net_keyring **out, bw_error *error)
{
    net_keys keys = {.expires_ns = 0};
    net_keyring *r = chain != NULL ? mem_zalloc(sizeof *r) : NULL;
    if (r == NULL || rng_seed_system(&r->locked.random) != 0 || lock_init(&r->mutex) != BW_OK) {
        mem_free(r);
        net_chain_free(chain);
        return error_set(error, BW_NOMEM, "no memory for credentials");
    }
    atomic_init(&r->stop, false);
    r->chain = chain;
    chain->stop = &r->stop;
    bw_status status = net_chain_find(chain, &keys, error);
    if (status == BW_OK) {
        r->locked.due_ns = due_of_locked(r, &keys);
        r->locked.current = set_new(&keys, 1);
        if (r->locked.current == NULL)
            status = error_set(error, BW_NOMEM, "no memory for credentials");
    }
    net_keys_clear(&keys);
    if (status != BW_OK)
        net_keyring_free(r);
    else
        *out = r;
    return status;
}

void net_keyring_free(net_keyring *r)
{
    if (r == NULL)
        return;
    atomic_store(&r->stop, true);
    if (r->locked.started)
        (void)pthread_join(r->locked.thread, NULL);
    net_keyset_give(r->locked.current);
    lock_destroy(&r->mutex);
    net_chain_free(r->chain);
    mem_free(r);
}

net_keyset *net_keyring_take(net_keyring *r)
{
    lock_acquire(&r->mutex);
    fetch_if_due_locked(r);
    net_keyset *set = r->locked.current;
    atomic_fetch_add(&set->references, 1u);
    lock_release(&r->mutex);
    return set;
}

bool net_keyring_expired(net_keyring *r, const net_keyset *set, char *why, size_t capacity)
{
    why[0] = '\0';
    if (set->keys.kind == NET_KEYS_FIXED)
        return false;
    lock_acquire(&r->mutex);
    const bool other = r->locked.current->number != set->number;
    if (!other && r->locked.failures == 0)
        r->locked.due_ns = 0; /* at once, whatever end it was said to have */
    if (!other)
        fetch_if_due_locked(r);
    if (!other && r->locked.failures > 0)
        (void)snprintf(why, capacity, "%.400s", r->locked.why.message);
    /* Nobody knows when a file is written. */
    const bool stays = !other && set->keys.kind == NET_KEYS_STORED && r->locked.failures > 0;
    lock_release(&r->mutex);
    return !stays;
}
