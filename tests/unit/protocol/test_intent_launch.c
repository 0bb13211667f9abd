// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* launch and group rm: a group is registered, resumed, fenced, removed and registered again. */
#include "intent_bases.h"

#include "protocol/launch.h"
#include <string.h>

/* Ten steps, the first five trimmed. Group "aa" keeps step 6; group "g" is there or not. */
typedef struct scene {
    manifest base;
    producer_entry entries[1];
    group groups[2];
    pin pins[2];
    cursor cursor;
} scene;

typedef enum shown { NO_GROUP, HELD, PINNED } shown;

static void set_up(scene *s, shown g)
{
    memset(s, 0, sizeof *s);
    s->entries[0] = entry_of("m", 1, &mine);
    s->base = base_of(s->entries, 1);
    base_publish(&s->base, &s->entries[0], 10);
    s->base.trim = 5;
    s->cursor = (cursor){.dp = 4};
    s->pins[0] = (pin){.id = view_text("a"), .nonce = 1, .step = 5};
    s->pins[1] = (pin){.id = view_text("b"), .nonce = 2, .step = 8, .item = 2};
    assert_int_equal(launch_hash(&s->cursor, LAUNCH_CURSOR, 5, 0, &s->pins[0].cursor_hash), BW_OK);
    assert_int_equal(launch_hash(&s->cursor, LAUNCH_CURSOR, 8, 2, &s->pins[1].cursor_hash), BW_OK);
    s->groups[0] =
        (group){.name = view_text("aa"), .launch = view_text("x"), .launch_number = 1, .hold = 6};
    s->groups[1] = (group){.name = view_text("g"), .launch = view_text("old"), .launch_number = 3};
    if (g == PINNED) {
        s->groups[1].hold = 8;
        s->groups[1].pinned = true;
        s->groups[1].pins = s->pins;
        s->groups[1].pin_count = 2;
    } else {
        s->groups[1].hold = 5;
    }
    s->base.groups = s->groups;
    s->base.group_count = g == NO_GROUP ? 1 : 2;
}

static intent launch_of(const char *launch, launch_start start, const cursor *c)
{
    return (intent){
        .kind = INTENT_LAUNCH,
        .launch = {
            .name = view_text("g"), .launch = view_text(launch), .start = start, .cursor = c}};
}

typedef struct launch_case {
    const char *name;
    shown group;
    launch_start start;
    uint64_t step; /* of the cursor */
    uint32_t item;
    uint64_t number;  /* fixed by an earlier base … */
    const char *seen; /* … on which this launch stood there */
    intent_verdict verdict;
    bw_status status;
    uint64_t start_step;
    uint32_t start_item;
    uint64_t trim;
} launch_case;

#define MADE INTENT_CANDIDATE, BW_OK
#define REFUSED(status) INTENT_REFUSED, status, 0, 0, 0

