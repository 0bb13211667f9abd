// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/bytestream.h"

#include "base/error.h"
#include "scratch.h"

#include <fcntl.h>

static int count_ticks(void *context)
{
    int *left = context;
    return --*left <= 0;
}

/** Reads and skips of any size see the same bytes, from a file and from a pipe. */
static void read_mixed(int fd, const uint8_t *expected, size_t size)
{
    bytestream s;
    assert_int_equal(bytestream_open(&s, fd, "x", NULL, NULL, NULL), BW_OK);
    size_t at = 0, n = 1;
    static uint8_t out[700000];
    for (bool skip = false; at < size; skip = !skip, n = n * 3 % 700000 + 1) {
        const size_t expect = n < size - at ? n : size - at;
        if (skip) {
            uint64_t passed;
            assert_int_equal(bytestream_skip(&s, n, &passed, NULL), BW_OK);
            assert_int_equal(passed, expect);
        } else {
            size_t got;
            assert_int_equal(bytestream_read(&s, out, n, &got, NULL), BW_OK);
            assert_int_equal(got, expect);
            assert_memory_equal(out, expected + at, got);
        }
        at += expect;
        assert_int_equal(s.offset, at);
    }
    size_t got;
    uint64_t passed;
    assert_int_equal(bytestream_read(&s, out, 10, &got, NULL), BW_OK);
    assert_int_equal(got, 0);
    assert_int_equal(bytestream_skip(&s, 10, &passed, NULL), BW_OK);
    assert_int_equal(passed, 0);
    bytestream_close(&s);
}

static void test_reads_and_skips(void **state)
{
    (void)state;
    const size_t size = 5000000;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    scratch_file("bytes", bytes, size);
    const int fd = open(scratch_path("bytes"), O_RDONLY);
    assert_true(fd >= 0);
    read_mixed(fd, bytes, size);
    /* Handed over in the middle: the stream starts there. */
    assert_int_equal(lseek(fd, 1000, SEEK_SET), 1000);
    read_mixed(fd, bytes + 1000, size - 1000);
    close(fd);
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "cat '%s'", scratch_path("bytes"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    read_mixed(fileno(pipe), bytes, size);
    assert_int_equal(pclose(pipe), 0);
    free(bytes);
}

/** Pieces up to a stop byte, of all lengths around the buffer's, seen first by peeking. */
static void take_until(int fd, const uint8_t *bytes, size_t size)
{
    bytestream s;
    buf out;
    size_t at = 0;
    buf_init(&out, SIZE_MAX);
    assert_int_equal(bytestream_open(&s, fd, "x", NULL, NULL, NULL), BW_OK);
    for (unsigned i = 0; at < size; i++) {
        const uint8_t *shown, *end = memchr(bytes + at, 7, size - at);
        const size_t whole = end != NULL ? (size_t)(end - bytes) + 1 - at : size - at;
        const size_t max = i % 3 == 0 ? SIZE_MAX : i % 3 == 1 ? whole / 2 : 0;
        const size_t want = i % 2 == 0 ? 1 : BYTESTREAM_PEEK_MAX;
        size_t got;
        uint64_t taken;
        bool found;
        assert_int_equal(bytestream_peek(&s, want, &shown, &got, NULL), BW_OK);
        assert_int_equal(got, size - at < want ? size - at : want);
        assert_memory_equal(shown, bytes + at, got);
        buf_reset(&out);
        assert_int_equal(
            bytestream_until(&s, 7, i % 5 == 4 ? NULL : &out, max, &taken, &found, NULL), BW_OK);
        assert_int_equal(taken, whole);
        assert_int_equal(found, end != NULL);
        const size_t stored = i % 5 == 4 ? 0 : whole < max ? whole : max;
        assert_int_equal(out.size, stored);
        if (stored > 0)
            assert_memory_equal(out.data, bytes + at, stored);
        at += whole;
        assert_int_equal(s.offset, at);
    }
    uint64_t taken;
    bool found;
    assert_int_equal(bytestream_until(&s, 7, &out, 1, &taken, &found, NULL), BW_OK);
    assert_true(taken == 0 && !found);
    bytestream_close(&s);
    buf_free(&out);
}

static void test_until(void **state)
{
    (void)state;
    const size_t size = 3000000;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, 1, size);
    for (size_t at = 0, step = 1; at < size; at += step, step = step * 3 / 2 + 1)
        bytes[at] = 7;
    for (size_t at = 262140; at < 262150; at++)
        bytes[at] = 7;
    scratch_file("until", bytes, size);
    const int fd = open(scratch_path("until"), O_RDONLY);
    assert_true(fd >= 0);
    take_until(fd, bytes, size);
    close(fd);
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "cat '%s'", scratch_path("until"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    take_until(fileno(pipe), bytes, size);
    assert_int_equal(pclose(pipe), 0);
    free(bytes);
}

static void test_a_silent_pipe_ticks(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    bytestream s;
    int left = 2;
    uint8_t byte;
    size_t got;
    assert_int_equal(bytestream_open(&s, ends[0], "x", count_ticks, &left, NULL), BW_OK);
    assert_int_equal(write(ends[1], "a", 1), 1);
    assert_int_equal(bytestream_read(&s, &byte, 1, &got, NULL), BW_OK);
    assert_int_equal(left, 2);
    bw_error *error = bw_error_new();
    assert_int_equal(bytestream_read(&s, &byte, 1, &got, error), BW_INTERRUPTED);
    assert_int_equal(left, 0);
    assert_non_null(strstr(bw_error_message(error), "interrupted"));
    bw_error_free(error);
    bytestream_close(&s);
    close(ends[0]);
    close(ends[1]);
}

static void test_a_bad_descriptor_is_named(void **state)
{
    (void)state;
    bytestream s;
    assert_int_equal(bytestream_open(&s, -1, "x", NULL, NULL, NULL), BW_INPUT_BAD);
    bytestream_close(&s);
    const int fd = open(scratch_path("out"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(bytestream_open(&s, fd, "write-only", NULL, NULL, NULL), BW_OK);
    uint8_t byte;
    size_t got;
    bw_error *error = bw_error_new();
    assert_int_equal(bytestream_read(&s, &byte, 1, &got, error), BW_INPUT_BAD);
    assert_string_equal(bw_error_key(error), "write-only");
    bw_error_free(error);
    bytestream_close(&s);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_and_skips),
        cmocka_unit_test(test_until),
        cmocka_unit_test(test_a_silent_pipe_ticks),
        cmocka_unit_test(test_a_bad_descriptor_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
