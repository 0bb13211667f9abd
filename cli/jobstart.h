// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Where the ranks of `consume` begin: one place for all of them, whoever resolves it. */
#ifndef CLI_JOBSTART_H
#define CLI_JOBSTART_H

#include "cli.h"

/**
 * --from, --tags, --skip-to-tip and --skip. `*cursor` is the one of the file, or NULL; a group's
 * launch resolves the rest, else this process for all its ranks, and then it is another cursor. A
 * process that is one rank, by whatever setting or environment, leaves it to the library, which
 * knows whether there are others. `*moved`: it is not what the file says.
 */
bw_status jobstart(cli *c, const char *group, bw_cursor **cursor, bool *moved);

#endif
