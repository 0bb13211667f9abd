// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Where a rank begins. With a group all ranks of a job begin at one place: rank 0 writes it into
 * the chain under the job's launch id, the others take it from there (docs/protocol.md).
 */
#include "client/consumer.h"

#include "base/alloc.h"
#include "client/follower.h"
#include "client/groups.h"
#include "client/polling.h"
#include "protocol/launch.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a rank waits before it looks for the launch again, in a job that is no large one. A look
 * is two requests. */
#define LAUNCH_POLL_NS (50 * NS_PER_MS)
#define LAUNCH_REQUESTS 2
/* How soon a wait between looks notices that it is to end. */
#define STOP_LOOK_NS (20 * NS_PER_MS)

static const char *environment(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? text : NULL;
}

static const char *or_zero(const char *text)
{
    return text != NULL ? text : "0";
}

/* Every launch of a job has an id of its own that all of its ranks know: its schedulers' number and
 * how often that restarted it. False: there is none. */
static bool launch_of_job(const consumer_options *options, char out[LAUNCH_MAX + 1])
{
    const char *given = options->launch, *slurm = environment("SLURM_JOB_ID");
    const char *torch = environment("TORCHELASTIC_RUN_ID");
    int size;
    if (given[0] != '\0')
        size = snprintf(out, LAUNCH_MAX + 1, "%s", given);
    else if (slurm != NULL)
        size = snprintf(out, LAUNCH_MAX + 1, "slurm-%s.%s-%s", slurm,
                        or_zero(environment("SLURM_STEP_ID")),
                        or_zero(environment("SLURM_RESTART_COUNT")));
    else if (torch != NULL && strcmp(torch, "none") != 0)
        size = snprintf(out, LAUNCH_MAX + 1, "torch-%s-%s", torch,
                        or_zero(environment("TORCHELASTIC_RESTART_COUNT")));
    else
        return false;
    return size > 0 && size <= (int)LAUNCH_MAX;
}

static launch_start start_of(const consumer_options *options, const cursor *from)
{
    if (options->skip_to_tip)
        return from != NULL ? LAUNCH_TIP : LAUNCH_LATEST;
    if (from != NULL || options->start == START_STEP)
        return LAUNCH_CURSOR;
    if (!options->has_start)
        return LAUNCH_GROUP;
    return options->start == START_LATEST ? LAUNCH_LATEST : LAUNCH_EARLIEST;
}

/* `seen`: the launch that the group has instead, which may be one before ours or one after. `why`:
 * how the last look ended; it names a key when the store failed. */
static bw_status launch_missing(const bw_consumer *c, const char *seen, const bw_error *why,
                                bw_error *error)
{
    const bool failing = why->key[0] != '\0';
    return error_set(
        error, BW_TIMEOUT,
        "rank 0 has not begun launch %s of group %s, which has %s%s: is it running, with "
        "the same group and launch?%s%s",
        c->launch, c->group, seen[0] != '\0' ? "launch " : "none", seen,
        failing ? " The last look failed: " : "", failing ? why->message : "");
}

static int64_t launch_pause(const bw_consumer *c, rng *random)
{
    const bool local = (c->space->base->features & STORE_IS_LOCAL) != 0;
    const int64_t floor_ns = local ? 0 : LAUNCH_REQUESTS * polling_floor_ns(c->ranks, 1);
    return polling_jitter_ns(floor_ns > LAUNCH_POLL_NS ? floor_ns : LAUNCH_POLL_NS, random);
}

/* Or until the wait is to end: a large job's pause is seconds. */
static void wait_until(bw_consumer *c, int64_t until_ns, const atomic_int *stop)
{
    int64_t now_ns = clock_now(clock_system());
    while (now_ns < until_ns && (stop == NULL || atomic_load(stop) == 0)) {
        const int64_t look_ns = stop != NULL ? now_ns + STOP_LOOK_NS : until_ns;
        gate_wait(&c->changed, gate_ticket(&c->changed), look_ns < until_ns ? look_ns : until_ns);
        now_ns = clock_now(clock_system());
    }
}

/* A rank that is not the committing one: the launch appears in a proved manifest, or the time is
 * over. */
static bw_status await(bw_consumer *c, launch_start start, const cursor *mine, int64_t deadline_ns,
                       const atomic_int *stop, uint64_t *step, uint32_t *item, bw_error *error)
{
    follower *f = c->space->follower;
    char seen[LAUNCH_MAX + 1] = "";
    rng random;
    rng_seed(&random, runtime_random(c->space->runtime));
    for (bool looked = false;; looked = true) {
        manifest *m = NULL;
        bw_error why;
        error_clear(&why);
        bw_status status = follower_answer(f, follower_ask(f), deadline_ns, stop, &m, &why);
        if (status == BW_TIMEOUT && looked)
            return launch_missing(c, seen, &why, error);
        if (status != BW_OK) {
            error_copy(error, &why);
            return status;
        }
        const group *g = manifest_group(m, view_text(c->group));
        const bool there = g != NULL && view_equal(g->launch, view_text(c->launch));
        if (there)
            status = launch_take(g, start, mine, step, item, error);
        else if (g != NULL)
            (void)snprintf(seen, sizeof seen, "%.*s", (int)g->launch.size,
                           (const char *)g->launch.data);
        manifest_unref(m);
        if (there)
            return status;
        if (stop != NULL && atomic_load(stop) != 0)
            return error_set(error, BW_INTERRUPTED, "the wait for launch %s was interrupted",
                             c->launch);
        const int64_t now_ns = clock_now(clock_system());
        if (now_ns >= deadline_ns)
            return launch_missing(c, seen, &why, error);
        const int64_t again_ns = now_ns + launch_pause(c, &random);
        wait_until(c, again_ns < deadline_ns ? again_ns : deadline_ns, stop);
    }
}

