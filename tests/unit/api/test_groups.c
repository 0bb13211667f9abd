// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Groups as a trainer has them: one start for all ranks, checkpoints pinned, and what no checkpoint
 * reaches given back. */
#include "scene.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 4 };

static void publish(scene *w, const char *id, uint64_t first, uint64_t count)
{
    char *memory[64];
    assert_true(count <= 64);
    bw_producer *p = open_producer(w, id, NULL);
    for (uint64_t i = 0; i < count; i++)
        put_batch(w, p, id, first + i, first + i + 1, 1, &memory[i]);
    expect_ok(w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w->error));
    expect_ok(w, bw_producer_close(p, 0, w->error));
    for (uint64_t i = 0; i < count; i++)
        free(memory[i]);
}

static bw_config *of_rank(unsigned rank, const char *launch, const char *start)
{
    char text[12];
    (void)snprintf(text, sizeof text, "%u", rank);
    bw_config *config = settings("rank", text, "world", "4", NULL);
    if (launch != NULL)
        assert_int_equal(bw_config_set(config, "launch", launch, NULL), BW_OK);
    if (start != NULL)
        assert_int_equal(bw_config_set(config, "start", start, NULL), BW_OK);
    return config;
}

typedef struct rank {
    scene *w;
    bw_space *space;
    unsigned index;
    const char *launch, *start;
    const bw_cursor *from;
    int64_t timeout_ns;
    bw_consumer *consumer;
    bw_error *error;
    bw_status status;
} rank;

static void *run_open(void *context)
{
    rank *r = context;
    bw_config *config = of_rank(r->index, r->launch, r->start);
    r->status =
        bw_consumer_open(r->space, "train", config, r->from, r->timeout_ns, &r->consumer, r->error);
    bw_config_free(config);
    return NULL;
}

/* All ranks at once, rank 0 last: the others wait for it. */
static void open_all(scene *w, rank ranks[RANKS], const char *launch, const char *start)
{
    pthread_t threads[RANKS];
    for (unsigned i = RANKS; i-- > 0;) {
        rank *r = &ranks[i];
        *r = (rank){.w = w,
                    .space = w->space,
                    .index = i,
                    .launch = launch,
                    .start = start,
                    .timeout_ns = 30 * SECOND,
                    .error = bw_error_new()};
        if (i == 0)
            usleep(100000);
        assert_int_equal(pthread_create(&threads[i], NULL, run_open, r), 0);
    }
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void close_all(rank ranks[RANKS])
{
    for (unsigned i = 0; i < RANKS; i++) {
        bw_consumer_close(ranks[i].consumer);
        bw_error_free(ranks[i].error);
    }
}

static uint64_t stands_at(bw_consumer *c)
{
    bw_cursor *cursor;
    assert_int_equal(bw_consumer_cursor(c, &cursor, NULL), BW_OK);
    const uint64_t step = bw_cursor_step(cursor);
    bw_cursor_free(cursor);
    return step;
}

static void all_stand_at(rank ranks[RANKS], uint64_t step)
{
    for (unsigned i = 0; i < RANKS; i++) {
        if (ranks[i].status != BW_OK)
            fail_msg("rank %u: %s", i, bw_error_message(ranks[i].error));
        assert_int_equal(stands_at(ranks[i].consumer), step);
    }
}

static void train(rank ranks[RANKS], unsigned steps)
{
    for (unsigned s = 0; s < steps; s++)
        for (unsigned i = 0; i < RANKS; i++) {
            bw_item *item;
            expect_ok(ranks[i].w,
                      bw_consumer_next(ranks[i].consumer, 30 * SECOND, &item, ranks[i].w->error));
            bw_item_release(item);
        }
}

static void pin(rank *r, const char *id, const char *release, bw_status expected)
{
    bw_cursor *cursor;
    assert_int_equal(bw_consumer_cursor(r->consumer, &cursor, NULL), BW_OK);
    expect_status(r->w,
                  bw_consumer_pin(r->consumer, id, cursor, &release, release != NULL, 30 * SECOND,
                                  r->w->error),
                  expected);
    bw_cursor_free(cursor);
}

static void sweep(scene *w)
{
    bw_config *config = settings("apply", "true", NULL);
    expect_ok(w, bw_space_report(w->space, "gc", config, no_line, NULL, w->error));
    bw_config_free(config);
}

static void one_start_for_all_ranks(void **state)
{
    (void)state;
    scene w;
    rank ranks[RANKS];
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 6);
    open_all(&w, ranks, "first", NULL);
    all_stand_at(ranks, 0);
    assert_string_equal(bw_consumer_group(ranks[2].consumer), "train");
    assert_string_equal(bw_consumer_launch(ranks[2].consumer), "first");
    train(ranks, 4);
    pin(&ranks[0], "c4", NULL, BW_OK);
    pin(&ranks[0], "c4", NULL, BW_OK); /* the same again */
    train(ranks, 1);
    pin(&ranks[0], "c4", NULL, BW_PIN_EXISTS);
    close_all(ranks);
    assert_int_equal(count_files(&w, "data"), 6);
    sweep(&w);
    assert_int_equal(count_files(&w, "data"), 2);

    /* A new launch goes on at the newest pin; "latest" is resolved once, for all. */
    open_all(&w, ranks, "second", NULL);
    all_stand_at(ranks, 4);
    train(ranks, 1);
    pin(&ranks[0], "c5", NULL, BW_OK); /* c4 stays: the first retained step is not the newest pin */
    train(ranks, 1);
    close_all(ranks);
    open_all(&w, ranks, "again", NULL);
    all_stand_at(ranks, 5);
    close_all(ranks);
    publish(&w, "q", 0, 3);
    open_all(&w, ranks, "third", "latest");
    all_stand_at(ranks, 9);
    close_all(ranks);
    scene_close(&w);
}

