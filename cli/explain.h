// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What each status means, why it happens, and what to do: the texts of `batchweave errors`. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <batchweave/status.h>

typedef struct explanation {
    bw_status status;
    const char *meaning;
    const char *causes;
    const char *action;
} explanation;

/** NULL for a number that is no status. */
const explanation *explain(bw_status status);

#endif
