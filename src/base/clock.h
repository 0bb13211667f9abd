// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Time enters through this interface, so that the simulator can own it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS 1000000ll
#define NS_PER_S 1000000000ll
/** "no limit" for every timeout and deadline in the library. */
#define TIME_NEVER INT64_MAX

typedef struct clock_source {
    int64_t (*monotonic_ns)(void *context);
    int64_t (*wall_ms)(void *context); /* unix milliseconds; advisory, may be wrong */
    void *context;
} clock_source;

/** The machine's clocks (CLOCK_MONOTONIC, CLOCK_REALTIME). */
const clock_source *clock_system(void);
int64_t clock_now(const clock_source *clock);
int64_t clock_wall_ms(const clock_source *clock);
/** How long ago a clock of another machine says that something was, in ms; negative when ahead.
 * Any value may come. */
int64_t clock_age_ms(const clock_source *clock, uint64_t wall_ms);
/** now + timeout, saturating; TIME_NEVER for a negative or endless timeout. */
int64_t clock_deadline(const clock_source *clock, int64_t timeout_ns);

#endif
