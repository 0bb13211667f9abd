// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Rescaling against a third, plain implementation: who gets what of a training step, written out as
 * lists, item by item, from docs/protocol.md's sentences and without any arithmetic of the product.
 * Random chains of jobs, of sizes and modes, stop anywhere, leave steps out and go on from a
 * cursor; steps differ in their number of items.
 *
 * A cursor between two jobs is legal exactly when what is consumed is, for every rank of the new
 * job alike, a number of items from the front of its list; then that number is where it goes on.
 */
#include "protocol/handout.h"

#include "base/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS_ALL = 40, ROWS_MAX = 12, COLUMNS = 2, M_MAX = 24, RANKS_MAX = 4 * ROWS_MAX };

typedef struct piece {
    uint64_t step;
    uint32_t d, item;
} piece;

/* A namespace: what every step has, and which steps are left out. */
typedef struct story {
    genesis g;
    uint32_t rows;
    uint32_t items[STEPS_ALL]; /* of each slice */
    bool skipped[STEPS_ALL];
    uint64_t end; /* sealed there */
    cursor at;
    /* how often each item was handed out */
    uint8_t times[STEPS_ALL][ROWS_MAX][COLUMNS][M_MAX];
} story;

typedef struct list {
    piece pieces[4 * M_MAX * ROWS_MAX];
    uint32_t count;
} list;

static void add(list *l, uint64_t step, uint32_t d, uint32_t item)
{
    l->pieces[l->count++] = (piece){step, d, item};
}

/* ---- the plain implementation ---- */

static uint64_t first_from(const story *s, uint64_t step)
{
    while (step < STEPS_ALL && s->skipped[step])
        step++;
    return step;
}

/* The steps that are read together from `step` on: one, or k under scale_batch with dp = k·D. False
 * when the namespace ends before. */
static bool together(const story *s, cursor_mode mode, uint32_t dp, uint64_t step, uint64_t *steps,
                     uint32_t *count, uint64_t *next)
{
    const uint32_t wanted = mode == MODE_SCALE_BATCH && dp > s->rows ? dp / s->rows : 1;
    for (*count = 0; *count < wanted; (*count)++) {
        step = first_from(s, step);
        if (step >= s->end)
            return false;
        steps[*count] = step++;
    }
    *next = first_from(s, step);
    return true;
}

/* What rank `r` gets of the steps read together, in its order; false when they cannot be shared. */
static bool deal(const story *s, cursor_mode mode, uint32_t dp, uint32_t r, const uint64_t *steps,
                 list *l)
{
    const uint32_t rows = s->rows;
    l->count = 0;
    if (mode == MODE_SCALE_BATCH && dp > rows) {
        const uint64_t step = steps[r / rows];
        for (uint32_t i = 0; i < s->items[step]; i++)
            add(l, step, r % rows, i);
        return true;
    }
    const uint64_t step = steps[0];
    const uint32_t items = s->items[step];
    if (mode == MODE_SCALE_BATCH) { /* slices 0 … dp-1 are a training step, then the next dp */
        for (uint32_t d = 0; d < rows; d++)
            for (uint32_t i = 0; d % dp == r && i < items; i++)
                add(l, step, d, i);
        return true;
    }
    if (dp > rows) { /* k ranks are dealt the items of one slice in turn */
        const uint32_t k = dp / rows;
        for (uint32_t i = 0; i < items; i++)
            if (i % k == r % k)
                add(l, step, r / k, i);
        return items % k == 0;
    }
    const uint32_t k = rows / dp; /* neighbours; item 0 of each, then item 1 */
    for (uint32_t i = 0; i < items; i++)
        for (uint32_t d = 0; d < rows; d++)
            if (d / k == r)
                add(l, step, d, i);
    return true;
}

/* Where a job would go on from what was consumed: the same number of items from the front of every
 * rank's list, and nothing behind. -1: nowhere. */
static int64_t front(const story *s, cursor_mode mode, uint32_t dp, const uint64_t *steps)
{
    int64_t all = -1;
    for (uint32_t r = 0; r < dp; r++) {
        list l;
        int64_t n = 0;
        (void)deal(s, mode, dp, r, steps, &l);
        while (n < l.count && s->times[l.pieces[n].step][l.pieces[n].d][0][l.pieces[n].item] > 0)
            n++;
        for (int64_t i = n; i < l.count; i++)
            if (s->times[l.pieces[i].step][l.pieces[i].d][0][l.pieces[i].item] > 0)
                return -1;
        if (all >= 0 && n != all)
            return -1;
        all = n;
    }
    return all;
}

