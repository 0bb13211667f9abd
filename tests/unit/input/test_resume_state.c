// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/resume_state.h"

#include "base/error.h"
#include "scratch.h"

static const resume example = {.kind = RESUME_TEXT,
                               .fingerprint = "0123456789abcdef0123456789abcdef",
                               .document = 18446744073709551615u,
                               .at = 0,
                               .base = 42};

static void assert_same(const resume *a, const resume *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->document, b->document);
    assert_int_equal(a->at, b->at);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->taken, b->taken);
    assert_int_equal(a->skipped, b->skipped);
    assert_int_equal(a->base, b->base);
}

static void test_round_trip(void **state)
{
    (void)state;
    char text[RESUME_BYTES_MAX];
    size_t size;
    for (unsigned kind = 0; kind < RESUME_KINDS; kind++) {
        resume state_in = example, state_out;
        state_in.kind = (resume_kind)kind;
        resume_encode(&state_in, text, &size);
        assert_true(size < RESUME_BYTES_MAX);
        assert_int_equal(resume_decode(text, size, &state_out, NULL), BW_OK);
        assert_same(&state_in, &state_out);
    }
    resume records = {.kind = RESUME_TOKENS,
                      .fingerprint = "0123456789abcdef0123456789abcdef",
                      .document = UINT64_MAX,
                      .at = UINT64_MAX,
                      .index = UINT64_MAX,
                      .epoch = UINT32_MAX,
                      .taken = UINT32_MAX,
                      .skipped = UINT64_MAX,
                      .base = UINT64_MAX};
    resume back;
    resume_encode(&records, text, &size);
    assert_int_equal(size, 251);
    assert_int_equal(resume_decode(text, size, &back, NULL), BW_OK);
    assert_same(&records, &back);
    records = (resume){.kind = RESUME_TAR,
                       .fingerprint = "0123456789abcdef0123456789abcdef",
                       .document = 3,
                       .at = 4,
                       .index = 5,
                       .epoch = 6,
                       .taken = 7,
                       .skipped = 8,
                       .base = 9};
    resume_encode(&records, text, &size);
    assert_string_equal(text, "{\"input\":\"tar\",\"fingerprint\":"
                              "\"0123456789abcdef0123456789abcdef\",\"epoch\":6,\"document\":3,"
                              "\"at\":4,\"index\":5,\"taken\":7,\"skipped\":8,\"base\":9}");
    resume_encode(&example, text, &size);
    assert_string_equal(text, "{\"input\":\"text\",\"fingerprint\":"
                              "\"0123456789abcdef0123456789abcdef\",\"document\":"
                              "18446744073709551615,\"at\":0,\"base\":42}");
}

/**
 * Cut or changed anywhere, it is refused or another well-formed state; never read beyond its end.
 */
