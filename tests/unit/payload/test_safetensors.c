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

static const char *stock_path;

/** The item with this header and so many bytes of data, in memory of exactly its size. */
static uint8_t *item_of(const char *header, size_t header_bytes, size_t data, size_t *size)
{
    *size = 8 + header_bytes + data;
    uint8_t *item = mem_zalloc(*size);
    item[0] = (uint8_t)header_bytes;
    item[1] = (uint8_t)(header_bytes >> 8);
    memcpy(item + 8, header, header_bytes);
    return item;
}

static void expect(const char *header, size_t data, const char *refusal)
{
    size_t size;
    uint8_t *item = item_of(header, strlen(header), data, &size);
    safetensors s;
    bw_error error;
    error_clear(&error);
    const bw_status status = safetensors_open(&s, item, size, &error);
    if (refusal == NULL && status != BW_OK)
        fail_msg("%s: %s", header, error.message);
    if (refusal != NULL && (status != BW_CORRUPT || strstr(error.message, refusal) == NULL))
        fail_msg("%s: %s", header, status == BW_OK ? "accepted" : error.message);
    if (status == BW_OK)
        safetensors_close(&s);
    mem_free(item);
}

static void headers_that_are_fine(void **state)
{
    (void)state;
    expect("{}", 0, NULL);
    expect("{}   ", 0, NULL);
    expect("{ \"a\" : {\"dtype\":\"U8\", \"shape\":[ 2 ], \"data_offsets\":[0, 2]}\n}", 2, NULL);
    expect("{\"a\":{\"shape\":[],\"data_offsets\":[0,1],\"dtype\":\"BOOL\"}}", 1, NULL);
    expect("{\"\":{\"dtype\":\"BF16\",\"shape\":[1,1],\"data_offsets\":[0,2]}}", 2, NULL);
    expect("{\"__metadata__\":{}}", 0, NULL);
    expect(
        "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},\"__metadata__\":"
        "{\"k\":\"v\",\"l\":\"\"},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        2, NULL);
    /* Tensors without bytes may stand anywhere between others. */
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
           "\"e\":{\"dtype\":\"F32\",\"shape\":[0,9],\"data_offsets\":[1,1]},"
           "\"f\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
           2, NULL);
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void headers_that_are_refused(void **state)
{
    (void)state;
    expect("", 0, "does not begin with {");
    expect(" {}", 0, "does not begin with {");
    expect("{} x", 0, "behind the header");
    expect("{}\n", 0, "behind the header");
    expect("{", 0, "too early");
    expect("[]", 0, "does not begin with {");
    expect("{" T("a", "U8", "[1]", "[0,1]") ",}", 1, "not JSON");
    expect("{" T("a", "U8", "[1]", "[0,1]") "}", 0, "outside the data");
    expect("{" T("a", "U8", "[1]", "[0,1]") "}", 2, "behind the last tensor");
    expect("{" T("a", "U8", "[1]", "[1,2]") "}", 2, "of none");
    expect("{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3, "share bytes");
    expect("{" T("a", "U8", "[1]", "[0,1]") "," T("b", "U8", "[1]", "[0,1]") "}", 1, "share bytes");
    expect("{" T("a", "U8", "[1]", "[0,1]") "," T("b", "U8", "[1]", "[2,3]") "}", 3, "of none");
    expect("{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]") "}", 2, "one name");
    expect("{" T("a", "U8", "[1]", "[0,1]") "," T("\\u0061", "U8", "[1]", "[1,2]") "}", 2,
           "one name");
    expect("{" T("a", "U8", "[1]", "[1,0]") "}", 1, "outside the data");
    expect("{" T("a", "U8", "[2]", "[0,1]") "}", 1, "not those of its shape");
    expect("{" T("a", "U16", "[1]", "[0,1]") "}", 1, "not those of its shape");
    expect("{" T("a", "F4", "[1]", "[0,1]") "}", 1, "not those of its shape");
    expect("{" T("a", "u8", "[1]", "[0,1]") "}", 1, "unknown dtype");
    expect("{" T("a", "U8", "[1]", "[0,1,2]") "}", 1, "too many numbers");
    expect("{" T("a", "U8", "[1]", "[0]") "}", 1, "outside the data");
    expect("{" T("a", "U8", "[01]", "[0,1]") "}", 1, "not a plain number");
    expect("{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, "not JSON");
    expect("{" T("a", "U8", "[1e0]", "[0,1]") "}", 1, "not JSON");
    expect("{" T("a", "U8", "[-1]", "[0,1]") "}", 1, "not a plain number");
    expect("{" T("a", "U8", "[18446744073709551616]", "[0,1]") "}", 1, "beyond 64 bits");
    expect("{" T("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "not those of its shape");
    expect("{" T("a", "U8", "[4294967296,4294967296,0]", "[0,0]") "}", 0, "not those of its shape");
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "without dtype");
    expect("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
           "given twice");
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":0}}", 1,
           "of no tensor");
    expect("{\"a\":1}", 0, "not JSON");
    expect("{\"__metadata__\":{\"a\":1}}", 0, "not JSON");
    expect("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "given twice");
    expect("{\"__metadata__\":{\"a\":\"x\",\"\\u0061\":\"y\"}}", 0, "given twice");
    expect("{\"\xff\":{}}", 0, "UTF-8");
    expect("{\"\\ud800\":{}}", 0, "escape");
}

static void lengths_are_checked_first(void **state)
{
    (void)state;
    safetensors s;
    bw_error error;
    const uint8_t huge[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const uint8_t longer[16] = {9, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    for (size_t size = 0; size < 8; size++)
        assert_int_equal(safetensors_open(&s, huge, size, &error), BW_CORRUPT);
    assert_int_equal(safetensors_open(&s, huge, 16, &error), BW_CORRUPT);
    assert_non_null(strstr(error.message, "100,000,000"));
    assert_int_equal(safetensors_open(&s, longer, 16, &error), BW_CORRUPT);
    assert_non_null(strstr(error.message, "within its header"));
}

static void limits(void **state)
{
    (void)state;
    char header[60000] = "{" T("a", "U8", "[1", "[0,1]");
    char *at = strstr(header, "[1") + 2;
    for (unsigned i = 1; i < TENSOR_RANK_MAX; i++, at += 2)
        memcpy(at, ",1", 2);
    memcpy(at, "],\"data_offsets\":[0,1]}}", sizeof "],\"data_offsets\":[0,1]}}");
    expect(header, 1, NULL);
    memcpy(at, ",1],\"data_offsets\":[0,1]}}", sizeof ",1],\"data_offsets\":[0,1]}}");
    expect(header, 1, "too many numbers");
    for (unsigned count = 1024; count <= 1025; count++) {
        size_t size = (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{");
        for (unsigned i = 0; i < count; i++)
            size += (size_t)snprintf(header + size, sizeof header - size, "%s\"%x\":\"\"",
                                     i > 0 ? "," : "", i);
        snprintf(header + size, sizeof header - size, "}}");
        expect(header, 0, count > 1024 ? "too many pairs" : NULL);
    }
}

static size_t read_stock(uint8_t *bytes, size_t max)
{
    FILE *file = fopen(stock_path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, max, file);
    fclose(file);
    return size;
}

static void expect_tensor(const safetensors *s, const char *name, tensor_type type,
                          const void *bytes, size_t size)
{
    size_t i;
    assert_true(safetensors_find(s, name, strlen(name), &i));
    assert_int_equal(s->tensors[i].type, type);
    assert_int_equal(s->tensors[i].end - s->tensors[i].begin, size);
    if (size > 0)
        assert_memory_equal(safetensors_bytes(s, i), bytes, size);
}

/** A file that the Python package `safetensors` 0.8.0 wrote. */
static void a_file_of_the_stock_package_is_read(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    const size_t size = read_stock(bytes, sizeof bytes);
    safetensors s;
    assert_int_equal(safetensors_open(&s, bytes, size, NULL), BW_OK);
    assert_int_equal(s.count, 7);
    const uint64_t tokens[] = {0, 1, 2, 3, 4, 5};
    expect_tensor(&s, "tokens", TENSOR_I64, tokens, 48);
    expect_tensor(&s, "w", TENSOR_BF16, "\xc0\x3f\x00\xc0", 4);
    expect_tensor(&s, "f8", TENSOR_F8_E4M3, "\x38\x40\x30", 3);
    expect_tensor(&s, "mask", TENSOR_BOOL, "\1\0", 2);
    expect_tensor(&s, "scalar", TENSOR_U8, "\7", 1);
    expect_tensor(&s, "\xc3\xa4\"n", TENSOR_U16, "\xff\xff", 2);
    expect_tensor(&s, "empty", TENSOR_F32, NULL, 0);
    size_t i;
    assert_false(safetensors_find(&s, "token", 5, &i));
    assert_false(safetensors_find(&s, "tokens ", 7, &i));
    assert_true(safetensors_find(&s, "empty", 5, &i));
    uint64_t shape[TENSOR_RANK_MAX];
    safetensors_shape(&s, i, shape);
    assert_true(s.tensors[i].rank == 2 && shape[0] == 0 && shape[1] == 4);
    uint32_t at = 0;
    jsonstring key, value;
    unsigned seen = 0;
    while (safetensors_note(&s, &at, &key, &value)) {
        if (jsonstring_is(key, "k", 1))
            assert_true(jsonstring_is(value, "\xc3\xa4\n", 3));
        else
            assert_true(jsonstring_is(key, "made by", 7));
        seen++;
    }
    assert_int_equal(seen, 2);
    safetensors_close(&s);
}

static void cuts_and_mutations_are_survived(void **state)
{
    (void)state;
    uint8_t bytes[1024], changed[1024];
    const size_t size = read_stock(bytes, sizeof bytes);
    safetensors s;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = mem_dup(bytes, cut);
        assert_int_equal(safetensors_open(&s, copy, cut, NULL), BW_CORRUPT);
        mem_free(copy);
    }
    rng r;
    rng_seed(&r, 3);
    unsigned accepted = 0, refused = 0;
    for (unsigned i = 0; i < 40000; i++) {
        memcpy(changed, bytes, size);
        changed[rng_below(&r, 490)] = i % 2 == 0
                                          ? (uint8_t)rng_below(&r, 256)
                                          : (uint8_t) "0123456789\",[]{}: "[rng_below(&r, 18)];
        uint8_t *copy = mem_dup(changed, size);
        if (safetensors_open(&s, copy, size, NULL) == BW_OK) {
            uint64_t owned = 0;
            for (size_t k = 0; k < s.count; k++)
                owned += s.tensors[k].end - s.tensors[k].begin;
            assert_int_equal(owned, s.data_bytes);
            safetensors_close(&s);
            accepted++;
        } else {
            refused++;
        }
        mem_free(copy);
    }
    assert_true(accepted > 1000 && refused > 1000);
}

int main(int argc, char **argv)
{
    stock_path = argc > 1 ? argv[1] : "stock.safetensors";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_that_are_fine),
        cmocka_unit_test(headers_that_are_refused),
        cmocka_unit_test(lengths_are_checked_first),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_file_of_the_stock_package_is_read),
        cmocka_unit_test(cuts_and_mutations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
