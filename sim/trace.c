// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The hash of everything that happened, and the story of it in words. */
#include "process.h"

#include <stdarg.h>
#include <stdio.h>

void trace_add(sim *s, uint64_t a, uint64_t b)
{
    uint64_t x = s->trace ^ (a + (uint64_t)s->now_ns * 0x9e3779b97f4a7c15u);
    x = (x << 23 | x >> 41) * 0xbf58476d1ce4e5b9u ^ b;
    s->trace = (x ^ x >> 29) * 0x94d049bb133111ebu;
}

void story(sim *s, const process *p, const char *format, ...)
{
    if (!s->story)
        return;
    va_list args;
    va_start(args, format);
    printf("%9.3f s  %-12s ", (double)(s->now_ns / NS_PER_MS) / 1000.0, p != NULL ? p->name : "");
    (void)vprintf(format, args);
    printf("\n");
    va_end(args);
}
