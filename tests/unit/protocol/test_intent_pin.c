// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* pin: made, released, overwritten, by whom and for how long; what the hold and trim make of it. */
#include "intent_bases.h"

#include <string.h>

typedef struct mark {
    const char *id; /* NULL: none */
    uint64_t step;  /* of a release: the nonce */
} mark;

/* Ten steps, the first two trimmed. Group "g" of launch "l" is the only one. The nonce of a pin is
 * 100 + its step. */
typedef struct pin_case {
    const char *name;
    uint64_t hold;
    mark pins[3];
    const char *launch;
    mark wanted;
    mark releases[3];
    intent_verdict verdict;
    bw_status status;
    uint64_t hold_after;
    mark after[3];
    uint64_t trim;
} pin_case;

#define MADE INTENT_CANDIDATE, BW_OK
#define THERE INTENT_ALREADY, BW_OK, 0, {{0}}, 0
#define REFUSED(status) INTENT_REFUSED, status, 0, {{0}}, 0
#define NO_PIN                                                                                     \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

static const pin_case pin_cases[] = {
    {"at the hold leaves it there", 4, {{0}}, "l", {"p", 4}, {{0}}, MADE, 4, {{"p", 4}}, 4},
    {"above the hold raises it", 4, {{0}}, "l", {"p", 7}, {{0}}, MADE, 7, {{"p", 7}}, 7},
    {"below the hold leaves it", 4, {{0}}, "l", {"p", 3}, {{0}}, MADE, 4, {{"p", 3}}, 3},
    {"at trim", 4, {{0}}, "l", {"p", 2}, {{0}}, MADE, 4, {{"p", 2}}, 2},
    {"below trim", 4, {{0}}, "l", {"p", 1}, {{0}}, REFUSED(BW_TRIMMED)},
    {"at the next step", 4, {{0}}, "l", {"p", 10}, {{0}}, MADE, 10, {{"p", 10}}, 10},
    {"beyond the end", 4, {{0}}, "l", {"p", 11}, {{0}}, REFUSED(BW_BEYOND_END)},
    {"a second one: the first keeps",
     4,
     {{"p", 4}},
     "l",
     {"q", 6},
     {{0}},
     MADE,
     6,
     {{"p", 4}, {"q", 6}},
     4},
    {"sorted by id",
     6,
     {{"p", 4}, {"r", 6}},
     "l",
     {"a", 8},
     {{0}},
     MADE,
     8,
     {{"a", 8}, {"p", 4}, {"r", 6}},
     4},
    {"the same again", 4, {{"p", 4}}, "l", {"p", 4}, {{0}}, THERE},
    {"the same id elsewhere", 4, {{"p", 4}}, "l", {"p", 6}, {{0}}, REFUSED(BW_PIN_EXISTS)},
    {"a zombie's", 4, {{0}}, "dead", {"p", 4}, {{0}}, REFUSED(BW_FENCED)},
    {"a zombie's, though it is there", 4, {{"p", 4}}, "dead", {"p", 4}, {{0}}, REFUSED(BW_FENCED)},
    {"a zombie's release",
     6,
     {{"p", 4}, {"q", 6}},
     "dead",
     NO_PIN,
     {{"p", 104}},
     REFUSED(BW_FENCED)},
    {"a zombie's reconcile",
     6,
     {{"p", 4}, {"q", 6}},
     "dead",
     NO_PIN,
     {{"p", 104}, {"q", 106}},
     REFUSED(BW_FENCED)},
    {"released: trim moves",
     6,
     {{"p", 4}, {"q", 6}},
     "l",
     NO_PIN,
     {{"p", 104}},
     MADE,
     6,
     {{"q", 6}},
     6},
    {"released, the hold keeps",
     3,
     {{"p", 2}, {"q", 6}},
     "l",
     NO_PIN,
     {{"p", 102}},
     MADE,
     3,
     {{"q", 6}},
     3},
    {"the last released sets the hold",
     6,
     {{"p", 6}},
     "l",
     NO_PIN,
     {{"p", 106}},
     MADE,
     6,
     {{0}},
     6},
    {"the last released, the hold is there",
     3,
     {{"p", 6}},
     "l",
     NO_PIN,
     {{"p", 106}},
     MADE,
     3,
     {{0}},
     3},
    {"all released at once: the newest",
     6,
     {{"p", 4}, {"q", 6}},
     "l",
     NO_PIN,
     {{"p", 104}, {"q", 106}},
     MADE,
     6,
     {{0}},
     6},
    {"all released at once, named the other way",
     6,
     {{"p", 6}, {"q", 4}},
     "l",
     NO_PIN,
     {{"p", 106}, {"q", 104}},
     MADE,
     6,
     {{0}},
     6},
    {"released already", 4, {{"p", 4}}, "l", NO_PIN, {{"q", 106}}, THERE},
    {"the id was used anew", 4, {{"p", 4}}, "l", NO_PIN, {{"p", 106}}, THERE},
    {"nothing at all", 4, {{"p", 4}}, "l", NO_PIN, {{0}}, THERE},
    {"pin and release", 4, {{"p", 4}}, "l", {"q", 6}, {{"p", 104}}, MADE, 6, {{"q", 6}}, 6},
    {"pin there, release not",
     6,
     {{"p", 4}, {"q", 6}},
     "l",
     {"q", 6},
     {{"p", 104}},
     MADE,
     6,
     {{"q", 6}},
     6},
    {"pin not, release done",
     6,
     {{"q", 6}},
     "l",
     {"r", 8},
     {{"p", 104}},
     MADE,
     8,
     {{"q", 6}, {"r", 8}},
     6},
    {"overwritten in place", 4, {{"p", 4}}, "l", {"p", 6}, {{"p", 104}}, MADE, 6, {{"p", 6}}, 6},
    {"overwritten below", 6, {{"p", 6}}, "l", {"p", 4}, {{"p", 106}}, MADE, 6, {{"p", 4}}, 4},
    {"overwritten, below the hold",
     5,
     {{"p", 3}},
     "l",
     {"p", 4},
     {{"p", 103}},
     MADE,
     5,
     {{"p", 4}},
     4},
    {"overwritten by another nonce",
     4,
     {{"p", 4}},
     "l",
     {"p", 6},
     {{"p", 999}},
     REFUSED(BW_PIN_EXISTS)},
    {"refused whole",
     6,
     {{"p", 4}, {"q", 6}},
     "l",
     {"r", 11},
     {{"p", 104}},
     REFUSED(BW_BEYOND_END)},
    {"made and released at once", 6, {{"q", 6}}, "l", {"p", 4}, {{"p", 104}}, REFUSED(BW_INVALID)},
};

