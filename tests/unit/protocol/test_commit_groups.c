// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The commit machine with the intents of groups and of the sweep: lost replies, lost races, and
 * what a witness says when the name of an attempt was retired meanwhile.
 *
 * Producers' entries, seal and swept step only go on, so that a witness can say lost. Pins and
 * groups come and go: it can say made when it sees them, and else nothing for sure (R8). One handle
 * makes one commit at a time and ends it before the next, so that it cannot itself have released
 * the pin that its witness looks for; an operator, or the next launch, can.
 */
#include "world.h"

#include "protocol/launch.h"
#include <string.h>

/* The group "g" of launch "l1" has pins "a" at step 4 and "b" at step 6 of ten; trim is 4. Block
 * size 2: blocks go once the newest version is two blocks on. */
typedef struct scene {
    world w;
    actor p, q;     /* producers; q has nothing published */
    actor t;        /* the trainer, whose commit the stories are about */
    actor somebody; /* somebody else */
    cursor cursor;
    pin a, b, c;
    pin_key key_a, key_c;
    swept_producer swept[2];
} scene;

static pin pin_at(const char *id, uint64_t nonce, uint64_t step)
{
    return (pin){.id = view_text(id), .nonce = nonce, .step = step};
}

static intent launch_as(scene *s, const char *launch)
{
    return (intent){.kind = INTENT_LAUNCH,
                    .launch = {.name = view_text("g"),
                               .launch = view_text(launch),
                               .start = LAUNCH_EARLIEST,
                               .cursor = &s->cursor}};
}

static intent pin_as(const char *launch, const pin *p)
{
    return (intent){.kind = INTENT_PIN,
                    .pin = {.group = view_text("g"), .launch = view_text(launch), .pin = p}};
}

static intent release_as(const char *launch, const pin_key *key)
{
    return (intent){.kind = INTENT_PIN,
                    .pin = {.group = view_text("g"),
                            .launch = view_text(launch),
                            .releases = key,
                            .release_count = 1}};
}

static intent group_rm_as(const char *launch)
{
    return (intent){.kind = INTENT_GROUP_RM, .group_rm = {view_text("g"), view_text(launch)}};
}

/* All steps are p's, of 316 bytes and ten offsets each. */
static intent swept_to(scene *s, uint32_t slot, uint64_t from, uint64_t to)
{
    s->swept[slot] = (swept_producer){view_text("p"), to, 10 * to};
    return (intent){.kind = INTENT_SWEPT,
                    .swept = {.from = from,
                              .step = to,
                              .bytes = 316 * (to - from),
                              .producers = &s->swept[slot],
                              .producer_count = 1}};
}

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    world_open(&s->w, &(world_options){.tail_cap = 65536});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_start(&s->t, &s->w, "t");
    actor_start(&s->somebody, &s->w, "operator");
    s->cursor = (cursor){.dp = 1};
    s->a = pin_at("a", 1, 4);
    s->b = pin_at("b", 2, 6);
    s->c = pin_at("c", 3, 8);
    s->key_a = (pin_key){view_text("a"), 1};
    s->key_c = (pin_key){view_text("c"), 3};
    actor_open(&s->p);
    actor_open(&s->q);
    actor_publish(&s->p, 10);
    const intent launch = launch_as(s, "l1"), a = pin_as("l1", &s->a), b = pin_as("l1", &s->b);
    actor_commit(&s->t, &launch);
    actor_commit(&s->t, &a);
    actor_commit(&s->t, &b);
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    actor_stop(&s->q);
    actor_stop(&s->t);
    actor_stop(&s->somebody);
    world_close(&s->w);
}

static void ends(const actor *a, commit_end end, bw_status status, bool open_unknown)
{
    const commit_report *r = actor_report(a);
    if (r->end != end || r->status != status || r->open_unknown != open_unknown)
        fail_msg("end %d, %s, in doubt %d: %s", (int)r->end, bw_status_name(r->status),
                 r->open_unknown, r->error.message);
}

/* ---- each kind of commit ---- */

