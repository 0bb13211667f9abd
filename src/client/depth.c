// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/depth.h"

#define TIME_MAX_NS (INT64_MAX / DEPTH_MAX) /* four years: no product overflows */

static int64_t clamp(int64_t ns)
{
    return ns < 0 ? 0 : ns > TIME_MAX_NS ? TIME_MAX_NS : ns;
}

void depth_read(depth *d, int64_t latency_ns)
{
    const int64_t now_ns = clamp(latency_ns);
    if (now_ns >= d->latency_ns)
        d->latency_ns = now_ns;
    else
        d->latency_ns -= (d->latency_ns - now_ns + 7) / 8; /* rounded up: it gets there */
}

void depth_step(depth *d, int64_t step_ns)
{
    const int64_t now_ns = clamp(step_ns);
    d->step_ns = d->knows_step ? d->step_ns + (now_ns - d->step_ns) / 8 : now_ns;
    d->knows_step = true;
}

uint32_t depth_steps(const depth *d)
{
    const int64_t half_max = DEPTH_MAX / 2;
    if (!d->knows_step)
        return DEPTH_FIRST;
    if (d->latency_ns > d->step_ns * (half_max - 2))
        return DEPTH_MAX;
    const int64_t steps =
        d->latency_ns == 0 ? 1 : (d->latency_ns + d->step_ns - 1) / d->step_ns; /* at least one */
    return 2u * ((uint32_t)steps + 1u);
}
