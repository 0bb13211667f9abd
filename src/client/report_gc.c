// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "gc": one pass of the sweep, and who keeps what it leaves. */
#include "client/reclaimer.h"
#include "client/reports.h"
#include "protocol/reclaim.h"

#define GC_BACKOFF_MIN_NS (5 * NS_PER_MS)
#define GC_BACKOFF_MAX_NS NS_PER_S
#define GC_CACHE_BYTES ((size_t)64 << 20)

static void put_staged(buf *out, const reclaim_report *pass)
{
    json_put_u64(out, "staged_objects", pass->staged_objects);
    json_put_u64(out, "staged_bytes", pass->staged_bytes);
    json_put_array(out, "staged");
    for (uint32_t k = 0; k < pass->staged_count; k++) {
        json_put_object(out, NULL);
        json_put_text(out, "producer", pass->staged[k].producer);
        json_put_u64(out, "objects", pass->staged[k].objects);
        json_put_u64(out, "bytes", pass->staged[k].bytes);
        json_put_object_end(out);
    }
    json_put_array_end(out);
}

static void put_data(buf *out, const reclaim_report *pass, const manifest *m)
{
    keeper k;
    json_put_u64(out, "next_step", m->next);
    json_put_u64(out, "trim_step", pass->trim);
    json_put_u64(out, "swept_step", pass->swept);
    json_put_u64(out, "swept_to", pass->swept_to);
    put_keeper(out, "kept_by", manifest_w_keeper(m, &k) ? &k : NULL);
    json_put_u64(out, "bytes_kept", m->committed_bytes - m->swept_bytes);
    json_put_u64(out, "steps_deleted", pass->steps);
    json_put_u64(out, "bytes_deleted", pass->bytes);
    json_put_u64(out, "segments_deleted", pass->segments_deleted);
    json_put_u64(out, "producers_moved", pass->moved);
    json_put_u64(out, "orphans_deleted", pass->orphans_deleted);
    json_put_u64(out, "orphan_bytes", pass->orphan_bytes);
    json_put_u64(out, "strangers", pass->strangers);
    put_staged(out, pass);
    json_put_bool(out, "overtaken", pass->overtaken);
}

static void put_summary(report *r, const reclaim_report *pass, const manifest *m)
{
    const sweep_report *s = &pass->manifests;
    json_put_object(&r->out, NULL);
    json_put_bool(&r->out, "applied", r->options->apply);
    json_put_u64(&r->out, "newest_version", pass->newest);
    put_data(&r->out, pass, m);
    json_put_u64(&r->out, "blocks_retired", s->blocks_retired);
    json_put_u64(&r->out, "blocks_total", s->blocks_total);
    json_put_u64(&r->out, "manifests_deleted", s->manifests_deleted);
    json_put_u64(&r->out, "ghosts_deleted", s->ghosts_deleted);
    json_put_object_end(&r->out);
}

typedef struct audience {
    report *report;
    bw_error *error;
} audience;

static bw_status tell(void *context, const reclaim_report *pass)
{
    const audience *a = context;
    report *r = a->report;
    uint64_t end = pass->trim;
    if (r->options->manifests_only)
        end = pass->swept;
    else if (r->options->steps_max > 0 && end - pass->swept > r->options->steps_max)
        end = pass->swept + r->options->steps_max;
    const report_walk walk = {
        .step = pass->swept + pass->steps, .first = pass->swept, .end = end, .bytes = pass->bytes};
    /* How long listings take cannot be known. */
    return walk.step < walk.end ? report_progress(r, &walk, a->error) : BW_OK;
}

/* The machine itself repeats a failing request for ever: the drive ends a pass of which nothing
 * comes for the report's time. */
static bw_status run_pass(report *r, reader *from, reclaim *pass, bw_error *error)
{
    audience a = {r, error};
    const reclaim_watch watch = {tell, &a};
    reclaim_start(pass, clock_now(clock_system()), TIME_NEVER);
    const bw_status status = reclaimer_drive(from->drive, pass, r->options->timeout_ns, NULL,
                                             r->options->progress ? &watch : NULL);
    if (status == BW_INTERRUPTED)
        return status; /* of a line that was handed out */
    if (status != BW_OK)
        return drive_tell(from->drive, status, error, "gc");
    const reclaim_report *done = reclaim_reported(pass);
    if (done->status != BW_OK) {
        error_copy(error, &done->error);
        if (error != NULL)
            error->code = done->status;
        return done->status;
    }
    put_summary(r, done, chain_held(from->chain));
    return report_emit(r, error);
}

bw_status report_gc(report *r, bw_error *error)
{
    const report_options *o = r->options;
    if (o->apply && !r->space->options.writable)
        return error_set(error, BW_READ_ONLY,
                         "gc with apply: the namespace was opened for reading; open it with "
                         "mode=write");
    reader from;
    BW_TRY(reader_open(r->space, r->deadline_ns, r->options->stop, &from, error));
    const reclaim_options options = {
        .apply = o->apply,
        .orphans = o->orphans,
        .manifests_only = o->manifests_only,
        .steps_max = o->steps_max,
        .blocks_max = o->blocks_max,
        .cache_bytes = GC_CACHE_BYTES,
        .backoff_min_ns = GC_BACKOFF_MIN_NS,
        .backoff_max_ns = GC_BACKOFF_MAX_NS,
        .seed = runtime_random(r->space->runtime),
        .clock = clock_system(),
        .log = &r->space->runtime->log,
    };
    reclaim *pass = NULL;
    bw_status status = reclaim_new(from.chain, &options, &pass);
    if (status == BW_OK)
        status = run_pass(r, &from, pass, error);
    else
        (void)error_set(error, status, "gc: %s", bw_status_text(status));
    /* The drive goes first: it may hold requests whose bytes are the machine's. */
    drive_free(from.drive);
    from.drive = NULL;
    reclaim_free(pass);
    reader_close(&from);
    return status;
}