typedef enum kind { RESUME, PIN, RELEASE, PIN_AND_RELEASE, REMOVE, FORGET, SWEPT, KINDS } kind;

static intent make(scene *s, kind k)
{
    intent i = pin_as("l1", &s->c);
    switch (k) {
    case RESUME:
        return launch_as(s, "l2");
    case RELEASE:
        return release_as("l1", &s->key_a);
    case PIN_AND_RELEASE:
        i.pin.releases = &s->key_a;
        i.pin.release_count = 1;
        return i;
    case REMOVE:
        return group_rm_as("l1");
    case FORGET:
        return (intent){.kind = INTENT_FORGET, .forget = {view_text("q"), 1}};
    case SWEPT:
        return swept_to(s, 0, 0, 4);
    default:
        return i;
    }
}

/* Is it in the manifest, once and whole? */
static void check_made(scene *s, kind k)
{
    chain *c = world_chain(&s->w);
    const manifest *m = chain_held(c);
    const group *g = manifest_group(m, view_text("g"));
    const uint32_t pins = g != NULL ? g->pin_count : 0;
    bool made = false;
    switch (k) {
    case RESUME:
        made = g != NULL && view_equal(g->launch, view_text("l2")) && g->launch_number == 2 &&
               !g->pinned && g->hold == 4 && pins == 2;
        break;
    case PIN:
        made = g != NULL && pins == 3 && g->pins[2].nonce == 3 && m->trim == 4;
        break;
    case RELEASE:
        made = g != NULL && pins == 1 && g->pins[0].nonce == 2 && m->trim == 6;
        break;
    case PIN_AND_RELEASE:
        made = g != NULL && pins == 2 && g->pins[0].nonce == 2 && g->pins[1].nonce == 3 &&
               m->trim == 6;
        break;
    case REMOVE:
        made = g == NULL && m->trim == 4;
        break;
    case FORGET:
        made = manifest_producer(m, view_text("q"))->forgotten;
        break;
    default:
        made = m->swept == 4 && m->swept_bytes == 4 * 316 && m->producers[0].swept_seq == 4 &&
               m->producers[0].swept_offset == 40;
    }
    if (!made)
        fail_msg("kind %d is not what version %u says", (int)k, (unsigned)m->version);
    chain_free(c);
}

/* The create is on its way and nobody knows. */
static void hold(scene *s, const intent *i)
{
    world_fault(&s->w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_intent(&s->t, i);
    assert_false(actor_drive(&s->t));
}

/* The block of the attempt's name is retired. */
static void retire(scene *s)
{
    const uint64_t version = actor_report(&s->t)->open_version;
    do
        actor_publish(&s->p, 1);
    while (!world_has_manifest(&s->w, version + 6));
    (void)world_sweep(&s->w);
    assert_false(world_has_manifest(&s->w, version));
}

/* R5: UNKNOWN, and the same create again finds our own nonce. */
static void lost_replies(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        scene s;
        set_up(&s);
        const intent i = make(&s, k);
        world_fault(&s.w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
        actor_commit(&s.t, &i);
        assert_int_equal(commit_counted(s.t.commit)->exists_ours, 1);
        assert_int_equal(actor_report(&s.t)->conflicts, 0);
        check_made(&s, k);
        tear_down(&s);
    }
}

/* R5: another's manifest stands there: the intent is applied to it, and made after it. */
static void lost_races(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        scene s;
        set_up(&s);
        const intent i = make(&s, k);
        hold(&s, &i);
        actor_publish(&s.p, 2);
        assert_true(actor_release(&s.t, true, STORE_PENDING));
        ends(&s.t, COMMIT_DONE, BW_OK, false);
        assert_int_equal(commit_counted(s.t.commit)->exists_other, 1);
        assert_int_equal(actor_report(&s.t)->conflicts, 1);
        assert_int_equal(actor_report(&s.t)->attempts, 2);
        check_made(&s, k);
        tear_down(&s);
    }
}

