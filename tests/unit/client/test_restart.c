// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a rank asks of the store between the open of its namespace and its first item, by cursor:
 * the bytes, and before them one segment for each level above the step, as the tail and 16
 * references of each level have it. */
#include "stand.h"

#include "client/follower.h"
#include "client/segments.h"
#include <string.h>
#include <unistd.h>

#define STEPS 600u
#define LEVELS 3u
/* Genesis, hint, the cursor's version and three behind it; a marker. */
#define OPEN_ASKS 7u

static void flush(stand *s, bw_producer *p)
{
    bw_event *e = NULL;
    stand_expect(s, producer_flush(p, true, TIME_NEVER, &s->error), BW_OK);
    while (producer_event(p, 0, &e, NULL) == BW_OK)
        event_free(e);
}

static void fill(stand *s)
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        flush(s, p);
    }
    stand_expect(s, producer_finish(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, producer_close(p, TIME_NEVER, &s->error), BW_OK);
    /* Nobody waits for more: no poll is counted. */
    stand_expect(s, space_seal(s->space, false, TIME_NEVER, &s->error), BW_OK);
}

/* How many segments lead to `step`, beside those that `known` has already. */
static uint32_t way_to(stand *s, reader *r, segments *known, uint64_t step, step_entry *entry)
{
    const manifest *m = chain_held(r->chain);
    for (uint32_t count = 0;; count++) {
        segment_ref needed;
        const lookup_verdict verdict = segments_find(known, m, step, entry, &needed);
        if (verdict == LOOKUP_FOUND)
            return count;
        assert_int_equal(verdict, LOOKUP_NEED);
        stand_expect(
            s, segments_load(known, drive_store(r->drive), s->space->genesis, &needed, &s->error),
            BW_OK);
    }
}

/* All requests but those for the bytes themselves. */
static uint64_t requests(bw_space *space)
{
    uint64_t sum = 0;
    for (uint32_t kind = 0; kind < STORE_OP_KINDS; kind++)
        sum += kind != STORE_MAP ? atomic_load(&space->meter.ops[kind]) : 0;
    return sum;
}

/* From a cursor at `step` with the nonce of the step before. A job of half the size takes two items
 * of a step: after the first, nothing of the next step is looked for yet. */
static uint64_t restart(stand *s, uint64_t step, const step_entry *before)
{
    bw_space *space = stand_space(s, "", false);
    const consumer_options options = {
        .has_position = true, .dp = 1, .tp = 1, .pp = 1, .prefetch = 1, .verify = true};
    cursor at = {.step = step,
                 .dp = 1,
                 .has_nonce = before != NULL,
                 .nonce = before != NULL ? before->descriptor.record.nonce : 0};
    memcpy(at.uuid, space->genesis->uuid, UUID_BYTES);
    bw_consumer *c = NULL;
    const uint64_t opened = requests(space);
    stand_expect(s, consumer_open(space, &options, &at, TIME_NEVER, &c, &s->error), BW_OK);
    stand_take(s, c, "item");
    const uint64_t asked = requests(space) - opened;
    consumer_close(c);
    space_close(space);
    return asked;
}

static void a_restart_asks_for_its_way_and_its_bytes(void **state)
{
    (void)state;
    stand s;
    reader r;
    uint32_t seen[2 * LEVELS + 1] = {0};
    stand_open(&s, 2, "", false);
    fill(&s);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, NULL, &r, &s.error), BW_OK);
    for (uint64_t step = 1; step < STEPS; step += step < STEPS - 80 ? 13 : 1) {
        segments known;
        step_entry before, entry;
        assert_int_equal(segments_init(&known, 1u << 20), BW_OK);
        const uint32_t checked = way_to(&s, &r, &known, step - 1, &before);
        const uint32_t way = checked + way_to(&s, &r, &known, step, &entry);
        segments_destroy(&known);
        assert_in_range(way, 0, 2 * LEVELS);
        seen[way]++;
        assert_int_equal(restart(&s, step, &before), way);
    }
    /* From the tail, from a segment, below one index, below two. */
    for (uint32_t way = 0; way <= LEVELS; way++)
        assert_true(seen[way] > 0);
    reader_close(&r);
    stand_close(&s);
}

/* Who is refused is told by the newest: a cursor that an old manifest does not know yet. */
static void a_step_that_came_since_the_open_is_found(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 2, "", false);
    bw_space *early = stand_space(&s, "", false);
    fill(&s);
    const consumer_options options = {.has_position = true,
                                      .tp = 1,
                                      .pp = 1,
                                      .start = START_STEP,
                                      .start_step = STEPS - 1,
                                      .prefetch = 1,
                                      .verify = true};
    bw_consumer *c = NULL;
    stand_expect(&s, consumer_open(early, &options, NULL, TIME_NEVER, &c, &s.error), BW_OK);
    stand_take(&s, c, "item");
    consumer_close(c);
    space_close(early);
    stand_close(&s);
}

/* The next step is in the window: the consumer has found it. */
static void await_next(bw_consumer *c)
{
    for (bool found = false; !found;) {
        lock_acquire(&c->lock);
        found = c->locked.count > 0 && consumer_slot(c, 0)->state == FETCH_READY;
        lock_release(&c->lock);
        if (!found)
            (void)usleep(1000);
    }
}

