// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that create the same names at the same time, on a real server: each name has one
 * winner, whose bytes it holds, and every other one hears so. An UNKNOWN is asked again, as the
 * commit protocol does it.
 *
 *   store_race URL PROCESSES NAMES BYTES
 */
#include "api/place.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MAX = 64, NAMES_MAX = 1000, TRIES_MAX = 50 };

typedef struct board {
    pthread_barrier_t barrier;
    atomic_uint unknown, retried;
    uint8_t outcomes[PROCESSES_MAX][NAMES_MAX]; /* of the last try */
    uint8_t in_doubt[PROCESSES_MAX][NAMES_MAX]; /* an earlier one was UNKNOWN */
} board;

typedef struct plan {
    const char *url;
    unsigned processes, names;
    size_t bytes;
    board *board;
} plan;

static store *open_store(const plan *p)
{
    bw_error *error = bw_error_new();
    store *s = NULL;
    if (place_open(p->url, NULL, true, &s, error) != BW_OK) {
        (void)fprintf(stderr, "%s\n", bw_error_message(error));
        exit(1);
    }
    bw_error_free(error);
    return s;
}

static void set_name(char name[32], unsigned index)
{
    (void)snprintf(name, 32, "manifest/%u", index);
}

/* Its own byte all over, and which process it was in front. */
static void fill(uint8_t *bytes, size_t size, unsigned process)
{
    memset(bytes, (int)('a' + process % 26), size);
    memcpy(bytes, &process, sizeof process);
}

static void create(const plan *p, store *s, unsigned process, unsigned name, uint8_t *bytes)
{
    const struct iovec piece = {bytes, p->bytes};
    store_op op;
    char key[32];
    set_name(key, name);
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        store_op_init(&op, STORE_CREATE, key);
        op.pieces = &piece;
        op.piece_count = 1;
        const store_outcome outcome = store_run(s, &op);
        p->board->outcomes[process][name] = (uint8_t)outcome;
        if (outcome != STORE_UNKNOWN && outcome != STORE_RETRY)
            break;
        if (outcome == STORE_UNKNOWN)
            p->board->in_doubt[process][name] = 1;
        atomic_fetch_add(outcome == STORE_UNKNOWN ? &p->board->unknown : &p->board->retried, 1u);
        (void)usleep(20000u * (tries + 1));
    }
}

static void race(const plan *p, unsigned process)
{
    store *s = open_store(p);
    uint8_t *bytes = malloc(p->bytes);
    fill(bytes, p->bytes, process);
    for (unsigned i = 0; i < p->names; i++) {
        (void)pthread_barrier_wait(&p->board->barrier);
        create(p, s, process, i, bytes);
    }
    store_close(s);
    free(bytes);
    _exit(0);
}

/* false, with the reason printed, unless the name has one winner and its bytes. */
static bool judge(const plan *p, store *s, unsigned name, uint8_t *bytes)
{
    store_op op;
    char key[32];
    set_name(key, name);
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, p->bytes);
    unsigned holder = PROCESSES_MAX;
    if (store_run(s, &op) == STORE_OK && op.out.size == p->bytes)
        memcpy(&holder, op.out.data, sizeof holder);
    bool good = holder < p->processes;
    if (good) {
        fill(bytes, p->bytes, holder);
        good = memcmp(bytes, op.out.data, p->bytes) == 0;
    }
    for (unsigned i = 0; i < p->processes; i++) {
        const store_outcome outcome = (store_outcome)p->board->outcomes[i][name];
        const bool mine = i == holder;
        /* Whoever was in doubt may hear EXISTS of its own. */
        if (outcome == STORE_CREATED
                ? !mine
                : outcome != STORE_EXISTS || (mine && p->board->in_doubt[i][name] == 0)) {
            printf("%s: process %u heard %s, the object is %u's\n", key, i,
                   store_outcome_name(outcome), holder);
            good = false;
        }
    }
    if (holder >= p->processes)
        printf("%s: %s %s\n", key, store_outcome_name(op.outcome), op.error.message);
    store_op_clear(&op);
    return good;
}

static bool start(plan *p, pid_t *children)
{
    pthread_barrierattr_t shared;
    p->board =
        mmap(NULL, sizeof *p->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p->board == MAP_FAILED || pthread_barrierattr_init(&shared) != 0 ||
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&p->board->barrier, &shared, p->processes) != 0)
        return false;
    for (unsigned i = 0; i < p->processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            race(p, i);
        if (children[i] < 0)
            return false;
    }
    return true;
}

int main(int count, char **words)
{
    plan p = {0};
    pid_t children[PROCESSES_MAX];
    if (count == 5) {
        p = (plan){.url = words[1],
                   .processes = (unsigned)strtoul(words[2], NULL, 10),
                   .names = (unsigned)strtoul(words[3], NULL, 10),
                   .bytes = strtoul(words[4], NULL, 10)};
    }
    if (p.processes < 1 || p.processes > PROCESSES_MAX || p.names < 1 || p.names > NAMES_MAX ||
        p.bytes < sizeof(unsigned)) {
        (void)fprintf(stderr, "%s URL PROCESSES NAMES BYTES\n", words[0]);
        return 2;
    }
    bool well = start(&p, children);
    for (unsigned i = 0; i < p.processes && well; i++) {
        int how = 0;
        well =
            waitpid(children[i], &how, 0) == children[i] && WIFEXITED(how) && WEXITSTATUS(how) == 0;
    }
    unsigned good = 0;
    store *s = open_store(&p);
    uint8_t *bytes = malloc(p.bytes);
    for (unsigned i = 0; i < p.names && well; i++)
        good += judge(&p, s, i, bytes);
    free(bytes);
    store_close(s);
    printf("%u in doubt, %u to be repeated\n%u passed, %u failed\n", atomic_load(&p.board->unknown),
           atomic_load(&p.board->retried), good, p.names - good);
    return good == p.names ? 0 : 1;
}
