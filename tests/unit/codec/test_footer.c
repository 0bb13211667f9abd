// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/genesis.h"
#include "codec/tgb.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct collected {
    view ids[100];
    uint32_t count;
} collected;

static int collect(void *context, view id)
{
    collected *c = context;
    if (c->count == 100)
        return 1;
    c->ids[c->count++] = id;
    return 0;
}

static bw_status recode(view object, buf *out)
{
    footer f;
    const bw_status status = footer_decode(object, &f, NULL);
    if (status != BW_OK)
        return status;
    collected c = {.count = 0};
    uint32_t first[100];
    assert_true(f.slice_count <= 100);
    for (uint32_t s = 0; s < f.slice_count; s++) {
        first[s] = c.count;
        assert_int_equal(footer_samples(&f, s, collect, &c), 0);
        f.slices[s].samples = c.ids + first[s];
    }
    assert_int_equal(footer_encode(&f, out), BW_OK);
    footer_free(&f);
    return BW_OK;
}

static void make_footer(buf *out)
{
    static const view ids[] = {{(const uint8_t *)"a", 1}, {NULL, 0}, {(const uint8_t *)"bcd", 3}};
    footer_slice slices[6];
    for (uint32_t i = 0; i < 6; i++)
        slices[i] = (footer_slice){1000 + i, i % 3, i % 4, ids};
    const footer f = {.nonce = 77,
                      .dp = 3,
                      .cp = 2,
                      .items = 2,
                      .kind = ITEM_SAFETENSORS,
                      .media_type = view_text("x/y"),
                      .metadata = view_text("{}"),
                      .slice_count = 6,
                      .slices = slices};
    buf_init(out, 10000);
    assert_int_equal(footer_encode(&f, out), BW_OK);
}

static int stop_at_second(void *context, view id)
{
    (void)id;
    return ++*(int *)context == 2 ? 42 : 0;
}

static void fields_come_back(void **state)
{
    (void)state;
    buf object;
    footer f;
    make_footer(&object);
    assert_int_equal(footer_decode(view_of(object.data, object.size), &f, NULL), BW_OK);
    assert_true(f.nonce == 77 && f.dp == 3 && f.cp == 2 && f.items == 2 &&
                f.kind == ITEM_SAFETENSORS && f.slice_count == 6);
    assert_true(view_equal(f.media_type, view_text("x/y")));
    assert_true(view_equal(f.metadata, view_text("{}")));
    assert_true(f.slices[4].framed_bytes == 1004 && f.slices[4].items_set == 1);
    assert_int_equal(f.slices[3].sample_count, 3);
    collected c = {.count = 0};
    assert_int_equal(footer_samples(&f, 3, collect, &c), 0);
    assert_int_equal(c.count, 3);
    assert_true(view_equal(c.ids[2], view_text("bcd")));
    int calls = 0;
    assert_int_equal(footer_samples(&f, 3, stop_at_second, &calls), 42);
    assert_int_equal(calls, 2);
    footer_free(&f);
    check_protected(&object, recode);
    check_mutations(&object, recode, 8, 10000);
    buf_free(&object);
}

static void each_rule_is_checked(void **state)
{
    (void)state;
    /* Body: nonce 0, dp 8, cp 12, items 16, kind 20, zero 21, "x/y" 24, "{}" 28, lengths 34, items
     * set 82, samples 106. */
    static const struct {
        size_t at;
        uint8_t bytes[8];
        size_t size;
    } cases[] = {
        {8, {0}, 4},
        {8, {0, 0, 16, 0, 1, 0, 0, 0}, 8}, /* 2^20 x 1 in few bytes */
        {8, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8},
        {16, {0}, 4},
        {16, {1, 0, 16, 0}, 4},
        {20, {3}, 1},
        {21, {1}, 1},
        {23, {1}, 1},
        {28, {1, 0, 16, 0}, 4}, /* metadata above 1 MiB */
        {34, {127, 0}, 2},      /* below what two empty items take */
        {38, {2}, 1},           /* above 2^32 */
        {82, {3}, 1},           /* 3 of 2 items */
        {106, {1}, 1},
    };
    buf object;
    make_footer(&object);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_patched(&object, cases[i].at, cases[i].bytes, cases[i].size, recode, BW_CORRUPT);
    buf_free(&object);
}

static void encoding_checks_mesh_and_metadata(void **state)
{
    (void)state;
    static uint8_t metadata[METADATA_BYTES_MAX + 1];
    footer_slice slice = {1000, 1, 0, NULL};
    footer f = {.dp = 1, .cp = 1, .items = 1, .slice_count = 1, .slices = &slice};
    buf out;
    buf_init(&out, 2 << 20);
    f.metadata = view_of(metadata, METADATA_BYTES_MAX);
    assert_int_equal(footer_encode(&f, &out), BW_OK);
    f.metadata.size++;
    assert_int_equal(footer_encode(&f, &out), BW_TOO_LARGE);
    f.metadata.size = 0;
    f.slice_count = 2;
    assert_int_equal(footer_encode(&f, &out), BW_INVALID);
    f.dp = f.slice_count = 0;
    assert_int_equal(footer_encode(&f, &out), BW_INVALID);
    f.dp = 1;
    f.cp = 0;
    assert_int_equal(footer_encode(&f, &out), BW_INVALID);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(encoding_checks_mesh_and_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
