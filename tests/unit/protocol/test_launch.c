// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* launch: how the ranks of a job take the one start from the group, or compare their own. */
#include "intent_bases.h"

#include "protocol/launch.h"
#include <string.h>

typedef struct take_case {
    const char *name;
    bool pinned;
    uint64_t hold, begun; /* the step it began at; the hold may have moved since */
    uint32_t begun_item;
    uint64_t pin_step; /* 0: no pin */
    uint32_t pin_item;
    launch_start start;
    uint64_t step;
    uint32_t item, dp;
    bw_status status;
    uint64_t taken;
    uint32_t taken_item;
} take_case;

static const take_case cases[] = {
    {"from the hold", 0, 7, 7, 0, 0, 0, LAUNCH_GROUP, 0, 0, 4, BW_OK, 7, 0},
    {"asked for the earliest: the launch says", 0, 7, 7, 0, 0, 0, LAUNCH_EARLIEST, 0, 0, 4, BW_OK,
     7, 0},
    {"asked for the latest: the launch says", 0, 7, 7, 0, 0, 0, LAUNCH_LATEST, 0, 0, 4, BW_OK, 7,
     0},
    {"the item of the pin it was resumed from", 0, 7, 7, 3, 7, 3, LAUNCH_GROUP, 0, 0, 4, BW_OK, 7,
     3},
    {"step of a pin, but not its item", 0, 7, 7, 0, 7, 3, LAUNCH_GROUP, 0, 0, 4, BW_OK, 7, 0},
    {"pinned where it began", 1, 7, 7, 0, 7, 0, LAUNCH_GROUP, 0, 0, 4, BW_OK, 7, 0},
    {"pinned further on", 1, 9, 7, 0, 9, 0, LAUNCH_GROUP, 0, 0, 4, BW_LAUNCH_REUSED, 0, 0},
    {"another dp", 0, 7, 7, 0, 0, 0, LAUNCH_GROUP, 0, 0, 2, BW_RANKS_DISAGREE, 0, 0},
    {"an item that no pin tells", 0, 7, 7, 3, 0, 0, LAUNCH_GROUP, 0, 0, 4, BW_RANKS_DISAGREE, 0, 0},
    {"the same cursor", 0, 7, 7, 3, 0, 0, LAUNCH_CURSOR, 7, 3, 4, BW_OK, 7, 3},
    {"another step", 0, 7, 7, 0, 0, 0, LAUNCH_CURSOR, 8, 0, 4, BW_RANKS_DISAGREE, 0, 0},
    {"another item", 0, 7, 7, 0, 0, 0, LAUNCH_CURSOR, 7, 1, 4, BW_RANKS_DISAGREE, 0, 0},
    {"the same cursor, of another dp", 0, 7, 7, 0, 0, 0, LAUNCH_CURSOR, 7, 0, 2, BW_RANKS_DISAGREE,
     0, 0},
    {"the same cursor, pinned since", 1, 9, 7, 0, 9, 0, LAUNCH_CURSOR, 7, 0, 4, BW_OK, 7, 0},
    {"another cursor, pinned since", 1, 9, 7, 0, 9, 0, LAUNCH_CURSOR, 9, 0, 4, BW_RANKS_DISAGREE, 0,
     0},
};

static void take_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const take_case *t = &cases[k];
        const cursor begun = {.dp = 4};
        pin p = {.id = view_text("p"), .nonce = 1, .step = t->pin_step, .item = t->pin_item};
        group g = {.name = view_text("g"),
                   .launch = view_text("l"),
                   .launch_number = 1,
                   .pinned = t->pinned,
                   .hold = t->hold,
                   .pins = &p,
                   .pin_count = t->pin_step > 0};
        assert_int_equal(
            launch_hash(&begun, LAUNCH_CURSOR, t->begun, t->begun_item, &g.cursor_hash), BW_OK);
        const cursor c = {.dp = t->dp, .step = t->step, .item = t->item};
        uint64_t step;
        uint32_t item;
        bw_error error = {.code = BW_OK};
        const bw_status status = launch_take(&g, t->start, &c, &step, &item, &error);
        if (status != t->status || (status == BW_OK && (step != t->taken || item != t->taken_item)))
            fail_msg("%s: %s, item %u of %u", t->name, bw_status_name(status), item,
                     (unsigned)step);
        assert_int_equal(error.code, t->status);
    }
}

