// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tokens.h"

#include "base/error.h"
#include "indexmaker.h"
#include "input/filelist.h"

static documents docs;

static reader *open_reader(const char *pattern, uint32_t shard, uint32_t shards, size_t seq_len)
{
    const char *const path = scratch_path(pattern);
    reader *r;
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    assert_int_equal(tokens_open(&docs, shard, shards, seq_len, TOKEN_U16, &r, NULL), BW_OK);
    return r;
}

static int32_t number(const record *r, const char *key, size_t i)
{
    const record_field *f = record_find(r, key, strlen(key));
    assert_non_null(f);
    const uint8_t *at = r->data.data + f->value_at + 4 * i;
    return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                     (uint32_t)at[3] << 24);
}

static void close_reader(reader *r)
{
    r->close(r);
    documents_free(&docs);
}

/** Every token but the last of a file is an input with the next one as label, exactly once. */
static void test_every_label_comes_once(void **state)
{
    (void)state;
    static const unsigned sizes[] = {0, 1, 2, 9, 10, 11, 64, 65, 66, 200};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t seq_len = 1; seq_len <= 40; seq_len += 13)
            for (uint32_t shards = 1; shards <= 3; shards++) {
                unsigned labels = 0, records = 0;
                uint8_t seen[200] = {0};
                tokens_file("t.bin", sizes[i], 2);
                for (uint32_t shard = 0; shard < shards; shard++) {
                    reader *r = open_reader("t.bin", shard, shards, seq_len);
                    record out;
                    record_init(&out, 1u << 20);
                    while (r->next(r, &out, NULL) == BW_OK) {
                        assert_int_equal(r->fill(r, &out, NULL), BW_OK);
                        uint64_t counted = 0;
                        for (size_t k = 0; k < seq_len; k++) {
                            const int32_t label = number(&out, "labels", k);
                            if (label == TOKENS_IGNORED)
                                continue;
                            assert_int_equal(label, number(&out, "tokens", k) + 1);
                            assert_int_equal(seen[label], 0);
                            seen[label] = 1;
                            labels++;
                            counted++;
                        }
                        assert_int_equal(out.tokens, counted);
                        records++;
                        record_free(&out);
                    }
                    close_reader(r);
                }
                assert_int_equal(labels, sizes[i] > 0 ? sizes[i] - 1 : 0);
                assert_int_equal(records, (labels + seq_len - 1) / seq_len);
            }
}

/** Several files, of which one has no sequence; the place goes through all of them. */
static void test_files(void **state)
{
    (void)state;
    tokens_file("s0", 11, 2);
    tokens_file("s1", 1, 2);
    tokens_file("s2", 6, 2);
    reader *r = open_reader("s{0..2}", 0, 1, 4);
    static const char *const ids[] = {"s0@0", "s0@4", "s0@8", "s2@0", "s2@4"};
    record out;
    record_init(&out, 1000);
    for (size_t i = 0; i < 10; i++) {
        const record_place to = {.index = i * 3 % 5};
        assert_int_equal(r->seek(r, to, NULL), BW_OK);
        assert_int_equal(r->place(r).index, to.index);
        assert_int_equal(r->next(r, &out, NULL), BW_OK);
        assert_int_equal(r->fill(r, &out, NULL), BW_OK);
        assert_string_equal(strrchr(out.id, '/') + 1, ids[to.index]);
        record_free(&out);
    }
    const record_place end = {.index = 5}, far = {.index = UINT64_MAX};
    assert_int_equal(r->seek(r, end, NULL), BW_OK);
    assert_int_equal(r->next(r, &out, NULL), BW_END);
    assert_int_equal(r->seek(r, far, NULL), BW_OK);
    assert_int_equal(r->next(r, &out, NULL), BW_END);
    close_reader(r);
}

static void test_the_last_sequence_is_filled(void **state)
{
    (void)state;
    const uint32_t lengths[] = {3, 3};
    buf index;
    buf_init(&index, SIZE_MAX);
    index_make(&index, 8, 2, lengths, 2, NULL, 0);
    scratch_file("l.idx", index.data, index.size);
    tokens_file("l.bin", 6, 2);
    reader *r = open_reader("l.idx", 0, 1, 4);
    assert_true(tokens_indexed(r));
    record out;
    record_init(&out, 1000);
    static const int32_t wanted[2][3][4] = {{{0, 1, 2, 3}, {1, 2, 3, 4}, {0, 1, 2, 0}},
                                            {{4, 5, 0, 0}, {5, -100, -100, -100}, {1, 2, 0, 0}}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->next(r, &out, NULL), BW_OK);
        assert_int_equal(r->fill(r, &out, NULL), BW_OK);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(number(&out, "tokens", k), wanted[i][0][k]);
            assert_int_equal(number(&out, "labels", k), wanted[i][1][k]);
            assert_int_equal(number(&out, "positions", k), wanted[i][2][k]);
        }
        record_free(&out);
    }
    assert_int_equal(r->next(r, &out, NULL), BW_END);
    close_reader(r);
    buf_free(&index);
}

static void test_mixed_files_are_refused(void **state)
{
    (void)state;
    const char *const paths[] = {scratch_path("l.idx"), scratch_path("s0")};
    reader *r;
    bw_error error;
    assert_int_equal(filelist_expand(paths, 2, &docs, NULL), BW_OK);
    assert_int_equal(tokens_open(&docs, 0, 1, 4, TOKEN_U16, &r, &error), BW_INVALID);
    assert_non_null(strstr(error.message, "do not mix"));
    documents_free(&docs);
}

/** More files than a process may have open. */
static void test_many_files(void **state)
{
    (void)state;
    char name[32];
    for (unsigned i = 0; i < 1200; i++) {
        snprintf(name, sizeof name, "m%u", i);
        tokens_file(name, 3, 2);
    }
    reader *r = open_reader("m{0..1199}", 0, 1, 2);
    record out;
    record_init(&out, 1000);
    unsigned count = 0;
    while (r->next(r, &out, NULL) == BW_OK) {
        assert_int_equal(r->fill(r, &out, NULL), BW_OK);
        record_free(&out);
        count++;
    }
    assert_int_equal(count, 1200);
    close_reader(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_label_comes_once),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_the_last_sequence_is_filled),
        cmocka_unit_test(test_mixed_files_are_refused),
        cmocka_unit_test(test_many_files),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
