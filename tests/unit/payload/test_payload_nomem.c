// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out while items are read, written and remapped: BW_NOMEM, nothing half done, and
 * nothing leaks. */
#include "payload/cplayout.h"
#include "payload/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static size_t seen, fail_at;
static long live;

static bool fails(void)
{
    seen++;
    return fail_at > 0 && seen >= fail_at;
}

void *__wrap_malloc(size_t bytes)
{
    void *memory = fails() ? NULL : __real_malloc(bytes);
    live += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = fails() ? NULL : __real_calloc(count, size);
    live += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    void *moved = fails() ? NULL : __real_realloc(memory, bytes);
    live += memory == NULL && moved != NULL;
    return moved;
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

static bw_status make_item(char first, buf *out)
{
    char bytes[32];
    const uint64_t shape[] = {32};
    memset(bytes, first, sizeof bytes);
    const tensor tensors[] = {{"x", 1, TENSOR_U8, shape, 1, bytes, sizeof bytes},
                              {"y", 1, TENSOR_BOOL, NULL, 0, "\1", 1}};
    const tensor_note notes[] = {{CP_AXIS_KEY "x", "0"}};
    return safetensors_write(tensors, 2, notes, 1, out, NULL);
}

/** Two items, and the one that they make together. */
static bw_status make_remap(void)
{
    buf a, b, out;
    buf_init(&a, SIZE_MAX);
    buf_init(&b, SIZE_MAX);
    buf_init(&out, SIZE_MAX);
    bw_status status = make_item('a', &a);
    if (status == BW_OK)
        status = make_item('b', &b);
    const cp_item items[] = {{a.data, a.size}, {b.data, b.size}};
    if (status == BW_OK)
        status = cp_remap(CP_HEADTAIL, items, 2, 1, 0, &out, NULL);
    if (status != BW_OK)
        assert_int_equal(out.size, 0);
    buf_free(&a);
    buf_free(&b);
    buf_free(&out);
    return status;
}

static void test_every_allocation(void **state)
{
    (void)state;
    assert_int_equal(make_remap(), BW_OK);
    const size_t all = seen;
    assert_true(all > 10);
    for (size_t n = 1; n <= all; n++) {
        seen = 0;
        fail_at = n;
        const long before = live;
        const bw_status status = make_remap();
        fail_at = 0;
        assert_int_equal(status, BW_NOMEM);
        assert_int_equal(live, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
