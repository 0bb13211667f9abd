// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Reports on a live namespace, and samples. */
#include "scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4096u

typedef struct lines {
    uint32_t count, stop_at;
    uint32_t idle;
    char *text[LINES_MAX];
} lines;

static int keep(void *context, const char *json)
{
    lines *l = context;
    assert_true(l->count < LINES_MAX);
    l->idle += strstr(json, "\"idle\":true") != NULL;
    l->text[l->count] = strdup(json);
    assert_non_null(l->text[l->count]);
    l->count++;
    return l->stop_at != 0 && l->count >= l->stop_at;
}

static void drop(lines *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        free(l->text[i]);
    memset(l, 0, sizeof *l);
}

static lines got;

static void run(scene *w, const char *what, bw_config *config)
{
    drop(&got);
    expect_ok(w, bw_space_report(w->space, what, config, keep, &got, w->error));
    bw_config_free(config);
}

static void put_steps(scene *w, bw_producer *p, uint64_t first, uint64_t count)
{
    char *memory[64];
    for (uint64_t i = 0; i < count; i++) {
        put_batch(w, p, "p", first + i, first + i + 1, 2, &memory[i]);
        expect_ok(w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w->error));
    }
    for (uint64_t i = 0; i < count; i++)
        free(memory[i]);
}

static void test_reports(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    put_steps(&w, p, 0, 40);
    run(&w, "info", NULL);
    assert_int_equal(got.count, 1);
    assert_int_equal(json_number(got.text[0], "next_step"), 40);
    assert_int_equal(json_number(got.text[0], "dp"), 2);
    assert_int_equal(json_number(got.text[0], "offset"), 40);
    assert_non_null(strstr(got.text[0], bw_space_uuid(w.space)));
    assert_non_null(strstr(got.text[0], "\"max_lag\":null"));

    run(&w, "steps", settings("first", "3", "last", "39", NULL));
    assert_int_equal(got.count, 36);
    for (uint32_t i = 0; i < got.count; i++) {
        assert_int_equal(json_number(got.text[i], "step"), i + 3);
        assert_int_equal(json_number(got.text[i], "seq"), i + 4);
    }
    run(&w, "steps", settings("first", "50", NULL));
    assert_int_equal(got.count, 0);
    run(&w, "list", NULL);
    const uint32_t all = got.count;
    assert_int_equal(all, count_files(&w, "") - count_files(&w, "tmp/"));
    uint32_t kinds[5] = {0};
    static const char *const names[] = {"genesis", "manifest", "segment", "part", "hint"};
    char *keys[LINES_MAX];
    for (uint32_t i = 0; i < all; i++) {
        char key[256];
        for (int k = 0; k < 5; k++) {
            char kind[32];
            snprintf(kind, sizeof kind, "\"kind\":\"%s\"", names[k]);
            kinds[k] += strstr(got.text[i], kind) != NULL;
        }
        assert_int_equal(sscanf(got.text[i], "{\"key\":\"%255[^\"]", key), 1);
        keys[i] = strdup(key);
    }
    assert_int_equal(kinds[0], 1);
    assert_int_equal(kinds[1], 42); /* v1, the open, and one a step */
    assert_true(kinds[2] > 5);
    assert_int_equal(kinds[3], 40);
    /* Every object can be inspected. */
    for (uint32_t i = 0; i < all; i++) {
        run(&w, "inspect", settings("key", keys[i], NULL));
        assert_int_equal(got.count, 1);
        free(keys[i]);
    }
    run(&w, "list", settings("prefix", "manifest/", NULL));
    assert_int_equal(got.count, 42);
    drop(&got);
    bw_config *nothing = settings("key", "manifest/no", NULL);
    expect_status(&w, bw_space_report(w.space, "inspect", nothing, keep, &got, w.error),
                  BW_NOT_FOUND);
    expect_status(&w, bw_space_report(w.space, "inspect", NULL, keep, &got, w.error), BW_INVALID);
    bw_config_free(nothing);
    got.stop_at = 3;
    expect_status(&w, bw_space_report(w.space, "steps", NULL, keep, &got, w.error), BW_INTERRUPTED);
    assert_int_equal(got.count, 3);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    drop(&got);
    scene_close(&w);
}

