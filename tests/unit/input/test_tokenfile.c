// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tokenfile.h"

#include "base/error.h"
#include "indexmaker.h"
#include "input/filelist.h"

#include <fcntl.h>

static documents docs;
static tokenfile file;
static bw_error error;

static bw_status open_tokens(const char *name, token_type type)
{
    const char *const path = scratch_path(name);
    documents_free(&docs);
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    error_clear(&error);
    return tokenfile_open(&docs.list[0], type, &file, &error);
}

static void refuse(const char *name, bw_status code, const char *needle)
{
    assert_int_equal(open_tokens(name, TOKEN_U16), code);
    if (strstr(error.message, needle) == NULL)
        fail_msg("%s", error.message);
    tokenfile_close(&file);
}

static void test_flat_files(void **state)
{
    (void)state;
    int32_t out[70000];
    tokens_file("f16", 70000, 2);
    tokens_file("f32", 10, 4);
    assert_int_equal(open_tokens("f16", TOKEN_U16), BW_OK);
    assert_int_equal(file.tokens, 70000);
    assert_int_equal(tokenfile_read(&file, 59998, 4, out, NULL), BW_OK);
    assert_true(out[0] == 59998 && out[1] == 59999 && out[2] == 0 && out[3] == 1);
    assert_int_equal(tokenfile_read(&file, 0, 70000, out, NULL), BW_OK);
    for (int32_t i = 0; i < 70000; i++)
        assert_int_equal(out[i], i % 60000);
    assert_int_equal(tokenfile_positions(&file, 69999, 1, out, NULL), BW_OK);
    assert_int_equal(out[0], 69999);
    tokenfile_close(&file);
    assert_int_equal(open_tokens("f32", TOKEN_U32), BW_OK);
    assert_int_equal(file.tokens, 10);
    assert_int_equal(tokenfile_read(&file, 3, 2, out, NULL), BW_OK);
    assert_true(out[0] == 3 && out[1] == 4);
    assert_int_equal(tokenfile_read(&file, 9, 2, out, &error), BW_INPUT_CHANGED);
    assert_non_null(strstr(error.message, "f32 at byte 40: the file became shorter"));
    tokenfile_close(&file);
    scratch_file("odd", "abc", 3);
    refuse("odd", BW_INPUT_BAD, "byte 3: the file ends within a token of 2 bytes");
    scratch_file("large", "\1\0\0\0\0\0\0\x80", 8);
    assert_int_equal(open_tokens("large", TOKEN_U32), BW_OK);
    assert_int_equal(tokenfile_read(&file, 0, 2, out, &error), BW_INPUT_BAD);
    assert_non_null(strstr(error.message, "large at byte 4: a token that is negative or beyond"));
    tokenfile_close(&file);
    token_type type;
    assert_true(token_type_find("u16", &type) && type == TOKEN_U16);
    assert_true(token_type_find("u32", &type) && type == TOKEN_U32);
    assert_false(token_type_find("", &type));
    assert_false(token_type_find("i32", &type));
}

static const uint32_t lengths[] = {5, 0, 7, 1, 0, 4};
#define SEQUENCES 6u
#define TOKENS 17u

/** All types; positions by documents of one sequence, and of several. */
static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        unsigned code, bytes;
    } types[] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {8, 2}};
    static const uint64_t starts[] = {0, 0, 3, 5, 6, 6};
    static const int32_t single[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3};
    static const int32_t several[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 1, 2, 3};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (unsigned grouped = 0; grouped < 2; grouped++) {
            buf index;
            int32_t out[TOKENS];
            buf_init(&index, SIZE_MAX);
            index_make(&index, types[i].code, types[i].bytes, lengths, SEQUENCES,
                       grouped ? starts : NULL, 5);
            scratch_file("p.idx", index.data, index.size);
            tokens_file("p.bin", TOKENS, types[i].bytes);
            assert_int_equal(open_tokens("p.idx", TOKEN_U16), BW_OK);
            assert_int_equal(file.tokens, TOKENS);
            assert_int_equal(docs.list[0].size, TOKENS * types[i].bytes);
            assert_non_null(strstr(docs.list[0].name, "p.bin"));
            for (size_t at = 0; at < TOKENS; at++) {
                assert_int_equal(tokenfile_read(&file, at, TOKENS - at, out, NULL), BW_OK);
                for (size_t k = at; k < TOKENS; k++)
                    assert_int_equal(out[k - at], k);
                assert_int_equal(tokenfile_positions(&file, at, TOKENS - at, out, NULL), BW_OK);
                assert_memory_equal(out, (grouped ? several : single) + at,
                                    (TOKENS - at) * sizeof *out);
            }
            tokenfile_close(&file);
            assert_int_equal(tokenfile_reopen(&file, NULL), BW_OK);
            tokenfile_close(&file);
            tokens_file("p.bin", TOKENS + 1, types[i].bytes);
            assert_int_equal(tokenfile_reopen(&file, NULL), BW_INPUT_CHANGED);
            tokenfile_close(&file);
            buf_free(&index);
        }
}

