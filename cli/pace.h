// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Progress on stderr: how fast, and how long still. A line a second at most, and only where one is
 * wanted: on a terminal, or with --progress. */
#ifndef CLI_PACE_H
#define CLI_PACE_H

#include "cli.h"
#include "human.h"

typedef struct pace {
    bool wanted;
    int64_t began_ns, told_ns;
    double began, told; /* how far it was then */
} pace;

bool pace_wanted(const cli *c);
void pace_begin(pace *p, const cli *c, double done);
/** Whether a line is due. */
bool pace_due(const pace *p);
/** Of `done`, a second, since the line before; this one is told now. */
double pace_rate(pace *p, double done);
/** ", 41 %, 3 min left", by the rate since the beginning; "" when that says nothing, or the whole
 * is not known (0). */
const char *pace_left(const pace *p, double done, double all, char out[HUMAN_BYTES]);

#endif
