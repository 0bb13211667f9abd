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

/* A version and who committed last when: "a40 b41!" … in the order of ids; finished !, forgotten ?.
 */
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
            e->last_commit = e->last_commit * 10 + (uint64_t)(*at - '0');
        for (; *at == ' ' || *at == '!' || *at == '?'; at++) {
            e->finished |= *at == '!';
            e->forgotten |= *at == '?';
        }
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
        {50, "a50? b49", "a", false}, /* forgotten */
        {62, "a50 b61?", "a", false},
        {5, "a5 b4", "a", true}, /* has just opened, and published nothing yet */
        {50, "b49", "a", false}, /* unknown */
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

/* Rule 7: how old a version can be that was not itself seen absent: what was absent before it, and
 * each version since, took a turn at least. */
static void young_enough(void **state)
{
    (void)state;
    static const char *const all = "a50 b49 c48 d47";
    const int64_t least = 80 * MS; /* 80 % of a create, a GET and a third */
    const int64_t now = 100 * NS_PER_S;
    base b;
    turn t;
    opened(&t, "d", stand_at(&b, 50, "a", all), now);
    assert_int_equal(t.before, 2);
    assert_int_equal(turn_looked(&t, 51, now, now + 30 * MS, &b.m, &r), BW_OK); /* not there */
    /* Three later: b, c and a guest. */
    manifest *m = stand_at(&b, 53, "c", "a50 b51 c52 d47");
    const int64_t then = now + 350 * MS;
    assert_int_equal(turn_looked(&t, 53, then - 60 * MS, then, m, &r), BW_OK);
    assert_int_equal(t.before, 0);
    assert_int_equal(t.made_ns, now + 2 * least);
    expect(turn_ask(&t, now, then), TURN_COMMIT, 0, 0);
    expect(turn_ask(&t, now, now + 2 * least + SLOT), TURN_COMMIT, 0, 0);
    expect(turn_ask(&t, now, now + 2 * least + SLOT + 1), TURN_LOOK, 0, 54);
    turn_close(&t);
    /* A look further ahead that found nothing tells of what comes after it only. */
    opened(&t, "d", stand_at(&b, 50, "a", all), now);
    assert_int_equal(turn_looked(&t, 53, now, now + 30 * MS, &b.m, &r), BW_OK);
    m = stand_at(&b, 52, "c", "a50 b51 c52 d47");
    assert_int_equal(turn_looked(&t, 52, now + 40 * MS, now + 100 * MS, m, &r), BW_OK);
    assert_int_equal(t.before, 0);
    expect(turn_ask(&t, now + 90 * MS, now + 100 * MS), TURN_LOOK, 0, 53);
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
    /* What was absent before the slot was over may have been made since. */
    opened(&t, "c", stand_at(&b, 50, "a", "a50 b49 c48"), now);
    assert_int_equal(turn_looked(&t, 51, now + SLOT - 1, now + SLOT + 30 * MS, &b.m, &r), BW_OK);
    expect(turn_ask(&t, now, now + SLOT + 30 * MS), TURN_LOOK, 0, 51);
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
}

/* Rule 4: every 256 versions the first slot is for guests, longer every 512, 1024 …; and whoever
 * has to fold before its create is given the time. */