/* Each pin is followed by a pass of the sweep, until the space is closed. */
static void a_pin_gives_back_what_it_outlives(void **state)
{
    (void)state;
    scene w;
    rank ranks[RANKS];
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 8);
    bw_config *config = settings("mode", "write", "durable", "false", NULL);
    bw_space *quiet = w.space;
    expect_ok(&w, bw_space_open(w.runtime, w.url, config, 10 * SECOND, &w.space, w.error));
    bw_config_free(config);
    open_all(&w, ranks, "one", NULL);
    train(ranks, 3);
    pin(&ranks[0], "a", NULL, BW_OK);
    train(ranks, 2);
    pin(&ranks[0], "b", "a", BW_OK);
    for (unsigned wait = 0; count_files(&w, "data") > 3 && wait < 1000; wait++)
        usleep(10000);
    assert_int_equal(count_files(&w, "data"), 3);
    train(ranks, 1);
    pin(&ranks[0], "c", "b", BW_OK);
    close_all(ranks);
    bw_space_close(w.space); /* in the middle of it, perhaps */
    w.space = quiet;
    sweep(&w);
    assert_int_equal(count_files(&w, "data"), 2);
    scene_close(&w);
}

/* Torchrun's id and restart count are one launch; without any, several ranks are refused. */
static void launches_are_found_by_themselves(void **state)
{
    (void)state;
    scene w;
    rank ranks[RANKS];
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 2);
    open_all(&w, ranks, NULL, NULL);
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(ranks[i].status, BW_INVALID);
    close_all(ranks);
    assert_int_equal(setenv("TORCHELASTIC_RUN_ID", "none", 1), 0);
    open_all(&w, ranks, NULL, NULL);
    assert_int_equal(ranks[0].status, BW_INVALID);
    close_all(ranks);
    assert_int_equal(setenv("TORCHELASTIC_RUN_ID", "job7", 1), 0);
    assert_int_equal(setenv("TORCHELASTIC_RESTART_COUNT", "3", 1), 0);
    open_all(&w, ranks, NULL, NULL);
    all_stand_at(ranks, 0);
    assert_string_equal(bw_consumer_launch(ranks[3].consumer), "torch-job7-3");
    close_all(ranks);
    assert_int_equal(unsetenv("TORCHELASTIC_RUN_ID"), 0);
    assert_int_equal(setenv("SLURM_JOB_ID", "12", 1), 0);
    assert_int_equal(setenv("SLURM_STEP_ID", "1", 1), 0);
    open_all(&w, ranks, NULL, NULL);
    all_stand_at(ranks, 0);
    assert_string_equal(bw_consumer_launch(ranks[1].consumer), "slurm-12.1-0");
    close_all(ranks);
    assert_int_equal(unsetenv("SLURM_JOB_ID"), 0);
    assert_int_equal(unsetenv("SLURM_STEP_ID"), 0);
    assert_int_equal(unsetenv("TORCHELASTIC_RESTART_COUNT"), 0);
    scene_close(&w);
}