static pin pin_at(const char *id, uint64_t step)
{
    pin p = {.id = view_text(id), .nonce = 100 + step, .step = step, .item = 1};
    p.cursor_hash.bytes[0] = (uint8_t)step;
    return p;
}

static group group_of(const pin_case *t, pin pins[3])
{
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 7,
               .hold = t->hold,
               .pins = pins};
    while (g.pin_count < 3 && t->pins[g.pin_count].id != NULL) {
        pins[g.pin_count] = pin_at(t->pins[g.pin_count].id, t->pins[g.pin_count].step);
        g.pin_count++;
    }
    return g;
}

static void check_group(const pin_case *t, const manifest *draft)
{
    const group *g = manifest_group(draft, view_text("g"));
    uint32_t count = 0;
    while (count < 3 && t->after[count].id != NULL)
        count++;
    if (g->hold != t->hold_after || g->pin_count != count || draft->trim != t->trim)
        fail_msg("%s: hold %u, %u pins, trim %u", t->name, (unsigned)g->hold, g->pin_count,
                 (unsigned)draft->trim);
    bool there = t->wanted.id == NULL;
    for (uint32_t k = 0; k < 3 && !there && t->pins[k].id != NULL; k++)
        there = strcmp(t->pins[k].id, t->wanted.id) == 0 && t->pins[k].step == t->wanted.step;
    assert_int_equal(g->pinned, !there && t->wanted.step >= t->hold);
    for (uint32_t k = 0; k < count; k++) {
        const pin p = pin_at(t->after[k].id, t->after[k].step);
        assert_true(view_equal(g->pins[k].id, p.id));
        assert_int_equal(g->pins[k].step, p.step);
        assert_int_equal(g->pins[k].nonce, p.nonce);
        assert_int_equal(g->pins[k].item, 1);
        assert_true(hash_equal(&g->pins[k].cursor_hash, &p.cursor_hash));
    }
    assert_int_equal(g->launch_number, 7);
    assert_int_equal(g->last_version, 10);
    assert_int_equal(g->last_clock_ms, 77);
}

