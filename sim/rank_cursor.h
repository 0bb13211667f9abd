// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The cursors with which a rank begins that has none of its own, and what may stand in one. */
#ifndef SIM_RANK_CURSOR_H
#define SIM_RANK_CURSOR_H

#include "trainer.h"

/** A version whose name is given up and that can be read all the same: a manifest that is not
 * deleted yet, or a ghost. `version` when there is none. */
uint64_t rank_given_up(process *p, uint64_t version);
/** What the cursor `json` (NULL: none) says of its way, or nearly so. */
void rank_other_way(process *p, const char *json, resume_point *at);
/** Of a job that leaves steps out, or reads only some tags. */
void rank_first_cursor(sim *s, const manifest *m, buf *json);
/** Where the launch of the job began, in the rank's own mesh: a step of another mesh from the
 * beginning. */
void rank_job_cursor(sim *s, const job *j, buf *json);

#endif