static bw_cursor *cursor_at(scene *w, unsigned steps)
{
    bw_cursor *cursor;
    bw_consumer *c = open_consumer(w, w->space, "0", "0");
    for (unsigned s = 0; s < steps; s++) {
        bw_item *item;
        expect_ok(w, bw_consumer_next(c, 30 * SECOND, &item, w->error));
        bw_item_release(item);
    }
    expect_ok(w, bw_consumer_cursor(c, &cursor, w->error));
    bw_consumer_close(c);
    return cursor;
}

static void ranks_that_disagree_are_told(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 6);
    bw_cursor *two = cursor_at(&w, 2), *three = cursor_at(&w, 3);
    rank zero = {.w = &w,
                 .space = w.space,
                 .launch = "L",
                 .from = two,
                 .timeout_ns = 30 * SECOND,
                 .error = bw_error_new()};
    (void)run_open(&zero);
    expect_ok(&w, zero.status);
    rank one = zero;
    one.index = 1;
    one.error = bw_error_new();
    one.from = three;
    (void)run_open(&one);
    assert_int_equal(one.status, BW_RANKS_DISAGREE);
    assert_non_null(strstr(bw_error_message(one.error), "step 2"));
    assert_non_null(strstr(bw_error_message(one.error), "step 3"));
    one.from = two;
    (void)run_open(&one);
    assert_int_equal(one.status, BW_OK);
    assert_int_equal(stands_at(one.consumer), 2);
    bw_consumer_close(one.consumer);
    bw_consumer_close(zero.consumer);

    /* The launch id again, with another cursor; and a rank whose rank 0 never comes. */
    zero.from = three;
    (void)run_open(&zero);
    assert_int_equal(zero.status, BW_LAUNCH_REUSED);
    one.launch = "never";
    one.timeout_ns = SECOND / 10;
    (void)run_open(&one);
    assert_int_equal(one.status, BW_TIMEOUT);
    assert_non_null(strstr(bw_error_message(one.error), "rank 0 has not begun launch never"));
    assert_non_null(strstr(bw_error_message(one.error), "which has launch L:"));
    bw_error_free(zero.error);
    bw_error_free(one.error);
    bw_cursor_free(two);
    bw_cursor_free(three);
    scene_close(&w);
}

/* A trainer that was taken for dead wakes up: it must not touch its successor's checkpoints. */
static void a_zombie_is_fenced(void **state)
{
    (void)state;
    scene w;
    rank old[RANKS], new[RANKS];
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 6);
    open_all(&w, old, "old", NULL);
    train(old, 2);
    pin(&old[0], "a", NULL, BW_OK);
    open_all(&w, new, "new", NULL);
    all_stand_at(new, 2);
    const char *ids[] = {"a"};
    uint32_t released = 7;
    bw_consumer *zombie = old[0].consumer;
    pin(&old[0], "b", "a", BW_FENCED);
    expect_status(&w, bw_consumer_release(zombie, ids, 1, 30 * SECOND, w.error), BW_FENCED);
    expect_status(&w, bw_consumer_reconcile(zombie, NULL, 0, &released, 30 * SECOND, w.error),
                  BW_FENCED);
    assert_int_equal(released, 0);
    train(new, 1);
    pin(&new[0], "b", NULL, BW_OK);
    expect_ok(&w, bw_consumer_reconcile(new[0].consumer, (const char *[]){"b"}, 1, &released,
                                        30 * SECOND, w.error));
    assert_int_equal(released, 1);
    sweep(&w);
    assert_int_equal(count_files(&w, "data"), 3);
    close_all(old);
    close_all(new);
    scene_close(&w);
}

static void operators_remove_and_forget(void **state)
{
    (void)state;
    scene w;
    rank ranks[RANKS];
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 6);
    open_all(&w, ranks, "one", NULL);
    train(ranks, 2);
    pin(&ranks[0], "a", NULL, BW_OK);
    bw_cursor *cursor;
    expect_ok(&w, bw_consumer_cursor(ranks[0].consumer, &cursor, w.error));
    expect_ok(&w, bw_space_pin(w.space, "train", NULL, "kept", cursor, 30 * SECOND, w.error));
    const char *ids[] = {"kept", "never"};
    expect_ok(&w, bw_space_release(w.space, "train", NULL, ids, 2, 30 * SECOND, w.error));
    bw_cursor_free(cursor);
    expect_status(&w, bw_space_group_rm(w.space, "train", "two", 30 * SECOND, w.error), BW_FENCED);
    expect_ok(&w, bw_space_group_rm(w.space, "train", "one", 30 * SECOND, w.error));
    pin(&ranks[0], "b", NULL, BW_GROUP_GONE);
    train(ranks, 1); /* it stops pinning, not training */
    expect_status(&w, bw_space_group_rm(w.space, "train", NULL, 30 * SECOND, w.error),
                  BW_GROUP_GONE);
    expect_status(&w, bw_space_seal(w.space, 0, 30 * SECOND, w.error), BW_SEAL_REFUSED);
    expect_status(&w, bw_space_forget(w.space, "p", 9, 30 * SECOND, w.error), BW_FENCED);
    expect_ok(&w, bw_space_forget(w.space, "p", 0, 30 * SECOND, w.error));
    expect_ok(&w, bw_space_seal(w.space, 0, 30 * SECOND, w.error));
    close_all(ranks);
    scene_close(&w);
}

