// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t system_monotonic_ns(void *context)
{
    (void)context;
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t system_wall_ms(void *context)
{
    (void)context;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

const clock_source *clock_system(void)
{
    static const clock_source source = {system_monotonic_ns, system_wall_ms, NULL};
    return &source;
}

int64_t clock_now(const clock_source *clock)
{
    return clock->monotonic_ns(clock->context);
}

int64_t clock_wall_ms(const clock_source *clock)
{
    return clock->wall_ms(clock->context);
}

int64_t clock_age_ms(const clock_source *clock, uint64_t wall_ms)
{
    const int64_t then = wall_ms > INT64_MAX ? INT64_MAX : (int64_t)wall_ms;
    const int64_t now = clock_wall_ms(clock);
    return now >= 0 ? now - then : -then;
}

int64_t clock_deadline(const clock_source *clock, int64_t timeout_ns)
{
    if (timeout_ns < 0 || timeout_ns == TIME_NEVER)
        return TIME_NEVER;
    const int64_t now = clock_now(clock);
    return now > 0 && timeout_ns > TIME_NEVER - now ? TIME_NEVER : now + timeout_ns;
}