static const launch_case launch_cases[] = {
    {"new, earliest", NO_GROUP, LAUNCH_EARLIEST, 0, 0, 0, "", MADE, 5, 0, 5},
    {"new, latest: what the other keeps stays", NO_GROUP, LAUNCH_LATEST, 0, 0, 0, "", MADE, 10, 0,
     6},
    {"new, as the group says: earliest", NO_GROUP, LAUNCH_GROUP, 0, 0, 0, "", MADE, 5, 0, 5},
    {"new, at a cursor", NO_GROUP, LAUNCH_CURSOR, 7, 3, 0, "", MADE, 7, 3, 6},
    {"new, at the trim step", NO_GROUP, LAUNCH_CURSOR, 5, 0, 0, "", MADE, 5, 0, 5},
    {"new, below trim", NO_GROUP, LAUNCH_CURSOR, 4, 9, 0, "", REFUSED(BW_TRIMMED)},
    {"new, at the next step", NO_GROUP, LAUNCH_CURSOR, 10, 0, 0, "", MADE, 10, 0, 6},
    {"new, beyond the end", NO_GROUP, LAUNCH_CURSOR, 11, 0, 0, "", REFUSED(BW_BEYOND_END)},
    {"resumed at its hold", HELD, LAUNCH_GROUP, 0, 0, 0, "", MADE, 5, 0, 5},
    {"resumed later: the hold moves, and trim", HELD, LAUNCH_LATEST, 0, 0, 0, "", MADE, 10, 0, 6},
    {"resumed at a cursor that no pin keeps", HELD, LAUNCH_CURSOR, 6, 1, 0, "", MADE, 6, 1, 6},
    {"resumed below trim", HELD, LAUNCH_CURSOR, 4, 0, 0, "", REFUSED(BW_TRIMMED)},
    {"resumed beyond the end", PINNED, LAUNCH_CURSOR, 11, 0, 0, "", REFUSED(BW_BEYOND_END)},
    {"resumed at its newest pin", PINNED, LAUNCH_GROUP, 0, 0, 0, "", MADE, 8, 2, 5},
    {"resumed at an older pin", PINNED, LAUNCH_CURSOR, 5, 0, 0, "", MADE, 5, 0, 5},
    {"resumed at the earliest", PINNED, LAUNCH_EARLIEST, 0, 0, 0, "", MADE, 5, 0, 5},
    {"to the tip", HELD, LAUNCH_TIP, 7, 0, 0, "", MADE, 10, 0, 6},
    {"to the tip, and pins stay", PINNED, LAUNCH_TIP, 8, 0, 0, "", MADE, 10, 0, 5},
    {"to the tip, out of what is trimmed", HELD, LAUNCH_TIP, 2, 0, 0, "", MADE, 10, 0, 6},
    {"to the tip, and there already", HELD, LAUNCH_TIP, 10, 0, 0, "", MADE, 10, 0, 6},
    {"to the tip, from beyond it", HELD, LAUNCH_TIP, 11, 0, 0, "", REFUSED(BW_BEYOND_END)},
    {"to the tip, in a step", HELD, LAUNCH_TIP, 7, 1, 0, "", REFUSED(BW_CURSOR_INVALID)},
    {"fixed, and nothing happened", HELD, LAUNCH_GROUP, 0, 0, 4, "old", MADE, 5, 0, 5},
    {"fixed, and another resumed", HELD, LAUNCH_GROUP, 0, 0, 3, "older", REFUSED(BW_FENCED)},
    {"fixed, and another registered", HELD, LAUNCH_GROUP, 0, 0, 1, "", REFUSED(BW_FENCED)},
    {"fixed, and the number came again", HELD, LAUNCH_GROUP, 0, 0, 4, "gone", REFUSED(BW_FENCED)},
    {"fixed, and the group was removed", NO_GROUP, LAUNCH_GROUP, 0, 0, 4, "old",
     REFUSED(BW_GROUP_GONE)},
    {"fixed, and still no group", NO_GROUP, LAUNCH_EARLIEST, 0, 0, 1, "", MADE, 5, 0, 5},
};

static void check_launched(const launch_case *t, const scene *s, intent *i, const manifest *draft)
{
    const group *g = manifest_group(draft, view_text("g"));
    hash128 hash;
    assert_non_null(g);
    assert_true(view_equal(g->launch, view_text("new")));
    assert_int_equal(g->launch_number, t->group == NO_GROUP ? 1 : 4);
    assert_false(g->pinned);
    assert_int_equal(g->hold, t->start_step);
    cursor begun = s->cursor;
    skip_range skipped = {s->cursor.step, t->start_step};
    if (t->start == LAUNCH_TIP && skipped.first < skipped.end) {
        begun.skips = &skipped;
        begun.skip_count = 1;
    }
    assert_int_equal(launch_hash(&begun, LAUNCH_CURSOR, t->start_step, t->start_item, &hash),
                     BW_OK);
    assert_true(hash_equal(&hash, &g->cursor_hash));
    assert_int_equal(g->pin_count, t->group == PINNED ? 2 : 0);
    assert_int_equal(g->last_version, 10);
    assert_int_equal(g->last_clock_ms, 77);
    assert_int_equal(draft->trim, t->trim);
    assert_int_equal(draft->group_count, 2);
    manifest *next = next_of(draft, &s->base), again;
    intent_result result;
    assert_int_equal(try_intent(i, next, &again, &result), INTENT_ALREADY);
    assert_int_equal(result.start_step, t->start_step);
    assert_int_equal(result.start_item, t->start_item);
    manifest_unref(next);
}

