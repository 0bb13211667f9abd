// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Breadth first through every state: the first violation has the shortest path. */
#ifndef SCOPE_EXPLORE_H
#define SCOPE_EXPLORE_H

#include "world.h"

typedef struct explore_options {
    uint64_t states_max; /* gives up beyond; 9.2 bytes each are taken for them */
    double seconds_max;  /* 0: none */
    bool quiet;          /* no progress on stderr */
    bool keeps_paths;    /* so that a violation can be told; 8 bytes a state */
} explore_options;

typedef struct explore_result {
    bool complete; /* every reachable state was seen */
    bool full;     /* … and not, since there are more than asked for */
    uint64_t states, transitions, ends, depth;
    uint64_t violations; /* 0, or 1: it stops at the first */
    double seconds;
    double doubt; /* states taken for another one: how many are to be expected */
    char violation[256];
    choice path[256];
    uint32_t path_length;
} explore_result;

void explore(const explore_options *options, explore_result *result);

#endif
