// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/space.h"

#include "base/alloc.h"
#include "client/follower.h"
#include "client/listing.h"
#include "protocol/create.h"
#include <string.h>

/* Room for the descriptors of some 700,000 steps; one segment at least always fits. */
#define SEGMENT_CACHE_BYTES (32u << 20)
#define BACKOFF_MIN_NS (5 * NS_PER_MS)
#define BACKOFF_MAX_NS (500 * NS_PER_MS)
#define ATTEMPTS_MAX 1000u /* the time limit ends retries, this only a clock that stands still */
/* An executor thread is not kept by one failing operation: its job comes back later instead. */
#define WORKER_RETRY_NS NS_PER_S
/* Making a namespace is a handful of requests. */
#define INIT_TIMEOUT_NS (60 * NS_PER_S)

bw_status space_check_process(const bw_space *space, bw_error *error)
{
    return runtime_check_process(space->runtime, error);
}

bw_status space_check_chain(const bw_space *space, bw_error *error)
{
    if (!space->options.raw)
        return BW_OK;
    return error_set(
        error, BW_INVALID,
        "the namespace was opened with mode=raw, for the reports inspect, list and verify only");
}

static bw_status wrap_retry(bw_runtime *runtime, store *s, int64_t limit_ns,
                            store_retry_purse *purse, store **out, bw_error *error)
{
    const store_retry_options options = {
        .clock = clock_system(),
        .seed = runtime_random(runtime),
        .backoff_min_ns = BACKOFF_MIN_NS,
        .backoff_max_ns = BACKOFF_MAX_NS,
        .limit_ns = limit_ns,
        .attempts_max = ATTEMPTS_MAX,
        .purse = purse,
    };
    const bw_status status = store_retry_wrap(s, &options, out, error);
    if (status != BW_OK)
        store_close(s);
    return status;
}

static bw_status clone_base(bw_space *space, int64_t limit_ns, store **out, bw_error *error)
{
    store *plain = NULL;
    lock_acquire(&space->lock);
    const bw_status status = store_clone(space->base, &plain, error);
    lock_release(&space->lock);
    BW_TRY(status);
    return wrap_retry(space->runtime, plain, limit_ns, space->purse, out, error);
}

bw_status space_store(bw_space *space, store **out, bw_error *error)
{
    return clone_base(space, space->options.retry_limit_ns, out, error);
}

bw_status space_worker_store(bw_space *space, uint32_t worker, store **out, bw_error *error)
{
    if (space->workers[worker] == NULL) {
        const int64_t limit_ns = space->options.retry_limit_ns < WORKER_RETRY_NS
                                     ? space->options.retry_limit_ns
                                     : WORKER_RETRY_NS;
        BW_TRY(clone_base(space, limit_ns, &space->workers[worker], error));
    }
    *out = space->workers[worker];
    return BW_OK;
}

bw_status chain_walk(chain *c, drive *d, chain_goal goal, int64_t deadline_ns,
                     const drive_stop *stop, bw_error *error)
{
    const machine m = {&chain_machine, c};
    bw_status status = BW_OK;
    if (m.type->running(c)) /* an earlier walk that ran out of time */
        status = drive_run(d, m, deadline_ns, stop);
    if (status == BW_OK) {
        chain_start(c, goal, clock_now(clock_system()));
        status = drive_run(d, m, deadline_ns, stop);
    }
    if (status == BW_OK)
        return chain_result(c, error);
    return drive_tell(d, status, error, "reading the chain of manifests");
}

/* ---- init ---- */

/* Only left-overs of openers and of the file store itself may be there. */
static bw_status refuse_any(void *context, const store_entry *entry, bw_error *error)
{
    key_fields fields;
    (void)context;
    key_parse(view_text(entry->key), &fields);
    if (fields.kind == KEY_PROBE || fields.kind == KEY_TMP)
        return BW_OK;
    if (fields.kind == KEY_GENESIS)
        (void)error_set(error, BW_NOT_EMPTY, "a namespace is here already");
    else
        (void)error_set(error, BW_NOT_EMPTY, "there is something at this place already: %s",
                        entry->key);
    error_set_key(error, entry->key);
    return BW_NOT_EMPTY;
}

static bw_status run_create(bw_runtime *runtime, drive *d, const genesis *g, int64_t deadline_ns,
                            bw_error *error)
{
    token128 nonce;
    runtime_token(runtime, &nonce);
    create *c = NULL;
    const uint64_t now_ms = (uint64_t)clock_wall_ms(clock_system());
    bw_status status = create_new(g, now_ms, &nonce, &c);
    if (status != BW_OK)
        return error_set(error, status, "making the namespace: %s", bw_status_text(status));
    create_start(c, clock_now(clock_system()), deadline_ns);
    const machine m = {&create_machine, c};
    status = drive_run(d, m, deadline_ns, NULL);
    if (status == BW_OK)
        status = create_result(c, error);
    else
        (void)drive_tell(d, status, error, "making the namespace");
    create_free(c);
    return status;
}