static void launch_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof launch_cases / sizeof *launch_cases; k++) {
        const launch_case *t = &launch_cases[k];
        scene s;
        manifest draft;
        intent_result result;
        set_up(&s, t->group);
        s.cursor.step = t->step;
        s.cursor.item = t->item;
        intent i = launch_of("new", t->start, &s.cursor);
        i.launch.number = t->number;
        i.launch.seen_size = (uint8_t)strlen(t->seen);
        memcpy(i.launch.seen, t->seen, i.launch.seen_size);
        const intent_verdict verdict = try_intent(&i, &s.base, &draft, &result);
        if (verdict != t->verdict || result.status != t->status ||
            result.start_step != t->start_step || result.start_item != t->start_item)
            fail_msg("%s: verdict %u, %s, start %u of %u", t->name, verdict,
                     bw_status_name(result.status), (unsigned)result.start_step, result.start_item);
        if (verdict == INTENT_CANDIDATE)
            check_launched(t, &s, &i, &draft);
    }
}

/* The newest pin counts items of its own mesh: a job of another one must give the cursor. */
static void a_pin_in_the_middle_of_a_step_is_of_its_mesh(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, PINNED);
    s.cursor.dp = 2;
    intent i = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_CURSOR_INVALID);
    s.pins[1].item = 0;
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    sound(&draft, &s.base);
    /* Another pin of that step, made before an item more was handed out, does not speak for it. */
    set_up(&s, PINNED);
    s.pins[0].step = 8;
    s.pins[0].item = 1;
    s.cursor.dp = 2;
    i = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    s.cursor.dp = 4;
    i = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(result.start_item, 2);
}

