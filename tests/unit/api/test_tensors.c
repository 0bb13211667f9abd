// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <batchweave/tensors.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int tell(void *context, const char *name, size_t name_bytes, const char *dtype,
                const uint64_t *shape, size_t rank, const void *bytes, size_t size)
{
    char *text = context;
    const size_t used = strlen(text);
    assert_int_equal(strlen(name), name_bytes);
    int more = snprintf(text + used, 200 - used, "%s %s", name, dtype);
    for (size_t i = 0; i < rank; i++)
        more += snprintf(text + used + more, 200 - used - (size_t)more, " %u", (unsigned)shape[i]);
    snprintf(text + used + more, 200 - used - (size_t)more, " %.*s;", (int)size,
             (const char *)bytes);
    return strcmp(name, "stop") == 0;
}

static void test_written_and_read(void **state)
{
    (void)state;
    const uint64_t shape[] = {1, 2}, three[] = {3};
    const void *item;
    size_t size;
    char text[200] = "";
    bw_error *error = bw_error_new();
    bw_tensors *t = bw_tensors_new(1000);
    for (int round = 0; round < 2; round++) {
        char name[] = "bf";
        assert_int_equal(bw_tensors_add(t, name, "BF16", shape, 2, "abcd", 4, error), BW_OK);
        name[0] = 'x'; /* copied */
        assert_int_equal(bw_tensors_add(t, "u", "U8", three, 1, "efg", 3, error), BW_OK);
        assert_int_equal(bw_tensors_add(t, "scalar", "F8_E5M2", NULL, 0, "h", 1, error), BW_OK);
        assert_int_equal(bw_tensors_note(t, "k", "v", error), BW_OK);
        assert_int_equal(bw_tensors_view(t, &item, &size, error), BW_OK);
        text[0] = '\0';
        assert_int_equal(bw_tensors_read(item, size, tell, text, error), BW_OK);
        assert_string_equal(text, "bf BF16 1 2 abcd;scalar F8_E5M2 h;u U8 3 efg;");
        bw_tensors_reset(t);
    }
    assert_int_equal(bw_tensors_add(t, "a", "BOOL", NULL, 0, "1", 1, error), BW_OK);
    assert_int_equal(bw_tensors_add(t, "stop", "BOOL", NULL, 0, "2", 1, error), BW_OK);
    assert_int_equal(bw_tensors_add(t, "z", "BOOL", NULL, 0, "3", 1, error), BW_OK);
    assert_int_equal(bw_tensors_view(t, &item, &size, error), BW_OK);
    text[0] = '\0';
    assert_int_equal(bw_tensors_read(item, size, tell, text, error), BW_INTERRUPTED);
    assert_string_equal(text, "a BOOL 1;stop BOOL 2;");
    assert_int_equal(bw_tensors_read(item, size - 1, tell, text, error), BW_CORRUPT);
    bw_tensors_free(t);
    bw_error_free(error);
}

static void test_misuse(void **state)
{
    (void)state;
    const void *item;
    size_t size;
    const uint64_t shape[] = {2};
    bw_error *error = bw_error_new();
    bw_tensors *t = bw_tensors_new(60);
    assert_int_equal(bw_tensors_add(NULL, "a", "U8", NULL, 0, "1", 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, NULL, "U8", NULL, 0, "1", 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, "a", "float", NULL, 0, "1", 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, "a", "U8", NULL, 1, "1", 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, "a", "U8", shape, 65, "1", 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, "a", "U8", NULL, 0, NULL, 1, error), BW_INVALID);
    assert_int_equal(bw_tensors_note(t, "a", NULL, error), BW_INVALID);
    assert_int_equal(bw_tensors_view(t, NULL, &size, error), BW_INVALID);
    assert_int_equal(bw_tensors_read(NULL, 1, tell, NULL, error), BW_INVALID);
    assert_int_equal(bw_tensors_read("", 0, NULL, NULL, error), BW_INVALID);
    assert_int_equal(bw_tensors_add(t, "a", "U8", shape, 1, "1", 1, error), BW_OK);
    assert_int_equal(bw_tensors_view(t, &item, &size, error), BW_INVALID);
    assert_non_null(strstr(bw_error_message(error), "tensor a: its bytes"));
    bw_tensors_reset(t);
    assert_int_equal(bw_tensors_add(t, "a", "U8", shape, 1, "12", 2, error), BW_OK);
    assert_int_equal(bw_tensors_view(t, &item, &size, error), BW_TOO_LARGE);
    bw_tensors_free(t);
    bw_tensors_free(NULL);
    bw_tensors_reset(NULL);
    bw_error_free(error);
}

/** Two head-tail slices of 0 … 7 make the whole, and the whole makes them. */
static void test_remap(void **state)
{
    (void)state;
    static const char *const parts[] = {"0167", "2345"};
    const uint64_t shape[] = {4};
    void *items[2];
    size_t sizes[2], size;
    const void *item;
    char text[200] = "";
    bw_error *error = bw_error_new();
    bw_tensors *t = bw_tensors_new(1000);
    for (unsigned i = 0; i < 2; i++) {
        bw_tensors_reset(t);
        assert_int_equal(bw_tensors_add(t, "x", "U8", shape, 1, parts[i], 4, error), BW_OK);
        assert_int_equal(bw_tensors_note(t, "batchweave.axis.x", "0", error), BW_OK);
        assert_int_equal(bw_tensors_view(t, &item, &sizes[i], error), BW_OK);
        items[i] = malloc(sizes[i]);
        assert_non_null(items[i]);
        memcpy(items[i], item, sizes[i]);
    }
    const void *const views[] = {items[0], items[1]};
    assert_int_equal(bw_tensors_remap(t, "headtail", views, sizes, 2, 1, 0, &item, &size, error),
                     BW_OK);
    assert_int_equal(bw_tensors_read(item, size, tell, text, error), BW_OK);
    assert_string_equal(text, "x U8 8 01234567;");
    assert_int_equal(bw_tensors_remap(t, "zigzag", views, sizes, 2, 1, 0, &item, &size, error),
                     BW_INVALID);
    assert_int_equal(bw_tensors_remap(t, "headtail", views, sizes, 2, 3, 0, &item, &size, error),
                     BW_MESH_MISMATCH);
    assert_int_equal(bw_tensors_remap(t, "headtail", views, sizes, 2, 1, 1, &item, &size, error),
                     BW_INVALID);
    bw_tensors_free(t);
    free(items[0]);
    free(items[1]);
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_remap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
