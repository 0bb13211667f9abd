// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Damage is masked by a second look or told by key and step, never handed out; and verify notices
 * every flip. */
#include "scene.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS 30u

static void fill(scene *w)
{
    bw_producer *p = open_producer(w, "p", NULL);
    char *memory[STEPS];
    for (uint64_t i = 0; i < STEPS; i++) {
        put_batch(w, p, "p", i, i + 1, 2, &memory[i]);
        expect_ok(w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w->error));
    }
    char *state = calloc(1, 1000); /* an object of its own */
    bw_batch *b = NULL;
    expect_ok(w, bw_batch_new(p, 1, &b, w->error));
    for (uint32_t d = 0; d < bw_space_dp(w->space); d++)
        expect_ok(w, bw_batch_pad(b, d, 0, 0, w->error));
    expect_ok(w, bw_producer_put(p, b, STEPS + 1, state, 1000, 0, SECOND, w->error));
    expect_ok(w, bw_producer_finish(p, 30 * SECOND, w->error));
    expect_ok(w, bw_producer_close(p, 0, w->error));
    free(state);
    for (uint64_t i = 0; i < STEPS; i++)
        free(memory[i]);
}

typedef struct lines {
    uint32_t count, findings;
    char last[65536];
    char key[512]; /* of the step that was wanted */
} lines;

static int keep(void *context, const char *json)
{
    lines *l = context;
    l->count++;
    l->findings += strncmp(json, "{\"finding\":", 11) == 0;
    snprintf(l->last, sizeof l->last, "%s", json);
    const char *key = strstr(json, "\"key\":\"");
    if (key != NULL)
        sscanf(key + 7, "%511[^\"]", l->key);
    return 0;
}

static void part_path(scene *w, uint64_t step, char *path, size_t cap)
{
    char first[24], last[24];
    snprintf(first, sizeof first, "%llu", (unsigned long long)step);
    snprintf(last, sizeof last, "%llu", (unsigned long long)step + 1);
    bw_config *config = settings("first", first, "last", last, NULL);
    static lines l;
    expect_ok(w, bw_space_report(w->space, "steps", config, keep, &l, w->error));
    bw_config_free(config);
    snprintf(path, cap, "%s/ns/%s", w->directory, l.key);
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_not_equal(byte, EOF);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 0x10, file), EOF);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_slice(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    fill(&w);
    char path[700], hidden[720], id[8];
    uint64_t start = 0;
    part_path(&w, 2, path, sizeof path);
    flip(path, 64 + 2 * 16 + 32); /* in the first item of slice 0 */
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    for (int i = 0; i < 4; i++)
        (void)take_item(&w, c, id, sizeof id, &start);
    bw_item *item = NULL;
    for (int i = 0; i < 2; i++) {
        expect_status(&w, bw_consumer_next(c, 10 * SECOND, &item, w.error), BW_CORRUPT);
        assert_int_equal(bw_error_step(w.error), 2);
        assert_non_null(strstr(path, bw_error_key(w.error)));
        assert_non_null(strstr(bw_error_message(w.error), "step 2, slice 0"));
    }
    expect_status(&w, bw_space_item(w.space, 2, 0, 0, 1, 10 * SECOND, &item, w.error), BW_CORRUPT);
    /* The other rank's slice is whole. */
    expect_ok(&w, bw_space_item(w.space, 2, 1, 0, 1, 10 * SECOND, &item, w.error));
    bw_item_release(item);
    flip(path, 64 + 2 * 16 + 32);
    assert_int_equal(take_item(&w, c, id, sizeof id, &start),
                     2); /* a failed call changed nothing */
    (void)take_item(&w, c, id, sizeof id, &start);

    part_path(&w, 20, path, sizeof path);
    snprintf(hidden, sizeof hidden, "%s.gone", path);
    assert_int_equal(rename(path, hidden), 0);
    for (uint64_t step = 3; step < 20; step++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(take_item(&w, c, id, sizeof id, &start), step);
    expect_status(&w, bw_consumer_next(c, 10 * SECOND, &item, w.error), BW_CORRUPT);
    assert_int_equal(bw_error_step(w.error), 20);
    assert_non_null(strstr(bw_error_message(w.error), "missing"));
    assert_int_equal(rename(hidden, path), 0);
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 20);
    bw_consumer_close(c);
    scene_close(&w);
}

