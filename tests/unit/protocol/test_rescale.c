// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Jobs of another size than the namespace was made for, against a plain account of what a global
 * batch is: a list of (step, slice, item), in rounds. A round is what all ranks hand out at once.
 */
#include "protocol/handout.h"

#include "base/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 12, SLICES_OF_TEST = 24, ITEMS_OF_TEST = 12 };

static genesis made_for(uint32_t dp)
{
    return (genesis){.uuid = {1}, .dp = dp, .cp = 1, .items_default = 1, .part_bytes = 1 << 20};
}

static manifest of_steps(uint64_t next, bool sealed)
{
    return (manifest){.version = 3, .next = next, .sealed = sealed};
}

/* How often each item of each slice of each step was handed out, and in which round of the whole
 * run. */
typedef struct account {
    uint32_t times[STEPS][SLICES_OF_TEST][ITEMS_OF_TEST];
    uint32_t rounds;
} account;

typedef struct job {
    uint32_t dp;
    cursor_mode mode;
    handout *ranks[4 * SLICES_OF_TEST];
} job;

static void job_open(job *j, const genesis *g, uint32_t dp, cursor_mode mode)
{
    *j = (job){.dp = dp, .mode = mode};
    for (uint32_t d = 0; d < dp; d++)
        assert_int_equal(handout_new(g, (position){d, 0}, dp, mode, &j->ranks[d], NULL), BW_OK);
}

static void job_close(job *j)
{
    for (uint32_t d = 0; d < j->dp; d++)
        handout_free(j->ranks[d]);
}

/* One item of every rank. */
static void round_of(job *j, const genesis *g, uint32_t items, account *a)
{
    for (uint32_t d = 0; d < j->dp; d++) {
        handout *h = j->ranks[d];
        uint32_t nth, item;
        const uint64_t step = handout_reading(h);
        const descriptor one = {.shape = {.form = FORM_UNIFORM,
                                          .parts = 1,
                                          .items = items,
                                          .footer_bytes = 60,
                                          .uniform = 128,
                                          .total_bytes = 128u * g->dp + 60}};
        fetch_plan plan;
        handout_pick(h, items, &nth, &item);
        assert_int_equal(handout_plan(h, step, nth, &one, &plan, NULL), BW_OK);
        assert_true(step < STEPS);
        a->times[step][plan.slice][item]++;
        handout_advance(h, items, 7);
    }
    a->rounds++;
}

static void same_cursor(job *j, const manifest *m, cursor *out)
{
    assert_int_equal(handout_cursor(j->ranks[0], m->version, out), BW_OK);
    for (uint32_t d = 1; d < j->dp; d++) {
        cursor other;
        assert_int_equal(handout_cursor(j->ranks[d], m->version, &other), BW_OK);
        assert_true(cursor_equal(out, &other));
        cursor_free(&other);
    }
}

static void resume_all(job *j, const manifest *m, const cursor *c, bw_status expected)
{
    for (uint32_t d = 0; d < j->dp; d++)
        assert_int_equal(handout_resume(j->ranks[d], m, c, NULL), expected);
}

/* The dps that share a namespace of 24 with slices of 12 items. */
static const uint32_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 96};
#define SIZES (sizeof sizes / sizeof *sizes)

/* Under same_batch what was handed out after any whole number of items of every slice is the same
 * for every dp: item 0 of all slices, then item 1 of all. */
static void same_batch_keeps_the_global_batch(void **state)
{
    (void)state;
    const genesis g = made_for(24);
    const manifest m = of_steps(STEPS, false);
    for (size_t k = 0; k < SIZES; k++) {
        static account a;
        memset(&a, 0, sizeof a);
        job j;
        job_open(&j, &g, sizes[k], MODE_SAME_BATCH);
        cursor start = {.uuid = {1}, .dp = 24};
        resume_all(&j, &m, &start, BW_OK);
        /* Rounds until `n` whole batches of microbatches, 24 items each, are out. */
        uint64_t handed = 0;
        while (handed < (uint64_t)3 * 24 * 12) {
            round_of(&j, &g, 12, &a);
            handed += sizes[k];
            if (handed % 24 != 0)
                continue;
            const uint64_t each = handed / 24; /* items of every slice so far */
            for (uint32_t s = 0; s < 3; s++)
                for (uint32_t i = 0; i < 12; i++)
                    for (uint32_t d = 0; d < 24; d++)
                        assert_int_equal(a.times[s][d][i], s * 12 + i < each);
        }
        job_close(&j);
    }
}

