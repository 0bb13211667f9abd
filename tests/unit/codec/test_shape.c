// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/genesis.h"
#include "codec/shape.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static shape valid(void)
{
    return (shape){.form = FORM_UNIFORM,
                   .kind = ITEM_RAW,
                   .parts = 1,
                   .items = 2,
                   .footer_bytes = 100,
                   .uniform = 1000,
                   .total_bytes = 5000,
                   .samples = 1,
                   .tokens = 2,
                   .tag = 3};
}

static void rows_come_back(void **state)
{
    (void)state;
    shape s = valid(), back;
    s.kind = ITEM_SAFETENSORS;
    s.form = FORM_FOOTER;
    uint8_t row[SHAPE_BYTES];
    uint32_t side_at;
    shape_store(&s, 0x01020304, row);
    shape_load(row, &back, &side_at);
    assert_int_equal(side_at, 0x01020304);
    uint8_t again[SHAPE_BYTES];
    shape_store(&back, side_at, again);
    assert_memory_equal(again, row, SHAPE_BYTES);
    assert_true(back.form == FORM_FOOTER && back.kind == ITEM_SAFETENSORS && back.parts == 1 &&
                back.items == 2 && back.footer_bytes == 100 && back.uniform == 1000 &&
                back.total_bytes == 5000 && back.samples == 1 && back.tokens == 2 && back.tag == 3);
}

#define BREAKS(name, change)                                                                       \
    static void name(shape *s)                                                                     \
    {                                                                                              \
        change;                                                                                    \
    }
BREAKS(form, s->form = (shape_form)3)
BREAKS(kind, s->kind = ITEM_KINDS)
BREAKS(parts, s->parts = 0)
BREAKS(no_items, s->items = 0)
BREAKS(items, s->items = ITEMS_MAX + 1)
BREAKS(low_footer, s->footer_bytes = OBJECT_EXTRA_BYTES)
BREAKS(high_footer, s->footer_bytes = (uint32_t)object_bytes_max(OBJECT_FOOTER) + 1)
BREAKS(total, s->total_bytes = TGB_BYTES_MAX + 1)
BREAKS(short_slice, s->uniform = 127)
BREAKS(long_slice, s->uniform = SLICE_BYTES_MAX + 1)
BREAKS(inline_uniform, s->form = FORM_INLINE)
BREAKS(odd_footer, (s->form = FORM_FOOTER, s->uniform = 1001))
BREAKS(far_footer, (s->form = FORM_FOOTER, s->uniform = TGB_BYTES_MAX + 64))

static void each_rule_of_a_row_is_checked(void **state)
{
    (void)state;
    void (*const rules[])(shape *) = {
        form,  kind,        parts,      no_items,   items,      low_footer,    high_footer,
        total, short_slice, long_slice, odd_footer, far_footer, inline_uniform};
    shape s = valid();
    assert_null(shape_fault(&s));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        s = valid();
        rules[i](&s);
        assert_non_null(shape_fault(&s));
    }
    s = valid();
    s.uniform = 128;
    assert_null(shape_fault(&s));
    s.uniform = SLICE_BYTES_MAX;
    assert_null(shape_fault(&s));
}

static const char *inline_fault_of(const uint64_t *lengths, uint32_t count, uint32_t slices)
{
    shape s = valid();
    buf side;
    wire_reader r;
    s.form = FORM_INLINE;
    s.uniform = 0;
    buf_init(&side, 10000);
    for (uint32_t i = 0; i < count; i++)
        wire_put_leb(&side, lengths[i]);
    wire_open(&r, view_of(side.data, side.size));
    const char *fault = shape_fault_places(&s, slices, &r);
    if (fault == NULL)
        assert_int_equal(s.side.size, side.size);
    buf_free(&side);
    return fault;
}

static void inline_lengths_are_checked(void **state)
{
    (void)state;
    uint64_t lengths[1024];
    for (uint32_t i = 0; i < 1024; i++)
        lengths[i] = 200 + i % 2;
    assert_null(inline_fault_of(lengths, 4, 4));
    assert_null(inline_fault_of(lengths, 512, 512));
    assert_non_null(inline_fault_of(lengths, 513, 513)); /* 1,026 bytes */
    assert_non_null(inline_fault_of(lengths, 3, 4));
    assert_non_null(inline_fault_of(lengths, 1, 1));
    const uint64_t equal[] = {200, 200, 200}, low[] = {200, 127},
                   high[] = {200, SLICE_BYTES_MAX + 1};
    assert_non_null(inline_fault_of(equal, 3, 3));
    assert_non_null(inline_fault_of(low, 2, 2));
    assert_non_null(inline_fault_of(high, 2, 2));
}