static void test_gc(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    put_steps(&w, p, 0, 40);
    run(&w, "gc", NULL);
    assert_int_equal(got.count, 1);
    assert_non_null(strstr(got.text[0], "\"applied\":false"));
    const int64_t would = json_number(got.text[0], "blocks_retired");
    assert_true(would >= 8);
    assert_int_equal(count_files(&w, "retired/"), 0);
    run(&w, "gc", settings("apply", "true", "blocks_max", "2", NULL));
    assert_int_equal(json_number(got.text[0], "blocks_retired"), 2);
    assert_int_equal(count_files(&w, "retired/"), 2);
    run(&w, "gc", settings("apply", "true", NULL));
    assert_int_equal(json_number(got.text[0], "blocks_retired"), would - 2);
    assert_int_equal(json_number(got.text[0], "blocks_total"), would);
    assert_true(count_files(&w, "manifest/") <= 12);
    run(&w, "verify", settings("deep", "true", NULL));
    const char *summary = got.text[got.count - 1];
    assert_int_equal(json_number(summary, "blocks_retired"), would);
    assert_int_equal(json_number(summary, "unproven_below_version"), would * 4);
    assert_int_equal(json_number(summary, "items"), 80);
    /* The producer goes on, and so does a late reader. */
    put_steps(&w, p, 40, 5);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    char id[8];
    uint64_t start = 0;
    for (uint64_t step = 0; step < 45; step++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(take_item(&w, c, id, sizeof id, &start), step);
    bw_consumer_close(c);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    drop(&got);
    scene_close(&w);
}

static void *tail(void *context)
{
    scene *w = context;
    bw_error *error = bw_error_new();
    const bw_status status = bw_space_report(w->space, "tail", NULL, keep, &got, error);
    assert_int_equal(status, BW_OK);
    bw_error_free(error);
    return NULL;
}

static void test_tail_until_sealed(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("producers", "1", NULL);
    scene_open(&w, "1", "1", more);
    bw_config_free(more);
    bw_producer *p = open_producer(&w, "p", NULL);
    pthread_t thread;
    drop(&got);
    assert_int_equal(pthread_create(&thread, NULL, tail, &w), 0);
    put_steps(&w, p, 0, 10);
    bw_event *event = NULL;
    while (bw_producer_event(p, 1200000000, &event, w.error) == BW_OK) /* a second of silence */
        bw_event_free(event);
    put_steps(&w, p, 10, 3);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    assert_true(got.idle >= 1);
    assert_int_equal(got.count - got.idle, 13);
    run(&w, "tail", settings("first", "13", NULL));
    assert_int_equal(got.count, 0);
    bw_config *beyond = settings("first", "14", NULL);
    expect_status(&w, bw_space_report(w.space, "tail", beyond, keep, &got, w.error), BW_BEYOND_END);
    bw_config_free(beyond);
    drop(&got);
    scene_close(&w);
}

static void test_metadata(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    bw_config *config = settings("kind", "samples", "media_type", "text/plain", NULL);
    bw_producer *p = open_producer(&w, "p", config);
    bw_config_free(config);
    bw_samples *samples = bw_samples_new(1000);
    const void *bytes = NULL;
    size_t size = 0;
    expect_ok(&w, bw_samples_begin(samples, w.error));
    expect_ok(&w, bw_samples_field(samples, "text", "hello", 5, w.error));
    assert_int_equal(bw_samples_view(samples, &bytes, &size), BW_OK);
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    static const char *const ids[] = {"doc/1", "doc/2", "a\"b"};
    bw_batch *b = NULL;
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_item(b, 0, 0, 0, &piece, 1, w.error));
    expect_ok(&w, bw_batch_pad(b, 1, 0, 0, w.error));
    expect_ok(&w, bw_batch_samples(b, 1, 0, ids + 1, 1, 7, w.error));
    expect_ok(&w, bw_batch_samples(b, 0, 0, ids, 1, 5, w.error));
    expect_ok(&w, bw_batch_samples(b, 1, 0, ids + 2, 1, 0, w.error));
    expect_ok(&w, bw_batch_meta(b, 77, "{\"a\": [1, 2]}", 13, w.error));
    expect_ok(&w, bw_producer_put(p, b, 1, NULL, 0, 0, SECOND, w.error));
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_ok(&w, bw_batch_pad(b, 1, 0, 0, w.error));
    expect_ok(&w, bw_batch_meta(b, 0, "\x01\xff", 2, w.error));
    expect_ok(&w, bw_producer_put(p, b, 2, NULL, 0, 0, SECOND, w.error));
    expect_ok(&w, bw_producer_flush(p, BW_URGENT, 10 * SECOND, w.error));
    bw_samples_free(samples);
    char *json = NULL;
    expect_ok(&w, bw_space_step_meta(w.space, 0, 10 * SECOND, &json, w.error));
    assert_non_null(strstr(json, "\"metadata\":{\"a\":[1,2]}"));
    assert_non_null(strstr(json, "\"samples\":[\"doc/1\"]"));
    assert_non_null(strstr(json, "\"samples\":[\"doc/2\",\"a\\\"b\"]"));
    assert_non_null(strstr(json, "\"media_type\":\"text/plain\""));
    assert_int_equal(json_number(json, "tag"), 77);
    assert_int_equal(json_number(json, "tokens"), 12);
    bw_text_free(json);
    expect_ok(&w, bw_space_step_meta(w.space, 1, 10 * SECOND, &json, w.error));
    assert_non_null(strstr(json, "\"metadata\":null,\"metadata_hex\":\"01ff\""));
    bw_text_free(json);
    bw_item *item = NULL;
    expect_ok(&w, bw_space_item(w.space, 0, 0, 0, 0, 10 * SECOND, &item, w.error));
    assert_string_equal(bw_item_kind(item), "samples");
    assert_int_equal(bw_item_tag(item), 77);
    assert_int_equal(bw_item_tokens(item), 12);
    bw_item_release(item);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    scene_close(&w);
}