/* R8: made, then retired: the witness sees the key. */
static void a_witness_of_what_was_made(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        scene s;
        set_up(&s);
        const intent i = make(&s, k);
        hold(&s, &i);
        assert_int_equal(world_apply_held(&s.w), STORE_CREATED);
        retire(&s);
        assert_true(actor_release(&s.t, true, STORE_PENDING)); /* CREATED, on a dead name */
        ends(&s.t, COMMIT_DONE, BW_OK, false);
        assert_int_equal(commit_counted(s.t.commit)->witness_made, 1);
        assert_int_equal(actor_report(&s.t)->attempts, 1);
        check_made(&s, k);
        tear_down(&s);
    }
}

/* R8: never made: it is made above. The launch keeps the number that its first base fixed. */
static void a_witness_of_what_was_not_made(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        scene s;
        set_up(&s);
        const intent i = make(&s, k);
        hold(&s, &i);
        retire(&s);
        assert_true(actor_release(&s.t, true, STORE_PENDING));
        ends(&s.t, COMMIT_DONE, BW_OK, false);
        assert_int_equal(commit_counted(s.t.commit)->witness_lost, 1);
        assert_int_equal(commit_counted(s.t.commit)->marker_after_created, 1);
        check_made(&s, k);
        tear_down(&s);
    }
}

/* ---- made, and undone by others before the witness looks ---- */

typedef struct undone_case {
    const char *name;
    kind ours;
    bool lands;
    kind others[2]; /* KINDS: none; RELEASE: of our own pin */
    commit_end end;
    bw_status status;
    bool open_unknown;
} undone_case;

static const undone_case undone_cases[] = {
    {"launch, and the next launch", RESUME, true, {RESUME, KINDS}, COMMIT_REFUSED, BW_FENCED, true},
    {"no launch, but the next", RESUME, false, {RESUME, KINDS}, COMMIT_REFUSED, BW_FENCED, true},
    {"launch, and group rm", RESUME, true, {REMOVE, KINDS}, COMMIT_REFUSED, BW_GROUP_GONE, true},
    {"launch, rm, registered", RESUME, true, {REMOVE, RESUME}, COMMIT_REFUSED, BW_FENCED, true},
    {"pin, released by an operator: made again",
     PIN,
     true,
     {RELEASE, KINDS},
     COMMIT_DONE,
     BW_OK,
     false},
    {"pin, and the next launch: there it is",
     PIN,
     true,
     {RESUME, KINDS},
     COMMIT_DONE,
     BW_OK,
     false},
    {"no pin, but the next launch", PIN, false, {RESUME, KINDS}, COMMIT_REFUSED, BW_FENCED, true},
    {"pin, and group rm", PIN, true, {REMOVE, KINDS}, COMMIT_REFUSED, BW_GROUP_GONE, true},
    {"group rm, registered", REMOVE, true, {RESUME, KINDS}, COMMIT_REFUSED, BW_FENCED, true},
    {"no group rm, but the next launch",
     REMOVE,
     false,
     {RESUME, KINDS},
     COMMIT_REFUSED,
     BW_FENCED,
     true},
    {"forgotten, and opened again", FORGET, true, {FORGET, KINDS}, COMMIT_REFUSED, BW_FENCED, true},
    {"not swept so far, but less: swept goes on only",
     SWEPT,
     false,
     {SWEPT, KINDS},
     COMMIT_REFUSED,
     BW_FENCED,
     false},
};

/* By now the group's launch is the trainer's "l1" or "l2". */
static void undo(scene *s, const undone_case *t, kind k)
{
    const bool launched = t->ours == RESUME && t->lands;
    intent i;
    if (k == RESUME)
        i = launch_as(s, "l3");
    else if (k == RELEASE)
        i = release_as("l1", &s->key_c);
    else if (k == REMOVE)
        i = group_rm_as(launched ? "l2" : "l1");
    else if (k == SWEPT)
        i = swept_to(s, 1, 0, 2);
    else {
        actor_open(&s->q);
        return;
    }
    actor_commit(&s->somebody, &i);
}