static void a_reader_without_a_group_holds_nothing(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "4", "1", NULL);
    publish(&w, "p", 0, 6);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    rank ranks[RANKS];
    open_all(&w, ranks, "one", NULL);
    train(ranks, 5);
    pin(&ranks[0], "a", NULL, BW_OK);
    sweep(&w);
    bw_cursor *cursor;
    expect_ok(&w, bw_consumer_cursor(c, &cursor, w.error));
    expect_status(&w, bw_consumer_pin(c, "x", cursor, NULL, 0, SECOND, w.error), BW_INVALID);
    bw_consumer *late = NULL;
    bw_config *config = settings("d", "1", NULL);
    expect_status(&w, bw_consumer_open(w.space, NULL, config, cursor, SECOND, &late, w.error),
                  BW_TRIMMED);
    bw_config_free(config);
    bw_cursor_free(cursor);
    bw_consumer_close(c);
    close_all(ranks);
    scene_close(&w);
}

/* The manifest that a cursor names is there, and all that it describes was swept: TRIMMED, as
 * without it; and whoever else reads through that handle is none the worse. */
static void a_cursor_of_what_was_swept(void **state)
{
    (void)state;
    scene w;
    char id[8];
    uint64_t start;
    bw_cursor *old;
    bw_consumer *c;
    bw_space *space;
    scene_open(&w, "1", "1", NULL);
    publish(&w, "p", 0, 30);
    c = open_consumer(&w, w.space, "0", "0");
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 0);
    expect_ok(&w, bw_consumer_cursor(c, &old, w.error));
    bw_consumer_close(c);
    publish(&w, "q", 0, 1); /* swept further than that version knows of */
    bw_config *latest = settings("d", "0", "launch", "one", "start", "latest", NULL);
    expect_ok(&w, bw_consumer_open(w.space, "train", latest, NULL, 30 * SECOND, &c, w.error));
    bw_consumer_close(c);
    sweep(&w);
    assert_int_equal(count_files(&w, "data"), 0);
    for (uint64_t k = 1; k < 13; k++) /* so many versions that they are not read one by one */
        publish(&w, "q", k, 1);

    expect_ok(&w, bw_space_resume(w.runtime, w.url, NULL, old, 30 * SECOND, &space, w.error));
    bw_config *place = settings("d", "0", NULL);
    bw_status status = bw_consumer_open(space, NULL, place, old, 30 * SECOND, &c, w.error);
    if (status == BW_OK) {
        bw_item *item;
        status = bw_consumer_next(c, 30 * SECOND, &item, w.error);
        bw_consumer_close(c);
    }
    expect_status(&w, status, BW_TRIMMED);
    expect_ok(&w, bw_consumer_open(space, NULL, place, NULL, 30 * SECOND, &c, w.error));
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 31);
    assert_string_equal(id, "q");
    bw_consumer_close(c);
    bw_space_close(space);
    bw_config_free(place);
    bw_config_free(latest);
    bw_cursor_free(old);
    scene_close(&w);
}

typedef struct look {
    scene *w;
    unsigned findings;
    bool went_on;
} look;

/* Between two lines of a report a producer publishes, a group begins behind it, and a sweep deletes
 * all that is before. */
static int all_goes_on(void *context, const char *json)
{
    look *l = context;
    l->findings += strncmp(json, "{\"finding\"", 10) == 0;
    if (l->went_on)
        return 0;
    l->went_on = true;
    for (uint64_t k = 0; k < 8; k++) /* so many versions that the next one is retired */
        publish(l->w, "q", 4 * k, 4);
    bw_config *config = settings("dp", "1", "d", "0", "launch", "one", "start", "latest", NULL);
    bw_consumer *c;
    expect_ok(l->w,
              bw_consumer_open(l->w->space, "train", config, NULL, 30 * SECOND, &c, l->w->error));
    bw_config_free(config);
    bw_consumer_close(c);
    sweep(l->w);
    assert_int_equal(count_files(l->w, "data"), 0);
    return 0;
}

