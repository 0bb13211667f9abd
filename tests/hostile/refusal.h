// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What every hostile row must show: the right code, told in words, in less than 10 ms of the
 * processor (40 where each access of memory is checked), a tenth of a second in all, and 1 MiB.
 */
#ifndef HOSTILE_REFUSAL_H
#define HOSTILE_REFUSAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define REFUSAL_NS_MAX 40000000ll
#else
#define REFUSAL_NS_MAX 10000000ll
#endif
#define REFUSAL_WAIT_NS_MAX 100000000ll
#define REFUSAL_BYTES_MAX ((size_t)1 << 20)

/** Tries once; everything that it made it has released when it returns. */
typedef bw_status (*attempt_fn)(void *context, bw_error *error);

/**
 * Fails the test unless `attempt` ends in `expected`. Memory: at most REFUSAL_BYTES_MAX above
 * `bytes_usual`. Time: that of the processor, since other processes run too; what waits or tries
 * again shows in the whole time of even the fastest of several tries.
 */
void expect_refusal(attempt_fn attempt, void *context, bw_status expected, size_t bytes_usual);
/** The memory that an attempt takes which succeeds. */
size_t expect_success(attempt_fn attempt, void *context);
/** Prints how many there were, and the slowest and the largest. For the end of a program. */
int print_refusals(void **state);

#endif
