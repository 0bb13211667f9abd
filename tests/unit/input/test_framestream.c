// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/framestream.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/rng.h"
#include "scratch.h"

#include <fcntl.h>

#define FRAME_MAX 4096u

/** As framestream_next, copied into a buf. */
static bw_status next_frame(framestream *stream, buf *frame, bw_error *error)
{
    void *bytes;
    size_t size;
    const bw_status status = framestream_next(stream, &bytes, &size, error);
    buf_reset(frame);
    if (status == BW_OK) {
        buf_put(frame, bytes, size);
        framestream_free(bytes);
    }
    return status;
}

static void put_frame(buf *out, const void *bytes, uint32_t size)
{
    buf_put_u32(out, size);
    buf_put(out, bytes, size);
}

/** `count` frames; frame j is j % 7 bytes of value j. */
static void make_frames(buf *out, unsigned count)
{
    buf_init(out, 1u << 20);
    for (unsigned j = 0; j < count; j++) {
        uint8_t bytes[8];
        memset(bytes, (int)(j & 0xff), sizeof bytes);
        put_frame(out, bytes, j % 7);
    }
}

static framestream *open_paths(const char *const *paths, size_t count, uint32_t shard,
                               uint32_t shards)
{
    framestream *stream;
    const framestream_options options = {.paths = paths,
                                         .count = count,
                                         .fd = -1,
                                         .shard = shard,
                                         .shards = shards,
                                         .frame_bytes_max = FRAME_MAX};
    assert_int_equal(framestream_open(&options, &stream, NULL), BW_OK);
    return stream;
}

static void assert_frame(const buf *frame, unsigned j)
{
    assert_int_equal(frame->size, j % 7);
    for (size_t i = 0; i < frame->size; i++)
        assert_int_equal(frame->data[i], j & 0xff);
}

static void test_shards_and_restart(void **state)
{
    (void)state;
    buf file, frame;
    make_frames(&file, 40);
    buf_init(&frame, FRAME_MAX);
    scratch_file("f", file.data, file.size);
    const char *const path = scratch_path("f");
    for (uint32_t shards = 1; shards <= 5; shards++)
        for (uint32_t shard = 0; shard < shards; shard++)
            for (unsigned skip = 0; skip <= 8; skip++) {
                framestream *stream = open_paths(&path, 1, shard, shards);
                assert_int_equal(framestream_skip(stream, skip, NULL), BW_OK);
                for (unsigned j = shard + skip * shards; j < 40; j += shards) {
                    assert_int_equal(next_frame(stream, &frame, NULL), BW_OK);
                    assert_frame(&frame, j);
                }
                assert_int_equal(next_frame(stream, &frame, NULL), BW_END);
                framestream_close(stream);
            }
    framestream *stream = open_paths(&path, 1, 0, 2);
    bw_error *error = bw_error_new();
    assert_int_equal(framestream_skip(stream, 21, error), BW_INPUT_CHANGED);
    assert_non_null(strstr(bw_error_message(error), "20 frames"));
    bw_error_free(error);
    framestream_close(stream);
    buf_free(&file);
    buf_free(&frame);
}

static void test_several_files_are_one_stream(void **state)
{
    (void)state;
    buf file, frame;
    make_frames(&file, 10);
    buf_init(&frame, FRAME_MAX);
    scratch_file("one", file.data, file.size);
    scratch_file("empty", "", 0);
    const char *const paths[] = {scratch_path("one"), scratch_path("empty"), scratch_path("one")};
    framestream *stream = open_paths(paths, 3, 1, 3);
    for (unsigned j = 1; j < 20; j += 3) {
        assert_int_equal(next_frame(stream, &frame, NULL), BW_OK);
        assert_frame(&frame, j % 10);
    }
    assert_int_equal(next_frame(stream, &frame, NULL), BW_END);
    framestream_close(stream);
    buf_free(&file);
    buf_free(&frame);
}

/** How many frames of `file` end at or before byte `size`; `*at` is where the next one starts. */
static unsigned whole_frames(size_t size, size_t *at)
{
    unsigned count = 0;
    *at = 0;
    for (;;) {
        const size_t next = *at + 4 + count % 7;
        if (next > size)
            return count;
        *at = next;
        count++;
    }
}

/**
 * Cut at each byte: every whole frame comes, then the place of the damage, or the end at a
 * boundary.
 */
static void test_truncated_at_each_byte(void **state)
{
    (void)state;
    buf file, frame;
    make_frames(&file, 9);
    buf_init(&frame, FRAME_MAX);
    bw_error *error = bw_error_new();
    const char *const path = scratch_path("cut");
    for (size_t size = 0; size <= file.size; size++) {
        scratch_file("cut", file.data, size);
        size_t at;
        const unsigned whole = whole_frames(size, &at);
        framestream *stream = open_paths(&path, 1, 0, 1);
        for (unsigned j = 0; j < whole; j++) {
            assert_int_equal(next_frame(stream, &frame, error), BW_OK);
            assert_frame(&frame, j);
        }
        const bw_status status = next_frame(stream, &frame, error);
        assert_int_equal(status, at == size ? BW_END : BW_INPUT_BAD);
        if (status == BW_INPUT_BAD) {
            char place[64];
            snprintf(place, sizeof place, "cut at byte %zu, frame %u:", at, whole);
            assert_non_null(strstr(bw_error_message(error), place));
        }
        framestream_close(stream);
        stream = open_paths(&path, 1, 0, 1);
        assert_int_equal(framestream_skip(stream, 9, error), size == file.size ? BW_OK
                                                             : at == size      ? BW_INPUT_CHANGED
                                                                               : BW_INPUT_BAD);
        framestream_close(stream);
    }
    bw_error_free(error);
    buf_free(&file);
    buf_free(&frame);
}

