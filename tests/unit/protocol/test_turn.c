// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/clock.h"
#include "protocol/turn.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#define MS NS_PER_MS
#define TAIL_CAP 8192u
/* With creates of 60 ms and, until the first look, half of that for a GET. */
#define SLOT (210 * MS)

/* A version and who published last when: "a40 b41" … in the order of ids. */
typedef struct base {
    manifest m;
    producer_entry entries[16];
    char names[16][8];
} base;

static manifest *stand_at(base *b, uint64_t version, const char *last, const char *producers)
{
    memset(b, 0, sizeof *b);
    b->m.version = version;
    b->m.turn = view_text(last);
    b->m.producers = b->entries;
    for (const char *at = producers; *at != '\0';) {
        producer_entry *e = &b->entries[b->m.producer_count];
        char *name = b->names[b->m.producer_count++];
        name[0] = *at++;
        e->id = view_text(name);
        for (; *at >= '0' && *at <= '9'; at++)
            e->last_publish = e->last_publish * 10 + (uint64_t)(*at - '0');
        for (; *at == ' ' || *at == '!'; at++)
            e->finished |= *at == '!';
    }
    return &b->m;
}

static rng r;

static void opened(turn *t, const char *id, const manifest *m, int64_t now_ns)
{
    rng_seed(&r, 1);
    turn_open(t, view_text(id), TAIL_CAP, 60 * MS);
    assert_int_equal(turn_caught_up(t, now_ns, m, &r), BW_OK);
}