bw_status space_init_on(bw_runtime *runtime, store *s, const space_options *options,
                        const genesis *draft, bw_error *error)
{
    store *wrapped = NULL;
    drive *d = NULL;
    BW_TRY(wrap_retry(runtime, s, options->retry_limit_ns, NULL, &wrapped, error));
    wrapped->stop = options->stop;
    if (drive_new(wrapped, &d) != BW_OK)
        return error_set(error, BW_NOMEM, "out of memory");
    genesis g = *draft;
    token128 uuid;
    runtime_token(runtime, &uuid);
    memcpy(g.uuid, uuid.bytes, UUID_BYTES);
    g.created_ms = (uint64_t)clock_wall_ms(clock_system());
    bw_status status = genesis_check(&g, error);
    if (status == BW_OK)
        status = listing_each(wrapped, "genesis", refuse_any, NULL, error);
    if (status == BW_OK) /* a namespace is said to be one, whatever sorts before its genesis */
        status = listing_each(wrapped, "", refuse_any, NULL, error);
    if (status == BW_OK)
        status = store_probe(wrapped, runtime_random(runtime), error);
    if (status == BW_OK)
        status = run_create(runtime, d, &g, clock_deadline(clock_system(), INIT_TIMEOUT_NS), error);
    drive_free(d);
    return status;
}

/* ---- open ---- */

static void space_destroy(bw_space *space)
{
    drive_free(space->drive);
    chain_free(space->chain);
    for (uint32_t i = 0; i < EXECUTOR_THREADS_MAX; i++)
        store_close(space->workers[i]);
    store_close(space->base);
    store_retry_purse_free(space->purse);
    if (space->segments.cache != NULL)
        segments_destroy(&space->segments);
    lock_destroy(&space->reclaimer.lock);
    lock_destroy(&space->lock);
    mem_free(space->raw_object);
    mem_free(space->url);
    mem_free(space);
}

/* The meter is the innermost: it counts what is sent. */
static bw_status wrap_base(bw_space *space, store *s, bw_error *error)
{
    const store_pacing pacing = s->pacing;
    const clock_source *clock = clock_system();
    BW_TRY(store_meter_wrap(s, &space->meter, &space->base, error));
    if (pacing.hedge)
        BW_TRY(store_hedge_wrap(space->base, clock, &space->meter, &space->base, error));
    if (pacing.requests_max == 0)
        return BW_OK;
    BW_TRY(store_admit_wrap(space->base, clock, pacing.requests_max, &space->meter, &space->base,
                            error));
    return store_retry_purse_new(clock, pacing.retry_percent, &space->purse);
}