/* ---- the product beside it ---- */

typedef struct job {
    uint32_t dp;
    cursor_mode mode;
    handout *ranks[RANKS_MAX][COLUMNS];
} job;

static manifest newest(const story *s)
{
    return (manifest){.version = 3, .next = s->end, .sealed = true};
}

static void job_open(job *j, const story *s)
{
    for (uint32_t d = 0; d < j->dp; d++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            assert_int_equal(
                handout_new(&s->g, (position){d, c}, j->dp, j->mode, &j->ranks[d][c], NULL), BW_OK);
}

static void job_close(job *j)
{
    for (uint32_t d = 0; d < j->dp; d++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            handout_free(j->ranks[d][c]);
}

/* All ranks resume, or all are refused. */
static bw_status job_resume(job *j, const story *s)
{
    const manifest m = newest(s);
    const bw_status status = handout_resume(j->ranks[0][0], &m, &s->at, NULL);
    for (uint32_t d = 0; d < j->dp; d++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            assert_int_equal(handout_resume(j->ranks[d][c], &m, &s->at, NULL), status);
    return status;
}

static descriptor described(const story *s, uint64_t step)
{
    const uint64_t slices = (uint64_t)s->rows * COLUMNS;
    return (descriptor){.shape = {.form = FORM_UNIFORM,
                                  .parts = 1,
                                  .items = s->items[step],
                                  .footer_bytes = 60,
                                  .uniform = 128,
                                  .total_bytes = 128 * slices + 60}};
}

/* The next item of one rank is the one that the list has. */
static void hand_out(const story *s, handout *h, uint32_t c, const piece *expected)
{
    fetch_plan plan;
    uint32_t nth, item;
    const uint64_t step = handout_reading(h);
    assert_int_equal(step, expected->step);
    const descriptor d = described(s, step);
    handout_pick(h, d.shape.items, &nth, &item);
    assert_int_equal(handout_plan(h, step, nth, &d, &plan, NULL), BW_OK);
    assert_int_equal(plan.slice, expected->d * COLUMNS + c);
    assert_int_equal(item, expected->item);
    handout_advance(h, d.shape.items, step * 1000 + 7);
}

/* One item of every rank: the `n`-th of its list. */
static void round_of(job *j, story *s, const uint64_t *steps, uint32_t n)
{
    for (uint32_t d = 0; d < j->dp; d++) {
        list l;
        assert_true(deal(s, j->mode, j->dp, d, steps, &l));
        assert_true(n < l.count);
        const piece *p = &l.pieces[n];
        for (uint32_t c = 0; c < COLUMNS; c++) {
            hand_out(s, j->ranks[d][c], c, p);
            s->times[p->step][p->d][c][p->item]++;
        }
    }
}

static void take_cursor(job *j, story *s)
{
    const manifest m = newest(s);
    cursor first, other;
    assert_int_equal(handout_cursor(j->ranks[0][0], m.version, &first), BW_OK);
    for (uint32_t d = 0; d < j->dp; d++)
        for (uint32_t c = 0; c < COLUMNS; c++) {
            assert_int_equal(handout_cursor(j->ranks[d][c], m.version, &other), BW_OK);
            assert_true(cursor_equal(&first, &other));
            cursor_free(&other);
        }
    cursor_free(&s->at);
    s->at = first;
}

typedef struct tally {
    uint32_t taken, refused, unshared, ends;
} tally;

/* Rounds of a job from where it stands, `item` of the steps read together; at most `rounds`. */
static void run(job *j, story *s, uint32_t item, uint64_t rounds, tally *t)
{
    uint64_t steps[4], next = s->at.step;
    uint32_t count;
    const manifest m = newest(s);
    while (rounds > 0) {
        list l;
        if (!together(s, j->mode, j->dp, next, steps, &count, &next)) {
            assert_true(handout_at_end(j->ranks[0][0], &m));
            t->ends++;
            break;
        }
        assert_false(handout_at_end(j->ranks[0][0], &m));
        if (!deal(s, j->mode, j->dp, 0, steps, &l)) {
            fetch_plan plan;
            const descriptor d = described(s, steps[0]);
            assert_int_equal(handout_plan(j->ranks[0][0], steps[0], 0, &d, &plan, NULL),
                             BW_MESH_MISMATCH);
            t->unshared++;
            break;
        }
        if (s->items[steps[count - 1]] != s->items[steps[0]])
            break; /* ranks of one training step would hand out different numbers of items */
        for (; item < l.count && rounds > 0; item++, rounds--)
            round_of(j, s, steps, item);
        if (item == l.count)
            item = 0;
    }
}

static void one_job(story *s, rng *r, tally *t)
{
    static const uint32_t factors[] = {1, 1, 2, 3, 4};
    const uint32_t k = factors[rng_below(r, 5)];
    job j = {.mode = rng_below(r, 3) == 0 ? MODE_SCALE_BATCH : MODE_SAME_BATCH};
    j.dp = rng_below(r, 2) == 0 && s->rows % k == 0 ? s->rows / k : s->rows * k;
    uint64_t steps[4], next;
    uint32_t count;
    job_open(&j, s);
    const bw_status status = job_resume(&j, s);
    const bool same = j.dp == s->at.dp && j.mode == s->at.mode;
    const bool whole = s->at.item == 0;
    const bool scales = j.mode == MODE_SCALE_BATCH || s->at.mode == MODE_SCALE_BATCH;
    const int64_t there = together(s, j.mode, j.dp, s->at.step, steps, &count, &next)
                              ? front(s, j.mode, j.dp, steps)
                              : 0;
    if (whole || same || (!scales && there >= 0)) {
        assert_int_equal(status, BW_OK);
        assert_int_equal(handout_item(j.ranks[0][0]), whole ? 0 : there);
        run(&j, s, (uint32_t)(whole ? 0 : there), rng_below(r, 60), t);
        take_cursor(&j, s);
        t->taken++;
    } else {
        assert_int_equal(status, BW_CURSOR_INVALID);
        t->refused++;
    }
    job_close(&j);
}

static void story_begin(story *s, rng *r)
{
    static const uint32_t rows[] = {2, 4, 6, 12};
    static const uint32_t items[] = {4, 8, 12, 24};
    memset(s, 0, sizeof *s);
    s->rows = rows[rng_below(r, 4)];
    s->g = (genesis){
        .uuid = {1}, .dp = s->rows, .cp = COLUMNS, .items_default = 1, .part_bytes = 1 << 20};
    s->end = STEPS_ALL - rng_below(r, 8);
    for (uint32_t step = 0; step < STEPS_ALL; step++)
        s->items[step] = step % 12 == 0 ? items[rng_below(r, 4)] : s->items[step - 1];
    s->at = (cursor){.uuid = {1}, .dp = s->rows};
    if (rng_below(r, 2) == 0)
        return;
    s->at.skips = calloc(1, sizeof *s->at.skips);
    assert_non_null(s->at.skips);
    s->at.skip_count = 1;
    s->at.skips[0].first = rng_below(r, 20);
    s->at.skips[0].end = s->at.skips[0].first + 1 + rng_below(r, 5);
    for (uint64_t step = s->at.skips[0].first; step < s->at.skips[0].end; step++)
        s->skipped[step] = true;
}

static void check_account(const story *s)
{
    for (uint64_t step = 0; step < STEPS_ALL; step++)
        for (uint32_t d = 0; d < s->rows; d++)
            for (uint32_t c = 0; c < COLUMNS; c++)
                for (uint32_t i = 0; i < s->items[step]; i++) {
                    const uint32_t times = s->times[step][d][c][i];
                    if (s->skipped[step] || step >= s->end)
                        assert_int_equal(times, 0);
                    else if (step < s->at.step)
                        assert_int_equal(times, 1);
                    else
                        assert_true(times <= 1);
                }
}

static void every_chain_deals_as_the_lists_say(void **state)
{
    (void)state;
    tally t = {0};
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        static story s;
        rng r;
        rng_seed(&r, seed);
        story_begin(&s, &r);
        for (uint32_t jobs = 0; jobs < 60 && s.at.step + 4 < s.end; jobs++)
            one_job(&s, &r, &t);
        check_account(&s);
        cursor_free(&s.at);
    }
    assert_true(t.taken > 5000 && t.refused > 5000 && t.unshared > 100 && t.ends > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chain_deals_as_the_lists_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
