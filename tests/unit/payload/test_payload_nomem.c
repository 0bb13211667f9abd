// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out while items are read, written and remapped: BW_NOMEM, nothing half done, and
 * nothing leaks. */
#include "payload/cplayout.h"
#include "payload/safetensors.h"
#include "tests/unit/scarcity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
    scarcity.scarce = true;
    assert_int_equal(make_remap(), BW_OK);
    const uint64_t all = scarcity.seen;
    assert_true(all > 10);
    for (uint64_t n = 1; n <= all; n++) {
        scarcity.nth = n;
        scarcity.ever = true;
        const int64_t before = scarcity.live;
        const bw_status status = make_remap();
        scarcity.nth = 0;
        assert_int_equal(status, BW_NOMEM);
        assert_int_equal(scarcity.live, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
