// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/mixer.h"

#include "base/rng.h"
#include "indexmaker.h"
#include "input/filelist.h"
#include "input/jsonlines.h"
#include "input/tarsamples.h"
#include "input/tokens.h"
#include "readall.h"
#include "tarmaker.h"

/** The same tests over every kind of input, each with bad records but tokens. */
typedef enum kind { LINES, ARCHIVES, TOKENS, KINDS } kind;

static documents docs;

static int make_inputs(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    for (unsigned f = 0; f < 4; f++) {
        buf lines, archive;
        char name[32], key[32];
        buf_init(&lines, SIZE_MAX);
        buf_init(&archive, SIZE_MAX);
        for (unsigned i = 0; i < 9 + 3 * f; i++) {
            buf_printf(&lines,
                       i % 7 == 5   ? "{\"bad\":\n"
                       : i % 5 == 1 ? "\r\n"
                                    : "{\"k\":%u}\r\n",
                       100 * f + i);
            snprintf(key, sizeof key, "%u.a", 100 * f + i);
            tar_file(&archive, key, "some data");
            key[strlen(key) - 1] = i % 6 == 4 ? 'a' : 'b'; /* twice a: bad */
            tar_file(&archive, key, "more");
        }
        buf_put_text(&lines, "0");
        if (f != 2)
            tar_end(&archive); /* else truncated */
        snprintf(name, sizeof name, "l%u", f);
        scratch_file(name, lines.data, lines.size);
        snprintf(name, sizeof name, "a%u", f);
        scratch_file(name, archive.data, archive.size);
        snprintf(name, sizeof name, "t%u", f);
        tokens_file(name, 40 + 7 * f, 2);
        buf_free(&lines);
        buf_free(&archive);
    }
    return 0;
}

static reader *open_kind(kind what, uint32_t shard, uint32_t shards)
{
    const char *const path = scratch_path(what == LINES      ? "l{0..3}"
                                          : what == ARCHIVES ? "a{0..3}"
                                                             : "t{0..3}");
    reader *r;
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    const reader_options o = {
        .files = &docs, .shard = shard, .shards = shards, .record_bytes_max = 1000};
    assert_int_equal(what == LINES      ? jsonlines_open(&o, &r, NULL)
                     : what == ARCHIVES ? tarsamples_open(&o, &r, NULL)
                                        : tokens_open(&docs, shard, shards, 4, TOKEN_U16, &r, NULL),
                     BW_OK);
    return r;
}

#define RUN_MAX 1000u

typedef struct run {
    kind what;
    uint32_t shard, shards, window, epochs;
    uint64_t seed;
    char *texts[RUN_MAX];
    mixer_position behind[RUN_MAX];
    uint64_t skipped[RUN_MAX]; /* by then */
    size_t count, told;
} run;

static void count_bad(void *context, const bw_error *error)
{
    assert_int_equal(error->code, BW_INPUT_BAD);
    ((run *)context)->told++;
}

/** Reads at most `most` records from a position on, behind those that the run has. */
static bw_status go_on(run *r, mixer_position from, size_t most, bool skip)
{
    reader *input = open_kind(r->what, r->shard, r->shards);
    const mixer_options options = {.from = input,
                                   .record_bytes_max = 4096,
                                   .window = r->window,
                                   .seed = r->seed,
                                   .epochs = r->epochs,
                                   .skip_bad = skip,
                                   .on_bad = count_bad,
                                   .context = r};
    mixer *m;
    assert_int_equal(mixer_open(&options, from, &m, NULL), BW_OK);
    const record *given;
    bw_status status = BW_OK;
    for (; most > 0 && (status = mixer_next(m, &given, NULL)) == BW_OK; most--) {
        assert_true(r->count < RUN_MAX);
        r->texts[r->count] = record_text(given);
        r->skipped[r->count] = mixer_skipped(m);
        r->behind[r->count++] = mixer_at(m);
    }
    if (status != BW_OK)
        assert_int_equal(mixer_next(m, &given, NULL), status);
    mixer_close(m);
    input->close(input);
    documents_free(&docs);
    return status;
}

