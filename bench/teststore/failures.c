// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "failures.h"

#include <string.h>

typedef struct failure_row {
    const char *name;
    const char *message;
    failure_spelling spelled[DIALECT_COUNT];
} failure_row;

static const failure_row rows[FAILURE_COUNT] = {
    [FAILURE_NONE] = {"none", "", {{200, ""}, {200, ""}, {200, ""}}},
#define X(id, name, s3, s3_code, gcs, gcs_reason, azure, azure_code, message)                      \
    [FAILURE_##id] = {name, message, {{s3, s3_code}, {gcs, gcs_reason}, {azure, azure_code}}},
    FAILURES(X)
#undef X
};

const char *failure_name(failure f)
{
    return rows[f].name;
}

const char *failure_message(failure f)
{
    return rows[f].message;
}

failure_spelling failure_spelled(failure f, dialect_id dialect)
{
    return rows[f].spelled[dialect];
}

failure failure_named(const char *name)
{
    for (int f = FAILURE_NONE + 1; f < FAILURE_COUNT; f++)
        if (strcmp(rows[f].name, name) == 0)
            return (failure)f;
    return FAILURE_NONE;
}