static void windows(void **state)
{
    (void)state;
    static const struct {
        uint64_t version;
        const char *producers;
        uint32_t tail_bytes;
        int64_t window_ns;
    } rows[] = {
        {254, "a254 b253", 0, 0},
        {255, "a255 b254", 0, SLOT},
        {256, "a256 b255", 0, 0},
        {511, "a511 b510", 0, 2 * SLOT},
        {767, "a767 b766", 0, SLOT},
        {4095, "a4095 b4094", 0, 16 * SLOT},
        {8191, "a8191 b8190", 0, 16 * SLOT}, /* not longer than that */
        {255, "a255", 0, 0},                 /* alone it is kept from nobody */
        {254, "a254 b253", TAIL_CAP, 0},
        {254, "a254 b253", TAIL_CAP + 1, 60 * MS},
        {255, "a255 b254", TAIL_CAP + 1, 60 * MS + SLOT},
        {254, "b254", TAIL_CAP + 1, 60 * MS}, /* a is a guest */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        base b;
        turn t;
        manifest *m = stand_at(&b, rows[i].version, "a", rows[i].producers);
        m->tail.records = rows[i].tail_bytes > 0;
        m->tail.bytes.size = rows[i].tail_bytes;
        opened(&t, "a", m, NS_PER_S);
        if (t.window_ns != rows[i].window_ns)
            fail_msg("row %d: %d ms", (int)i, (int)(t.window_ns / MS));
        turn_close(&t);
        /* Who has to fold itself does not wait for it. */
        if (rows[i].producers[0] == 'b')
            continue;
        m->turn = view_text("b");
        opened(&t, "a", m, NS_PER_S);
        assert_int_equal(t.before, 0);
        assert_int_equal(t.window_ns, rows[i].window_ns / SLOT * SLOT);
        turn_close(&t);
    }
}

/* The map is told how long to wait for us: a minute at most, however slow the store is. */
static void the_slot_in_the_map(void **state)
{
    (void)state;
    turn t;
    turn_open(&t, view_text("a"), TAIL_CAP, 60 * MS);
    assert_int_equal(turn_slot_ms(&t), 256); /* a slot, a GET and a half, and rounded up */
    turn_open(&t, view_text("a"), TAIL_CAP, 60 * NS_PER_S);
    assert_int_equal(turn_slot_ms(&t), 37501); /* of requests that are taken for five seconds */
}

/* A store that stood still for a while: nobody waits for minutes on an idle chain because of it. */
static void after_a_pause(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 1000 * NS_PER_S;
    const manifest *m = stand_at(&b, 50, "a", "a50 b49 c10");
    turn_open(&t, view_text("b"), TAIL_CAP, 60 * NS_PER_S);
    assert_int_equal(turn_caught_up(&t, now, m, &r), BW_OK);
    assert_in_range(t.silence_ns, 10 * NS_PER_S, 20 * NS_PER_S);
    turn_close(&t);
    turn_open(&t, view_text("c"), TAIL_CAP, 60 * NS_PER_S);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(turn_lost(&t, now, m, &r), BW_OK);
        assert_in_range(t.guest_ns - now, 0, 120 * NS_PER_S);
    }
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

/* Rule 6: nobody waits for the slots of those before it, slow ones too, when all of them are
 * silent; when exactly is drawn, lest they all come at once. */
static void silence_ends_all_slots(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "a", "a50 b49 c48 d47 e46 f45 g44 h43");
    for (uint32_t i = 0; i < m->producer_count; i++)
        b.entries[i].slot_ms = 60000;
    opened(&t, "h", m, now);
    assert_int_equal(t.slots_ns, 6 * 8 * SLOT);
    const int64_t silent = now + t.silence_ns;
    assert_true(t.silence_ns >= 20 * 120 * MS && t.silence_ns <= 40 * 120 * MS);
    assert_true(silent < now + t.slots_ns);
    assert_int_equal(turn_looked(&t, 51, silent - 31 * MS, silent - MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, silent - MS), TURN_WAIT, silent, 0);
    assert_int_equal(turn_looked(&t, 51, silent, silent + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, silent + 30 * MS), TURN_COMMIT, 0, 0);
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

/* Rule 9: looks go ahead by half the turns before us, then nearer. */
static void looks_go_ahead_by_halves(void **state)
{
    (void)state;
    base b;
    turn t;
    int64_t now = 100 * NS_PER_S;
    opened(&t, "h", stand_at(&b, 50, "a", "a50 b49 c48 d47 e46 f45 g44 h43"), now);
    /* Found, and nobody knows for how long it has been there. */
    manifest *m = stand_at(&b, 51, "b", "a50 b51 c48 d47 e46 f45 g44 h43");
    assert_int_equal(turn_looked(&t, 51, now, now + 30 * MS, m, &r), BW_OK);
    assert_int_equal(t.before, 5);
    expect(turn_ask(&t, now, now + 30 * MS), TURN_LOOK, 0, 54);
    m = stand_at(&b, 54, "e", "a50 b51 c52 d53 e54 f45 g44 h43");
    assert_int_equal(turn_looked(&t, 54, now + 30 * MS, now + 60 * MS, m, &r), BW_OK);
    assert_int_equal(t.before, 2);
    expect(turn_ask(&t, now, now + 60 * MS), TURN_LOOK, 0, 55);
    turn_close(&t);
    /* Absent, but the answer took so long that it may be there by now: nearer, at once. */
    m = stand_at(&b, 50, "a", "a50 b49 c48 d47 e46 f45 g44 h43");
    opened(&t, "h", m, now);
    assert_int_equal(turn_looked(&t, 54, now, now + 400 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 400 * MS), TURN_LOOK, 0, 52);
    turn_close(&t);
}

