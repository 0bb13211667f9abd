// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a rank asks of the store between the open of its namespace and its first item, by cursor:
 * the bytes, and before them one segment for each level above the step, as the tail and 16
 * references of each level have it. */
#include "stand.h"

#include "client/segments.h"
#include <string.h>

#define STEPS 600u
#define LEVELS 3u

static void fill(stand *s)
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        stand_expect(s, producer_flush(p, true, TIME_NEVER, &s->error), BW_OK);
        bw_event *e = NULL;
        while (producer_event(p, 0, &e, NULL) == BW_OK)
            event_free(e);
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
    stand_expect(&s, reader_open(s.space, TIME_NEVER, &r, &s.error), BW_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_asks_for_its_way_and_its_bytes),
        cmocka_unit_test(a_step_that_came_since_the_open_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
