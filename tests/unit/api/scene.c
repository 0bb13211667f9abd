// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITEM_TEXT_MAX 128u

bw_config *settings(const char *first, ...)
{
    bw_config *config = bw_config_new();
    bw_error *error = bw_error_new();
    va_list args;
    assert_non_null(config);
    va_start(args, first);
    for (const char *name = first; name != NULL; name = va_arg(args, const char *)) {
        const char *value = va_arg(args, const char *);
        const bw_status status = bw_config_set(config, name, value, error);
        if (status != BW_OK)
            fail_msg("%s", bw_error_message(error));
    }
    va_end(args);
    bw_error_free(error);
    return config;
}

void expect_status(const scene *w, bw_status status, bw_status expected)
{
    if (status != expected)
        fail_msg("%s where %s was expected: %s", bw_status_name(status), bw_status_name(expected),
                 bw_error_message(w->error));
}

void expect_ok(const scene *w, bw_status status)
{
    expect_status(w, status, BW_OK);
}

static void copy_setting(bw_config *to, const bw_config *from, const char *name)
{
    if (from != NULL && bw_config_get(from, name) != NULL)
        assert_int_equal(bw_config_set(to, name, bw_config_get(from, name), NULL), BW_OK);
}

void scene_open(scene *w, const char *dp, const char *cp, const bw_config *more)
{
    memset(w, 0, sizeof *w);
    const char *parent = getenv("TMPDIR");
    snprintf(w->directory, sizeof w->directory, "%s/bw-api-XXXXXX",
             parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(w->directory));
    snprintf(w->url, sizeof w->url, "file://%s/ns", w->directory);
    w->error = bw_error_new();
    assert_non_null(w->error);
    expect_ok(w, bw_runtime_open(NULL, &w->runtime, w->error));
    bw_config *init = settings("dp", dp, "cp", cp, "block_size", "4", "tail_cap", "256B",
                               "part_size", "4KiB", "page_min", "2", "durable", "false", NULL);
    copy_setting(init, more, "producers");
    copy_setting(init, more, "part_size");
    copy_setting(init, more, "max_bytes");
    copy_setting(init, more, "max_lag");
    expect_ok(w, bw_space_init(w->runtime, w->url, init, w->error));
    bw_config_free(init);
    w->space = scene_space(w, true);
}

bw_space *scene_space(scene *w, bool write)
{
    bw_config *config =
        settings("mode", write ? "write" : "read", "durable", "false", "reclaim", "false", NULL);
    bw_space *space = NULL;
    expect_ok(w, bw_space_open(w->runtime, w->url, config, 10 * SECOND, &space, w->error));
    bw_config_free(config);
    return space;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

void scene_close(scene *w)
{
    bw_space_close(w->space);
    bw_runtime_close(w->runtime);
    bw_error_free(w->error);
    assert_int_equal(nftw(w->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

bw_producer *open_producer(scene *w, const char *id, const bw_config *config)
{
    bw_producer *p = NULL;
    expect_ok(w, bw_producer_open(w->space, id, config, 10 * SECOND, &p, w->error));
    return p;
}

bw_consumer *open_consumer(scene *w, bw_space *space, const char *d, const char *c)
{
    /* A known depth: tests damage what is not read yet. */
    bw_config *config = settings("d", d, "c", c, "prefetch", "8", NULL);
    bw_consumer *consumer = NULL;
    expect_ok(w, bw_consumer_open(space, NULL, config, NULL, 10 * SECOND, &consumer, w->error));
    bw_config_free(config);
    return consumer;
}

size_t item_text(char *out, size_t cap, const char *id, uint64_t start, uint32_t d, uint32_t c,
                 uint32_t item)
{
    const int size = snprintf(out, cap, "%s %" PRIu64 " %u %u %u ", id, start, d, c, item);
    assert_true(size > 0 && (size_t)size < cap);
    /* Lengths differ, so that places are not uniform. */
    size_t at = (size_t)size;
    const size_t end = at + (size_t)(start * 7 + d * 13 + item * 5) % 40;
    while (at < end && at + 1 < cap)
        out[at++] = '.';
    return at;
}

void put_batch(scene *w, bw_producer *p, const char *id, uint64_t start, uint64_t end,
               uint32_t items, char **memory)
{
    bw_batch *batch = NULL;
    const uint32_t dp = bw_space_dp(w->space), cp = bw_space_cp(w->space);
    *memory = calloc((size_t)dp * cp * items, ITEM_TEXT_MAX);
    assert_non_null(*memory);
    expect_ok(w, bw_batch_new(p, items, &batch, w->error));
    char *at = *memory;
    for (uint32_t d = 0; d < dp; d++)
        for (uint32_t c = 0; c < cp; c++)
            for (uint32_t item = 0; item < items; item++, at += ITEM_TEXT_MAX) {
                const size_t size = item_text(at, ITEM_TEXT_MAX, id, start, d, c, item);
                /* In two pieces, so that pieces are joined in order. */
                const struct iovec pieces[2] = {{at, 3}, {at + 3, size - 3}};
                expect_ok(w, bw_batch_item(batch, d, c, item, pieces, 2, w->error));
            }
    char state[64];
    const int state_bytes = snprintf(state, sizeof state, "%s at %" PRIu64, id, end);
    expect_ok(w, bw_producer_put(p, batch, end, state, (size_t)state_bytes, start, 30 * SECOND,
                                 w->error));
}

uint64_t take_item(scene *w, bw_consumer *consumer, char *id, size_t id_cap, uint64_t *start)
{
    bw_item *item = NULL;
    const void *data = NULL;
    size_t size = 0;
    expect_ok(w, bw_consumer_next(consumer, 30 * SECOND, &item, w->error));
    bw_item_view(item, &data, &size);
    assert_true(size > 0 && size < ITEM_TEXT_MAX);
    char text[ITEM_TEXT_MAX + 1], expected[ITEM_TEXT_MAX];
    memcpy(text, data, size);
    text[size] = '\0';
    char name[65];
    assert_int_equal(sscanf(text, "%64s %" SCNu64, name, start), 2);
    assert_true(strlen(name) < id_cap);
    memcpy(id, name, strlen(name) + 1);
    const size_t length = item_text(expected, sizeof expected, name, *start, bw_item_d(item),
                                    bw_item_c(item), bw_item_index(item));
    assert_int_equal(size, length);
    assert_memory_equal(text, expected, size);
    assert_int_equal(bw_item_d(item), bw_consumer_d(consumer));
    assert_int_equal(bw_item_c(item), bw_consumer_c(consumer));
    const uint64_t step = bw_item_step(item);
    bw_item_release(item);
    return step;
}

int64_t json_number(const char *json, const char *key)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *at = strstr(json, pattern);
    if (at == NULL)
        fail_msg("no %s in %s", key, json);
    return strtoll(at + strlen(pattern), NULL, 10);
}

static size_t files;
static const char *wanted;
static size_t skip;

static int count_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)at;
    if (flag == FTW_F && strncmp(path + skip, wanted, strlen(wanted)) == 0)
        files++;
    return 0;
}

size_t count_files(const scene *w, const char *prefix)
{
    char root[160];
    snprintf(root, sizeof root, "%s/ns", w->directory);
    files = 0;
    wanted = prefix;
    skip = strlen(root) + 1;
    assert_int_equal(nftw(root, count_one, 16, FTW_PHYS), 0);
    return files;
}

int no_line(void *context, const char *json)
{
    (void)context;
    (void)json;
    return 0;
}
