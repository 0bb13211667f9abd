// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A histogram of durations in nanoseconds: log-linear buckets, ≤ 3.2 % error, fixed size. One
 * thread. */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#define HIST_BUCKETS 1024u

typedef struct hist {
    uint64_t count;
    int64_t max;
    uint64_t buckets[HIST_BUCKETS];
} hist;

void hist_reset(hist *h);
void hist_add(hist *h, int64_t value_ns);
/** The value at quantile q in thousandths (500 = median); 0 when empty. */
int64_t hist_quantile(const hist *h, uint32_t per_mille);

#endif
