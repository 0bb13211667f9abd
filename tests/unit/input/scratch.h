// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A temporary directory for one test program, and files in it. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char scratch[64];

static inline int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/batchweave-input-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/** The path of `name` in the directory; valid until the fourth call from now. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

static inline void scratch_folder(const char *name)
{
    assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

static inline void scratch_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(scratch_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#endif