static void begin_undone(scene *s, const undone_case *t)
{
    set_up(s);
    const intent i = make(s, t->ours);
    hold(s, &i);
    if (t->lands)
        assert_int_equal(world_apply_held(&s->w), STORE_CREATED);
    for (uint32_t k = 0; k < 2 && t->others[k] != KINDS; k++)
        undo(s, t, t->others[k]);
    retire(s);
}

static void a_witness_after_others(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof undone_cases / sizeof *undone_cases; k++) {
        const undone_case *t = &undone_cases[k];
        scene s;
        begin_undone(&s, t);
        assert_true(actor_release(&s.t, true, STORE_PENDING));
        const commit_report *r = actor_report(&s.t);
        if (r->end != t->end || r->status != t->status || r->open_unknown != t->open_unknown)
            fail_msg("%s: end %d, %s, in doubt %d", t->name, (int)r->end, bw_status_name(r->status),
                     r->open_unknown);
        if (t->ours == PIN && t->end == COMMIT_DONE) {
            chain *c = world_chain(&s.w);
            const group *g = manifest_group(chain_held(c), view_text("g"));
            assert_int_equal(g->pin_count, 3);
            chain_free(c);
        }
        tear_down(&s);
    }
}

/* A pin that its witness does not see is not lost: past the deadline it is UNKNOWN, and where the
 * chain refuses it now, the refusal says nothing about then. */
static void a_pin_in_doubt(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    intent i = pin_as("l1", &s.c);
    s.w.patience_ns = 50 * NS_PER_MS;
    hold(&s, &i);
    assert_int_equal(world_apply_held(&s.w), STORE_CREATED);
    s.w.patience_ns = 0;
    const intent release = release_as("l1", &s.key_c);
    actor_commit(&s.somebody, &release);
    retire(&s);
    s.w.now_ns += 50 * NS_PER_MS;
    assert_true(actor_release(&s.t, true, STORE_PENDING));
    ends(&s.t, COMMIT_FAILED, BW_UNKNOWN, true);

    /* And now it lies below trim. */
    const pin far = pin_at("far", 9, s.p.seq);
    const pin_key rest[3] = {{view_text("a"), 1}, {view_text("b"), 2}, {view_text("c"), 3}};
    intent free_all = pin_as("l1", &far);
    free_all.pin.releases = rest;
    free_all.pin.release_count = 3;
    hold(&s, &i);
    actor_commit(&s.somebody, &free_all);
    retire(&s);
    assert_true(actor_release(&s.t, true, STORE_PENDING));
    ends(&s.t, COMMIT_REFUSED, BW_TRIMMED, true);

    /* The next commit of the handle is another matter. */
    actor_begin_intent(&s.t, &i);
    assert_true(actor_drive(&s.t));
    ends(&s.t, COMMIT_REFUSED, BW_TRIMMED, false);
    tear_down(&s);
}

/* ---- what a held base says may be long gone ---- */

static uint32_t pins_now(scene *s)
{
    chain *c = world_chain(&s->w);
    const group *g = manifest_group(chain_held(c), view_text("g"));
    const uint32_t pins = g != NULL ? g->pin_count : 0;
    chain_free(c);
    return pins;
}

/* The trainer pins again what an operator has released since: its own base still has it. */
static void a_pin_that_was_released_elsewhere(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    const intent keep = pin_as("l1", &s.c), release = release_as("l1", &s.key_c);
    actor_commit(&s.t, &keep);
    actor_commit(&s.somebody, &release);
    assert_int_equal(pins_now(&s), 2);
    actor_commit(&s.t, &keep);
    assert_int_equal(pins_now(&s), 3);
    /* And once more: it is there, and nothing is written for it. */
    const uint64_t creates = s.w.asked[STORE_CREATE];
    actor_commit(&s.t, &keep);
    assert_int_equal(s.w.asked[STORE_CREATE], creates);
    /* The other way round: the operator's base still lacks it, and release would be told done. */
    actor_commit(&s.somebody, &release);
    assert_int_equal(pins_now(&s), 2);
    tear_down(&s);
}