static void pin_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof pin_cases / sizeof *pin_cases; k++) {
        const pin_case *t = &pin_cases[k];
        producer_entry entries[1] = {entry_of("m", 1, &mine)};
        manifest base = base_of(entries, 1), draft;
        base_publish(&base, &entries[0], 10);
        pin pins[3], wanted = {.nonce = 0};
        group g = group_of(t, pins);
        pin_key releases[3];
        intent_result result;
        base.trim = 2;
        base.groups = &g;
        base.group_count = 1;
        intent i = {
            .kind = INTENT_PIN,
            .pin = {.group = view_text("g"), .launch = view_text(t->launch), .releases = releases}};
        if (t->wanted.id != NULL) {
            wanted = pin_at(t->wanted.id, t->wanted.step);
            i.pin.pin = &wanted;
        }
        while (i.pin.release_count < 3 && t->releases[i.pin.release_count].id != NULL) {
            const mark *m = &t->releases[i.pin.release_count];
            releases[i.pin.release_count++] = (pin_key){view_text(m->id), m->step};
        }
        const intent_verdict verdict = try_intent(&i, &base, &draft, &result);
        if (verdict != t->verdict || result.status != t->status)
            fail_msg("%s: verdict %u, %s", t->name, verdict, bw_status_name(result.status));
        if (verdict != INTENT_CANDIDATE)
            continue;
        check_group(t, &draft);
        harmless_again(&i, &draft, &base);
    }
}

/* Two groups, each with a last pin: what one gives up moves trim no further than the other's. */
static void the_last_pin_of_one_of_two_groups(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    pin old = pin_at("p", 3), new = pin_at("p", 8), next = pin_at("q", 9);
    group groups[2] = {{.name = view_text("g"),
                        .launch = view_text("l"),
                        .launch_number = 7,
                        .hold = 3,
                        .pins = &old,
                        .pin_count = 1},
                       {.name = view_text("h"),
                        .launch = view_text("k"),
                        .launch_number = 1,
                        .hold = 8,
                        .pins = &new,
                        .pin_count = 1}};
    base.groups = groups;
    base.group_count = 2;
    base.trim = 3;
    const pin_key key = {view_text("p"), 103};
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"),
                        .launch = view_text("l"),
                        .releases = &key,
                        .release_count = 1}};
    intent_result result;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(draft.trim, 3); /* the hold stays where the pin was */
    assert_int_equal(draft.groups[0].hold, 3);
    assert_int_equal(draft.groups[1].pin_count, 1);
    sound(&draft, &base);
    i.pin.pin = &next;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(draft.trim, 8); /* the other group's pin, though its id is the same */
    assert_int_equal(draft.groups[1].pins[0].step, 8);
    harmless_again(&i, &draft, &base);
}

/* T15: resumed before all its pins, a job pins a step and gives that pin back: what is left is of
 * the life that was rolled back, and the steps that this one has not read yet stay all the same. */
static void the_pins_of_another_life(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    pin pins[2] = {pin_at("p", 4), pin_at("q", 8)};
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 7,
               .hold = 2,
               .pins = pins,
               .pin_count = 2};
    base.groups = &g;
    base.group_count = 1;
    base.trim = 2;
    const pin made = pin_at("r", 6);
    const pin_key all[] = {{view_text("p"), 104}, {view_text("q"), 108}, {view_text("r"), 106}};
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &made}};
    intent_result result;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    manifest *pinned = next_of(&draft, &base);
    i.pin.pin = NULL;
    i.pin.releases = all;
    for (i.pin.release_count = 1; i.pin.release_count <= 3; i.pin.release_count++) {
        assert_int_equal(try_intent(&i, pinned, &draft, &result), INTENT_CANDIDATE);
        assert_int_equal(draft.groups[0].hold, 6);
        assert_int_equal(draft.trim, 6);
        harmless_again(&i, &draft, pinned);
    }
    manifest_unref(pinned);
}