typedef struct fields {
    uint32_t count, stop_at;
    char text[256];
} fields;

static int add_field(void *context, uint32_t sample, const char *key, size_t key_bytes,
                     const void *value, size_t value_bytes)
{
    fields *f = context;
    char one[64];
    snprintf(one, sizeof one, "%u %.*s=%.*s;", sample, (int)key_bytes, key, (int)value_bytes,
             (const char *)value);
    strncat(f->text, one, sizeof f->text - strlen(f->text) - 1);
    f->count++;
    return f->count == f->stop_at;
}

static void test_samples(void **state)
{
    (void)state;
    bw_error *error = bw_error_new();
    bw_samples *s = bw_samples_new(40);
    const void *bytes = NULL;
    size_t size = 0, before = 0;
    assert_int_equal(bw_samples_field(s, "k", "v", 1, error), BW_INVALID); /* no sample yet */
    assert_int_equal(bw_samples_begin(s, error), BW_OK);
    assert_int_equal(bw_samples_field(s, "k", "v", 1, error), BW_OK);
    assert_int_equal(bw_samples_view(s, &bytes, &before), BW_OK);
    assert_int_equal(bw_samples_field(s, "k", "0123456789012345678901234567", 28, error),
                     BW_TOO_LARGE);
    assert_int_equal(bw_samples_field(s, "k", NULL, 1, error), BW_INVALID);
    assert_int_equal(bw_samples_view(s, &bytes, &size), BW_OK);
    assert_int_equal(size, before); /* as if the failed calls had not been made */
    assert_int_equal(bw_samples_begin(s, error), BW_OK);
    assert_int_equal(bw_samples_field(s, "long", "", 0, error), BW_OK);
    assert_int_equal(bw_samples_view(s, &bytes, &size), BW_OK);
    fields f = {0};
    assert_int_equal(bw_samples_read(bytes, size, add_field, &f, error), BW_OK);
    assert_string_equal(f.text, "0 k=v;1 long=;");
    f = (fields){.stop_at = 1};
    assert_int_equal(bw_samples_read(bytes, size, add_field, &f, error), BW_INTERRUPTED);
    assert_int_equal(f.count, 1);
    assert_int_equal(bw_samples_read(bytes, size - 1, add_field, &f, error), BW_CORRUPT);
    assert_int_equal(bw_samples_read(bytes, size, NULL, &f, error), BW_INVALID);
    bw_samples_reset(s);
    assert_int_equal(bw_samples_view(s, &bytes, &size), BW_OK);
    assert_int_equal(size, 4);
    bw_samples_free(s);
    bw_samples_free(NULL);
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),           cmocka_unit_test(test_gc),
        cmocka_unit_test(test_tail_until_sealed), cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}
