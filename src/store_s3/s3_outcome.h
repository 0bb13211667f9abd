// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What an S3 answer means: data, not code. A row is found by the error code of the body, else by
 * the status; each names where it was read. Status 409 alone, for one, means three things on three
 * stores, so that no status is mapped where the code decides.
 */
#ifndef STORE_S3_S3_OUTCOME_H
#define STORE_S3_S3_OUTCOME_H

#include "store/store.h"

typedef struct s3_outcome {
    const char *code; /* NULL: found by the status */
    int first, last;  /* statuses, by which it is found when the code is unknown or absent */
    store_outcome create, other;
    bw_status meaning;  /* BW_OK where nothing failed */
    const char *advice; /* after the server's text; "" */
    const char *source;
} s3_outcome;

/** Never NULL. `code` may be "". */
const s3_outcome *s3_outcome_find(int status, const char *code);
/** All rows, for tests. */
const s3_outcome *s3_outcome_rows(size_t *count);

#endif
