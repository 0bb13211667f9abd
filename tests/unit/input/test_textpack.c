// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/textpack.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/rng.h"
#include "scratch.h"

#define FILES 23u

static documents corpus;

/** Files of 0 … 60 random bytes, some empty, in two directories. */
static int make_corpus(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    rng random;
    rng_seed(&random, 7);
    scratch_folder("c");
    scratch_folder("c/deep");
    for (unsigned i = 0; i < FILES; i++) {
        uint8_t bytes[60];
        const size_t size = i % 5 == 0 ? 0 : (size_t)rng_below(&random, sizeof bytes);
        rng_bytes(&random, bytes, sizeof bytes);
        char name[32];
        snprintf(name, sizeof name, "c/%s%02u", i % 3 == 0 ? "deep/" : "", i);
        scratch_file(name, bytes, size);
    }
    const char *const input = scratch_path("c");
    return documents_list(&input, 1, &corpus, NULL) == BW_OK ? 0 : -1;
}

static int remove_corpus(void **state)
{
    documents_free(&corpus);
    return scratch_remove(state);
}

/** A sequence as bytes that tell its fragments and where they come from. */
static void describe(const text_sequence *sequence, buf *out)
{
    for (size_t i = 0; i < sequence->count; i++) {
        buf_printf(out, "%zu:%ju:%zu:", sequence->fragments[i].document,
                   (uintmax_t)sequence->fragments[i].at, sequence->fragments[i].size);
        buf_put(out, sequence->fragments[i].bytes, sequence->fragments[i].size);
    }
    buf_put_text(out, "|");
}

#define SEQUENCES_MAX 2000u
typedef struct run {
    buf sequences[SEQUENCES_MAX];
    text_position behind[SEQUENCES_MAX];
    size_t count;
} run;

static void read_run(uint32_t shard, uint32_t shards, size_t seq_len, text_position from, run *out)
{
    textpack *pack;
    assert_int_equal(textpack_open(&corpus, shard, shards, seq_len, from, &pack, NULL), BW_OK);
    text_sequence sequence;
    out->count = 0;
    while (textpack_next(pack, &sequence, NULL) == BW_OK) {
        assert_true(out->count < SEQUENCES_MAX);
        assert_true(sequence.tokens <= seq_len && sequence.tokens > 0);
        buf_init(&out->sequences[out->count], 1u << 20);
        describe(&sequence, &out->sequences[out->count]);
        out->behind[out->count++] = textpack_position(pack);
    }
    assert_int_equal(textpack_next(pack, &sequence, NULL), BW_END);
    textpack_close(pack);
}

static void free_run(run *r)
{
    for (size_t i = 0; i < r->count; i++)
        buf_free(&r->sequences[i]);
}

static void assert_same_tail(const run *whole, size_t from, const run *rest)
{
    assert_int_equal(rest->count, whole->count - from);
    for (size_t i = 0; i < rest->count; i++) {
        assert_int_equal(rest->sequences[i].size, whole->sequences[from + i].size);
        assert_memory_equal(rest->sequences[i].data, whole->sequences[from + i].data,
                            rest->sequences[i].size);
    }
}

/** Restarting behind any sequence gives the very sequences that an undisturbed run gives. */
static void test_restart_anywhere(void **state)
{
    (void)state;
    static run whole, rest;
    static const size_t lengths[] = {1, 7, 16, 64, 5000};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (uint32_t shards = 1; shards <= 3; shards++)
            for (uint32_t shard = 0; shard < shards; shard++) {
                read_run(shard, shards, lengths[l], (text_position){0}, &whole);
                for (size_t i = 0; i < whole.count; i += lengths[l] == 1 ? 17 : 1) {
                    read_run(shard, shards, lengths[l], whole.behind[i], &rest);
                    assert_same_tail(&whole, i + 1, &rest);
                    free_run(&rest);
                }
                free_run(&whole);
            }
}

/**
 * All shards together hold each byte of each document exactly once, in sequences that are full but
 * for each shard's last.
 */
static void test_shards_tile_the_documents(void **state)
{
    (void)state;
    for (uint32_t shards = 1; shards <= 30; shards += 4) {
        uint64_t seen[FILES] = {0};
        for (uint32_t shard = 0; shard < shards; shard++) {
            textpack *pack;
            assert_int_equal(
                textpack_open(&corpus, shard, shards, 16, (text_position){0}, &pack, NULL), BW_OK);
            text_sequence s;
            size_t last = 16;
            while (textpack_next(pack, &s, NULL) == BW_OK) {
                assert_int_equal(last, 16);
                last = s.tokens;
                for (size_t i = 0; i < s.count; i++) {
                    assert_int_equal(s.fragments[i].document % shards, shard);
                    assert_int_equal(s.fragments[i].at, seen[s.fragments[i].document]);
                    assert_true(s.fragments[i].size > 0);
                    seen[s.fragments[i].document] += s.fragments[i].size;
                }
            }
            textpack_close(pack);
        }
        for (size_t i = 0; i < FILES; i++)
            assert_int_equal(seen[i], corpus.list[i].size);
    }
}