static void test_item_by_place(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    fill(&w);
    bw_item *item = NULL;
    char *meta = NULL;
    expect_ok(&w, bw_space_item(w.space, 7, 1, 0, 1, 10 * SECOND, &item, w.error));
    assert_int_equal(bw_item_step(item), 7);
    assert_int_equal(bw_item_d(item), 1);
    assert_int_equal(bw_item_index(item), 1);
    assert_int_equal(bw_item_count(item), 2);
    assert_string_equal(bw_item_kind(item), "raw");
    bw_item_release(item);
    expect_status(&w, bw_space_item(w.space, 7, 2, 0, 0, SECOND, &item, w.error), BW_INVALID);
    expect_status(&w, bw_space_item(w.space, 7, 0, 0, 2, SECOND, &item, w.error), BW_INVALID);
    expect_status(&w, bw_space_item(w.space, 99, 0, 0, 0, SECOND, &item, w.error), BW_BEYOND_END);
    assert_int_equal(bw_error_step(w.error), 99);
    expect_ok(&w, bw_space_step_meta(w.space, 3, 10 * SECOND, &meta, w.error));
    assert_int_equal(json_number(meta, "step"), 3);
    assert_non_null(strstr(meta, "\"metadata\":null"));
    bw_text_free(meta);
    expect_status(&w, bw_space_step_meta(w.space, 99, SECOND, &meta, w.error), BW_BEYOND_END);
    scene_close(&w);
}

/* ---- what does not open ---- */

static bw_status open_mode(scene *w, const char *mode, bw_space **space)
{
    bw_config *config = settings("mode", mode, "durable", "false", NULL);
    const bw_status status =
        bw_space_open(w->runtime, w->url, config, 10 * SECOND, space, w->error);
    bw_config_free(config);
    return status;
}

static bw_status inspect(scene *w, bw_space *space, const char *key, lines *l)
{
    bw_config *config = settings("key", key, NULL);
    memset(l, 0, sizeof *l);
    const bw_status status = bw_space_report(space, "inspect", config, keep, l, w->error);
    bw_config_free(config);
    return status;
}

static void test_raw_looks_at_what_does_not_open(void **state)
{
    (void)state;
    scene w;
    char path[300], key[64];
    static lines l;
    bw_space *space = NULL, *raw = NULL;
    bw_consumer *c = NULL;
    bw_producer *p = NULL;
    bw_item *item = NULL;
    char *meta = NULL;
    scene_open(&w, "2", "1", NULL);
    fill(&w);
    snprintf(key, sizeof key, "manifest/%020zu.manifest", count_files(&w, "manifest/"));
    snprintf(path, sizeof path, "%s/ns/%s", w.directory, key);
    flip(path, 100);
    expect_status(&w, open_mode(&w, "read", &space), BW_CHAIN_BLOCKED);
    assert_string_equal(bw_error_key(w.error), key);
    expect_ok(&w, open_mode(&w, "raw", &raw));
    assert_int_equal(bw_space_dp(raw), 2);
    memset(&l, 0, sizeof l);
    expect_ok(&w, bw_space_report(raw, "list", NULL, keep, &l, w.error));
    assert_true(l.count > 60);
    expect_status(&w, inspect(&w, raw, key, &l), BW_CORRUPT);
    assert_string_equal(bw_error_key(w.error), key);
    expect_ok(&w, inspect(&w, raw, "manifest/00000000000000000003.manifest", &l));
    assert_int_equal(json_number(l.last, "version"), 3);
    expect_status(&w, bw_space_report(raw, "info", NULL, keep, &l, w.error), BW_INVALID);
    expect_status(&w, bw_consumer_open(raw, NULL, NULL, NULL, SECOND, &c, w.error), BW_INVALID);
    expect_status(&w, bw_producer_open(raw, "q", NULL, SECOND, &p, w.error), BW_READ_ONLY);
    expect_status(&w, bw_space_seal(raw, 0, SECOND, w.error), BW_READ_ONLY);
    expect_status(&w, bw_space_item(raw, 0, 0, 0, 0, SECOND, &item, w.error), BW_INVALID);
    expect_status(&w, bw_space_step_meta(raw, 0, SECOND, &meta, w.error), BW_INVALID);
    bw_space_close(raw);

    snprintf(path, sizeof path, "%s/ns/genesis", w.directory);
    flip(path, 30);
    expect_status(&w, open_mode(&w, "read", &space), BW_CORRUPT);
    expect_ok(&w, open_mode(&w, "raw", &raw));
    assert_int_equal(bw_space_dp(raw), 0);
    expect_status(&w, inspect(&w, raw, "genesis", &l), BW_CORRUPT);
    expect_status(&w, inspect(&w, raw, "manifest/00000000000000000003.manifest", &l), BW_CORRUPT);
    bw_space_close(raw);
    scene_close(&w);
}

/* Whoever loses all manifests must not begin a new history by accident; an interrupted init is
 * finished. */
