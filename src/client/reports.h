// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** report: what a namespace is, in lines of JSON (docs/reports.md). Only an applied gc writes. */
#ifndef CLIENT_REPORTS_H
#define CLIENT_REPORTS_H

#include "client/json.h"
#include "client/slice.h"
#include "client/space.h"

typedef struct report_options {
    bool has_first, has_last;
    uint64_t first, last;
    const char *key, *prefix; /* key: NULL when not set */
    bool deep, apply, manifests_only, orphans, progress;
    uint64_t steps_max;
    uint32_t blocks_max;
    int64_t timeout_ns;
    const atomic_int *stop; /* ends it once it is not zero; NULL: nothing does */
} report_options;

typedef struct report {
    bw_space *space;
    const report_options *options;
    bw_line_fn line;
    void *context;
    int64_t deadline_ns;
    int64_t told_ns; /* when progress was told last; when it began, before that */
    buf out;         /* the line that is being built */
} report;

/** BW_INVALID names the reports. */
bw_status report_run(bw_space *space, const char *what, const report_options *options,
                     bw_line_fn line, void *context, bw_error *error);

/** Hands out the line that was built and begins the next: BW_OK, or BW_INTERRUPTED when the caller
 * has had enough. */
bw_status report_emit(report *r, bw_error *error);

/** Steps and bytes of the walk: how far it is, and how far it goes. */
typedef struct report_walk {
    uint64_t step, first, end;
    uint64_t bytes, bytes_all; /* that were read or deleted; bytes_all 0: not known */
} report_walk;
/** A line of it, once a second where that is wanted; between two other lines. */
bw_status report_progress(report *r, const report_walk *walk, bw_error *error);

bw_status report_info(report *r, bw_error *error);
bw_status report_steps(report *r, bw_error *error);
bw_status report_tail(report *r, bw_error *error);
bw_status report_inspect(report *r, bw_error *error);
bw_status report_list(report *r, bw_error *error);
bw_status report_verify(report *r, bw_error *error);
bw_status report_gc(report *r, bw_error *error);

/* Parts that several reports share; members of the object that is open in `out`. */
void put_genesis_members(buf *out, const genesis *g);
void put_manifest_members(buf *out, const manifest *m);
void put_producer(buf *out, const producer_entry *e);
void put_group(buf *out, const group *g);
/** What keeps a step, as an object; null without a group. */
void put_keeper(buf *out, const char *key, const keeper *k);
/** A step's descriptor, as an object. */
void put_step(buf *out, uint64_t step, const descriptor *d);
void put_segment_ref(buf *out, const segment_ref *ref);

#endif
