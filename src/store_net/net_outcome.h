// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What an answer means: data, not code. A row is found by the error code of the answer, else by the
 * status; each names where it was read. Status 409 alone, for one, means three things on three
 * stores, so that no status is mapped where the code decides.
 */
#ifndef STORE_NET_NET_OUTCOME_H
#define STORE_NET_NET_OUTCOME_H

#include "store/store.h"

typedef struct net_outcome {
    const char *code; /* NULL: found by the status */
    int first, last;  /* statuses, by which it is found when the code is unknown or absent */
    store_outcome create, other;
    bw_status meaning;  /* BW_OK where nothing failed */
    const char *advice; /* after the server's text; "", or NET_PERMIT */
    const char *source;
} net_outcome;

/** The advice of a row that says "not permitted": the permission of the operation follows. */
#define NET_PERMIT "; it takes the permission "

#define NET_CODE(code, create, other, meaning, advice, source)                                     \
    {                                                                                              \
        code, 0, 0, STORE_##create, STORE_##other, BW_##meaning, advice, source                    \
    }
#define NET_STATUS(first, last, create, other, meaning, advice, source)                            \
    {                                                                                              \
        NULL, first, last, STORE_##create, STORE_##other, BW_##meaning, advice, source             \
    }

/** A table; its last row is for whatever no other is. */
typedef struct net_outcomes {
    const net_outcome *rows;
    size_t count;
} net_outcomes;

/** Never NULL. `code` may be "". */
const net_outcome *net_outcome_find(const net_outcomes *table, int status, const char *code);

#endif
