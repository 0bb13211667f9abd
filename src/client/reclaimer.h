// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * reclaimer: one bounded pass of the sweep in the background after each pin, as a job of the
 * executor (docs/protocol.md). What it does not get to, the next one or `gc` does.
 */
#ifndef CLIENT_RECLAIMER_H
#define CLIENT_RECLAIMER_H

#include "base/thread.h"
#include "client/drive.h"
#include "client/executor.h"
#include "client/gate.h"
#include "protocol/reclaim.h"
#include <stdbool.h>

typedef struct bw_space bw_space;

typedef struct reclaimer {
    job job;
    bw_space *space;
    gate gate;
    atomic_int stopping;
    lock lock;
    bool running, again; /* under lock */
    bool refused;        /* the store does not let this handle delete: said once, then left alone */
} reclaimer;

/** Told about once a second how far a pass is; what is not BW_OK ends it. */
typedef struct reclaim_watch {
    bw_status (*tell)(void *context, const reclaim_report *pass);
    void *context;
} reclaim_watch;

/** Drives a pass that was started as long as it takes; BW_TIMEOUT when nothing came of it for
 * `timeout_ns`, what `watch` (may be NULL) said, else as drive_run. */
bw_status reclaimer_drive(drive *d, reclaim *pass, int64_t timeout_ns, const drive_stop *stop,
                          const reclaim_watch *watch);

bw_status reclaimer_init(reclaimer *r, bw_space *space);
/** Something was pinned or released: a pass begins, or another one follows the one that runs. */
void reclaimer_nudge(reclaimer *r);
/** Ends a pass that runs; on return none does. */
void reclaimer_stop(reclaimer *r);

#endif
