// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The one thing that everything rests on: of several creates of one absent name exactly one wins,
 * and what won is seen by all at once.
 *
 * Each racer first looks at every name, so that whoever remembers absence has it to remember. Then
 * all meet before each name, on memory that they share, create it, and read it.
 */
#include "store/doctor.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NOBODY 255u

/* Everything is zero before the first racer begins. */
typedef struct board {
    atomic_uint abandoned;
    atomic_uint arrived[DOCTOR_NAMES + 1];
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

void doctor_race_abandon(void *on)
{
    board *b = on;
    atomic_store(&b->abandoned, 1u);
}

/** Waits for all racers. false: one of them is gone. */
static bool meet(board *b, uint32_t at)
{
    atomic_fetch_add(&b->arrived[at], 1u);
    while (atomic_load(&b->arrived[at]) < DOCTOR_RACERS) {
        if (atomic_load(&b->abandoned) != 0u)
            return false;
        (void)sched_yield();
    }
    return true;
}

static void name_of(uint32_t k, char key[32])
{
    (void)snprintf(key, 32, "race/%06u", k);
}

static bool is_there(store *s, uint32_t k)
{
    char key[32];
    store_op op;
    name_of(k, key);
    store_op_init(&op, STORE_HEAD, key);
    const store_outcome outcome = store_run(s, &op);
    store_op_clear(&op);
    return outcome != STORE_NOT_FOUND;
}

static uint8_t create_one(store *s, uint32_t k, uint8_t racer)
{
    char key[32];
    uint8_t bytes[64];
    store_op op;
    name_of(k, key);
    memset(bytes, racer, sizeof bytes);
    const struct iovec piece = {.iov_base = bytes, .iov_len = sizeof bytes};
    store_op_init(&op, STORE_CREATE, key);
    op.pieces = &piece;
    op.piece_count = 1;
    const store_outcome outcome = store_run(s, &op);
    store_op_clear(&op);
    return (uint8_t)outcome;
}

static uint8_t read_one(store *s, uint32_t k)
{
    char key[32];
    store_op op;
    uint8_t whose = NOBODY;
    name_of(k, key);
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, 64);
    if (store_run(s, &op) == STORE_OK && op.out.size == 64 &&
        memcmp(op.out.data, op.out.data + 1, 63) == 0)
        whose = op.out.data[0];
    store_op_clear(&op);
    return whose;
}

bw_status doctor_race(const char *place, void *on, uint32_t racer, bw_error *error)
{
    board *b = on;
    store *s = NULL;
    /* Whether a create wins is asked here, not whether it lasts: without syncs, so that racers come
     * close to each other. */
    const store_file_options options = {.durable = false, .writable = true};
    if (racer >= DOCTOR_RACERS)
        return error_set(error, BW_INVALID, "racer %u of %u", racer, DOCTOR_RACERS);
    BW_TRY(store_file_open(place, &options, &s, error));
    for (uint32_t k = 0; k < DOCTOR_NAMES; k++)
        b->early[racer] |= is_there(s, k);
    bool all = meet(b, 0);
    for (uint32_t k = 0; all && k < DOCTOR_NAMES; k++) {
        all = meet(b, k + 1);
        b->said[k][racer].outcome = create_one(s, k, (uint8_t)racer);
        b->said[k][racer].seen = read_one(s, k);
    }
    store_close(s);
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
    for (uint32_t k = 0; k < DOCTOR_NAMES; k++)
        count_name(b, k, &t);
    for (uint32_t i = 0; i < DOCTOR_RACERS; i++)
        t.early += b->early[i];
    const uint32_t wrong = t.unwon + t.twice + t.unseen + t.other + t.early;
    doctor_figure_add(f, "processes", DOCTOR_RACERS);
    doctor_figure_add(f, "names", DOCTOR_NAMES);
    doctor_figure_add(f, "wrong", wrong);
    if (t.failed > 0 && t.twice == 0)
        doctor_say(f, DOCTOR_FAULT, BW_IO, "%u creates failed: nothing is proved", t.failed);
    else if (wrong > 0)
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE,
                   "of %u names that %u processes created at once, %u had no winner, %u several, "
                   "%u were not seen by all at once, %u with other bytes than the winner's, %u "
                   "before they were made",
                   DOCTOR_NAMES, DOCTOR_RACERS, t.unwon, t.twice, t.unseen, t.other, t.early);
    else
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "%u processes created %u names at once: each had one winner, and all saw its "
                   "bytes",
                   DOCTOR_RACERS, DOCTOR_NAMES);
}
