// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The environment, as a copy: keys are fetched anew by a thread of our own, and the host may change
 * its environment meanwhile.
 */
#ifndef STORE_S3_S3_ENVIRONMENT_H
#define STORE_S3_S3_ENVIRONMENT_H

#include <stddef.h>

typedef struct s3_environment s3_environment;

/** Of `variables` ("NAME=value", NULL behind the last); NULL when there is no memory. The thread
 * that opens a store. */
s3_environment *s3_environment_copy(char *const *variables);
/** Zeroes it: there may be keys in it. NULL is fine. */
void s3_environment_free(s3_environment *e);
/** "" counts as not set, and the other way round. */
const char *s3_variable(const s3_environment *e, const char *name);
/** For programs that are run. */
char *const *s3_environment_all(const s3_environment *e);

#endif
