// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/reports.h"

#include <string.h>

/* A manifest at its hard cap, each byte of it spelled out. */
#define LINE_BYTES_MAX ((size_t)256 << 20)

typedef struct report_kind {
    const char *name;
    bw_status (*run)(report *r, bw_error *error);
    bool raw; /* needs no chain */
} report_kind;

static const report_kind kinds[] = {
    {"info", report_info, false}, {"steps", report_steps, false},
    {"tail", report_tail, false}, {"inspect", report_inspect, true},
    {"list", report_list, true},  {"verify", report_verify, true},
    {"gc", report_gc, false},
};

bw_status report_emit(report *r, bw_error *error)
{
    const char *line = buf_text(&r->out); /* its NUL may need more memory */
    const bw_status status = buf_status(&r->out);
    if (status != BW_OK)
        return error_set(error, status, "a line of the report: %s", bw_status_text(status));
    const atomic_int *stopped = r->options->stop;
    const bool stop =
        r->line(r->context, line) != 0 || (stopped != NULL && atomic_load(stopped) != 0);
    buf_reset(&r->out);
    return !stop ? BW_OK : error_set(error, BW_INTERRUPTED, "the report was stopped");
}

bw_status report_progress(report *r, const report_walk *walk, bw_error *error)
{
    const int64_t now_ns = clock_now(clock_system());
    if (!r->options->progress || now_ns - r->told_ns < NS_PER_S)
        return BW_OK;
    r->told_ns = now_ns;
    json_put_object(&r->out, NULL);
    json_put_bool(&r->out, "progress", true);
    json_put_u64(&r->out, "step", walk->step);
    json_put_u64(&r->out, "first_step", walk->first);
    json_put_u64(&r->out, "end_step", walk->end);
    json_put_u64(&r->out, "bytes", walk->bytes);
    if (walk->bytes_all > 0)
        json_put_u64(&r->out, "bytes_all", walk->bytes_all);
    else
        json_put_null(&r->out, "bytes_all");
    json_put_object_end(&r->out);
    return report_emit(r, error);
}

bw_status report_run(bw_space *space, const char *what, const report_options *options,
                     bw_line_fn line, void *context, bw_error *error)
{
    report r = {
        .space = space,
        .options = options,
        .line = line,
        .context = context,
        .deadline_ns = clock_deadline(clock_system(), options->timeout_ns),
        .told_ns = clock_now(clock_system()),
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, what) != 0)
            continue;
        if (!kinds[i].raw)
            BW_TRY(space_check_chain(space, error));
        buf_init(&r.out, LINE_BYTES_MAX);
        const bw_status status = kinds[i].run(&r, error);
        buf_free(&r.out);
        return status;
    }
    return error_set(error, BW_INVALID,
                     "there is no report \"%.40s\"; there are info, steps, tail, inspect, list, "
                     "verify and gc",
                     what);
}
