// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * An ordered map of texts that only grows (a skip list): the names that objects ever had. Not
 * locked.
 */
#ifndef TESTSTORE_NAMES_H
#define TESTSTORE_NAMES_H

#include "base/rng.h"
#include "objects.h"

#define NAMES_LEVELS 20u

typedef struct name {
    object now;  /* bytes NULL: nothing is there */
    object gone; /* what was deleted last, without its bytes; for stale lists */
    uint64_t gone_size;
    int64_t stored_ns;  /* monotonic */
    int64_t deleted_ns; /* 0: never */
    const char *text;   /* container, slash, key */
    struct name *next[];
} name;

typedef struct names {
    name *first[NAMES_LEVELS];
    rng random;
    size_t count;
} names;

void names_init(names *n);
void names_free(names *n);
/** NULL when there is none. */
name *names_find(names *n, const char *text);
name *names_make(names *n, const char *text);
/** The first name that is not less. */
name *names_from(names *n, const char *text);

#endif