/* Rule 9: after its own commit it sleeps, and looks as far ahead as turns may have passed
 * meanwhile: the quicker its rounds were, the farther, but never beyond its own turn. */
static void rounds_tell_how_far_to_look(void **state)
{
    (void)state;
    static const char *const all = "a43 b44 c45 d46 e47 f48 g49 h50";
    const int64_t asleep =
        7 * 80 * MS - 30 * MS; /* 80 % of a create, a GET and a third; less a GET */
    base b;
    turn t;
    int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "h", all);
    opened(&t, "h", m, now);
    assert_int_equal(turn_committed(&t, 60 * MS, now, m, &r), BW_OK);
    assert_int_equal(t.before, 7);
    expect(turn_ask(&t, now, now), TURN_WAIT, now + asleep, 0);
    expect(turn_ask(&t, now, now + asleep), TURN_LOOK, 0, 52); /* at a slot each */
    for (uint64_t version = 58; version <= 130; version += 8) {
        m = stand_at(&b, version, "h", all);
        for (uint32_t i = 0; i < m->producer_count; i++)
            b.entries[i].last_commit = version - 7 + i;
        now += 800 * MS;
        assert_int_equal(turn_committed(&t, 60 * MS, now, m, &r), BW_OK);
    }
    expect(turn_ask(&t, now, now + asleep), TURN_LOOK, 0, 134); /* at 100 ms each */
    expect(turn_ask(&t, now, now + 1400 * MS), TURN_LOOK, 0, 137);
    /* A pause of an hour counts as one of slots that nobody took. */
    m = stand_at(&b, 138, "h", "a131 b132 c133 d134 e135 f136 g137 h138");
    assert_int_equal(turn_committed(&t, 60 * MS, now + 3600 * NS_PER_S, m, &r), BW_OK);
    assert_true(t.interval_ns > 130 * MS && t.interval_ns < SLOT);
    turn_close(&t);
    /* At least the next. */
    m = stand_at(&b, 50, "b", "a49 b50");
    opened(&t, "b", m, now);
    assert_int_equal(turn_committed(&t, 60 * MS, now, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 50 * MS), TURN_LOOK, 0, 51);
    turn_close(&t);
}

/* A store may answer faster than threads are woken: it is polled every millisecond at most, and its
 * answers are believed for as long as waking may take. */
static void a_fast_store(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "a", "a50 b49 c48");
    rng_seed(&r, 1);
    turn_open(&t, view_text("c"), TAIL_CAP, MS);
    assert_int_equal(turn_caught_up(&t, now, m, &r), BW_OK);
    assert_int_equal(turn_looked(&t, 51, now, now + MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + MS), TURN_WAIT, now + 2 * MS, 0);
    turn_close(&t);
    turn_open(&t, view_text("b"), TAIL_CAP, MS);
    assert_int_equal(turn_caught_up(&t, now, m, &r), BW_OK);
    assert_int_equal(turn_looked(&t, 51, now, now + MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 6 * MS), TURN_COMMIT, 0, 0);
    expect(turn_ask(&t, now, now + 6 * MS + 1), TURN_LOOK, 0, 51);
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
        b.entries[0].last_commit = b.entries[1].last_commit = 59 + i;
        assert_int_equal(turn_lost(&t, now, m, &r), BW_OK);
        longest = t.guest_ns - now > longest ? t.guest_ns - now : longest;
        if (t.guest_ns > now)
            expect(turn_ask(&t, now, now), TURN_WAIT, t.guest_ns, 0);
        /* The chain has gone on meanwhile. */
        if (t.guest_ns - now > SLOT)
            expect(turn_ask(&t, now, t.guest_ns), TURN_CATCH_UP, 0, 0);
        else
            expect(turn_ask(&t, now, t.guest_ns), TURN_LOOK, 0, 61 + i);
    }
    assert_true(longest > NS_PER_S / 2);
    assert_true(longest < 4 * NS_PER_S); /* two entries in the map: not for ever */
    turn_close(&t);
}

