// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/space.h"
#include "protocol/commit.h"
#include <inttypes.h>

#define COMMIT_BACKOFF_MIN_NS (2 * NS_PER_MS)
#define COMMIT_BACKOFF_MAX_NS NS_PER_S

static bw_status run_seal(bw_space *space, reader *r, commit *c, bool force, int64_t deadline_ns,
                          bw_error *error)
{
    intent i = {.kind = INTENT_SEAL};
    i.seal.force = force;
    commit_start(c, &i, view_text(""), clock_now(clock_system()), deadline_ns);
    const bw_status status = drive_commit(r->drive, c, deadline_ns, NULL);
    const commit_report *report = commit_reported(c);
    (void)space;
    /* The create may be on its way although nothing was heard of it. */
    if ((status == BW_TIMEOUT || status == BW_IO) && report->attempts > 0)
        return error_set(error, BW_UNKNOWN,
                         "seal: the outcome of version %" PRIu64 " is not known; seal again",
                         report->open_version);
    if (status != BW_OK)
        return drive_tell(r->drive, status, error, "seal");
    if (report->end == COMMIT_DONE)
        return BW_OK;
    /* A lost race is no error of the machine's, but this one had no time left for another. */
    if (report->end == COMMIT_LOST)
        return error_set(error, BW_TIMEOUT, "seal: other commits were faster");
    error_copy(error, &report->error);
    if (error != NULL)
        error->code = report->status;
    return report->status;
}

bw_status space_seal(bw_space *space, bool force, int64_t timeout_ns, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    if (!space->options.writable)
        return error_set(error, BW_READ_ONLY,
                         "the namespace was opened for reading; open it with mode=write");
    reader r;
    BW_TRY(reader_open(space, deadline_ns, &r, error));
    const commit_options options = {
        .backoff_min_ns = COMMIT_BACKOFF_MIN_NS,
        .backoff_max_ns = COMMIT_BACKOFF_MAX_NS,
        .conflict_retries = 0, /* until the deadline */
        .seed = runtime_random(space->runtime),
        .clock = clock_system(),
        .log = &space->runtime->log,
    };
    commit *c = NULL;
    bw_status status = commit_new(r.chain, &options, &c);
    if (status == BW_OK)
        status = run_seal(space, &r, c, force, deadline_ns, error);
    else
        (void)error_set(error, status, "seal: %s", bw_status_text(status));
    /* The drive goes first: it may hold requests whose bytes are the machine's. */
    drive_free(r.drive);
    r.drive = NULL;
    commit_free(c);
    reader_close(&r);
    return status;
}