/* Cursors of a job that keeps up with its producer, one behind each step. */
static void keep_up(stand *s, bw_cursor *cursors[STEPS])
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    bw_consumer *c = stand_consumer(s, s->space, 0);
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        flush(s, p);
        await_next(c);
        if (i > 1)
            stand_expect(s, consumer_cursor(c, &cursors[i - 1], &s->error), BW_OK);
        stand_take(s, c, "item");
    }
    stand_expect(s, producer_finish(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, producer_close(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, space_seal(s->space, false, TIME_NEVER, &s->error), BW_OK);
    consumer_close(c);
}

/* All that leads to the step is there when the open returns. */
static bool is_at_hand(bw_space *space, uint64_t step)
{
    step_entry entry;
    segment_ref needed;
    return segments_find(&space->segments, chain_held(space->chain), step, &entry, &needed) ==
           LOOKUP_FOUND;
}

/* A job that reads far behind what is committed finds its steps through indexes, and its cursors
 * say how: all of it is there when the open returns. */
static void a_cursor_below_indexes_names_its_way(void **state)
{
    (void)state;
    stand s;
    uint32_t seen[WAY_MAX + 1] = {0};
    stand_open(&s, 1, "", false);
    fill(&s);
    bw_space *reads = stand_space(&s, "", false);
    bw_consumer *c = stand_consumer(&s, reads, 0);
    for (uint64_t step = 1; step < STEPS; step++) {
        bw_cursor *saved = NULL;
        resume_point from;
        stand_take(&s, c, "item");
        if (step % 7 != 0)
            continue;
        await_next(c);
        stand_expect(&s, consumer_cursor(c, &saved, &s.error), BW_OK);
        handout_resume_point(&saved->cursor, &from);
        bw_space *space = stand_resume(&s, &from);
        assert_int_equal(chain_held(space->chain)->version, saved->cursor.version);
        assert_true(is_at_hand(space, step));
        seen[from.way_count]++;
        space_close(space);
        cursor_unwrap(saved);
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    consumer_close(c);
    space_close(reads);
    stand_close(&s);
}

/* Two round trips (protocol/test_resumption) and then the bytes, wherever the newest is by now:
 * genesis, hint and the cursor's version, then its marker, and a segment for the step before. */
static void a_restart_by_its_cursor_takes_three(void **state)
{
    (void)state;
    stand s;
    bw_cursor *cursors[STEPS] = {NULL};
    stand_open(&s, 1, "", false);
    keep_up(&s, cursors);
    for (uint64_t step = 1; step < STEPS; step += 7) {
        resume_point from;
        handout_resume_point(&cursors[step]->cursor, &from);
        assert_int_equal(from.step, step);
        bw_space *space = stand_resume(&s, &from);
        assert_true(space->behind);
        const uint64_t asked = requests(space);
        assert_in_range(asked, OPEN_ASKS, OPEN_ASKS + 1);
        assert_true(is_at_hand(space, step));
        assert_true(asked > OPEN_ASKS || is_at_hand(space, step - 1));
        bw_consumer *c = NULL;
        const consumer_options options = {
            .has_position = true, .tp = 1, .pp = 1, .prefetch = 1, .verify = true};
        stand_expect(
            &s, consumer_open(space, &options, &cursors[step]->cursor, TIME_NEVER, &c, &s.error),
            BW_OK);
        /* And on to the end, by what was committed since. */
        for (uint64_t i = step; i < STEPS; i++)
            stand_take(&s, c, "item");
        bw_item *item = NULL;
        stand_expect(&s, consumer_next(c, TIME_NEVER, &item, &s.error), BW_END);
        consumer_close(c);
        space_close(space);
    }
    for (uint64_t step = 1; step < STEPS; step++)
        cursor_unwrap(cursors[step]);
    stand_close(&s);
}

/* The version that a cursor names is the one in whose tail its step was found, not the newest: by
 * then the step may lie in a segment below indexes. */
static void a_cursor_names_where_its_step_was_found(void **state)
{
    (void)state;
    stand s;
    bw_cursor *saved = NULL;
    manifest *newest = NULL;
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    stand_put(&s, p, "item", 1);
    flush(&s, p);
    await_next(c);
    for (uint64_t i = 2; i <= 50; i++) {
        stand_put(&s, p, "item", i);
        flush(&s, p);
    }
    follower *f = s.space->follower;
    stand_expect(&s, follower_answer(f, follower_ask(f), TIME_NEVER, NULL, &newest, &s.error),
                 BW_OK);
    assert_true(manifest_tail_first(newest) > 0);
    stand_expect(&s, consumer_cursor(c, &saved, &s.error), BW_OK);
    assert_true(saved->cursor.version < newest->version);
    resume_point from;
    handout_resume_point(&saved->cursor, &from);
    bw_space *space = stand_resume(&s, &from);
    assert_int_equal(requests(space), OPEN_ASKS);
    assert_true(is_at_hand(space, 0));
    space_close(space);
    cursor_unwrap(saved);
    manifest_unref(newest);
    consumer_close(c);
    stand_expect(&s, producer_close(p, TIME_NEVER, &s.error), BW_OK);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_asks_for_its_way_and_its_bytes),
        cmocka_unit_test(a_step_that_came_since_the_open_is_found),
        cmocka_unit_test(a_restart_by_its_cursor_takes_three),
        cmocka_unit_test(a_cursor_below_indexes_names_its_way),
        cmocka_unit_test(a_cursor_names_where_its_step_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