/* Rules 7 and 12: to a guest a version is new only if it knows since when; else it leaves a slot to
 * the members, where there are any, and polls meanwhile. */
static void guests_leave_a_slot_to_members(void **state)
{
    (void)state;
    base b;
    turn t;
    const int64_t now = 100 * NS_PER_S;
    manifest *m = stand_at(&b, 50, "a", "a50 b49");
    opened(&t, "g", m, now);
    assert_int_equal(turn_looked(&t, 51, now, now + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 30 * MS), TURN_WAIT, now + 37 * MS + MS / 2, 0);
    assert_int_equal(turn_looked(&t, 51, now + SLOT - 1, now + SLOT + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + SLOT + 30 * MS), TURN_WAIT, now + SLOT + 37 * MS + MS / 2, 0);
    assert_int_equal(turn_looked(&t, 51, now + SLOT, now + SLOT + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + SLOT + 30 * MS), TURN_COMMIT, 0, 0);
    turn_close(&t);
    /* Seen absent, but longer ago than a slot: somebody may have come for the next one, too. */
    opened(&t, "g", m, now);
    assert_int_equal(turn_looked(&t, 51, now, now + 30 * MS, m, &r), BW_OK);
    m = stand_at(&b, 51, "b", "a50 b51");
    const int64_t late = now + SLOT + MS;
    assert_int_equal(turn_looked(&t, 51, late - 30 * MS, late, m, &r), BW_OK);
    expect(turn_ask(&t, now, late), TURN_LOOK, 0, 52);
    /* After a long sleep it walks, as members do. */
    expect(turn_ask(&t, now, now + 3600 * NS_PER_S), TURN_CATCH_UP, 0, 0);
    turn_close(&t);
    /* Nobody has come yet. */
    m = stand_at(&b, 2, "", "");
    opened(&t, "g", m, now);
    assert_int_equal(t.members, 0);
    assert_int_equal(turn_looked(&t, 3, now, now + 30 * MS, m, &r), BW_OK);
    expect(turn_ask(&t, now, now + 30 * MS), TURN_COMMIT, 0, 0);
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
    /* Soon after a version it looks, since it may have heard of it late, but waits for no slot. */
    const int64_t ready = now + NS_PER_S;
    expect(turn_ask(&t, ready, ready), TURN_LOOK, 0, 80);
    assert_int_equal(turn_looked(&t, 80, ready, ready + 30 * MS, &b.m, &r), BW_OK);
    expect(turn_ask(&t, ready, ready + 30 * MS), TURN_COMMIT, 0, 0);
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
        cmocka_unit_test(young_enough),
        cmocka_unit_test(an_absent_owner_costs_a_slot),
        cmocka_unit_test(windows),
        cmocka_unit_test(the_slot_in_the_map),
        cmocka_unit_test(after_a_pause),
        cmocka_unit_test(missed_slots_and_silence),
        cmocka_unit_test(silence_ends_all_slots),
        cmocka_unit_test(sleep_is_a_lower_bound),
        cmocka_unit_test(looks_go_ahead_by_halves),
        cmocka_unit_test(rounds_tell_how_far_to_look),
        cmocka_unit_test(a_fast_store),
        cmocka_unit_test(guests),
        cmocka_unit_test(guests_leave_a_slot_to_members),
        cmocka_unit_test(sleepers_catch_up),
        cmocka_unit_test(alone),
        cmocka_unit_test(a_quiet_chain),
    };
    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