/* Random chains of changes at random places, against the account: nothing twice, nothing lost. */
static void chains_of_changes_lose_nothing(void **state)
{
    (void)state;
    const genesis g = made_for(24);
    const manifest m = of_steps(STEPS, false);
    uint32_t refused = 0, taken = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        static account a;
        memset(&a, 0, sizeof a);
        rng r;
        rng_seed(&r, seed);
        cursor at = {.uuid = {1}, .dp = 24};
        while (at.step < STEPS - 4) {
            const uint32_t dp = sizes[rng_below(&r, SIZES)];
            const cursor_mode mode = rng_below(&r, 3) == 0 ? MODE_SCALE_BATCH : MODE_SAME_BATCH;
            job j;
            job_open(&j, &g, dp, mode);
            bw_error error;
            const bw_status status = handout_resume(j.ranks[0], &m, &at, &error);
            resume_all(&j, &m, &at, status);
            if (status == BW_OK) {
                uint64_t rounds = rng_below(&r, 40);
                /* Enough whole training steps must be there for what is read. */
                while (rounds-- > 0 &&
                       handout_last(j.ranks[0], handout_reading(j.ranks[0])) < STEPS)
                    round_of(&j, &g, 12, &a);
                cursor_free(&at);
                same_cursor(&j, &m, &at);
                taken++;
            } else {
                assert_int_equal(status, BW_CURSOR_INVALID);
                assert_true(at.item > 0);
                assert_non_null(strstr(error.message, "nearest"));
                refused++;
            }
            job_close(&j);
        }
        /* Everything below the cursor exactly once; nothing of later steps twice. */
        for (uint32_t s = 0; s < STEPS; s++)
            for (uint32_t d = 0; d < 24; d++)
                for (uint32_t i = 0; i < 12; i++)
                    assert_true(s < at.step ? a.times[s][d][i] == 1 : a.times[s][d][i] <= 1);
        cursor_free(&at);
    }
    assert_true(taken > 1000);
    assert_true(refused > 100);
}

/* The nearest legal items that a refusal names are legal, and none lies between. */
static void a_refusal_names_the_nearest(void **state)
{
    (void)state;
    const genesis g = made_for(24);
    const manifest m = of_steps(STEPS, false);
    uint32_t told = 0;
    for (size_t from = 0; from < SIZES; from++)
        for (size_t to = 0; to < SIZES; to++)
            for (uint32_t item = 1; item < 40; item++) {
                handout *h;
                bw_error error;
                cursor c = {.uuid = {1}, .step = 2, .item = item, .dp = sizes[from]};
                assert_int_equal(
                    handout_new(&g, (position){0, 0}, sizes[to], MODE_SAME_BATCH, &h, NULL), BW_OK);
                if (handout_resume(h, &m, &c, &error) == BW_CURSOR_INVALID) {
                    unsigned below, above;
                    const char *text = strstr(error.message, "the nearest are item ");
                    assert_non_null(text);
                    assert_int_equal(
                        sscanf(text, "the nearest are item %u and item %u", &below, &above), 2);
                    assert_true(below < item && item < above);
                    for (c.item = below; c.item <= above; c.item++)
                        assert_int_equal(handout_resume(h, &m, &c, NULL) == BW_OK,
                                         c.item == below || c.item == above);
                    told++;
                }
                handout_free(h);
            }
    assert_true(told > 1000);
}

/* dp = kD reads k steps at once, dp = D/k takes k training steps for one; each item once, a rank's
 * batch always M items. */
