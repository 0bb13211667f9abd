// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** change: commits of a space that are no producer's: seal, launch, pin and their like. */
#ifndef CLIENT_CHANGE_H
#define CLIENT_CHANGE_H

#include "client/space.h"
#include "protocol/commit.h"

typedef struct change {
    bw_space *space;
    const char *what; /* for messages: "seal" */
    int64_t deadline_ns;
    reader reader;
    commit *commit;
} change;

/** Opens with a proved newest manifest at hand (change_base). BW_READ_ONLY unless the space was
 * opened for writing. `stop` as for reader_open. */
bw_status change_open(change *c, bw_space *space, const char *what, int64_t deadline_ns,
                      const atomic_int *stop, bw_error *error);
const manifest *change_base(const change *c);
/** Brings the intent to its outcome. BW_UNKNOWN: the deadline passed with a create on its way; the
 * same again is harmless. BW_TIMEOUT; what the chain refuses it with. */
bw_status change_make(change *c, intent *i, bw_error *error);
void change_close(change *c);

#endif