/* No group, no launch, no producer: a newer base may know them. */
static void what_an_old_base_does_not_know(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    const intent nothing = release_as("l1", &s.key_c);
    actor_commit(&s.somebody, &nothing); /* has a base from now on */
    const intent second = launch_as(&s, "l2"), keep = pin_as("l2", &s.c);
    actor_commit(&s.t, &second);
    actor_commit(&s.somebody, &keep); /* FENCED, says its base */
    assert_int_equal(pins_now(&s), 3);
    actor late, next;
    actor_start(&late, &s.w, "late");
    actor_start(&next, &s.w, "next");
    actor_open(&late);
    const intent forget = {.kind = INTENT_FORGET, .forget = {view_text("late"), 1}};
    actor_commit(&s.somebody, &forget); /* no such producer, says its base */
    const intent rm = group_rm_as("l2"), again = launch_as(&s, "l3"), rm_again = group_rm_as("l3");
    actor_commit(&s.somebody, &rm);
    /* A launch is for what its call saw first: from a base that has the group it is refused, and
     * the next call, which knows that it is gone, registers it. */
    actor_begin_intent(&s.t, &again);
    assert_true(actor_drive(&s.t));
    ends(&s.t, COMMIT_REFUSED, BW_GROUP_GONE, false);
    actor_commit(&next, &again);
    actor_commit(&s.somebody, &rm_again); /* no group, says its base: nothing to remove */
    chain *c = world_chain(&s.w);
    assert_int_equal(chain_held(c)->group_count, 0);
    chain_free(c);
    actor_stop(&late);
    actor_stop(&next);
    tear_down(&s);
}

/* A zombie trainer: everything it asks for is refused, and for good. */
static void a_zombie_trainer(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    const intent second = launch_as(&s, "l2");
    actor_commit(&s.somebody, &second);
    const intent again = launch_as(&s, "l1"); /* its own base says that this launch is there */
    actor_begin_intent(&s.t, &again);
    assert_true(actor_drive(&s.t));
    ends(&s.t, COMMIT_REFUSED, BW_FENCED, false);
    const pin_key both[2] = {{view_text("a"), 1}, {view_text("b"), 2}};
    intent asks[4] = {pin_as("l1", &s.c), pin_as("l1", &s.a), release_as("l1", &s.key_a),
                      release_as("l1", both)};
    asks[3].pin.release_count = 2;
    for (uint32_t k = 0; k < 4; k++) {
        actor_begin_intent(&s.t, &asks[k]);
        assert_true(actor_drive(&s.t));
        ends(&s.t, COMMIT_REFUSED, BW_FENCED, false);
    }
    assert_int_equal(pins_now(&s), 2);
    const intent rm = group_rm_as("l1");
    actor_begin_intent(&s.t, &rm);
    assert_true(actor_drive(&s.t));
    ends(&s.t, COMMIT_REFUSED, BW_FENCED, false);
    tear_down(&s);
}

/* Two launches race from one base: one begins, the other is fenced for its fixed number, though it
 * would fit the newest base. */
static void two_launches_one_wins(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    const intent second = launch_as(&s, "l2"), third = launch_as(&s, "l3");
    hold(&s, &second);
    actor_commit(&s.somebody, &third);
    assert_true(actor_release(&s.t, true, STORE_PENDING));
    ends(&s.t, COMMIT_REFUSED, BW_FENCED, false);
    actor_commit(&s.t, &second); /* another call */
    chain *c = world_chain(&s.w);
    assert_int_equal(manifest_group(chain_held(c), view_text("g"))->launch_number, 3);
    chain_free(c);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_replies),
        cmocka_unit_test(lost_races),
        cmocka_unit_test(a_witness_of_what_was_made),
        cmocka_unit_test(a_witness_of_what_was_not_made),
        cmocka_unit_test(a_witness_after_others),
        cmocka_unit_test(a_pin_in_doubt),
        cmocka_unit_test(a_pin_that_was_released_elsewhere),
        cmocka_unit_test(what_an_old_base_does_not_know),
        cmocka_unit_test(a_zombie_trainer),
        cmocka_unit_test(two_launches_one_wins),
    };
    return cmocka_run_group_tests_name("commit_groups", tests, NULL, NULL);
}