static char first_part[160]; /* of the only producer: the one whose name sorts first */

static int find_first(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    if (flag == FTW_F &&
        (*first_part == '\0' || strcmp(path + at->base, strrchr(first_part, '/') + 1) < 0))
        (void)snprintf(first_part, sizeof first_part, "%s", path);
    return 0;
}

/* … nor are the steps of segments that went before they were looked at. */
static void a_sweep_passes_with_its_segments(void **state)
{
    (void)state;
    scene w;
    char data[160];
    scene_open(&w, "1", "1", NULL);
    for (uint64_t k = 0; k < 8; k++)
        publish(&w, "p", 5 * k, 5);
    assert_true(count_files(&w, "segment") > 2);
    (void)snprintf(data, sizeof data, "%s/ns/data", w.directory);
    *first_part = '\0';
    assert_int_equal(nftw(data, find_first, 16, FTW_PHYS), 0);
    assert_int_equal(unlink(first_part), 0);
    bw_space *space = scene_space(&w, false);
    bw_error *error = bw_error_new();
    look l = {.w = &w};
    expect_status(&w, bw_space_report(space, "verify", NULL, all_goes_on, &l, error), BW_UNCLEAN);
    assert_true(l.went_on);
    assert_int_equal(l.findings, 1);
    bw_error_free(error);
    bw_space_close(space);
    scene_close(&w);
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)at;
    return flag == FTW_F ? unlink(path) == 0 : 0;
}

/* What is missing because a sweep went on, however far, is no finding and no refusal: only what was
 * missing before is. */
static void a_sweep_passes_who_verifies(void **state)
{
    (void)state;
    scene w;
    char data[160];
    scene_open(&w, "1", "1", NULL);
    publish(&w, "p", 0, 30);
    (void)snprintf(data, sizeof data, "%s/ns/data", w.directory);
    assert_int_equal(nftw(data, unlink_one, 16, FTW_PHYS), 1);
    bw_space *space = scene_space(&w, false);
    bw_error *error = bw_error_new();
    look l = {.w = &w};
    const bw_status status = bw_space_report(space, "verify", NULL, all_goes_on, &l, error);
    if (status != BW_UNCLEAN)
        fail_msg("%s", bw_error_message(error));
    assert_true(l.went_on);
    assert_int_equal(l.findings, 1);
    bw_error_free(error);
    bw_space_close(space);
    scene_close(&w);
}

static int damage_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)at;
    if (flag != FTW_F)
        return 0;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 70, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, 70, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
    return 1;
}

/* … also within one step: of its two slices the first is damaged, and told; then the sweep comes.
 */
static void a_sweep_passes_between_two_slices(void **state)
{
    (void)state;
    scene w;
    char data[160];
    scene_open(&w, "2", "1", NULL);
    publish(&w, "p", 0, 1);
    (void)snprintf(data, sizeof data, "%s/ns/data", w.directory);
    assert_int_equal(nftw(data, damage_one, 16, FTW_PHYS), 1);
    bw_space *space = scene_space(&w, false);
    bw_error *error = bw_error_new();
    bw_config *config = settings("deep", "true", NULL);
    look l = {.w = &w};
    const bw_status status = bw_space_report(space, "verify", config, all_goes_on, &l, error);
    if (status != BW_UNCLEAN)
        fail_msg("%s", bw_error_message(error));
    assert_true(l.went_on);
    assert_int_equal(l.findings, 1);
    bw_config_free(config);
    bw_error_free(error);
    bw_space_close(space);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_start_for_all_ranks),
        cmocka_unit_test(a_pin_gives_back_what_it_outlives),
        cmocka_unit_test(launches_are_found_by_themselves),
        cmocka_unit_test(ranks_that_disagree_are_told),
        cmocka_unit_test(a_zombie_is_fenced),
        cmocka_unit_test(operators_remove_and_forget),
        cmocka_unit_test(a_reader_without_a_group_holds_nothing),
        cmocka_unit_test(a_cursor_of_what_was_swept),
        cmocka_unit_test(a_sweep_passes_who_verifies),
        cmocka_unit_test(a_sweep_passes_between_two_slices),
        cmocka_unit_test(a_sweep_passes_with_its_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
