// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Every allocation of the process, the C library's and other libraries' included, counted by
 * taking malloc's place; in a build with a sanitizer by that one's hook. */
#ifndef TESTS_CLIENT_ALLOCATIONS_H
#define TESTS_CLIENT_ALLOCATIONS_H

#include <stdint.h>

/** All so far, of all threads. */
uint64_t allocations(void);

#endif