/* The release of a checkpoint whose reply was lost, applied again after the id was used anew. */
static void a_release_applied_again_after_its_id_was_used_anew(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    pin pins[2] = {pin_at("p", 3), pin_at("q", 5)};
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 7,
               .hold = 5,
               .pins = pins,
               .pin_count = 2};
    base.groups = &g;
    base.group_count = 1;
    const pin_key key = {view_text("p"), 103};
    const pin anew = pin_at("p", 9);
    intent release = {.kind = INTENT_PIN,
                      .pin = {.group = view_text("g"),
                              .launch = view_text("l"),
                              .releases = &key,
                              .release_count = 1}};
    intent again = {.kind = INTENT_PIN,
                    .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &anew}};
    intent_result result;
    assert_int_equal(try_intent(&release, &base, &draft, &result), INTENT_CANDIDATE);
    manifest *released = next_of(&draft, &base);
    assert_int_equal(try_intent(&again, released, &draft, &result), INTENT_CANDIDATE);
    manifest *pinned = next_of(&draft, released);
    assert_int_equal(try_intent(&release, pinned, &draft, &result), INTENT_ALREADY);
    assert_int_equal(manifest_group(pinned, view_text("g"))->pin_count, 2);
    manifest_unref(pinned);
    manifest_unref(released);
}

static void what_cannot_be(void **state)
{
    (void)state;
    static char names[PINS_MAX][4];
    static pin many[PINS_MAX];
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    char longest[PIN_ID_MAX + 2];
    memset(longest, 'i', sizeof longest);
    longest[PIN_ID_MAX + 1] = 0;
    for (uint32_t k = 0; k < PINS_MAX; k++) {
        memcpy(names[k], "n00", 4);
        names[k][1] = (char)('0' + k / 10);
        names[k][2] = (char)('0' + k % 10);
        many[k] = pin_at(names[k], 5);
    }
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 7,
               .hold = 5,
               .pins = many,
               .pin_count = PINS_MAX};
    pin wanted = pin_at("p", 6);
    const pin_key key = {view_text("n07"), 105};
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &wanted}};
    intent_result result;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_GROUP_GONE);
    base.groups = &g;
    base.group_count = 1;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_PINS_FULL);
    i.pin.releases = &key;
    i.pin.release_count = 1;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(draft.groups[0].pin_count, PINS_MAX);
    harmless_again(&i, &draft, &base);
    wanted.id = view_text("");
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    wanted.id = view_text(longest);
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    wanted.id.size = PIN_ID_MAX;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    sound(&draft, &base);
}

/* The same pin again is success; the same id with another place or another cursor is another pin.
 */
static void the_same_pin_again(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    pin there = pin_at("p", 4), wanted = there;
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 7,
               .hold = 4,
               .pins = &there,
               .pin_count = 1};
    base.groups = &g;
    base.group_count = 1;
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &wanted}};
    intent_result result;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_ALREADY);
    /* Made by the launch before this one, which came back from step 2 and is as far again. */
    g.hold = 2;
    base.trim = 2;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    assert_true(draft.groups[0].hold == 4 && draft.groups[0].pinned && draft.trim == 4);
    assert_int_equal(draft.groups[0].pin_count, 1);
    harmless_again(&i, &draft, &base);
    wanted.item = 2;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_PIN_EXISTS);
    wanted = there;
    wanted.cursor_hash.bytes[3] ^= 1;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_PIN_EXISTS);
}

/* Checkpoints outlive the end of the data. */
static void a_sealed_namespace_takes_pins(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 10);
    base.sealed = true;
    group g = {.name = view_text("g"), .launch = view_text("l"), .launch_number = 7, .hold = 1};
    base.groups = &g;
    base.group_count = 1;
    const pin wanted = pin_at("p", 6);
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &wanted}};
    intent_result result;
    assert_int_equal(try_intent(&i, &base, &draft, &result), INTENT_CANDIDATE);
    assert_true(draft.sealed);
    harmless_again(&i, &draft, &base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pin_table),
        cmocka_unit_test(the_pins_of_another_life),
        cmocka_unit_test(the_last_pin_of_one_of_two_groups),
        cmocka_unit_test(a_release_applied_again_after_its_id_was_used_anew),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(the_same_pin_again),
        cmocka_unit_test(a_sealed_namespace_takes_pins),
    };
    return cmocka_run_group_tests_name("intent_pin", tests, bases_begin, bases_end);
}