static void free_run(run *r)
{
    for (size_t i = 0; i < r->count; i++)
        mem_free(r->texts[i]);
    r->count = r->told = 0;
}

static void read_whole(run *r)
{
    assert_int_equal(go_on(r, (mixer_position){0}, RUN_MAX, true), BW_END);
}

static run whole, again;

typedef void (*body_fn)(uint64_t seed);

/** Runs `body` for each kind of input, number of shards, window and number of epochs. */
static void for_all(body_fn body)
{
    static const uint32_t windows[] = {1, 2, 7, 64, 1000};
    uint64_t seed = 1;
    for (unsigned what = 0; what < KINDS; what++)
        for (uint32_t shards = 1; shards <= 5; shards += 2)
            for (uint32_t shard = 0; shard < shards; shard++)
                for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++)
                    for (uint32_t epochs = 1; epochs <= 3; epochs += 2) {
                        const run plan = {.what = (kind)what,
                                          .shard = shard,
                                          .shards = shards,
                                          .window = windows[w],
                                          .epochs = epochs,
                                          .seed = seed};
                        whole = again = plan;
                        body(seed++);
                        free_run(&whole);
                        free_run(&again);
                    }
}

/** From the position behind any record come the very records that followed it. */
static void restart_anywhere(uint64_t seed)
{
    read_whole(&whole);
    for (size_t i = 0; i < whole.count; i += 1 + seed % 3) {
        assert_int_equal(go_on(&again, whole.behind[i], RUN_MAX, true), BW_END);
        assert_int_equal(again.count, whole.count - i - 1);
        for (size_t k = 0; k < again.count; k++) {
            assert_string_equal(again.texts[k], whole.texts[i + 1 + k]);
            assert_int_equal(again.skipped[k], whole.skipped[i + 1 + k]);
        }
        free_run(&again);
    }
}

static void test_restart_anywhere(void **state)
{
    (void)state;
    for_all(restart_anywhere);
}

/** Killed again and again: what was read behind the last durable position is read once more. */
static void any_kill_schedule(uint64_t seed)
{
    rng r;
    rng_seed(&r, seed);
    read_whole(&whole);
    mixer_position durable = {0};
    for (unsigned kills = 0; kills < 1000; kills++) {
        const size_t before = again.count;
        const bw_status status = go_on(&again, durable, (size_t)rng_below(&r, 12), true);
        if (status == BW_END)
            break;
        assert_int_equal(status, BW_OK);
        const size_t kept = before + (size_t)rng_below(&r, again.count - before + 1);
        while (again.count > kept)
            mem_free(again.texts[--again.count]);
        if (kept > before)
            durable = again.behind[kept - 1];
    }
    assert_int_equal(again.count, whole.count);
    for (size_t i = 0; i < whole.count; i++)
        assert_string_equal(again.texts[i], whole.texts[i]);
}

static void test_any_kill_schedule(void **state)
{
    (void)state;
    for_all(any_kill_schedule);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/** Windows hold the records in a row; epochs and seeds give other orders of the same. */
static void windows_are_shuffled(uint64_t seed)
{
    (void)seed;
    read_whole(&whole);
    again.window = again.epochs = 1;
    read_whole(&again);
    assert_int_equal(whole.count, again.count * whole.epochs);
    size_t moved = 0;
    for (size_t epoch = 0; epoch < whole.epochs; epoch++)
        for (size_t i = 0; i < again.count; i += whole.window) {
            const size_t left = again.count - i;
            const size_t size = left < whole.window ? left : whole.window;
            char **mixed = whole.texts + epoch * again.count + i;
            char *straight[RUN_MAX];
            memcpy(straight, again.texts + i, size * sizeof *straight);
            for (size_t k = 0; k < size; k++)
                moved += strcmp(mixed[k], straight[k]) != 0;
            qsort(mixed, size, sizeof *mixed, by_text);
            qsort(straight, size, sizeof *straight, by_text);
            for (size_t k = 0; k < size; k++)
                assert_string_equal(mixed[k], straight[k]);
        }
    if (whole.window == 1)
        assert_int_equal(moved, 0);
    else if (again.count > 12)
        assert_true(moved > 0);
}

static void test_windows_are_shuffled(void **state)
{
    (void)state;
    for_all(windows_are_shuffled);
}

static bool same_order(const run *a, const run *b, size_t a_from, size_t b_from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(a->texts[a_from + i], b->texts[b_from + i]) != 0)
            return false;
    return true;
}