/* It wants other tags than its cursor. */
static bool sets_tags(const consumer_options *options, const cursor *from)
{
    if (!options->has_tags)
        return false;
    const cursor wanted = {.tag_count = options->tag_count,
                           .tags = (tag_range *)(uintptr_t)options->tags};
    const cursor had = {.tag_count = from != NULL ? from->tag_count : 0,
                        .tags = from != NULL ? from->tags : NULL};
    return !cursor_equal(&wanted, &had);
}

/* What the job begins with: the cursor given, or a place of its mesh; and the tags it wants. */
static bw_status given(const genesis *g, const consumer_options *options, const cursor *from,
                       cursor *out, bw_error *error)
{
    cursor at = {.step = options->start_step,
                 .mode = options->mode,
                 .dp = options->dp != 0 ? options->dp : g->dp};
    memcpy(at.uuid, g->uuid, UUID_BYTES);
    if (from != NULL)
        at = *from;
    cursor wanted = at;
    if (options->has_tags) {
        wanted.tag_count = options->tag_count;
        wanted.tags = (tag_range *)(uintptr_t)options->tags; /* copied */
    }
    return cursor_copy(out, &wanted) == BW_OK
               ? BW_OK
               : error_set(error, BW_NOMEM, "no memory for a cursor");
}

/* `at` becomes the cursor with which a job of this start begins at `step`. */
static bw_status begin_at(cursor *at, launch_start start, uint64_t step, uint32_t item,
                          bw_error *error)
{
    cursor begun;
    const bw_status status = launch_cursor(at, start, step, item, &begun);
    if (status != BW_OK)
        return error_set(error, status,
                         status == BW_CURSOR_INVALID
                             ? "the cursor skips too many ranges to skip another"
                             : "no memory for a cursor");
    cursor_free(at);
    *at = begun;
    return BW_OK;
}

static bw_status name_launch(bw_consumer *c, const consumer_options *options,
                             const consumer_seat *seat, const cursor *from, bw_error *error)
{
    char launch[LAUNCH_MAX + 1];
    if (strlen(options->launch) > LAUNCH_MAX)
        return error_set(error, BW_INVALID, "a launch id has at most %u bytes", LAUNCH_MAX);
    c->group = mem_strdup(options->group);
    if (launch_of_job(options, launch)) {
        c->launch = mem_strdup(launch);
    } else if (seat->alone || (from != NULL && seat->commits)) {
        (void)snprintf(launch, sizeof launch, "own-%016" PRIx64, runtime_random(c->space->runtime));
        c->launch = mem_strdup(launch);
    } else if (from == NULL) {
        return error_set(error, BW_INVALID,
                         "several ranks and no launch id that all of them know: set launch to one "
                         "(another at each start of the job), or give all ranks one cursor; "
                         "torchrun's and Slurm's are found by themselves");
    } else {
        return BW_OK; /* it reads what rank 0 registers under an id of its own */
    }
    return c->group != NULL && c->launch != NULL ? BW_OK
                                                 : error_set(error, BW_NOMEM, "out of memory");
}

/* Where the launch begins: `at` becomes the cursor to go on from. */
static bw_status join_launch(bw_consumer *c, const consumer_options *options,
                             const consumer_seat *seat, const cursor *from, int64_t deadline_ns,
                             cursor *at, bw_error *error)
{
    BW_TRY(name_launch(c, options, seat, from, error));
    if (c->launch == NULL)
        return options->skip_to_tip || sets_tags(options, from)
                   ? error_set(error, BW_INVALID,
                               "skip_to_tip and tags need a launch id that all ranks know: set "
                               "launch")
                   : BW_OK;
    uint64_t step;
    uint32_t item;
    const launch_start start = start_of(options, from);
    if (seat->commits)
        BW_TRY(group_launch(c->space, c->group, c->launch, start, at, deadline_ns, options->stop,
                            &step, &item, error));
    else
        BW_TRY(await(c, start, at, deadline_ns, options->stop, &step, &item, error));
    return begin_at(at, start, step, item, error);
}