/* A launch id is used once: the same cursor is a lost reply, another one LAUNCH_REUSED. */
static void a_launch_id_used_again(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, HELD);
    s.cursor.step = 7;
    intent i = launch_of("new", LAUNCH_CURSOR, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    manifest *next = next_of(&draft, &s.base);
    intent again = launch_of("new", LAUNCH_CURSOR, &s.cursor);
    assert_int_equal(try_intent(&again, next, &draft, &result), INTENT_ALREADY);
    s.cursor.step = 8;
    assert_int_equal(try_intent(&again, next, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_LAUNCH_REUSED);
    assert_int_equal(result.error.code, BW_LAUNCH_REUSED);
    s.cursor.step = 7;
    s.cursor.dp = 2;
    assert_int_equal(try_intent(&again, next, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_LAUNCH_REUSED);
    manifest_unref(next);
}

/* The first proved base fixes the number; a launch that thaws after its successor is fenced, and
 * not the successor. */
static void a_thawed_launch_fences_nobody(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, HELD);
    intent frozen = launch_of("frozen", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&frozen, &s.base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(frozen.launch.number, 4);
    intent successor = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&successor, &s.base, &draft, &result), INTENT_CANDIDATE);
    manifest *next = next_of(&draft, &s.base);
    assert_int_equal(try_intent(&frozen, next, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    /* A new call of it is another matter. */
    intent call = launch_of("frozen", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&call, next, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(call.launch.number, 5);
    manifest_unref(next);
}

/* Told that it is there by a base that was not the newest, it must not fence the one after it. */
static void a_launch_that_was_there(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, HELD);
    hash128 hash;
    assert_int_equal(launch_hash(&s.cursor, LAUNCH_CURSOR, 5, 0, &hash), BW_OK);
    s.groups[1].cursor_hash = hash;
    intent first = launch_of("old", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&first, &s.base, &draft, &result), INTENT_ALREADY);
    intent successor = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&successor, &s.base, &draft, &result), INTENT_CANDIDATE);
    manifest *next = next_of(&draft, &s.base);
    assert_int_equal(try_intent(&first, next, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    manifest_unref(next);
}

/* group rm, a new registration, and it begins to count again: a call that slept over all that must
 * not fence the new job, though its number fits. */
static void a_launch_that_slept_over_group_rm(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, HELD);
    s.groups[1].launch_number = 1;
    intent frozen = launch_of("frozen", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&frozen, &s.base, &draft, &result), INTENT_CANDIDATE);
    intent rm = {.kind = INTENT_GROUP_RM, .group_rm = {view_text("g"), view_text("old")}};
    assert_int_equal(try_intent(&rm, &s.base, &draft, &result), INTENT_CANDIDATE);
    manifest *removed = next_of(&draft, &s.base);
    assert_int_equal(try_intent(&frozen, removed, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_GROUP_GONE);
    intent again = launch_of("again", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&again, removed, &draft, &result), INTENT_CANDIDATE);
    manifest *registered = next_of(&draft, removed);
    assert_int_equal(manifest_group(registered, view_text("g"))->launch_number, 1);
    assert_int_equal(frozen.launch.number, 2);
    assert_int_equal(try_intent(&frozen, registered, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    /* And the old rm does not remove what it did not see. */
    assert_int_equal(try_intent(&rm, registered, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    manifest_unref(registered);
    manifest_unref(removed);
}

/* What the group kept alone is trimmed; without any group trim stays. */
static void a_removed_group_keeps_nothing(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    set_up(&s, PINNED);
    intent rm = {.kind = INTENT_GROUP_RM, .group_rm = {view_text("g"), view_text("new")}};
    assert_int_equal(try_intent(&rm, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    rm.group_rm.launch = view_text("old");
    assert_int_equal(try_intent(&rm, &s.base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(draft.trim, 6);
    assert_int_equal(draft.group_count, 1);
    assert_true(view_equal(draft.groups[0].name, view_text("aa")));
    harmless_again(&rm, &draft, &s.base);
    manifest *next = next_of(&draft, &s.base);
    intent last = {.kind = INTENT_GROUP_RM, .group_rm = {view_text("aa"), view_text("x")}};
    assert_int_equal(try_intent(&last, next, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(draft.group_count, 0);
    assert_int_equal(draft.trim, 6);
    sound(&draft, next);
    manifest_unref(next);
}

static void what_cannot_be(void **state)
{
    (void)state;
    static char names[GROUPS_MAX][4];
    static group many[GROUPS_MAX];
    scene s;
    manifest draft;
    intent_result result;
    char longest[LAUNCH_MAX + 2];
    memset(longest, 'l', sizeof longest);
    longest[LAUNCH_MAX + 1] = 0;
    set_up(&s, HELD);
    intent i = launch_of("", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    i = launch_of(longest, LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    longest[LAUNCH_MAX] = 0;
    i = launch_of(longest, LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    harmless_again(&i, &draft, &s.base);
    i.launch.name = view_text("No");
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    /* The number of a hostile manifest ends in a refusal, not in an assertion. */
    s.groups[1].launch_number = UINT64_MAX;
    i = launch_of("new", LAUNCH_GROUP, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_TOO_LARGE);

    for (uint32_t k = 0; k < GROUPS_MAX; k++) {
        memcpy(names[k], "n00", 4);
        names[k][1] = (char)('0' + k / 10);
        names[k][2] = (char)('0' + k % 10);
        many[k] = s.groups[0];
        many[k].name = view_text(names[k]);
    }
    s.base.groups = many;
    s.base.group_count = GROUPS_MAX;
    i = launch_of("new", LAUNCH_EARLIEST, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_PINS_FULL);
    i.launch.name = view_text("n63");
    i.launch.number = 0;
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    sound(&draft, &s.base);
    s.base.group_count--;
    i = launch_of("new", LAUNCH_EARLIEST, &s.cursor);
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    assert_true(view_equal(draft.groups[0].name, view_text("g")));
    assert_int_equal(draft.group_count, GROUPS_MAX);
    sound(&draft, &s.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_table),
        cmocka_unit_test(a_pin_in_the_middle_of_a_step_is_of_its_mesh),
        cmocka_unit_test(a_launch_id_used_again),
        cmocka_unit_test(a_thawed_launch_fences_nobody),
        cmocka_unit_test(a_launch_that_was_there),
        cmocka_unit_test(a_launch_that_slept_over_group_rm),
        cmocka_unit_test(a_removed_group_keeps_nothing),
        cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests_name("intent_launch", tests, bases_begin, bases_end);
}
