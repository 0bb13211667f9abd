// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/change.h"

#include <inttypes.h>

#define COMMIT_BACKOFF_MIN_NS (2 * NS_PER_MS)
#define COMMIT_BACKOFF_MAX_NS NS_PER_S

bw_status change_open(change *c, bw_space *space, const char *what, int64_t deadline_ns,
                      const atomic_int *stop, bw_error *error)
{
    *c = (change){.space = space, .what = what, .deadline_ns = deadline_ns};
    if (!space->options.writable)
        return error_set(error, BW_READ_ONLY,
                         "%s: the namespace was opened for reading; open it with mode=write", what);
    BW_TRY(reader_open(space, deadline_ns, stop, &c->reader, error));
    const commit_options options = {
        .backoff_min_ns = COMMIT_BACKOFF_MIN_NS,
        .backoff_max_ns = COMMIT_BACKOFF_MAX_NS,
        .conflict_retries = 0, /* until the deadline */
        .seed = runtime_random(space->runtime),
        .clock = clock_system(),
        .log = &space->runtime->log,
    };
    const bw_status status = commit_new(c->reader.chain, &options, &c->commit);
    if (status == BW_OK)
        return BW_OK;
    change_close(c);
    return error_set(error, status, "%s: %s", what, bw_status_text(status));
}

const manifest *change_base(const change *c)
{
    return chain_held(c->reader.chain);
}

bw_status change_make(change *c, intent *i, bw_error *error)
{
    commit_start(c->commit, i, view_text(""), clock_now(clock_system()), c->deadline_ns);
    const bw_status status = drive_commit(c->reader.drive, c->commit, c->deadline_ns, NULL);
    const commit_report *report = commit_reported(c->commit);
    /* The create may be on its way although nothing was heard of it. */
    if ((status == BW_TIMEOUT || status == BW_IO) && report->attempts > 0)
        return error_set(error, BW_UNKNOWN,
                         "%s: the outcome of version %" PRIu64 " is not known; do the same again",
                         c->what, report->open_version);
    if (status != BW_OK)
        return drive_tell(c->reader.drive, status, error, c->what);
    if (report->end == COMMIT_DONE)
        return BW_OK;
    /* A lost race is no error of the machine's, but this one had no time left for another. */
    if (report->end == COMMIT_LOST)
        return error_set(error, BW_TIMEOUT, "%s: other commits were faster", c->what);
    error_copy(error, &report->error);
    if (error != NULL)
        error->code = report->status;
    return report->status;
}

void change_close(change *c)
{
    /* The drive goes first: it may hold requests whose bytes are the machine's. */
    drive_free(c->reader.drive);
    c->reader.drive = NULL;
    commit_free(c->commit);
    c->commit = NULL;
    reader_close(&c->reader);
}
