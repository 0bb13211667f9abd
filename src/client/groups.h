// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** groups: training jobs and the checkpoints that they keep, as commits of a space
 * (docs/protocol.md). */
#ifndef CLIENT_GROUPS_H
#define CLIENT_GROUPS_H

#include "client/space.h"
#include "protocol/launch.h"

/** Registers the group or resumes it. `*step`, `*item`: where the launch begins. `stop` as for
 * reader_open. */
bw_status group_launch(bw_space *space, const char *name, const char *launch, launch_start start,
                       const cursor *c, int64_t deadline_ns, const atomic_int *stop, uint64_t *step,
                       uint32_t *item, bw_error *error);

/** What a call about checkpoints is about. `launch` NULL: whichever the group has (operators). */
typedef struct group_call {
    const char *name, *launch;
    int64_t timeout_ns;
} group_call;

/** Ids to release, or to keep. */
typedef struct id_list {
    const char *const *ids;
    size_t count;
} id_list;

/** Pins the cursor, and releases, in one commit. `id` NULL: only releases; ids that are no pins are
 * fine. */
bw_status group_pin(bw_space *space, const group_call *call, const char *id, const cursor *at,
                    const id_list *release, bw_error *error);
/** Releases every pin that is not in `keep`, in one commit. `*released`: how many. */
bw_status group_reconcile(bw_space *space, const group_call *call, const id_list *keep,
                          uint32_t *released, bw_error *error);
bw_status group_remove(bw_space *space, const group_call *call, bw_error *error);
/** `epoch` 0: as it is now. */
bw_status producer_forget(bw_space *space, const char *id, uint32_t epoch, int64_t timeout_ns,
                          bw_error *error);

#endif
