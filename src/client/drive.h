// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * drive: runs protocol machines on a real store, in the caller's thread.
 *
 * A drive owns one store handle. The operations in flight survive a run that ends early (deadline,
 * stop), so that the same machine can be driven on later. Free the drive before the machines that
 * ran on it.
 */
#ifndef CLIENT_DRIVE_H
#define CLIENT_DRIVE_H

#include "client/gate.h"
#include "protocol/commit.h"

typedef struct drive drive;

/** What ends a run early: set `on`, then open the gate. */
typedef struct drive_stop {
    gate *gate;
    const atomic_int *on;
} drive_stop;

/** Takes over `s`, also on failure. */
bw_status drive_new(store *s, drive **out);
/** Closes the store; NULL is fine. */
void drive_free(drive *d);
/** Says of a run's `status`, or of what an operation of `d` gave, why `what` failed: for BW_BUG
 * which invariant was broken. Returns `status`. */
bw_status drive_tell(const drive *d, bw_status status, bw_error *error, const char *what);
/** true when the store said that it will never take a write again; `*why` (may be NULL): what it
 * said. Only another namespace handle can tell what became of an attempt that is in doubt then. */
bool drive_lost(const drive *d, bw_error *why);
/** For plain operations between runs. */
store *drive_store(drive *d);

/**
 * Until the machine stops running: BW_OK. BW_TIMEOUT at `deadline_ns`, BW_INTERRUPTED when `stop`
 * (NULL: never) or the store's own says so: the machine still runs and may be driven on. BW_NOMEM.
 * BW_BUG when an invariant was broken, in this run or by who started the machine: nothing runs on
 * this drive any more, and no result of the machine may be believed.
 */
bw_status drive_run(drive *d, machine m, int64_t deadline_ns, const drive_stop *stop);
/** The same for a commit. BW_IO when its attempt is in doubt and the store is lost: the machine
 * would ask for ever, and must not be driven on. */
bw_status drive_commit(drive *d, commit *c, int64_t deadline_ns, const drive_stop *stop);

#endif