static void test_huge_lengths_are_refused(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {FRAME_MAX + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    buf file, frame;
    buf_init(&file, 1u << 16);
    buf_init(&frame, FRAME_MAX);
    bw_error *error = bw_error_new();
    const char *const path = scratch_path("huge");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        buf_reset(&file);
        put_frame(&file, "abc", 3);
        buf_put_u32(&file, lengths[i]);
        buf_put_zero(&file, FRAME_MAX + 1);
        scratch_file("huge", file.data, file.size);
        framestream *stream = open_paths(&path, 1, 0, 1);
        assert_int_equal(next_frame(stream, &frame, error), BW_OK);
        assert_int_equal(next_frame(stream, &frame, error), BW_INPUT_BAD);
        assert_non_null(strstr(bw_error_message(error), "huge at byte 7, frame 1: declares"));
        framestream_close(stream);
    }
    bw_error_free(error);
    buf_free(&file);
    buf_free(&frame);
}

/** The usual mistake of a first program: it prints text where frames are read. */
static void test_text_instead_of_frames_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *shown; /* NULL: no hint */
    } cases[] = {{"hello\n", "\"hell\": is it text"},
                 {"a\nb\n", "\"a b \": is it text"},
                 {"hel\x7f", NULL},
                 {"\x1b[0m", NULL}};
    bw_error *error = bw_error_new();
    buf frame;
    buf_init(&frame, FRAME_MAX);
    const char *const path = scratch_path("printed");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scratch_file("printed", cases[i].bytes, strlen(cases[i].bytes));
        framestream *stream = open_paths(&path, 1, 0, 1);
        assert_int_equal(next_frame(stream, &frame, error), BW_INPUT_BAD);
        const char *const needle = cases[i].shown != NULL ? cases[i].shown : "is it text";
        assert_true((strstr(bw_error_message(error), needle) != NULL) == (cases[i].shown != NULL));
        framestream_close(stream);
    }
    bw_error_free(error);
    buf_free(&frame);
}

/** The largest frame allowed, beyond the buffers, comes whole; from a pipe as well. */
static void test_large_frames_through_a_pipe(void **state)
{
    (void)state;
    const uint32_t size = 3u << 20;
    buf file, frame;
    buf_init(&file, size + 64);
    buf_init(&frame, size);
    put_frame(&file, "x", 1);
    buf_put_u32(&file, size);
    for (uint32_t i = 0; i < size; i++)
        buf_put_u8(&file, (uint8_t)(i * 31 >> 3));
    scratch_file("large", file.data, file.size);
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "cat '%s'", scratch_path("large"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    framestream *stream;
    const framestream_options options = {
        .fd = fileno(pipe), .name = "pipe", .shards = 1, .frame_bytes_max = size};
    assert_int_equal(framestream_open(&options, &stream, NULL), BW_OK);
    assert_int_equal(framestream_skip(stream, 1, NULL), BW_OK);
    assert_int_equal(next_frame(stream, &frame, NULL), BW_OK);
    assert_int_equal(frame.size, size);
    assert_memory_equal(frame.data, file.data + 9, size);
    assert_int_equal(next_frame(stream, &frame, NULL), BW_END);
    framestream_close(stream);
    assert_int_equal(pclose(pipe), 0);
    buf_free(&file);
    buf_free(&frame);
}

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

static void test_skipping_can_be_interrupted(void **state)
{
    (void)state;
    buf file;
    buf_init(&file, 1u << 20);
    buf_put_zero(&file, 4 * 10000);
    scratch_file("zero", file.data, file.size);
    const char *const path = scratch_path("zero");
    framestream *stream;
    const framestream_options options = {.paths = &path,
                                         .count = 1,
                                         .fd = -1,
                                         .shards = 1,
                                         .frame_bytes_max = FRAME_MAX,
                                         .tick = stop_at_once};
    assert_int_equal(framestream_open(&options, &stream, NULL), BW_OK);
    assert_int_equal(framestream_skip(stream, 4000, NULL), BW_OK);
    assert_int_equal(framestream_skip(stream, 4000, NULL), BW_INTERRUPTED);
    framestream_close(stream);
    buf_free(&file);
}

static void test_what_cannot_be_opened_is_named(void **state)
{
    (void)state;
    const char *const paths[] = {scratch_path("absent"), scratch};
    buf frame;
    buf_init(&frame, FRAME_MAX);
    bw_error *error = bw_error_new();
    for (size_t i = 0; i < 2; i++) {
        framestream *stream = open_paths(&paths[i], 1, 0, 1);
        assert_int_equal(next_frame(stream, &frame, error), BW_INPUT_BAD);
        assert_string_equal(bw_error_key(error), paths[i]);
        framestream_close(stream);
    }
    bw_error_free(error);
    framestream *stream;
    const framestream_options none = {.fd = -1, .shards = 1};
    assert_int_equal(framestream_open(&none, &stream, NULL), BW_INVALID);
    const framestream_options shard = {.fd = 0, .shard = 1, .shards = 1};
    assert_int_equal(framestream_open(&shard, &stream, NULL), BW_INVALID);
    buf_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_and_restart),
        cmocka_unit_test(test_several_files_are_one_stream),
        cmocka_unit_test(test_truncated_at_each_byte),
        cmocka_unit_test(test_huge_lengths_are_refused),
        cmocka_unit_test(test_text_instead_of_frames_is_said),
        cmocka_unit_test(test_large_frames_through_a_pipe),
        cmocka_unit_test(test_skipping_can_be_interrupted),
        cmocka_unit_test(test_what_cannot_be_opened_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
