// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** One injection: a scene of which one step runs under a plan, and everything that must hold after
 * it. */
#ifndef TESTS_INJECT_SWEEP_H
#define TESTS_INJECT_SWEEP_H

#include "scene.h"
#include "wrap.h"

typedef struct injection_case {
    uint32_t shape, step;
    wrap_plan plan;
} injection_case;

typedef enum injection_end {
    INJECTION_UNREACHED, /* the step makes fewer calls than n */
    INJECTION_MASKED,    /* the step succeeded all the same */
    INJECTION_USABLE,    /* it failed, and succeeded on the same handles afterwards */
    INJECTION_STOPPED,   /* it failed for good, and succeeded on new handles */
    INJECTION_ENDS
} injection_end;

typedef struct injection_result {
    injection_end end;
    uint32_t failed_calls;
    wrap_call first;
    char wrong[512]; /* "": all held */
} injection_result;

void injection_run(const injection_case *c, const char *root, injection_result *result);
/** "shape:step:kind:way:mode:n", for --replay. */
void injection_text(const injection_case *c, char text[96]);
bool injection_parse(const char *text, injection_case *c);

#endif