static void the_footer_form_needs_many_slices(void **state)
{
    (void)state;
    shape s = valid();
    wire_reader none;
    wire_open(&none, view_of(NULL, 0));
    s.form = FORM_FOOTER;
    assert_non_null(shape_fault_places(&s, 1, &none));
    assert_non_null(shape_fault_places(&s, 204, &none));
    assert_null(shape_fault_places(&s, 205, &none));
    s.form = FORM_UNIFORM;
    assert_null(shape_fault_places(&s, 1, &none));
}

static void the_cheapest_form_is_chosen(void **state)
{
    (void)state;
    uint64_t lengths[600];
    shape s = valid();
    buf side;
    buf_init(&side, 10000);
    for (uint32_t i = 0; i < 600; i++)
        lengths[i] = 200;
    assert_int_equal(shape_places(&s, lengths, 600, &side), BW_OK);
    assert_int_equal(s.form, FORM_UNIFORM);
    assert_int_equal(s.uniform, 200);
    assert_int_equal(side.size, 0);
    lengths[1] = 201;
    assert_int_equal(shape_places(&s, lengths, 512, &side), BW_OK);
    assert_int_equal(s.form, FORM_INLINE);
    assert_int_equal(s.uniform, 0);
    assert_int_equal(s.side.size, 1024);
    assert_int_equal(shape_places(&s, lengths, 513, &side), BW_OK);
    assert_int_equal(s.form, FORM_FOOTER);
    assert_int_equal(s.side.size, 0);
    assert_int_equal(shape_places(&s, lengths, 0, &side), BW_INVALID);
    lengths[0] = 0;
    assert_int_equal(shape_places(&s, lengths, 3, &side), BW_TOO_LARGE);
    lengths[0] = SLICE_BYTES_MAX + 1;
    assert_int_equal(shape_places(&s, lengths, 3, &side), BW_TOO_LARGE);
    buf tiny;
    buf_init(&tiny, 1);
    lengths[0] = 200;
    assert_int_equal(shape_places(&s, lengths, 3, &tiny), BW_TOO_LARGE);
    buf_free(&tiny);
    buf_free(&side);
}

static void places_are_those_of_packing(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 6);
    for (int round = 0; round < 200; round++) {
        uint64_t lengths[50];
        place places[50], one;
        tgb_extent extent;
        shape s = valid();
        buf side;
        buf_init(&side, 10000);
        const uint64_t spread = round % 2 == 0 ? 1 : 5000;
        for (int i = 0; i < 50; i++)
            lengths[i] = 200 + rng_below(&r, spread);
        assert_int_equal(shape_places(&s, lengths, 50, &side), BW_OK);
        assert_int_equal(tgb_pack(lengths, 50, 8192, s.footer_bytes, places, &extent), BW_OK);
        s.parts = (uint16_t)extent.parts;
        for (uint32_t i = 0; i < 50; i++) {
            assert_int_equal(shape_place(&s, 50, 8192, i, &one), BW_OK);
            assert_true(one.part == places[i].part && one.offset == places[i].offset &&
                        one.bytes == places[i].bytes);
        }
        assert_int_equal(shape_place(&s, 50, 8192, 50, &one), BW_INVALID);
        assert_int_equal(shape_footer(&s, 50, 8192, &one), BW_OK);
        assert_true(one.part == extent.parts - 1 && one.offset == extent.footer_offset &&
                    one.bytes == s.footer_bytes);
        buf_free(&side);
    }
    shape s = valid();
    place one;
    s.form = FORM_FOOTER;
    s.parts = 7;
    s.uniform = 640;
    assert_int_equal(shape_place(&s, 600, 8192, 0, &one), BW_UNSUPPORTED);
    assert_int_equal(shape_footer(&s, 600, 8192, &one), BW_OK);
    assert_true(one.part == 6 && one.offset == 640);
    /* A view that does not hold all lengths is noticed. */
    s.form = FORM_INLINE;
    s.side = view_of("\x7f", 1);
    assert_int_equal(shape_place(&s, 3, 8192, 2, &one), BW_CORRUPT);
    assert_int_equal(shape_footer(&s, 3, 8192, &one), BW_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(each_rule_of_a_row_is_checked),
        cmocka_unit_test(inline_lengths_are_checked),
        cmocka_unit_test(the_footer_form_needs_many_slices),
        cmocka_unit_test(the_cheapest_form_is_chosen),
        cmocka_unit_test(places_are_those_of_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
