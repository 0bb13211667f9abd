// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "base/alloc.h"
#include "client/fetch.h"
#include <string.h>

#define PATIENCE (20 * NS_PER_S)

static bw_producer *producer(stand *s)
{
    return stand_producer(s, s->space, "p", "naive");
}

static void finish(stand *s, bw_producer *p)
{
    stand_expect(s, producer_finish(p, PATIENCE, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

/* One step: two items of each of two slices; the second of slice 1 is a pad. */
static void fill(stand *s, const char *meta)
{
    static const char *const texts[2][2] = {{"zero", "one"}, {"two", NULL}};
    static const char *const ids[] = {"first \"id\"", "second"};
    bw_batch *b = NULL;
    stand_open(s, 2, "", false);
    bw_producer *p = producer(s);
    stand_expect(s, batch_new(p, 2, &b, &s->error), BW_OK);
    for (uint32_t d = 0; d < 2; d++)
        for (uint32_t i = 0; i < 2; i++) {
            if (texts[d][i] == NULL) {
                stand_expect(s, batch_set_pad(b, d, 0, i, &s->error), BW_OK);
                continue;
            }
            const struct iovec piece = {(void *)(uintptr_t)texts[d][i], strlen(texts[d][i])};
            stand_expect(s, batch_set_item(b, d, 0, i, &piece, 1, &s->error), BW_OK);
        }
    stand_expect(s, batch_add_samples(b, 1, 0, ids, 2, 42, &s->error), BW_OK);
    stand_expect(s, batch_set_meta(b, 5, meta, strlen(meta), &s->error), BW_OK);
    stand_expect(s, producer_put(p, b, 1, view_text(""), 1, PATIENCE, &s->error), BW_OK);
    finish(s, p);
}

static void expect_item(stand *s, bw_space *space, uint32_t d, uint32_t item, const char *text)
{
    bw_item *got = NULL;
    stand_expect(s, fetch_item(space, 0, (position){d, 0}, item, PATIENCE, &got, &s->error), BW_OK);
    const frame_item *row = &got->owner->frames[got->index];
    assert_int_equal(row->pad, text == NULL);
    assert_int_equal(row->stored_bytes, text == NULL ? 0 : strlen(text));
    if (text != NULL)
        assert_memory_equal(got->owner->data + row->offset, text, row->stored_bytes);
    item_release(got);
    assert_int_equal(budget_used(s->runtime->budget), 0);
}

static void test_any_item(void **state)
{
    (void)state;
    stand s;
    fill(&s, "");
    expect_item(&s, s.space, 0, 0, "zero");
    expect_item(&s, s.space, 0, 1, "one");
    expect_item(&s, s.space, 1, 0, "two");
    expect_item(&s, s.space, 1, 1, NULL);
    stand_close(&s);
}

static void refused(stand *s, bw_space *space, uint64_t step, uint32_t d, uint32_t item,
                    bw_status expected)
{
    bw_item *got = NULL;
    const position at = {d, 0};
    stand_expect(s, fetch_item(space, step, at, item, PATIENCE, &got, &s->error), expected);
    assert_null(got);
    assert_int_equal(budget_used(s->runtime->budget), 0);
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    stand s;
    char *json = NULL;
    fill(&s, "");
    refused(&s, s.space, 0, 2, 0, BW_INVALID);
    refused(&s, s.space, 0, 0, 2, BW_INVALID);
    refused(&s, s.space, 1, 0, 0, BW_BEYOND_END);
    stand_expect(&s, fetch_meta(s.space, 1, PATIENCE, &json, &s.error), BW_BEYOND_END);
    assert_null(json);
    stand_close(&s);
}

/* What cannot be mapped is read; what neither way brings is a verdict with key and step. */
static void test_second_look(void **state)
{
    (void)state;
    stand s;
    fill(&s, "");
    static const char *const passing[] = {"flip:map:data/:0", "not-found:map:data/:0"};
    static const char *const lasting[] = {"flip:map:data/:0;flip:read:data/:0",
                                          "not-found:map:data/:0;not-found:read:data/:0"};
    for (size_t i = 0; i < 2; i++) {
        bw_space *space = stand_space(&s, passing[i], false);
        expect_item(&s, space, 0, 1, "one");
        space_close(space);
        space = stand_space(&s, lasting[i], false);
        refused(&s, space, 0, 0, 1, BW_CORRUPT);
        assert_int_equal(strncmp(bw_error_key(&s.error), "data/", 5), 0);
        assert_int_equal(bw_error_step(&s.error), 0);
        space_close(space);
    }
    stand_close(&s);
}

static void expect_in_meta(stand *s, const char *expected)
{
    char *json = NULL;
    stand_expect(s, fetch_meta(s->space, 0, PATIENCE, &json, &s->error), BW_OK);
    if (strstr(json, expected) == NULL)
        fail_msg("%s lacks %s", json, expected);
    mem_free(json);
}

static void test_meta(void **state)
{
    (void)state;
    stand s;
    fill(&s, " {\"lr\" : 0.5}");
    expect_in_meta(&s, "{\"step\":0,\"producer\":\"p\",");
    expect_in_meta(&s, "\"kind\":\"raw\",\"media_type\":\"\",\"items\":2,\"samples\":2,"
                       "\"tokens\":42,\"tag\":5,\"metadata\":{\"lr\":0.5},\"slices\":[{\"d\":0,");
    expect_in_meta(&s, "\"items_set\":2,\"samples\":[]},{\"d\":1,\"c\":0,");
    expect_in_meta(&s, "\"items_set\":1,\"samples\":[\"first \\\"id\\\"\",\"second\"]}]}");
    stand_close(&s);
}

static void test_meta_that_is_no_json(void **state)
{
    (void)state;
    stand s;
    fill(&s, "{no");
    expect_in_meta(&s, "\"metadata\":null,\"metadata_hex\":\"7b6e6f\",\"slices\"");
    stand_close(&s);
    fill(&s, "");
    expect_in_meta(&s, "\"metadata\":null,\"slices\"");
    stand_close(&s);
}

static void test_damaged_meta(void **state)
{
    (void)state;
    stand s;
    char *json = NULL;
    fill(&s, "{}");
    static const char *const rules[] = {"flip:read:data/:0", "not-found:read:data/:0"};
    for (size_t i = 0; i < 2; i++) {
        bw_space *space = stand_space(&s, rules[i], false);
        stand_expect(&s, fetch_meta(space, 0, PATIENCE, &json, &s.error), BW_CORRUPT);
        assert_null(json);
        assert_int_equal(strncmp(bw_error_key(&s.error), "data/", 5), 0);
        assert_int_equal(bw_error_step(&s.error), 0);
        space_close(space);
    }
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_item),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_second_look),
        cmocka_unit_test(test_meta),
        cmocka_unit_test(test_meta_that_is_no_json),
        cmocka_unit_test(test_damaged_meta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