static void test_damage_is_refused(void **state)
{
    (void)state;
    char text[RESUME_BYTES_MAX];
    size_t size;
    resume out;
    resume_encode(&example, text, &size);
    for (size_t i = 0; i < size; i++) {
        char *exact = malloc(i + 1);
        assert_non_null(exact);
        memcpy(exact, text, i);
        assert_int_equal(resume_decode(exact, i, &out, NULL), BW_INPUT_CHANGED);
        free(exact);
    }
    assert_int_equal(resume_decode(text, size + 1, &out, NULL), BW_INPUT_CHANGED);
    static const char *const wrong[] = {
        "{\"input\":\"text\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"document\":01,"
        "\"at\":0,"
        "\"base\":0}",
        "{\"input\":\"text\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"document\":"
        "18446744073709551616,\"at\":0,\"base\":0}",
        "{\"input\":\"text\",\"fingerprint\":\"0123456789ABCDEF0123456789abcdef\",\"document\":1,"
        "\"at\":0,"
        "\"base\":0}",
        "{\"input\":\"tar\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"document\":1,"
        "\"at\":0,\"base\":0}",
        "{\"input\":\"tar\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"epoch\":"
        "4294967296,\"document\":3,\"at\":4,\"index\":5,\"taken\":7,\"skipped\":8,\"base\":9}",
        "{\"input\":\"tar\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"epoch\":"
        "6,\"document\":3,\"at\":4,\"index\":5,\"taken\":4294967296,\"skipped\":8,\"base\":9}",
        "{\"input\":\"tape\",\"fingerprint\":\"0123456789abcdef0123456789abcdef\",\"document\":1,"
        "\"at\":0,"
        "\"base\":0}",
        "step 12",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(resume_decode(wrong[i], strlen(wrong[i]), &out, NULL), BW_INPUT_CHANGED);
}

static void fingerprint_of(const char *folder, uint32_t shard, uint32_t shards, uint64_t seq_len,
                           char out[FINGERPRINT_HEX_BYTES])
{
    documents docs;
    assert_int_equal(documents_list(&folder, 1, &docs, NULL), BW_OK);
    assert_int_equal(resume_fingerprint_text(&docs, shard, shards, seq_len, out, NULL), BW_OK);
    documents_free(&docs);
}

static void test_text_fingerprint(void **state)
{
    (void)state;
    char first[FINGERPRINT_HEX_BYTES], other[FINGERPRINT_HEX_BYTES];
    scratch_folder("t");
    scratch_file("t/a", "12", 2);
    scratch_file("t/b", "3", 1);
    const char *const folder = scratch_path("t");
    fingerprint_of(folder, 0, 2, 2048, first);
    fingerprint_of(folder, 0, 2, 2048, other);
    assert_string_equal(first, other);
    fingerprint_of(folder, 1, 2, 2048, other);
    assert_string_not_equal(first, other);
    fingerprint_of(folder, 0, 3, 2048, other);
    assert_string_not_equal(first, other);
    fingerprint_of(folder, 0, 2, 2047, other);
    assert_string_not_equal(first, other);
    scratch_file("t/b", "34", 2);
    fingerprint_of(folder, 0, 2, 2048, other);
    assert_string_not_equal(first, other);
    assert_int_equal(rename(scratch_path("t/b"), scratch_path("t/c")), 0);
    scratch_file("t/c", "3", 1);
    fingerprint_of(folder, 0, 2, 2048, other);
    assert_string_not_equal(first, other);
}

static void test_frames_and_exec_fingerprints(void **state)
{
    (void)state;
    char a[FINGERPRINT_HEX_BYTES], b[FINGERPRINT_HEX_BYTES];
    scratch_file("frames", "1234", 4);
    const char *const path = scratch_path("frames");
    assert_int_equal(resume_fingerprint_frames(&path, 1, 0, 1, a, NULL), BW_OK);
    assert_int_equal(resume_fingerprint_frames(&path, 1, 0, 1, b, NULL), BW_OK);
    assert_string_equal(a, b);
    scratch_file("frames", "12345", 5);
    assert_int_equal(resume_fingerprint_frames(&path, 1, 0, 1, b, NULL), BW_OK);
    assert_string_not_equal(a, b);
    const char *const input = "-";
    assert_int_equal(resume_fingerprint_frames(&input, 1, 0, 1, a, NULL), BW_OK);
    assert_int_equal(resume_fingerprint_exec("-", 0, 1, b, NULL), BW_OK);
    assert_string_not_equal(a, b);
    assert_int_equal(resume_fingerprint_exec("-", 0, 2, a, NULL), BW_OK);
    assert_string_not_equal(a, b);
    const char *const absent = scratch_path("absent");
    bw_error *error = bw_error_new();
    assert_int_equal(resume_fingerprint_frames(&absent, 1, 0, 1, a, error), BW_INPUT_BAD);
    assert_string_equal(bw_error_key(error), absent);
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_text_fingerprint),
        cmocka_unit_test(test_frames_and_exec_fingerprints),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
