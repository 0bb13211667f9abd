// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <stdio.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
/* Longer than a year is no answer. */
#define LEFT_MS_MAX 3.2e10

bool pace_wanted(const cli *c)
{
    return c->progress || isatty(STDERR_FILENO);
}

void pace_begin(pace *p, const cli *c, double done)
{
    *p = (pace){.wanted = pace_wanted(c), .began_ns = now_ns(), .began = done, .told = done};
    p->told_ns = p->began_ns;
}

bool pace_due(const pace *p)
{
    return p->wanted && now_ns() - p->told_ns >= SECOND_NS;
}

double pace_rate(pace *p, double done)
{
    const int64_t now = now_ns();
    const double seconds = (double)(now - p->told_ns) / SECOND_NS;
    const double rate = seconds > 0 ? (done - p->told) / seconds : 0;
    p->told_ns = now;
    p->told = done;
    return rate;
}

const char *pace_left(const pace *p, double done, double all, char out[HUMAN_BYTES])
{
    char age[HUMAN_BYTES];
    const double took_ms = (double)(now_ns() - p->began_ns) / 1e6, moved = done - p->began;
    const double left_ms = moved > 0 ? (all - done) / moved * took_ms : -1;
    out[0] = '\0';
    if (done <= all && left_ms >= 0 && left_ms < LEFT_MS_MAX)
        snprintf(out, HUMAN_BYTES, ", %.0f %%, %s left", all > 0 ? done * 100 / all : 100,
                 human_age((int64_t)left_ms, age));
    return out;
}
