// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The one thing that everything rests on: of several creates of one absent name exactly one wins,
 * and what won is seen by all at once.
 *
 * Each racer looks at a name, so that whoever remembers absence has it to remember. Then all meet,
 * on memory that they share, create it, and read it.
 */
#include "store/doctor.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NOBODY 255u

#define SCRATCH_BYTES 64u
/* Some stores make losers wait for seconds; then fewer names must do, but not fewer than these. */
#define RACE_NS (60 * NS_PER_S)
#define NAMES_MIN 10u
#define YIELDS 20u
#define NAP_NS 20000

/* Everything is zero before the first racer begins, but for the scratch name. */
typedef struct board {
    char scratch[SCRATCH_BYTES];
    atomic_uint abandoned;
    atomic_uint enough; /* names; 0: all of them */
    atomic_uint arrived[DOCTOR_NAMES];
    struct {
        uint8_t outcome; /* of its create, a store_outcome */
        uint8_t seen;    /* whose bytes it read then, or NOBODY */
    } said[DOCTOR_NAMES][DOCTOR_RACERS];
    uint8_t early[DOCTOR_RACERS]; /* it saw a name that nobody had made yet */
} board;

size_t doctor_board_bytes(void)
{
    return sizeof(board);
}

void doctor_race_place(void *on, const char *scratch)
{
    board *b = on;
    (void)snprintf(b->scratch, sizeof b->scratch, "%s", scratch);
}

void doctor_race_abandon(void *on)
{
    board *b = on;
    atomic_store(&b->abandoned, 1u);
}

static uint32_t names_of(const board *b)
{
    const uint32_t enough = atomic_load(&b->enough);
    return enough == 0 ? DOCTOR_NAMES : enough;
}

/** Lets others run. Before a network some dozen microseconds are nothing, and who sleeps is not in
 * the way of who still asks, nor of a server on this machine; in a directory they are all there is.
 */
static void give_way(const board *b, uint32_t turns)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    if (b->scratch[0] == '\0' || turns < YIELDS)
        (void)sched_yield();
    else
        (void)nanosleep(&nap, NULL);
}

/** Waits for all racers. false: one of them is gone. */
static bool meet(board *b, uint32_t at)
{
    atomic_fetch_add(&b->arrived[at], 1u);
    for (uint32_t k = 0; atomic_load(&b->arrived[at]) < DOCTOR_RACERS; k++) {
        if (atomic_load(&b->abandoned) != 0u)
            return false;
        give_way(b, k);
    }
    return true;
}

static void name_of(const board *b, uint32_t k, char key[SCRATCH_BYTES + 32])
{
    (void)snprintf(key, SCRATCH_BYTES + 32, "%srace/%06u", b->scratch, k);
}

static bool is_there(store *s, const board *b, uint32_t k)
{
    char key[SCRATCH_BYTES + 32];
    name_of(b, k, key);
    return doctor_head(s, key) != STORE_NOT_FOUND;
}

static uint8_t create_one(store *s, const board *b, uint32_t k, uint8_t racer)
{
    char key[SCRATCH_BYTES + 32];
    uint8_t bytes[64];
    name_of(b, k, key);
    memset(bytes, racer, sizeof bytes);
    return (uint8_t)doctor_create(s, key, bytes, sizeof bytes, NULL);
}

static uint8_t read_one(store *s, const board *b, uint32_t k)
{
    char key[SCRATCH_BYTES + 32];
    uint8_t bytes[64];
    size_t size = sizeof bytes;
    name_of(b, k, key);
    if (doctor_get(s, key, bytes, &size, NULL) != STORE_OK || size != sizeof bytes ||
        memcmp(bytes, bytes + 1, sizeof bytes - 1) != 0)
        return NOBODY;
    return bytes[0];
}