static void test_lost_manifests(void **state)
{
    (void)state;
    scene w;
    char from[300], to[300];
    bw_space *space = NULL;
    scene_open(&w, "2", "1", NULL);
    snprintf(from, sizeof from, "%s/ns/manifest", w.directory);
    snprintf(to, sizeof to, "%s/manifest", w.directory);
    assert_int_equal(rename(from, to), 0);
    expect_status(&w, open_mode(&w, "read", &space), BW_NOT_READY);
    expect_ok(&w, open_mode(&w, "write", &space));
    bw_space_close(space);
    fill(&w);
    snprintf(to, sizeof to, "%s/manifests", w.directory);
    assert_int_equal(rename(from, to), 0);
    expect_status(&w, open_mode(&w, "read", &space), BW_CORRUPT);
    expect_status(&w, open_mode(&w, "write", &space), BW_CORRUPT);
    assert_non_null(strstr(bw_error_message(w.error), "restore manifest/"));
    assert_int_equal(count_files(&w, "manifest/"), 0);
    assert_int_equal(rename(to, from), 0);
    expect_ok(&w, open_mode(&w, "write", &space));
    bw_space_close(space);
    scene_close(&w);
}

/* ---- verify ---- */

static char paths[256][512];
static int path_count;

static int note_path(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)at;
    const char *key = strstr(path, "/ns/");
    if (flag == FTW_F && key != NULL && path_count < 256) {
        assert_true(strlen(path) < sizeof paths[0]);
        memcpy(paths[path_count++], path, strlen(path) + 1);
    }
    return 0;
}

/* Noticed: a finding, or the namespace does not even open. */
static bool is_noticed(scene *w, bool deep)
{
    static lines l;
    memset(&l, 0, sizeof l);
    bw_space *space = NULL;
    bw_config *config = settings("deep", deep ? "true" : "false", NULL);
    bw_status status = bw_space_open(w->runtime, w->url, NULL, 10 * SECOND, &space, w->error);
    bool noticed = status != BW_OK;
    if (status == BW_OK) {
        status = bw_space_report(space, "verify", config, keep, &l, w->error);
        noticed = status == BW_UNCLEAN;
        if (noticed)
            assert_true(l.findings > 0 && json_number(l.last, "findings") == l.findings);
        else
            expect_ok(w, status);
        bw_space_close(space);
    } else {
        assert_true(bw_status_class(status) == BW_CLASS_DATA || status == BW_NO_NAMESPACE);
    }
    bw_config_free(config);
    return noticed;
}

static void test_verify_notices_flips(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    fill(&w);
    assert_false(is_noticed(&w, false));
    assert_false(is_noticed(&w, true));
    path_count = 0;
    assert_int_equal(nftw(w.directory, note_path, 16, FTW_PHYS), 0);
    assert_true(path_count > 60);
    uint32_t flips = 0;
    for (int i = 0; i < path_count; i++) {
        const bool data = strstr(paths[i], "/data/") != NULL;
        if (strstr(paths[i], "/ns/hint") != NULL)
            continue;
        FILE *file = fopen(paths[i], "rb");
        assert_non_null(file);
        assert_int_equal(fseek(file, 0, SEEK_END), 0);
        const long size = ftell(file);
        fclose(file);
        const long stride = size < 7 ? 1 : size / 7;
        for (long at = i % stride; at < size; at += stride) {
            flip(paths[i], at);
            if (!is_noticed(&w, data))
                fail_msg("a flip of byte %ld of %s was not noticed", at, paths[i]);
            flip(paths[i], at);
            flips++;
        }
    }
    assert_true(flips > 400);
    assert_false(is_noticed(&w, true));
    scene_close(&w);
}

static void test_verify_notices_losses(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    fill(&w);
    path_count = 0;
    assert_int_equal(nftw(w.directory, note_path, 16, FTW_PHYS), 0);
    uint32_t unnoticed = 0;
    for (int i = 0; i < path_count; i++) {
        if (strstr(paths[i], "/ns/hint") != NULL || strstr(paths[i], "/ns/tmp/") != NULL)
            continue;
        char hidden[600];
        snprintf(hidden, sizeof hidden, "%s/hidden", w.directory);
        assert_int_equal(rename(paths[i], hidden), 0);
        if (!is_noticed(&w, false)) {
            unnoticed++;
            if (strstr(paths[i], "/manifest/") == NULL)
                fail_msg("the loss of %s was not noticed", paths[i]);
        }
        assert_int_equal(rename(hidden, paths[i]), 0);
    }
    /* Without its newest version the chain is a shorter one, and whole: no bytes tell of that loss.
     */
    assert_int_equal(unnoticed, 1);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_slice),
        cmocka_unit_test(test_item_by_place),
        cmocka_unit_test(test_raw_looks_at_what_does_not_open),
        cmocka_unit_test(test_lost_manifests),
        cmocka_unit_test(test_verify_notices_flips),
        cmocka_unit_test(test_verify_notices_losses),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
