// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *human_bytes(double bytes, char out[HUMAN_BYTES])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    unsigned unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1000;
        unit++;
    }
    snprintf(out, HUMAN_BYTES, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return out;
}

const char *human_age(int64_t ms, char out[HUMAN_BYTES])
{
    const double s = ms > 0 ? (double)ms / 1000 : 0;
    if (s < 120)
        snprintf(out, HUMAN_BYTES, "%.0f s", s);
    else if (s < 2 * 3600)
        snprintf(out, HUMAN_BYTES, "%.0f min", s / 60);
    else if (s < 48 * 3600)
        snprintf(out, HUMAN_BYTES, "%.1f h", s / 3600);
    else
        snprintf(out, HUMAN_BYTES, "%.0f days", s / 86400);
    return out;
}

const char *human_time(int64_t ms, char out[HUMAN_BYTES])
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out, HUMAN_BYTES, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(out, HUMAN_BYTES, "%" PRId64 " ms", ms);
    return out;
}

const char *human_count(int64_t count, const char *noun, char out[HUMAN_BYTES])
{
    if (count == 0)
        snprintf(out, HUMAN_BYTES, "no %ss", noun);
    else
        snprintf(out, HUMAN_BYTES, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
    return out;
}
