// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/reclaimer.h"

#include "client/space.h"
#include "protocol/reclaim.h"

#define PASS_STEPS_MAX 1024u
#define PASS_BLOCKS_MAX 4u
#define PASS_TIMEOUT_NS (60 * NS_PER_S)
#define PASS_CACHE_BYTES ((size_t)8 << 20)
#define PASS_BACKOFF_MIN_NS (20 * NS_PER_MS)
#define PASS_BACKOFF_MAX_NS NS_PER_S

static void told(reclaimer *r, bw_status status, const bw_error *why)
{
    const log_sink *log = &r->space->runtime->log;
    if (status == BW_DENIED) {
        log_line(log, LOG_LEVEL_WARN,
                 "reclaim: %s; this handle stops sweeping, batchweave gc --apply does it with the "
                 "right to delete",
                 why->message);
        r->refused = true;
    } else if (status != BW_OK) {
        log_line(log, LOG_LEVEL_INFO, "reclaim: %s; the next pass goes on", why->message);
    }
}

static uint64_t progress(const reclaim *pass)
{
    const reclaim_report *p = reclaim_reported(pass);
    const sweep_report *s = &p->manifests;
    return p->steps + p->names_deleted + p->segments_deleted + p->orphans_deleted +
           s->blocks_retired + s->manifests_deleted + s->ghosts_deleted;
}

bw_status reclaimer_drive(drive *d, reclaim *pass, int64_t timeout_ns, const drive_stop *stop,
                          const reclaim_watch *watch)
{
    const machine m = {&reclaim_machine, pass};
    uint64_t before = progress(pass);
    int64_t until_ns = clock_deadline(clock_system(), timeout_ns);
    for (;;) {
        int64_t end_ns = clock_deadline(clock_system(), NS_PER_S);
        if (watch == NULL || end_ns > until_ns)
            end_ns = until_ns;
        const bw_status status = drive_run(d, m, end_ns, stop);
        if (status != BW_TIMEOUT)
            return status;
        const uint64_t now = progress(pass);
        if (now != before)
            until_ns = clock_deadline(clock_system(), timeout_ns);
        else if (clock_now(clock_system()) >= until_ns)
            return status;
        before = now;
        if (watch != NULL)
            BW_TRY(watch->tell(watch->context, reclaim_reported(pass)));
    }
}

static bw_status run_machine(reclaimer *r, drive *d, reclaim *pass, bw_error *why)
{
    const drive_stop stop = {&r->gate, &r->stopping};
    reclaim_start(pass, clock_now(clock_system()), clock_deadline(clock_system(), PASS_TIMEOUT_NS));
    const bw_status status = reclaimer_drive(d, pass, PASS_TIMEOUT_NS, &stop, NULL);
    if (status != BW_OK)
        return status == BW_INTERRUPTED ? BW_OK : drive_tell(d, status, why, "reclaim");
    error_copy(why, &reclaim_reported(pass)->error);
    return reclaim_reported(pass)->status;
}

static bw_status pass_once(reclaimer *r, bw_error *why)
{
    bw_space *space = r->space;
    store *own = NULL;
    drive *d = NULL;
    chain *c = NULL;
    reclaim *pass = NULL;
    const reclaim_options options = {
        .apply = true,
        .steps_max = PASS_STEPS_MAX,
        .blocks_max = PASS_BLOCKS_MAX,
        .cache_bytes = PASS_CACHE_BYTES,
        .backoff_min_ns = PASS_BACKOFF_MIN_NS,
        .backoff_max_ns = PASS_BACKOFF_MAX_NS,
        .seed = runtime_random(space->runtime),
        .clock = clock_system(),
        .log = &space->runtime->log,
    };
    BW_TRY(space_store(space, &own, why));
    bw_status status = drive_new(own, &d);
    if (status == BW_OK)
        status = chain_new(runtime_random(space->runtime), &space->runtime->log, &c);
    if (status == BW_OK)
        status = reclaim_new(c, &options, &pass);
    if (status == BW_OK)
        status = run_machine(r, d, pass, why);
    else
        (void)error_set(why, status, "out of memory");
    /* The drive goes first: it may hold requests whose bytes are the machine's. */
    drive_free(d);
    reclaim_free(pass);
    chain_free(c);
    return status;
}

static void run(job *j, uint32_t worker)
{
    reclaimer *r = (reclaimer *)(void *)j;
    bw_error why;
    (void)worker;
    error_clear(&why);
    told(r, pass_once(r, &why), &why);
    lock_acquire(&r->lock);
    const bool again = r->again && !r->refused && atomic_load(&r->stopping) == 0;
    r->again = false;
    r->running = again;
    if (again)
        executor_submit(r->space->runtime->executor, &r->job);
    gate_open(&r->gate);
    lock_release(&r->lock);
}

bw_status reclaimer_init(reclaimer *r, bw_space *space)
{
    r->space = space;
    r->job.run = run;
    gate_init(&r->gate);
    atomic_init(&r->stopping, 0);
    return lock_init(&r->lock);
}

void reclaimer_nudge(reclaimer *r)
{
    executor *e = r->space->runtime->executor;
    if (!r->space->options.reclaim || executor_start(e) != BW_OK)
        return;
    lock_acquire(&r->lock);
    if (r->running) {
        r->again = true;
    } else if (!r->refused && atomic_load(&r->stopping) == 0) {
        r->running = true;
        executor_submit(e, &r->job);
    }
    lock_release(&r->lock);
}

void reclaimer_stop(reclaimer *r)
{
    atomic_store(&r->stopping, 1);
    lock_acquire(&r->lock);
    if (r->running && executor_cancel(r->space->runtime->executor, &r->job))
        r->running = false;
    gate_open(&r->gate);
    while (r->running) {
        const uint32_t ticket = gate_ticket(&r->gate);
        lock_release(&r->lock);
        gate_wait(&r->gate, ticket, TIME_NEVER);
        lock_acquire(&r->lock);
    }
    lock_release(&r->lock);
}