/* The place of a start that is resolved here, for one rank that is alone or for all. */
static bw_status resolve(const manifest *m, const consumer_options *options, const cursor *from,
                         cursor *at, bw_error *error)
{
    const launch_start start = start_of(options, from);
    uint64_t step = at->step;
    if (start == LAUNCH_TIP && at->item > 0)
        return error_set(error, BW_CURSOR_INVALID,
                         "the cursor stands at item %u of step %" PRIu64
                         ": a job skips to the tip only from a step's beginning",
                         at->item, at->step);
    if (start == LAUNCH_LATEST || (start == LAUNCH_TIP && m->next > step))
        step = m->next;
    else if (start == LAUNCH_EARLIEST || start == LAUNCH_GROUP)
        step = m->trim;
    return begin_at(at, start, step, at->item, error);
}

/* The cursor's nonce against the step that it was read from, where that is still described. */
static bw_status check_history(bw_consumer *c, const manifest *m, const atomic_int *stop,
                               bw_error *error)
{
    uint64_t step = 0;
    if (!handout_nonce_step(c->locked.handout, m, &step))
        return BW_OK;
    store *own = NULL;
    BW_TRY(space_store(c->space, &own, error));
    own->stop = stop;
    step_entry entry;
    bw_status status =
        segments_get(&c->space->segments, own, c->space->genesis, m, step, &entry, error);
    store_close(own);
    if (status == BW_OK)
        return handout_check_nonce(c->locked.handout, step, entry.descriptor.record.nonce, error);
    /* Swept between the two reads: then it is not described any more, and nothing is to be checked.
     */
    return status == BW_NOT_FOUND || status == BW_TRIMMED ? BW_OK : status;
}

/* Without a group nothing shows that all ranks find out, or were told, the same. */
static bw_status check_start(const consumer_options *options, const consumer_seat *seat,
                             const cursor *from, bw_error *error)
{
    if (options->skip_to_tip && options->has_start && from == NULL)
        return error_set(error, BW_INVALID, "skip_to_tip begins at the tip, start elsewhere");
    if (options->group != NULL || seat->alone)
        return BW_OK;
    if (options->skip_to_tip || (from == NULL && options->start == START_LATEST))
        return error_set(error, BW_INVALID,
                         "%s would be found out by each rank for itself, and they would "
                         "disagree; give a step, a cursor or a group",
                         options->skip_to_tip ? "skip_to_tip" : "start=latest");
    if (sets_tags(options, from))
        return error_set(error, BW_INVALID,
                         "tags of several ranks without a group: nothing would show that all "
                         "want the same; give a group, or all ranks one cursor with tags");
    return BW_OK;
}

/* By the manifest that answers `ticket`. */
static bw_status stand_at(bw_consumer *c, const consumer_options *options, const cursor *from,
                          cursor *at, uint64_t ticket, int64_t deadline_ns, bw_error *error)
{
    manifest *m = NULL;
    BW_TRY(follower_answer(c->space->follower, ticket, deadline_ns, options->stop, &m, error));
    bw_status status = options->group != NULL ? BW_OK : resolve(m, options, from, at, error);
    if (status == BW_OK)
        status = handout_resume(c->locked.handout, m, at, error);
    if (status == BW_OK)
        status = check_history(c, m, options->stop, error);
    c->locked.plan_step = handout_reading(c->locked.handout);
    manifest_unref(m);
    return status;
}

bw_status consumer_begin(bw_consumer *c, const consumer_options *options, const consumer_seat *seat,
                         const cursor *from, int64_t deadline_ns, bw_error *error)
{
    cursor at;
    follower *f = c->space->follower;
    BW_TRY(check_start(options, seat, from, error));
    BW_TRY(given(c->space->genesis, options, from, &at, error));
    bw_status status = BW_OK;
    if (options->group != NULL)
        status = join_launch(c, options, seat, from, deadline_ns, &at, error);
    /* The manifest that opened the space will do for the first consumer of it, and saves a restart
     * two round trips; whom it refuses, who comes later, or asks where things stand now, is told by
     * the newest. */
    const bool named = options->group != NULL || start_of(options, from) == LAUNCH_CURSOR;
    const bool held = status == BW_OK && named && !atomic_exchange(&c->space->begun, true) &&
                      stand_at(c, options, from, &at, 0, deadline_ns, error) == BW_OK;
    if (status == BW_OK && !held)
        status = stand_at(c, options, from, &at, follower_ask(f), deadline_ns, error);
    cursor_free(&at);
    return status;
}

bw_status consumer_start(bw_space *space, const consumer_options *options, const cursor *from,
                         int64_t timeout_ns, bw_cursor **out, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    cursor at;
    manifest *m = NULL;
    const consumer_seat all = {.alone = true};
    BW_TRY(space_check_chain(space, error));
    BW_TRY(check_start(options, &all, from, error));
    BW_TRY(follower_start(space, error));
    BW_TRY(given(space->genesis, options, from, &at, error));
    follower *f = space->follower;
    /* A place that is named is what it is, whatever the newest says. */
    const bool named = start_of(options, from) == LAUNCH_CURSOR;
    bw_status status =
        follower_answer(f, named ? 0 : follower_ask(f), deadline_ns, options->stop, &m, error);
    if (status == BW_OK)
        status = resolve(m, options, from, &at, error);
    if (status == BW_OK)
        status = cursor_wrap(&at, out, error);
    manifest_unref(m);
    cursor_free(&at);
    return status;
}
