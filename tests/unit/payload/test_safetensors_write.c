// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/rng.h"
#include "payload/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tensor tensor_of(const char *name, tensor_type type, const uint64_t *shape, size_t rank,
                        const void *bytes)
{
    uint64_t size = 0;
    (void)tensor_size(type, shape, rank, &size);
    return (tensor){name, strlen(name), type, shape, rank, bytes, (size_t)size};
}

/** The very bytes: large elements first, then by name; spaces up to a multiple of 64. */
static void the_bytes_are_fixed(void **state)
{
    (void)state;
    const uint64_t one[] = {2}, two[] = {1, 2};
    const tensor tensors[] = {
        tensor_of("m", TENSOR_BOOL, one, 1, "\1\0"),
        tensor_of("b", TENSOR_I16, two, 2, "abcd"),
        tensor_of("a\"\n", TENSOR_BF16, one, 1, "efgh"),
    };
    const tensor_note notes[] = {{"z", "1"}, {"k", "v\\"}};
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"v\\\\\",\"z\":\"1\"},"
        "\"a\\\"\\u000a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"I16\",\"shape\":[1,2],\"data_offsets\":[4,8]},"
        "\"m\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[8,10]}}";
    buf out;
    buf_init(&out, 1u << 20);
    buf_put_text(&out, "before");
    assert_int_equal(safetensors_write(tensors, 3, notes, 2, &out, NULL), BW_OK);
    const uint8_t *item = out.data + 6;
    const size_t size = out.size - 6;
    assert_memory_equal(item + 8, header, sizeof header - 1);
    assert_int_equal(item[0], 248);
    for (size_t i = 8 + sizeof header - 1; i < 256; i++)
        assert_int_equal(item[i], ' ');
    assert_int_equal(size, 256 + 10);
    assert_memory_equal(item + 256, "efghabcd\1\0", 10);
    safetensors s;
    assert_int_equal(safetensors_open(&s, item, size, NULL), BW_OK);
    safetensors_close(&s);
    buf_free(&out);
}

static void refuse(const tensor *tensors, size_t count, const tensor_note *notes, size_t note_count,
                   const char *needle)
{
    buf out;
    bw_error error;
    buf_init(&out, 1u << 20);
    buf_put_text(&out, "before");
    assert_int_equal(safetensors_write(tensors, count, notes, note_count, &out, &error),
                     BW_INVALID);
    assert_non_null(strstr(error.message, needle));
    assert_int_equal(out.size, 6);
    assert_int_equal(buf_status(&out), BW_OK);
    buf_free(&out);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    const uint64_t one[] = {2};
    const tensor good = tensor_of("fine", TENSOR_U8, one, 1, "ab");
    tensor pair[2] = {good, good};
    refuse(pair, 2, NULL, 0, "fine: the name is given twice");
    pair[1].size = 3;
    refuse(pair, 2, NULL, 0, "not those of its shape");
    pair[1] = tensor_of("__metadata__", TENSOR_U8, one, 1, "ab");
    refuse(pair, 2, NULL, 0, "keeps this name");
    pair[1] = tensor_of("\xff", TENSOR_U8, one, 1, "ab");
    refuse(pair, 2, NULL, 0, "not UTF-8");
    pair[1] = good;
    pair[1].rank = TENSOR_RANK_MAX + 1;
    refuse(pair, 2, NULL, 0, "too many dimensions");
    pair[1].type = TENSOR_TYPES;
    refuse(pair, 2, NULL, 0, "unknown dtype");
    const tensor_note twice[] = {{"k", "a"}, {"k", "b"}}, odd[] = {{"k", "\xff"}};
    refuse(&good, 1, twice, 2, "metadata k is given twice");
    refuse(&good, 1, odd, 1, "metadata that is not UTF-8");
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    (void)state;
    const uint64_t one[] = {100};
    static const uint8_t zeros[100];
    const tensor t = tensor_of("a", TENSOR_U8, one, 1, zeros);
    for (size_t max = 0; max < 228; max++) {
        buf out;
        buf_init(&out, max);
        assert_int_equal(safetensors_write(&t, 1, NULL, 0, &out, NULL), BW_TOO_LARGE);
        assert_int_equal(out.size, 0);
        assert_int_equal(buf_status(&out), BW_OK);
        buf_free(&out);
    }
    buf out;
    buf_init(&out, 228);
    assert_int_equal(safetensors_write(&t, 1, NULL, 0, &out, NULL), BW_OK);
    assert_int_equal(out.size, 228);
    out.failed = BW_NOMEM;
    assert_int_equal(safetensors_write(&t, 1, NULL, 0, &out, NULL), BW_NOMEM);
    buf_free(&out);
}

#define TENSORS_MAX 40u

/** Whatever was written is read back: names, types, shapes, bytes. */
static void what_is_written_is_read(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    rng r;
    rng_seed(&r, 11);
    rng_bytes(&r, bytes, sizeof bytes);
    for (unsigned round = 0; round < 500; round++) {
        tensor tensors[TENSORS_MAX];
        char names[TENSORS_MAX][16];
        uint64_t shapes[TENSORS_MAX][3];
        const size_t count = (size_t)rng_below(&r, TENSORS_MAX + 1);
        for (size_t i = 0; i < count; i++) {
            /* With quotes, control characters and letters beyond ASCII. */
            snprintf(names[i], sizeof names[i], "%s%zu",
                     i % 3 == 0   ? "\"\t"
                     : i % 3 == 1 ? "ä"
                                  : "",
                     i);
            const size_t rank = (size_t)rng_below(&r, 4);
            for (size_t k = 0; k < rank; k++)
                shapes[i][k] = rng_below(&r, 6);
            const tensor_type type = (tensor_type)rng_below(&r, TENSOR_TYPES);
            if (rank > 0 && tensor_type_bits(type) < 8)
                shapes[i][0] *= 4;
            tensors[i] =
                tensor_of(names[i], rank > 0 || tensor_type_bits(type) >= 8 ? type : TENSOR_U8,
                          shapes[i], rank, bytes + rng_below(&r, 1000));
        }
        buf out;
        buf_init(&out, 1u << 20);
        assert_int_equal(safetensors_write(tensors, count, NULL, 0, &out, NULL), BW_OK);
        safetensors s;
        assert_int_equal(safetensors_open(&s, out.data, out.size, NULL), BW_OK);
        assert_int_equal(s.count, count);
        assert_int_equal((size_t)(s.data - out.data) % 64, 0);
        for (size_t i = 0; i < count; i++) {
            size_t at;
            uint64_t shape[TENSOR_RANK_MAX];
            assert_true(safetensors_find(&s, names[i], strlen(names[i]), &at));
            const tensor_entry *e = &s.tensors[at];
            safetensors_shape(&s, at, shape);
            assert_true(e->type == tensors[i].type && e->rank == tensors[i].rank);
            assert_int_equal(e->end - e->begin, tensors[i].size);
            assert_int_equal(memcmp(shape, shapes[i], e->rank * sizeof *shape), 0);
            assert_int_equal(memcmp(safetensors_bytes(&s, at), tensors[i].bytes, tensors[i].size),
                             0);
            /* Each begins where its type may. */
            if (tensor_type_bits(e->type) >= 8)
                assert_int_equal(e->begin * 8 % tensor_type_bits(e->type), 0);
        }
        safetensors_close(&s);
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_fixed),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