static void scale_batch_keeps_the_batch_of_a_rank(void **state)
{
    (void)state;
    const genesis g = made_for(4);
    static const uint32_t dps[] = {1, 2, 4, 8, 12};
    for (size_t k = 0; k < sizeof dps / sizeof *dps; k++) {
        static account a;
        memset(&a, 0, sizeof a);
        const manifest m = of_steps(STEPS, true);
        job j;
        job_open(&j, &g, dps[k], MODE_SCALE_BATCH);
        cursor at = {.uuid = {1}, .dp = 4};
        resume_all(&j, &m, &at, BW_OK);
        uint32_t training_steps = 0;
        while (!handout_at_end(j.ranks[0], &m)) {
            for (uint32_t i = 0; i < 3; i++)
                round_of(&j, &g, 3, &a);
            training_steps++;
            /* Each training step hands out whole slices, dp of them, of the lowest steps. */
            uint32_t whole = 0;
            for (uint32_t s = 0; s < STEPS; s++)
                for (uint32_t d = 0; d < 4; d++) {
                    assert_int_equal(a.times[s][d][0], a.times[s][d][1]);
                    assert_int_equal(a.times[s][d][0], a.times[s][d][2]);
                    assert_int_equal(a.times[s][d][0], whole < training_steps * dps[k]);
                    whole++;
                }
        }
        assert_int_equal(training_steps, STEPS * 4 / dps[k]);
        job_close(&j);
    }
}

/* Steps left over at the end are no training step: nobody gets a part of one. */
static void an_incomplete_group_is_not_delivered(void **state)
{
    (void)state;
    const genesis g = made_for(2);
    manifest m = of_steps(7, true);
    for (uint32_t d = 0; d < 6; d++) {
        handout *h;
        assert_int_equal(handout_new(&g, (position){d, 0}, 6, MODE_SCALE_BATCH, &h, NULL), BW_OK);
        const cursor at = {.uuid = {1}, .step = 3, .mode = MODE_SCALE_BATCH, .dp = 6};
        assert_int_equal(handout_resume(h, &m, &at, NULL), BW_OK);
        assert_int_equal(handout_reading(h), 3 + d / 2);
        assert_int_equal(handout_last(h, handout_reading(h)), 5);
        assert_false(handout_at_end(h, &m));
        handout_advance(h, 1, 9);
        assert_int_equal(handout_step(h), 6);
        assert_true(handout_at_end(h, &m));
        m.sealed = false;
        assert_false(handout_at_end(h, &m));
        m.sealed = true;
        handout_free(h);
    }
}

static void what_is_not_legal_is_refused(void **state)
{
    (void)state;
    rescale r;
    bw_error error;
    assert_int_equal(rescale_find(MODE_SAME_BATCH, 8, 3, &r, &error), BW_MESH_MISMATCH);
    assert_non_null(strstr(error.message, "dp 8, the job dp 3"));
    assert_int_equal(rescale_find(MODE_SCALE_BATCH, 8, 12, &r, NULL), BW_MESH_MISMATCH);
    assert_int_equal(rescale_find(MODE_SAME_BATCH, 8, 0, &r, NULL), BW_MESH_MISMATCH);
    /* Three items cannot be shared by two ranks. */
    const genesis g = made_for(2);
    handout *h;
    fetch_plan plan;
    assert_int_equal(handout_new(&g, (position){0, 0}, 4, MODE_SAME_BATCH, &h, NULL), BW_OK);
    const descriptor d = {
        .shape = {
            .form = FORM_UNIFORM, .parts = 1, .items = 3, .uniform = 128, .total_bytes = 316}};
    assert_int_equal(handout_plan(h, 0, 0, &d, &plan, &error), BW_MESH_MISMATCH);
    assert_non_null(strstr(error.message, "3 items per slice"));
    handout_free(h);
    assert_int_equal(handout_new(&g, (position){4, 0}, 4, MODE_SAME_BATCH, &h, NULL),
                     BW_MESH_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_batch_keeps_the_global_batch),
        cmocka_unit_test(chains_of_changes_lose_nothing),
        cmocka_unit_test(a_refusal_names_the_nearest),
        cmocka_unit_test(scale_batch_keeps_the_batch_of_a_rank),
        cmocka_unit_test(an_incomplete_group_is_not_delivered),
        cmocka_unit_test(what_is_not_legal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
