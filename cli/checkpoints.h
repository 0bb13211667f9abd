// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The checkpoints that `consume --pin-every` plays: pins named by their step, the newest kept. */
#ifndef CLI_CHECKPOINTS_H
#define CLI_CHECKPOINTS_H

#include "cli.h"

#define CHECKPOINTS_MAX 64u
#define CHECKPOINT_ID_BYTES 32u

typedef struct checkpoints {
    uint64_t every, keep; /* steps between pins (0: none); pins kept */
    uint32_t count;       /* oldest first */
    char ids[CHECKPOINTS_MAX][CHECKPOINT_ID_BYTES];
} checkpoints;

/** Takes up those that an earlier run of the group made. */
bw_status checkpoints_begin(checkpoints *all, cli *c, const char *group);
/** All ranks have `steps` steps since the start; `consumer` speaks for them. Pins when it is time.
 */
bw_status checkpoints_step(checkpoints *all, uint64_t steps, int64_t timeout_ns,
                           bw_consumer *consumer, bw_error *error);

#endif
