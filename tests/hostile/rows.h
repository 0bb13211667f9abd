// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of a table are written as code in a .def file, which is included twice: once for a function
 * of each row, once for the table. A row becomes a test of its own name.
 */
#ifndef HOSTILE_ROWS_H
#define HOSTILE_ROWS_H

#include "refusal.h"
#include "smith.h"

#include "base/alloc.h"

#define ROW_PASTE(a, b) a##b
#define ROW_NAME(prefix, line) ROW_PASTE(prefix, line)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/** Runs a test for each of `count` rows of `size` bytes that begin with their name. */
static inline int run_rows(const char *title, const void *rows, size_t count, size_t size,
                           CMUnitTestFunction test)
{
    struct CMUnitTest *tests = mem_array(count, sizeof *tests);
    must(tests != NULL, "memory");
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)rows + i * size;
        union {
            const void *row;
            void *state;
        } plain = {row};
        tests[i] = (struct CMUnitTest){.name = *(const char *const *)(const void *)row,
                                       .test_func = test,
                                       .initial_state = plain.state};
    }
    const int failed = _cmocka_run_group_tests(title, tests, count, NULL, print_refusals);
    mem_free(tests);
    return failed;
}

#endif
