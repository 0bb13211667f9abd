// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The cases with several writers at once. */
#include "contract_cases.h"
#include "contract_ops.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RACERS = 8, RACES = 60, IN_DOUBT = 0x80 };

static int races(void)
{
    return contract_current->races != 0 ? contract_current->races : RACES;
}

typedef struct racer {
    store *store;
    pthread_barrier_t *barrier;
    char mine[16];
    uint8_t outcomes[RACES];
} racer;

static void race_key(char key[32], int race)
{
    (void)snprintf(key, 32, "manifest/%d", race);
}

/* Whoever is in doubt asks again, as the commit protocol does; which only a network can bring
 * about. */
static uint8_t create(store *s, const char *key, const char *mine)
{
    uint8_t doubt = 0;
    for (int tries = 0; tries < 20; tries++) {
        const store_outcome outcome = do_create(s, key, mine);
        if (outcome != STORE_UNKNOWN && outcome != STORE_RETRY)
            return (uint8_t)outcome | doubt;
        if (outcome == STORE_UNKNOWN)
            doubt = IN_DOUBT;
        (void)usleep(20000);
    }
    return STORE_UNKNOWN;
}

static void *race(void *context)
{
    racer *r = context;
    for (int i = 0; i < races(); i++) {
        char key[32];
        race_key(key, i);
        if (r->barrier != NULL)
            (void)pthread_barrier_wait(r->barrier);
        r->outcomes[i] = create(r->store, key, r->mine);
    }
    return NULL;
}

/** Each race has one winner, and the object holds the winner's bytes. One that was in doubt may
 * hear EXISTS of its own. */
static void assert_races(store *s, const racer *racers)
{
    for (int i = 0; i < races(); i++) {
        char key[32];
        char content[32] = "";
        race_key(key, i);
        assert_int_equal(do_get(s, key, content, sizeof content - 1), STORE_OK);
        int winners = 0;
        for (int r = 0; r < RACERS; r++) {
            const uint8_t outcome = racers[r].outcomes[i];
            const bool is_mine = strcmp(content, racers[r].mine) == 0;
            winners += is_mine;
            if (is_mine && outcome != (STORE_EXISTS | IN_DOUBT))
                assert_int_equal(outcome & ~IN_DOUBT, STORE_CREATED);
            else
                assert_int_equal(outcome & ~IN_DOUBT, STORE_EXISTS);
        }
        assert_int_equal(winners, 1);
    }
}

void test_one_winner_among_threads(void **state)
{
    contract_place *c = *state;
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, RACERS), 0);
    racer racers[RACERS] = {{0}};
    pthread_t threads[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i].barrier = &barrier;
        (void)snprintf(racers[i].mine, sizeof racers[i].mine, "racer %d", i);
        if (i % 2 == 0)
            assert_int_equal(store_clone(c->store, &racers[i].store, NULL), BW_OK);
        else
            racers[i].store = contract_current->open(c->place);
    }
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        store_close(racers[i].store);
    }
    (void)pthread_barrier_destroy(&barrier);
    assert_races(c->store, racers);
}

/** In the child: waits for the start, races, writes its outcomes to `out`. */
static void race_in_child(void *place, racer *r, int start, int out)
{
    r->store = contract_current->open(place);
    char byte;
    if (read(start, &byte, 1) != 0) /* until the parent closes the other end */
        _exit(1);
    (void)race(r);
    store_close(r->store);
    _exit(write(out, r->outcomes, RACES) == RACES ? 0 : 1);
}

void test_one_winner_among_processes(void **state)
{
    contract_place *c = *state;
    if (!contract_current->across_processes)
        return;
    int start[2];
    assert_int_equal(pipe(start), 0);
    racer racers[RACERS] = {{0}};
    pid_t children[RACERS];
    int outs[RACERS];
    for (int i = 0; i < RACERS; i++) {
        (void)snprintf(racers[i].mine, sizeof racers[i].mine, "process %d", i);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            close(start[1]);
            race_in_child(c->place, &racers[i], start[0], ends[1]);
        }
        close(ends[1]);
        outs[i] = ends[0];
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(read(outs[i], racers[i].outcomes, RACES), RACES);
        close(outs[i]);
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_races(c->store, racers);
}

typedef struct replacer {
    store *store;
    uint8_t fill;
    size_t size;
} replacer;

static void *replace(void *context)
{
    const replacer *r = context;
    uint8_t bytes[30000];
    memset(bytes, r->fill, sizeof bytes);
    for (int i = 0; i < 150; i++)
        (void)do_put_bytes(r->store, "hint", bytes, r->size);
    return NULL;
}

/* A reader sees one whole content or another, never a mixture, while two writers replace the
 * object. */
void test_reads_are_whole_while_written(void **state)
{
    contract_place *c = *state;
    replacer replacers[2] = {{.fill = 'a', .size = 30000}, {.fill = 'b', .size = 100}};
    assert_int_equal(do_put(c->store, "hint", "start"), STORE_OK);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_clone(c->store, &replacers[i].store, NULL), BW_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, replace, &replacers[i]), 0);
    }
    for (int i = 0; i < 300; i++) {
        store_op op;
        store_op_init(&op, STORE_GET, "hint");
        buf_init(&op.out, 40000);
        assert_int_equal(store_run(c->store, &op), STORE_OK);
        const size_t size = op.out.size;
        assert_true(size == 5 || size == 100 || size == 30000);
        const uint8_t fill = size == 30000 ? 'a' : 'b';
        for (size_t k = 0; size != 5 && k < size; k++)
            assert_int_equal(op.out.data[k], fill);
        store_op_clear(&op);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        store_close(replacers[i].store);
    }
}