static bw_status space_new(bw_runtime *runtime, store *s, const char *url,
                           const space_options *options, bw_space **out, bw_error *error)
{
    bw_space *space = mem_zalloc(sizeof *space);
    if (space == NULL || lock_init(&space->lock) != BW_OK) {
        mem_free(space);
        store_close(s);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    if (reclaimer_init(&space->reclaimer, space) != BW_OK) {
        lock_destroy(&space->lock);
        mem_free(space);
        store_close(s);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    space->runtime = runtime;
    space->options = *options;
    space->options.stop = NULL; /* of the open alone */
    atomic_init(&space->users, 0u);
    atomic_init(&space->begun, false);
    space->url = mem_strdup(url);
    bw_status status = BW_NOMEM;
    if (space->url != NULL && segments_init(&space->segments, SEGMENT_CACHE_BYTES) == BW_OK)
        status = wrap_base(space, s, error);
    if (space->base == NULL)
        store_close(s);
    if (status == BW_OK)
        status = chain_new(runtime_random(runtime), &runtime->log, &space->chain);
    if (status == BW_OK)
        chain_resume(space->chain, &options->from, space->segments.cache);
    if (status != BW_OK) {
        space_destroy(space);
        return error_set(error, status, "opening %s: %s", url, bw_status_text(status));
    }
    *out = space;
    return BW_OK;
}

static bw_status found(void *context, const store_entry *entry, bw_error *error)
{
    (void)context;
    (void)error_set(error, BW_CORRUPT,
                    "the manifests are gone: there is a genesis and %s, but no chain; restore "
                    "manifest/ (docs/operations.md)",
                    entry->key);
    error_set_key(error, entry->key);
    return BW_CORRUPT;
}

/* init refuses this place too, so it must not be advised. */
static bw_status genesis_is_gone(void *context, const store_entry *entry, bw_error *error)
{
    (void)context;
    (void)error_set(error, BW_NO_NAMESPACE,
                    "the genesis is gone: %s is here without one; init refuses such a place; "
                    "restore genesis from a copy (docs/operations.md)",
                    entry->key);
    error_set_key(error, "genesis");
    return BW_NO_NAMESPACE;
}

/* A genesis without version 1 is an init that was interrupted, unless something was made behind it:
 * then the chain was lost, and must not begin anew. What a listing shows is proof enough. */
static bw_status check_unused(bw_space *space, listing_fn used, bw_error *error)
{
    static const char *const prefixes[] = {"manifest/", "retired/", "segment/", "page/", "data/"};
    store *s = drive_store(space->drive);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        BW_TRY(listing_each(s, prefixes[i], used, NULL, error));
    return BW_OK;
}

/* `error` says that there is no namespace. Was there one? */
static bw_status genesis_absent(bw_space *space, int64_t deadline_ns, bw_error *error)
{
    bw_error gone;
    if (check_unused(space, genesis_is_gone, &gone) != BW_NO_NAMESPACE)
        return BW_NO_NAMESPACE; /* nothing is here, or it may not be listed */
    /* What was listed may have been made since, and the genesis before it. */
    const bw_status status =
        chain_walk(space->chain, space->drive, CHAIN_OPEN, deadline_ns, NULL, error);
    if (status == BW_NO_NAMESPACE)
        error_copy(error, &gone);
    return status;
}

static bw_status read_chain(bw_space *space, int64_t deadline_ns, bw_error *error)
{
    bw_status status = chain_walk(space->chain, space->drive, CHAIN_OPEN, deadline_ns, NULL, error);
    if (status == BW_NO_NAMESPACE)
        return genesis_absent(space, deadline_ns, error);
    if (status != BW_NOT_READY)
        return status;
    const bw_status unused = check_unused(space, found, error);
    if (unused == BW_OK && space->options.writable) {
        /* Somebody died between genesis and version 1, or is just about to write it: both may be
         * done for them. */
        BW_TRY(run_create(space->runtime, space->drive, NULL, deadline_ns, error));
        return chain_walk(space->chain, space->drive, CHAIN_OPEN, deadline_ns, NULL, error);
    }
    /* What was listed may have been made since. */
    status = chain_walk(space->chain, space->drive, CHAIN_OPEN, deadline_ns, NULL, error);
    return status == BW_NOT_READY && unused != BW_OK ? check_unused(space, found, error) : status;
}

/* A damaged genesis is to be looked at as well: then without the shape that it would tell. */
static bw_status read_raw(bw_space *space, bw_error *error)
{
    object_key key;
    size_t size = 0;
    key_genesis(&key);
    BW_TRY(listing_get(drive_store(space->drive), key.text, object_bytes_max(OBJECT_GENESIS),
                       &space->raw_object, &size, error));
    if (genesis_decode(view_of(space->raw_object, size), &space->raw_genesis, NULL) == BW_OK)
        space->genesis = &space->raw_genesis;
    const bw_status status = hash_bytes(space->raw_object, size, &space->genesis_hash);
    return status == BW_OK ? BW_OK : error_set(error, status, "the genesis cannot be hashed");
}

bw_status space_open_on(bw_runtime *runtime, store *s, const char *url,
                        const space_options *options, int64_t timeout_ns, bw_space **out,
                        bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    bw_space *space = NULL;
    BW_TRY(space_new(runtime, s, url, options, &space, error));
    store *own = NULL;
    bw_status status = clone_base(space, options->retry_limit_ns, &own, error);
    if (status == BW_OK)
        own->stop = options->stop;
    if (status == BW_OK && drive_new(own, &space->drive) != BW_OK)
        status = error_set(error, BW_NOMEM, "out of memory");
    if (status == BW_OK && options->writable)
        status = store_probe(own, runtime_random(runtime), error);
    if (status == BW_OK)
        status = options->raw ? read_raw(space, error) : read_chain(space, deadline_ns, error);
    if (status == BW_OK && store_stopped(own)) /* it may have been cancelled */
        status = error_set(error, BW_INTERRUPTED, "opening %s was interrupted", url);
    if (status != BW_OK) {
        space_destroy(space);
        return status;
    }
    own->stop = NULL;
    if (!options->raw) {
        space->genesis = chain_genesis(space->chain);
        space->genesis_hash = *chain_genesis_hash(space->chain);
        space->behind = !chain_is_newest(space->chain);
    }
    if (space->genesis != NULL)
        hex_encode(space->genesis->uuid, UUID_BYTES, space->uuid);
    if ((space->base->features & STORE_IS_LOCAL) == 0)
        executor_widen(runtime->executor);
    atomic_fetch_add(&runtime->spaces, 1u);
    *out = space;
    return BW_OK;
}

void space_close(bw_space *space)
{
    if (space == NULL)
        return;
    if (!runtime_is_ours(space->runtime)) {
        /* The follower's thread and its half-done work are the parent's; only what no thread
         * changes is freed. */
        mem_free(space->url);
        mem_free(space);
        return;
    }
    if (atomic_load(&space->users) != 0u) {
        /* They would run on in freed memory. */
        log_line(&space->runtime->log, LOG_LEVEL_ERROR,
                 "bw_space_close: producers or consumers are open; nothing is freed");
        return;
    }
    reclaimer_stop(&space->reclaimer);
    follower_free(space->follower);
    atomic_fetch_sub(&space->runtime->spaces, 1u);
    space_destroy(space);
}