/* Rule 1: the k-th of the youngest is a member up to an age of 2 (k + 1) + 8 versions. */
static void members(void **state)
{
    (void)state;
    static const struct {
        uint64_t version;
        const char *producers, *id;
        bool is;
    } rows[] = {
        {50, "a50 b49", "a", true},
        {60, "a50", "a", true},       /* alone, ten versions ago */
        {61, "a50", "a", false},      /* eleven */
        {62, "a50 b61", "a", true},   /* second of two: twelve */
        {63, "a50 b61", "a", false},  /* thirteen */
        {50, "a50! b49", "a", false}, /* finished */
        {63, "a50 b61!", "a", false}, /* whose place nobody keeps */
        {62, "a50 b61!", "a", false},
        {5, "a0 b4", "a", false}, /* never published, however young the chain is */
        {50, "b49", "a", false},  /* unknown */
        {64, "a50 b61 c62", "a", true},
        {65, "a50 b61 c62", "a", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        base b;
        turn t;
        const manifest *m = stand_at(&b, rows[i].version, "", rows[i].producers);
        if (turn_is_member(m, view_text(rows[i].id)) != rows[i].is)
            fail_msg("%s in %s at %d", rows[i].id, rows[i].producers, (int)rows[i].version);
        opened(&t, rows[i].id, m, NS_PER_S); /* counts them in another way */
        assert_int_equal(t.is_member, rows[i].is);
        turn_close(&t);
    }
}

/* Rule 2: by id, around, strictly between; who had the turn comes last. */
static void who_comes_before(void **state)
{
    (void)state;
    static const struct {
        const char *last, *id;
        uint32_t before;
    } rows[] = {
        {"a", "b", 0}, {"a", "c", 1}, {"a", "d", 2},  {"a", "a", 3},  {"c", "d", 0},
        {"c", "a", 1}, {"c", "b", 2}, {"c", "c", 3},  {"d", "a", 0},  {"d", "d", 3},
        {"", "a", 0},  {"", "d", 3},  {"bb", "c", 0}, {"bb", "b", 3}, {"z", "a", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        base b;
        turn t;
        opened(&t, rows[i].id, stand_at(&b, 50, rows[i].last, "a50 b49 c48 d47"), NS_PER_S);
        assert_int_equal(t.members, 4);
        if (t.before != rows[i].before)
            fail_msg("%s after %s: %u, not %u", rows[i].id, rows[i].last, t.before, rows[i].before);
        turn_close(&t);
    }
}

static void expect(turn_advice a, turn_act act, int64_t at_ns, uint64_t version)
{
    assert_int_equal(a.act, act);
    if (act == TURN_WAIT)
        assert_int_equal(a.at_ns, at_ns);
    if (act == TURN_LOOK)
        assert_int_equal(a.version, version);
}

/* Rule 7: whoever is next goes at once on a version that it saw appear, and looks first when it
 * does not know how old the version is. */
static void the_next_one(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    opened(&t, "b", stand_at(&b, 49, "c", "a40 b48 c49"), now);
    assert_int_equal(t.before, 1);
    expect(turn_ask(&t, now, now), TURN_LOOK, 0, 50);
    assert_int_equal(turn_looked(&t, 50, now, now + 30 * MS, &b.m, &r), BW_OK); /* not there */
    expect(turn_ask(&t, now, now + 30 * MS), TURN_WAIT, now + 37 * MS + MS / 2, 0);
    manifest *m = stand_at(&b, 50, "a", "a50 b48 c49");
    assert_int_equal(turn_looked(&t, 50, now + 38 * MS, now + 98 * MS, m, &r), BW_OK);
    assert_int_equal(t.before, 0);
    expect(turn_ask(&t, now, now + 98 * MS), TURN_COMMIT, 0, 0);
    /* Had it slept until its slot was over, it would look first. */
    expect(turn_ask(&t, now, now + 98 * MS + SLOT), TURN_LOOK, 0, 51);
    /* And what the look did not find lets it go. */
    const int64_t late = now + 98 * MS + SLOT;
    assert_int_equal(turn_looked(&t, 51, late, late + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, late + 30 * MS), TURN_COMMIT, 0, 0);
    expect(turn_ask(&t, now, late + 80 * MS), TURN_LOOK, 0, 51); /* an old answer */
    turn_close(&t);
}

/* Rules 4 and 5: an owner that does not come costs its slot, and only that. */
static void an_absent_owner_costs_a_slot(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    opened(&t, "c", stand_at(&b, 50, "a", "a50 b49 c48"), now);
    assert_int_equal(t.before, 1);
    assert_int_equal(t.slots_ns, SLOT);
    expect(turn_ask(&t, now, now + SLOT - 1), TURN_LOOK, 0, 51);
    assert_int_equal(turn_looked(&t, 51, now + SLOT, now + SLOT + 30 * MS, &b.m, &r), BW_OK);
    expect(turn_ask(&t, now, now + SLOT + 30 * MS), TURN_COMMIT, 0, 0);
    turn_close(&t);
    /* A slow one says so in the map, and is given up to eight of our slots. */
    manifest *m = stand_at(&b, 50, "a", "a50 b49 c48");
    b.entries[1].slot_ms = 500;
    opened(&t, "c", m, now);
    assert_int_equal(t.slots_ns, 500 * MS);
    turn_close(&t);
    b.entries[1].slot_ms = 60000;
    opened(&t, "c", m, now);
    assert_int_equal(t.slots_ns, 8 * SLOT);
    turn_close(&t);
    /* Every 128 versions the first slot is for guests, twice as long every 256. */
    opened(&t, "c", stand_at(&b, 127, "a", "a127 b126 c125"), now);
    assert_int_equal(t.window_ns, SLOT);
    turn_close(&t);
    opened(&t, "c", stand_at(&b, 255, "a", "a255 b254 c253"), now);
    assert_int_equal(t.window_ns, 2 * SLOT);
    turn_close(&t);
}

/* Rule 6: a slot that passed with nothing staged comes again a round later; a silent chain is free.
 */
static void missed_slots_and_silence(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    opened(&t, "c", stand_at(&b, 50, "a", "a50 b49 c48"), now);
    const int64_t ready = now + SLOT + 100 * MS;
    assert_int_equal(turn_looked(&t, 51, ready, ready + 30 * MS, &b.m, &r), BW_OK);
    const turn_advice a = turn_ask(&t, ready, ready + 30 * MS);
    assert_true(a.act == TURN_WAIT || a.act == TURN_LOOK);
    /* Twenty commits' times and more after the last version. */
    const int64_t silent = now + 50 * NS_PER_S;
    assert_int_equal(turn_looked(&t, 51, silent, silent + 30 * MS, &b.m, &r), BW_OK);
    expect(turn_ask(&t, silent, silent + 30 * MS), TURN_COMMIT, 0, 0);
    turn_close(&t);
}

/* Rule 9: it sleeps for less than the turns before it can take, never for what they take on
 * average.
 */
static void sleep_is_a_lower_bound(void **state)
{
    (void)state;
    base b;
    turn t;
    int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "a", "a50 b49 c48 d47 e46 f45 g44 h43");
    opened(&t, "h", m, now);
    assert_int_equal(t.before, 6);
    t.interval_ns = t.observed_ns = 2 * NS_PER_S; /* however slow the chain was lately */
    t.ahead = 3;
    expect(turn_ask(&t, now, now), TURN_LOOK, 0, 53);
    assert_int_equal(turn_looked(&t, 53, now, now + 30 * MS, m, &r), BW_OK);
    const turn_advice a = turn_ask(&t, now, now + 30 * MS);
    assert_int_equal(a.act, TURN_WAIT);
    assert_true(a.at_ns <= now + 3 * 100 * MS); /* three turns of a create, a GET and a third */
    assert_true(a.at_ns > now + 200 * MS);
    turn_close(&t);
}

/* Rule 12: a guest goes at once on a new version, else when nobody took the next slot; after each
 * lost race it waits longer. */
static void guests(void **state)
{
    (void)state;
    base b;
    turn t;
    int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "a", "a50 b49");
    opened(&t, "g", m, now);
    assert_false(t.is_member);
    expect(turn_ask(&t, now, now), TURN_LOOK, 0, 51);
    assert_int_equal(turn_looked(&t, 51, now, now + 30 * MS, m, &r), BW_OK);
    m = stand_at(&b, 51, "b", "a50 b51");
    assert_int_equal(turn_looked(&t, 51, now + 40 * MS, now + 100 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 100 * MS), TURN_COMMIT, 0, 0);
    expect(turn_ask(&t, now, now + 200 * MS), TURN_LOOK, 0, 52);
    int64_t longest = 0;
    for (uint32_t i = 0; i < 20; i++) {
        now += 10 * NS_PER_S;
        m = stand_at(&b, 60 + i, "b", "a50 b51");
        b.entries[0].last_publish = b.entries[1].last_publish = 59 + i;
        assert_int_equal(turn_lost(&t, now, m, &r), BW_OK);
        longest = t.guest_ns - now > longest ? t.guest_ns - now : longest;
        if (t.guest_ns > now)
            expect(turn_ask(&t, now, now), TURN_WAIT, t.guest_ns, 0);
    }
    assert_true(longest > NS_PER_S / 2);
    assert_true(longest < 4 * NS_PER_S); /* two entries in the map: not for ever */
    turn_close(&t);
}

