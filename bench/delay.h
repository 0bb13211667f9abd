// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A store whose requests take time, as those of a store behind a network do: log-normal about a
 * median, as on the virtual clock of sim/cadence. */
#ifndef BENCH_DELAY_H
#define BENCH_DELAY_H

#include "store/store.h"

/** In milliseconds. A read sees what is there in the middle of its time, a write takes effect at
 * its end. */
typedef struct delay_medians {
    double read_ms, write_ms;
} delay_medians;

/** `inner` answers within a submit, as the file store does; taken over on success. */
bw_status delay_wrap(store *inner, delay_medians medians, uint64_t seed, store **out,
                     bw_error *error);

#endif