/* Rank 0 skipped from step 4 to what was the tip. Who has the same cursor and does the same finds
 * out where that was; who does not, or has another cursor, disagrees. */
static void one_tip_for_all_ranks(void **state)
{
    (void)state;
    skip_range old = {1, 2};
    tag_range tags = {5, TAG_ANY};
    const cursor c = {.dp = 4, .step = 4, .skip_count = 1, .skips = &old};
    cursor tip, differs = c;
    pin p = {.id = view_text("p"), .nonce = 1, .step = 6};
    group g = {.launch = view_text("l"), .hold = 9, .pins = &p, .pin_count = 1};
    uint64_t step;
    uint32_t item;
    bw_error error;
    assert_int_equal(launch_cursor(&c, LAUNCH_TIP, 9, 0, &tip), BW_OK);
    assert_int_equal(tip.step, 9);
    assert_int_equal(tip.skip_count, 2);
    assert_true(tip.skips[1].first == 4 && tip.skips[1].end == 9);
    assert_int_equal(cursor_hash(&tip, &g.cursor_hash), BW_OK);
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &c, &step, &item, &error), BW_OK);
    assert_true(step == 9 && item == 0);
    assert_int_equal(launch_take(&g, LAUNCH_CURSOR, &c, &step, &item, &error), BW_RANKS_DISAGREE);
    assert_int_equal(launch_take(&g, LAUNCH_LATEST, &c, &step, &item, &error), BW_RANKS_DISAGREE);
    differs.step = 5;
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &differs, &step, &item, &error),
                     BW_RANKS_DISAGREE);
    differs.step = 10; /* beyond where it began */
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &differs, &step, &item, &error),
                     BW_RANKS_DISAGREE);
    differs = c;
    differs.skip_count = 0;
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &differs, &step, &item, &error),
                     BW_RANKS_DISAGREE);
    differs = c;
    differs.tag_count = 1;
    differs.tags = &tags;
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &differs, &step, &item, &error),
                     BW_RANKS_DISAGREE);
    /* It has pinned since: where it began, and further on. */
    g.pinned = true;
    p.step = 9;
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &c, &step, &item, &error), BW_OK);
    p.step = g.hold = 10;
    assert_int_equal(launch_take(&g, LAUNCH_TIP, &c, &step, &item, &error), BW_LAUNCH_REUSED);
    cursor_free(&tip);
}

/* RANKS_DISAGREE names both places. */
static void both_places_are_named(void **state)
{
    (void)state;
    const cursor begun = {.dp = 4}, c = {.dp = 4, .step = 12, .item = 5};
    group g = {.launch = view_text("job-1"), .hold = 7};
    uint64_t step;
    uint32_t item;
    bw_error error;
    assert_int_equal(launch_hash(&begun, LAUNCH_CURSOR, 7, 0, &g.cursor_hash), BW_OK);
    assert_int_equal(launch_take(&g, LAUNCH_CURSOR, &c, &step, &item, &error), BW_RANKS_DISAGREE);
    assert_non_null(strstr(error.message, "job-1"));
    assert_non_null(strstr(error.message, "7"));
    assert_non_null(strstr(error.message, "12"));
    assert_non_null(strstr(error.message, "item 5"));
}

static void the_newest_of_a_group(void **state)
{
    (void)state;
    pin pins[4] = {{.id = view_text("a"), .step = 5, .item = 9},
                   {.id = view_text("b"), .step = 8, .item = 4},
                   {.id = view_text("c"), .step = 8, .item = 2},
                   {.id = view_text("d"), .step = 6, .item = 9}};
    group g = {.hold = 9, .pins = pins};
    uint64_t step;
    uint32_t item;
    launch_newest(&g, &step, &item);
    assert_int_equal(step, 9);
    assert_int_equal(item, 0);
    g.pin_count = 4;
    launch_newest(&g, &step, &item);
    assert_int_equal(step, 8);
    assert_int_equal(item, 4);
    pins[2].item = 5;
    launch_newest(&g, &step, &item);
    assert_int_equal(item, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take_table),
        cmocka_unit_test(one_tip_for_all_ranks),
        cmocka_unit_test(both_places_are_named),
        cmocka_unit_test(the_newest_of_a_group),
    };
    return cmocka_run_group_tests_name("launch", tests, bases_begin, bases_end);
}