static void test_arguments_are_checked(void **state)
{
    (void)state;
    textpack *pack;
    const text_position start = {0};
    assert_int_equal(textpack_open(&corpus, 2, 2, 8, start, &pack, NULL), BW_INVALID);
    assert_int_equal(textpack_open(&corpus, 0, 0, 8, start, &pack, NULL), BW_INVALID);
    assert_int_equal(textpack_open(&corpus, 0, 1, 0, start, &pack, NULL), BW_INVALID);
    assert_int_equal(textpack_open(&corpus, 0, 1, SEQ_LEN_MAX + 1, start, &pack, NULL), BW_INVALID);
    const text_position other = {.document = 3};
    assert_int_equal(textpack_open(&corpus, 0, 2, 8, other, &pack, NULL), BW_INVALID);
    const text_position beyond = {.document = 1, .at = 1000};
    assert_int_equal(textpack_open(&corpus, 0, 1, 8, beyond, &pack, NULL), BW_INVALID);
    const text_position nowhere = {.document = 1000, .at = 1};
    assert_int_equal(textpack_open(&corpus, 0, 1, 8, nowhere, &pack, NULL), BW_INVALID);
}

/** What was read before the damage comes out first, then the error, again and again. */
static void assert_ends_with(const documents *docs, size_t tokens, bw_status expected,
                             const char *needle)
{
    textpack *pack;
    assert_int_equal(textpack_open(docs, 0, 1, 8, (text_position){0}, &pack, NULL), BW_OK);
    text_sequence sequence;
    bw_error *error = bw_error_new();
    size_t seen = 0;
    bw_status status;
    while ((status = textpack_next(pack, &sequence, error)) == BW_OK)
        seen += sequence.tokens;
    assert_int_equal(status, expected);
    assert_int_equal(seen, tokens);
    assert_non_null(strstr(bw_error_message(error), needle));
    assert_int_equal(textpack_next(pack, &sequence, error), expected);
    textpack_close(pack);
    bw_error_free(error);
}

static void test_changed_files_are_named(void **state)
{
    (void)state;
    scratch_folder("d");
    scratch_file("d/1", "0123456789", 10);
    scratch_file("d/2", "abcdefghij", 10);
    documents docs;
    const char *const input = scratch_path("d");
    assert_int_equal(documents_list(&input, 1, &docs, NULL), BW_OK);
    scratch_file("d/2", "abcdef", 6);
    assert_ends_with(&docs, 10, BW_INPUT_CHANGED, "d/2 at byte 0");
    assert_int_equal(unlink(scratch_path("d/2")), 0);
    assert_ends_with(&docs, 10, BW_INPUT_CHANGED, "vanished");
    scratch_folder("d/2");
    assert_ends_with(&docs, 10, BW_INPUT_CHANGED, "d/2");
    documents_free(&docs);
}

static void test_change_while_reading(void **state)
{
    (void)state;
    scratch_folder("w");
    scratch_file("w/1", "0123456789", 10);
    documents docs;
    const char *const input = scratch_path("w");
    assert_int_equal(documents_list(&input, 1, &docs, NULL), BW_OK);
    textpack *pack;
    text_sequence sequence;
    assert_int_equal(textpack_open(&docs, 0, 1, 4, (text_position){0}, &pack, NULL), BW_OK);
    assert_int_equal(textpack_next(pack, &sequence, NULL), BW_OK);
    assert_int_equal(truncate(scratch_path("w/1"), 6), 0);
    assert_int_equal(textpack_next(pack, &sequence, NULL), BW_OK);
    assert_int_equal(sequence.tokens, 2);
    assert_int_equal(textpack_next(pack, &sequence, NULL), BW_INPUT_CHANGED);
    assert_int_equal(textpack_position(pack).at, 6);
    textpack_close(pack);
    documents_free(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart_anywhere),
        cmocka_unit_test(test_shards_tile_the_documents),
        cmocka_unit_test(test_arguments_are_checked),
        cmocka_unit_test(test_changed_files_are_named),
        cmocka_unit_test(test_change_while_reading),
    };
    return cmocka_run_group_tests(tests, make_corpus, remove_corpus);
}