/* Who heard nothing for long walks to the newest, instead of asking for one version after another.
 */
static void sleepers_catch_up(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S, later = now + 3600 * NS_PER_S;
    opened(&t, "b", stand_at(&b, 50, "a", "a50 b49"), now);
    expect(turn_ask(&t, later, later), TURN_CATCH_UP, 0, 0);
    assert_int_equal(turn_caught_up(&t, later, stand_at(&b, 9000, "a", "a9000 b8999"), &r), BW_OK);
    expect(turn_ask(&t, later, later), TURN_LOOK, 0, 9001);
    turn_close(&t);
}

/* Alone there is nobody to wait for. */
static void alone(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    opened(&t, "a", stand_at(&b, 50, "a", "a50"), now);
    expect(turn_ask(&t, now, now), TURN_COMMIT, 0, 0);
    assert_int_equal(turn_committed(&t, 60 * MS, now + 100 * MS, stand_at(&b, 51, "a", "a51"), &r),
                     BW_OK);
    expect(turn_ask(&t, now + 110 * MS, now + 110 * MS), TURN_COMMIT, 0, 0);
    assert_true(turn_slot_ms(&t) >= 210);
    /* Nor anybody to look for, however long it slept. */
    expect(turn_ask(&t, now + 3600 * NS_PER_S, now + 3600 * NS_PER_S), TURN_VISIT, 0, 0);
    turn_close(&t);
}

/* Commits far apart: an ordinary one finds what was made meanwhile with fewer requests. */
static void a_quiet_chain(void **state)
{
    (void)state;
    base b;
    turn t;
    int64_t now = 100 * NS_PER_S;
    opened(&t, "b", stand_at(&b, 50, "a", "a50 b49"), now);
    for (uint64_t version = 51; version < 80; version += 2) {
        char map[32];
        (void)snprintf(map, sizeof map, "a%d b%d", (int)version - 1, (int)version);
        now += 60 * NS_PER_S;
        assert_int_equal(turn_committed(&t, 60 * MS, now, stand_at(&b, version, "b", map), &r),
                         BW_OK);
    }
    now += 60 * NS_PER_S;
    expect(turn_ask(&t, now, now), TURN_VISIT, 0, 0);
    turn_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members),
        cmocka_unit_test(who_comes_before),
        cmocka_unit_test(the_next_one),
        cmocka_unit_test(an_absent_owner_costs_a_slot),
        cmocka_unit_test(missed_slots_and_silence),
        cmocka_unit_test(sleep_is_a_lower_bound),
        cmocka_unit_test(guests),
        cmocka_unit_test(sleepers_catch_up),
        cmocka_unit_test(alone),
        cmocka_unit_test(a_quiet_chain),
    };
    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