bw_status doctor_race(store *s, void *on, uint32_t racer, bw_error *error)
{
    board *b = on;
    if (racer >= DOCTOR_RACERS)
        return error_set(error, BW_INVALID, "racer %u of %u", racer, DOCTOR_RACERS);
    bool all = true;
    const int64_t until_ns = clock_now(clock_system()) + RACE_NS;
    for (uint32_t k = 0; all && k < DOCTOR_NAMES; k++) {
        /* One decides, before all of them meet: nobody races alone. */
        if (racer == 0 && k >= NAMES_MIN && clock_now(clock_system()) > until_ns)
            atomic_store(&b->enough, k);
        b->early[racer] |= is_there(s, b, k);
        all = meet(b, k);
        if (k == names_of(b))
            break;
        b->said[k][racer].outcome = create_one(s, b, k, (uint8_t)racer);
        b->said[k][racer].seen = read_one(s, b, k);
    }
    return all ? BW_OK : error_set(error, BW_IO, "another racer is gone");
}

typedef struct tally {
    uint32_t unwon, twice, unseen, other, failed, early;
} tally;

static void count_name(const board *b, uint32_t k, tally *t)
{
    uint32_t winners = 0, winner = NOBODY;
    bool unseen = false, other = false;
    for (uint32_t i = 0; i < DOCTOR_RACERS; i++) {
        const uint8_t outcome = b->said[k][i].outcome;
        t->failed += outcome != STORE_CREATED && outcome != STORE_EXISTS;
        if (outcome == STORE_CREATED) {
            winners++;
            winner = i;
        }
    }
    for (uint32_t i = 0; i < DOCTOR_RACERS; i++) {
        unseen |= b->said[k][i].seen == NOBODY;
        other |= b->said[k][i].seen != NOBODY && b->said[k][i].seen != winner;
    }
    t->unwon += winners == 0;
    t->twice += winners > 1;
    t->unseen += unseen;
    t->other += winners == 1 && other;
}

void doctor_race_judge(const void *on, bool ended, doctor_finding *f)
{
    const board *b = on;
    tally t = {0};
    if (!ended) {
        doctor_say(f, DOCTOR_FAULT, BW_IO, "a racer did not come to its end: nothing is proved");
        return;
    }
    const uint32_t names = names_of(b);
    for (uint32_t k = 0; k < names; k++)
        count_name(b, k, &t);
    for (uint32_t i = 0; i < DOCTOR_RACERS; i++)
        t.early += b->early[i];
    const uint32_t wrong = t.unwon + t.twice + t.unseen + t.other + t.early;
    doctor_figure_add(f, "processes", DOCTOR_RACERS);
    doctor_figure_add(f, "names", names);
    doctor_figure_add(f, "wrong", wrong);
    if (t.failed > 0 && t.twice == 0)
        doctor_say(f, DOCTOR_FAULT, BW_IO, "%u creates failed: nothing is proved", t.failed);
    else if (wrong > 0)
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE,
                   "of %u names that %u processes created at once, %u had no winner, %u several, "
                   "%u were not seen by all at once, %u with other bytes than the winner's, %u "
                   "before they were made",
                   names, DOCTOR_RACERS, t.unwon, t.twice, t.unseen, t.other, t.early);
    else if (names < DOCTOR_NAMES)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "%u processes created %u names at once, and no more within a minute: losers "
                   "wait long; each had one winner, and all saw its bytes",
                   DOCTOR_RACERS, names);
    else
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "%u processes created %u names at once: each had one winner, and all saw its "
                   "bytes",
                   DOCTOR_RACERS, names);
}

void doctor_race_check(const doctor *d, const char *place, const char *scratch, doctor_finding *f)
{
    if (d->race == NULL) {
        doctor_say(f, DOCTOR_WARNING, BW_OK, "not run: nobody starts processes here");
        return;
    }
    doctor_race_place(d->board, scratch);
    doctor_race_judge(d->board, d->race(d->context, place, d->board) == 0, f);
}