static void test_seeds_and_epochs_differ(void **state)
{
    (void)state;
    const run plan = {.what = TOKENS, .shards = 1, .window = 100, .epochs = 2, .seed = 1};
    whole = again = plan;
    read_whole(&whole);
    read_whole(&again);
    const size_t count = whole.count / 2;
    assert_true(same_order(&whole, &again, 0, 0, whole.count));
    assert_false(same_order(&whole, &whole, 0, count, count));
    free_run(&again);
    again.seed = 2;
    read_whole(&again);
    assert_false(same_order(&whole, &again, 0, 0, count));
    free_run(&whole);
    free_run(&again);
}

/** All shards together give each record once, and none twice. */
static void test_shards_do_not_overlap(void **state)
{
    (void)state;
    for (unsigned what = 0; what < KINDS; what++)
        for (uint32_t shards = 1; shards <= 7; shards++) {
            whole = (run){.what = (kind)what, .shards = 1, .window = 1, .epochs = 1};
            again = (run){.what = (kind)what, .shards = shards, .window = 5, .epochs = 1};
            read_whole(&whole);
            for (again.shard = 0; again.shard < shards; again.shard++)
                read_whole(&again);
            assert_int_equal(again.count, whole.count);
            assert_int_equal(again.told, whole.told);
            qsort(whole.texts, whole.count, sizeof *whole.texts, by_text);
            qsort(again.texts, again.count, sizeof *again.texts, by_text);
            assert_true(same_order(&whole, &again, 0, 0, whole.count));
            for (size_t i = 1; i < whole.count; i++)
                assert_string_not_equal(whole.texts[i - 1], whole.texts[i]);
            free_run(&whole);
            free_run(&again);
        }
}

/** Without skipping: all windows before the bad record were given; skipping goes on from there. */
static void test_stop_then_skip(void **state)
{
    (void)state;
    static const uint32_t windows[] = {1, 2, 3, 5, 100};
    for (unsigned what = 0; what < TOKENS; what++)
        for (size_t w = 0; w < 5; w++) {
            const run plan = {
                .what = (kind)what, .shards = 1, .window = windows[w], .epochs = 2, .seed = 9};
            whole = again = plan;
            read_whole(&whole);
            assert_true(whole.told > 0);
            assert_int_equal(go_on(&again, (mixer_position){0}, RUN_MAX, false), BW_INPUT_BAD);
            assert_int_equal(again.told, 0);
            if (again.count > 0)
                assert_int_equal(again.count % windows[w], 0);
            const mixer_position start = {0};
            const mixer_position at = again.count > 0 ? again.behind[again.count - 1] : start;
            assert_int_equal(go_on(&again, at, RUN_MAX, true), BW_END);
            assert_int_equal(again.count, whole.count);
            assert_true(same_order(&whole, &again, 0, 0, whole.count));
            assert_int_equal(again.skipped[again.count - 1], whole.skipped[whole.count - 1]);
            free_run(&whole);
            free_run(&again);
        }
}

/** A file that cannot be read is no bad record: to skip it would be to lose it, or to try for ever.
 */
