// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Named points at which a crash test may kill or freeze this very process.
 *
 * BATCHWEAVE_FAULT holds rules separated by `;`: `action:point[:n]`, action `kill` (SIGKILL) or
 * `stop` (SIGSTOP), n the passage of that point (from 1, the default; counted over all threads) at
 * which the signal is raised, once. A rule that cannot be read is named on stderr, since a crash
 * test that never crashes proves nothing. Without the variable a passage costs one load.
 */
#ifndef BASE_FAULTPOINT_H
#define BASE_FAULTPOINT_H

/** Any thread. The variable is read at the first passage and never again. */
void fault_point(const char *name);

#endif
