// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Rules, read from JSON strictly: a field that nobody knows is an error, not a fault that never
 * comes. Not locked. */
#ifndef TESTSTORE_RULES_H
#define TESTSTORE_RULES_H

#include "faults.h"

typedef struct rule {
    char *name;
    unsigned verbs, dialects; /* bits */
    char *container, *key;    /* patterns as of a shell; NULL: any */
    int present;              /* -1: whether or not */
    uint64_t nth, every, from, times;
    double probability, over_per_s;
    plan plan;
    unsigned sets; /* which groups of the plan's fields it sets */
    uint64_t matched, fired;
    double tokens;
    int64_t tokens_ns;
} rule;

typedef struct rules {
    rule *list;
    size_t count, capacity;
} rules;

bool rules_read(const json_t *array, rules *out, buf *why);
void rules_free(rules *r);
json_t *rules_report(const rules *r);
/** Lets every rule that picks the request add to the plan; the first that sets a field wins. */
void rules_apply(rules *r, uint64_t seed, const fault_subject *s, int64_t now_ns, plan *p);

/** Helpers of strict reading: NULL or out of bounds is an error in `why`. */
bool rules_number(const json_t *value, const char *name, double min, double max, double *out,
                  buf *why);

#endif
