// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/genesis.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static genesis valid(void)
{
    return (genesis){
        .uuid = {1, 2, 3},
        .created_ms = 5,
        .dp = 4,
        .cp = 2,
        .items_default = 3,
        .block_size = 4,
        .tail_cap = 256,
        .part_bytes = 4096,
        .page_min = 2,
        .has_max_lag = true,
        .max_lag = 9,
        .layout = "contiguous",
        .schema = view_text("schema"),
    };
}

static bw_status recode(view object, buf *out)
{
    genesis g;
    const bw_status status = genesis_decode(object, &g, NULL);
    if (status == BW_OK)
        assert_int_equal(genesis_encode(&g, out), BW_OK);
    return status;
}

static void fields_come_back(void **state)
{
    (void)state;
    const genesis g = valid();
    genesis back;
    buf object;
    buf_init(&object, 1000);
    assert_int_equal(genesis_encode(&g, &object), BW_OK);
    assert_int_equal(genesis_decode(view_of(object.data, object.size), &back, NULL), BW_OK);
    assert_memory_equal(back.uuid, g.uuid, UUID_BYTES);
    assert_int_equal(genesis_slices(&back), 8);
    assert_int_equal(genesis_block(&back, 11), 2);
    assert_true(back.has_max_lag && !back.has_max_bytes);
    assert_int_equal(back.max_lag, 9);
    assert_string_equal(back.layout, "contiguous");
    assert_true(view_equal(back.schema, g.schema));
    check_protected(&object, recode);
    check_mutations(&object, recode, 1, 5000);
    buf_free(&object);
}

typedef struct rule {
    void (*breaks)(genesis *g);
    const char *word; /* that the message names */
} rule;

#define BREAKS(name, change)                                                                       \
    static void name(genesis *g)                                                                   \
    {                                                                                              \
        change;                                                                                    \
    }
BREAKS(no_dp, g->dp = 0)
BREAKS(no_cp, g->cp = 0)
BREAKS(wide, g->dp = g->cp = 1025)
BREAKS(wraps, g->dp = g->cp = 65536)
BREAKS(no_items, g->items_default = 0)
BREAKS(items, g->items_default = ITEMS_MAX + 1)
BREAKS(blocks, g->block_size = 1)
BREAKS(low_tail, g->tail_cap = 63)
BREAKS(high_tail, g->tail_cap = (1u << 20) + 1)
BREAKS(low_part, g->part_bytes = 4032)
BREAKS(high_part, g->part_bytes = (1ull << 40) + 64)
BREAKS(odd_part, g->part_bytes = 4097)
BREAKS(no_page, g->page_min = 0)
BREAKS(lag, g->has_max_lag = false)
BREAKS(bytes, g->max_bytes = 1)
BREAKS(layout, memcpy(g->layout, "tail", 5))
BREAKS(schema, g->schema.size = SCHEMA_BYTES_MAX + 1)

static void each_rule_is_checked_by_name(void **state)
{
    (void)state;
    static const rule rules[] = {
        {no_dp, "mesh"},         {no_cp, "mesh"},          {wide, "mesh"},
        {wraps, "mesh"},         {no_items, "items"},      {items, "items"},
        {blocks, "block size"},  {low_tail, "tail cap"},   {high_tail, "tail"},
        {low_part, "part size"}, {high_part, "part size"}, {odd_part, "part size"},
        {no_page, "page min"},   {lag, "max lag"},         {bytes, "max bytes"},
        {layout, "layout"},      {schema, "schema"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        genesis g = valid();
        bw_error error;
        buf out;
        error_clear(&error);
        assert_int_equal(genesis_check(&g, NULL), BW_OK);
        rules[i].breaks(&g);
        assert_int_equal(genesis_check(&g, &error), BW_INVALID);
        assert_non_null(strstr(error.message, rules[i].word));
        buf_init(&out, 1000);
        assert_int_equal(genesis_encode(&g, &out), BW_INVALID);
        assert_int_equal(out.size, 0);
        buf_free(&out);
    }
}

static void decoding_checks_the_same_rules(void **state)
{
    (void)state;
    /* Offsets of section 4 within the body. */
    static const struct {
        size_t at;
        uint8_t value;
    } cases[] = {{24, 0}, {28, 0}, {32, 0}, {40, 1}, {45, 0},  {49, 0},
                 {56, 0}, {60, 0}, {60, 5}, {80, 3}, {81, 'x'}};
    const genesis g = valid();
    buf object, out;
    buf_init(&object, 1000);
    assert_int_equal(genesis_encode(&g, &object), BW_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_patched(&object, cases[i].at, &cases[i].value, 1, recode, BW_CORRUPT);
    /* A byte after the last field. */
    buf_put_u8(&object, 0);
    reseal(&object);
    assert_int_equal(recode_copy(view_of(object.data, object.size), recode, &out), BW_CORRUPT);
    buf_free(&out);
    buf_free(&object);
}

static void a_layout_that_a_c_string_would_hide(void **state)
{
    (void)state;
    genesis g = valid();
    g.layout[0] = '\0';
    buf object;
    buf_init(&object, 1000);
    assert_int_equal(genesis_encode(&g, &object), BW_OK);
    /* A layout of one NUL, a schema one byte shorter. */
    const uint8_t hidden[] = {1, 0, 5, 0, 0, 0};
    check_patched(&object, 80, hidden, sizeof hidden, recode, BW_CORRUPT);
    buf_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(each_rule_is_checked_by_name),
        cmocka_unit_test(decoding_checks_the_same_rules),
        cmocka_unit_test(a_layout_that_a_c_string_would_hide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
