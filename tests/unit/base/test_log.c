// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct seen {
    int lines;
    log_level level;
    char line[2048];
} seen;

static void keep(void *context, log_level level, const char *line)
{
    seen *s = context;
    s->lines++;
    s->level = level;
    memcpy(s->line, line, strlen(line) + 1);
    errno = EIO;
}

static void levels_filter_and_errno_stays(void **state)
{
    (void)state;
    seen s = {.lines = 0};
    const log_sink sink = {LOG_LEVEL_INFO, keep, &s};
    errno = ENOENT;
    log_line(&sink, LOG_LEVEL_DEBUG, "no");
    assert_int_equal(s.lines, 0);
    log_line(&sink, LOG_LEVEL_WARN, "step %d", 5);
    assert_int_equal(s.lines, 1);
    assert_int_equal(s.level, LOG_LEVEL_WARN);
    assert_string_equal(s.line, "step 5");
    assert_int_equal(errno, ENOENT);
    log_line(NULL, LOG_LEVEL_ERROR, "nobody listens");
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    seen s = {.lines = 0};
    const log_sink sink = {LOG_LEVEL_DEBUG, keep, &s};
    log_line(&sink, LOG_LEVEL_DEBUG, "%2000d", 1);
    assert_int_equal(strlen(s.line), 1023);
}

static void stderr_gets_whole_lines(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    log_sink sink;
    log_to_stderr(&sink, LOG_LEVEL_WARN);
    log_line(&sink, LOG_LEVEL_INFO, "dropped");
    log_line(&sink, LOG_LEVEL_ERROR, "kept");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(ends[1]);
    char text[200] = "";
    const ssize_t size = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    assert_true(size > 0);
    assert_string_equal(text, "batchweave: error: kept\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_filter_and_errno_stays),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(stderr_gets_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
