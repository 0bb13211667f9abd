// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "gc": the manifest half of the sweep. */
#include "client/reports.h"
#include "protocol/sweep.h"

#define GC_BACKOFF_MIN_NS (5 * NS_PER_MS)
#define GC_BACKOFF_MAX_NS NS_PER_S

static void put_summary(report *r, const sweep_report *s)
{
    json_put_object(&r->out, NULL);
    json_put_bool(&r->out, "applied", r->options->apply);
    json_put_u64(&r->out, "newest_version", s->newest);
    json_put_u64(&r->out, "blocks_retired", s->blocks_retired);
    json_put_u64(&r->out, "blocks_total", s->blocks_total);
    json_put_u64(&r->out, "manifests_deleted", s->manifests_deleted);
    json_put_u64(&r->out, "ghosts_deleted", s->ghosts_deleted);
    json_put_object_end(&r->out);
}

static uint64_t progress(const sweep_report *s)
{
    return s->blocks_retired + s->manifests_deleted + s->ghosts_deleted;
}

/* A pass takes as long as it takes, but it ends when nothing comes of it for the report's time: the
 * machine itself repeats a failing request for ever. */
static bw_status run_sweep(report *r, reader *from, sweep *s, bw_error *error)
{
    sweep_start(s, clock_now(clock_system()), TIME_NEVER);
    const machine m = {&sweep_machine, s};
    bw_status status = BW_TIMEOUT;
    for (uint64_t before = 0, now = 1; status == BW_TIMEOUT && now != before;) {
        before = progress(sweep_reported(s));
        status =
            drive_run(from->drive, m, clock_deadline(clock_system(), r->options->timeout_ns), NULL);
        now = progress(sweep_reported(s));
    }
    if (status != BW_OK)
        return drive_tell(from->drive, status, error, "gc");
    const sweep_report *done = sweep_reported(s);
    if (done->status != BW_OK) {
        error_copy(error, &done->error);
        if (error != NULL)
            error->code = done->status;
        return done->status;
    }
    put_summary(r, done);
    return report_emit(r, error);
}

bw_status report_gc(report *r, bw_error *error)
{
    if (r->options->apply && !r->space->options.writable)
        return error_set(error, BW_READ_ONLY,
                         "gc with apply: the namespace was opened for reading; open it with "
                         "mode=write");
    reader from;
    BW_TRY(reader_open(r->space, r->deadline_ns, &from, error));
    const sweep_options options = {
        .apply = r->options->apply,
        .blocks_max = r->options->blocks_max,
        .backoff_min_ns = GC_BACKOFF_MIN_NS,
        .backoff_max_ns = GC_BACKOFF_MAX_NS,
        .seed = runtime_random(r->space->runtime),
    };
    sweep *s = NULL;
    bw_status status = sweep_new(from.chain, &options, &s);
    if (status == BW_OK)
        status = run_sweep(r, &from, s, error);
    else
        (void)error_set(error, status, "gc: %s", bw_status_text(status));
    /* The drive goes first: it may hold requests whose bytes are the machine's. */
    drive_free(from.drive);
    from.drive = NULL;
    sweep_free(s);
    reader_close(&from);
    return status;
}