/** A pair of which `index` is spoilt as the test likes. */
static void spoil(size_t at, const void *bytes, size_t size, int grow, const char *needle)
{
    buf index;
    buf_init(&index, SIZE_MAX);
    index_make(&index, 8, 2, lengths, SEQUENCES, NULL, 0);
    memcpy(index.data + at, bytes, size);
    if (grow > 0)
        buf_put_zero(&index, (size_t)grow);
    else
        index.size -= (size_t)-grow;
    scratch_file("w.idx", index.data, index.size);
    tokens_file("w.bin", TOKENS, 2);
    refuse("w.idx", BW_INPUT_BAD, needle);
    buf_free(&index);
}

static void test_a_wrong_index_has_a_place(void **state)
{
    (void)state;
    const size_t pointers = 34 + 4 * SEQUENCES, starts = pointers + 8 * SEQUENCES;
    spoil(0, "TNTIDX\0\0", 8, 0, "w.idx at byte 0: not the index of a Megatron data set");
    spoil(9, "\2", 1, 0, "w.idx at byte 9: an index of another version");
    spoil(17, "\7", 1, 0, "w.idx at byte 17: a type of tokens");
    spoil(18, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0, "byte 18: counts");
    spoil(26, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0, "byte 18: counts");
    spoil(26, "\0\0\0\0\0\0\0\0", 8, 0, "byte 18: counts");
    spoil(18, "\5", 1, 0, "more than the index should hold");
    spoil(18, "\7", 1, 0, "the index is truncated");
    spoil(0, "M", 1, 6, "more than the index should hold (a multimodal one?)");
    spoil(0, "M", 1, -1, "byte 161: the index is truncated");
    spoil(0, "M", 1, -((int)starts + 56 - 20), "byte 20: the index ends within its head");
    spoil(34 + 4, "\xff\xff\xff\xff", 4, 0, "byte 38: a negative length");
    spoil(34, "\6", 1, 0, "byte 66: a sequence that does not begin where");
    spoil(pointers, "\2", 1, 0, "byte 58: a sequence that does not begin where");
    spoil(34 + 20, "\5", 1, 0, "w.bin at byte 34: it has 34 bytes, by its index 36");
    spoil(starts, "\1", 1, 0, "byte 106: documents that are not runs");
    spoil(starts + 8, "\3", 1, 0, "byte 122: documents that are not runs");
    spoil(starts + 48, "\5", 1, 0, "byte 154: documents that are not runs");
    assert_int_equal(unlink(scratch_path("w.bin")), 0);
    refuse("w.idx", BW_INPUT_BAD, "w.bin at byte 0: cannot be opened");
    scratch_folder("w.bin");
    refuse("w.idx", BW_INPUT_BAD, "w.bin at byte 0: not a regular file");
}

static void test_empty_sets(void **state)
{
    (void)state;
    buf index;
    buf_init(&index, SIZE_MAX);
    index_make(&index, 8, 2, NULL, 0, NULL, 0);
    scratch_file("e.idx", index.data, index.size);
    tokens_file("e.bin", 0, 2);
    assert_int_equal(open_tokens("e.idx", TOKEN_U16), BW_OK);
    assert_int_equal(file.tokens, 0);
    tokenfile_close(&file);
    buf_free(&index);
}

/** More entries than are read at once. */
static void test_a_long_index(void **state)
{
    (void)state;
    const uint64_t sequences = 40000;
    uint32_t *all = malloc(sequences * sizeof *all);
    buf index;
    buf_init(&index, SIZE_MAX);
    assert_non_null(all);
    for (uint64_t i = 0; i < sequences; i++)
        all[i] = (uint32_t)(i % 3);
    index_make(&index, 8, 2, all, sequences, NULL, 0);
    scratch_file("l.idx", index.data, index.size);
    tokens_file("l.bin", 39999, 2);
    assert_int_equal(open_tokens("l.idx", TOKEN_U16), BW_OK);
    int32_t out[39999];
    assert_int_equal(tokenfile_positions(&file, 0, 39999, out, NULL), BW_OK);
    for (size_t i = 0; i < 39999; i++)
        assert_int_equal(out[i], i % 3 == 2 ? 1 : 0);
    tokenfile_close(&file);
    index.data[34 + 4 * sequences + 8 * 39000]++;
    scratch_file("l.idx", index.data, index.size);
    refuse("l.idx", BW_INPUT_BAD, "byte 472034: a sequence");
    buf_free(&index);
    free(all);
}

/** Beyond 4 GiB, in a hole. */
static void test_a_large_file(void **state)
{
    (void)state;
    const off_t end = ((off_t)5 << 30);
    const int fd = open(scratch_path("big"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\7\0\x09\0", 4, end), 4);
    close(fd);
    assert_int_equal(open_tokens("big", TOKEN_U16), BW_OK);
    assert_int_equal(file.tokens, end / 2 + 2);
    int32_t out[3];
    assert_int_equal(tokenfile_read(&file, (uint64_t)end / 2 - 1, 3, out, NULL), BW_OK);
    assert_true(out[0] == 0 && out[1] == 7 && out[2] == 9);
    assert_int_equal(tokenfile_positions(&file, (uint64_t)end / 2, 1, out, NULL), BW_OK);
    assert_int_equal(out[0], INT32_MAX);
    tokenfile_close(&file);
    assert_int_equal(unlink(scratch_path("big")), 0);
}

static int remove_all(void **state)
{
    documents_free(&docs);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_files),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_a_wrong_index_has_a_place),
        cmocka_unit_test(test_empty_sets),
        cmocka_unit_test(test_a_long_index),
        cmocka_unit_test(test_a_large_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, remove_all);
}