static void test_unreadable_files_are_not_skipped(void **state)
{
    (void)state;
    scratch_file("z0", "1\n2\n", 4);
    scratch_file("z1", "\x1f\x8b\x08", 3);
    for (unsigned what = 0; what < TOKENS; what++) {
        const char *const path = scratch_path(what == LINES ? "z{0,1}" : "z1");
        reader *input;
        mixer *m;
        const record *r;
        bw_error error;
        assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
        const reader_options o = {.files = &docs, .shards = 1, .record_bytes_max = 100};
        assert_int_equal(what == LINES ? jsonlines_open(&o, &input, NULL)
                                       : tarsamples_open(&o, &input, NULL),
                         BW_OK);
        const mixer_options options = {
            .from = input, .record_bytes_max = 4096, .window = 1, .epochs = 1, .skip_bad = true};
        assert_int_equal(mixer_open(&options, (mixer_position){0}, &m, NULL), BW_OK);
        for (unsigned i = 0; what == LINES && i < 2; i++)
            assert_int_equal(mixer_next(m, &r, NULL), BW_OK);
        assert_int_equal(mixer_next(m, &r, &error), BW_INPUT_BAD);
        assert_non_null(strstr(error.message, "zcat"));
        assert_int_equal(mixer_skipped(m), 0);
        mixer_close(m);
        input->close(input);
        documents_free(&docs);
    }
    /* A file of tokens that goes away. */
    reader *input = open_kind(TOKENS, 0, 1);
    const mixer_options options = {
        .from = input, .record_bytes_max = 4096, .window = 4, .epochs = 1, .skip_bad = true};
    mixer *m;
    const record *r;
    assert_int_equal(mixer_open(&options, (mixer_position){0}, &m, NULL), BW_OK);
    assert_int_equal(rename(scratch_path("t0"), scratch_path("gone")), 0);
    assert_int_equal(mixer_next(m, &r, NULL), BW_INPUT_CHANGED);
    assert_int_equal(rename(scratch_path("gone"), scratch_path("t0")), 0);
    mixer_close(m);
    input->close(input);
    documents_free(&docs);
}

static void test_arguments_and_ends(void **state)
{
    (void)state;
    reader *input = open_kind(TOKENS, 0, 1);
    mixer_options o = {.from = input, .record_bytes_max = 4096, .window = 0, .epochs = 1};
    mixer *m;
    const record *r;
    assert_int_equal(mixer_open(&o, (mixer_position){0}, &m, NULL), BW_INVALID);
    o.window = MIXER_WINDOW_MAX + 1;
    assert_int_equal(mixer_open(&o, (mixer_position){0}, &m, NULL), BW_INVALID);
    o.window = 4;
    o.epochs = 0;
    assert_int_equal(mixer_open(&o, (mixer_position){0}, &m, NULL), BW_INVALID);
    /* Nothing, however often. */
    o.epochs = UINT32_MAX;
    const mixer_position end = {.epoch = UINT32_MAX - 1, .place = {.index = 1000}};
    assert_int_equal(mixer_open(&o, end, &m, NULL), BW_OK);
    assert_int_equal(mixer_next(m, &r, NULL), BW_END);
    mixer_close(m);
    input->close(input);
    documents_free(&docs);
    input = open_kind(ARCHIVES, 6, 7);
    o.from = input;
    assert_int_equal(mixer_open(&o, (mixer_position){0}, &m, NULL), BW_OK);
    assert_int_equal(mixer_next(m, &r, NULL), BW_END);
    mixer_close(m);
    /* More was taken of the window than it holds: it was another input. */
    const mixer_position much = {.taken = 5};
    assert_int_equal(mixer_open(&o, much, &m, NULL), BW_OK);
    assert_int_equal(mixer_next(m, &r, NULL), BW_INPUT_CHANGED);
    mixer_close(m);
    input->close(input);
    documents_free(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart_anywhere),
        cmocka_unit_test(test_any_kill_schedule),
        cmocka_unit_test(test_windows_are_shuffled),
        cmocka_unit_test(test_seeds_and_epochs_differ),
        cmocka_unit_test(test_shards_do_not_overlap),
        cmocka_unit_test(test_stop_then_skip),
        cmocka_unit_test(test_unreadable_files_are_not_skipped),
        cmocka_unit_test(test_arguments_and_ends),
    };
    return cmocka_run_group_tests(tests, make_inputs, scratch_remove);
}
