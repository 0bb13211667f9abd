// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Power loss of the file store. One run is recorded; then, behind each of its changes, the trees
 * that a power loss could leave there are made, and the real library reads each and goes on: what
 * was acknowledged is there, nothing torn is taken for anything, and the rest can be produced.
 *
 *     power [--states N] [--seed N] [--jobs N] [-o json]    N: different trees, over all shapes
 *     power --drop dir|file                                 without these syncs; must find
 * something
 */
#include "record.h"
#include "scene.h"
#include "wrap.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 16
#define SEEN_SLOTS (1u << 20)
#define TELL_MAX 10

typedef struct totals {
    atomic_uint_least64_t states, finished, failures, choices_max;
} totals;

static totals *all;
static char folder[64];
static record_log *current;

/* Acknowledged, as one number: a mark of the log. */
static uint64_t promise_of(const scene *w)
{
    return (uint64_t)w->acknowledged << 2 | (w->sealed ? 2u : 0u) | (w->initialised ? 1u : 0u);
}

static void on_acknowledge(scene *w)
{
    record_mark(current, promise_of(w));
}

/** The run that is recorded: up to and with the first gc. */
static record_log *record_run(const scene_shape *shape, record_drop drop)
{
    char root[96];
    (void)snprintf(root, sizeof root, "%s/run", folder);
    if (mkdir(root, 0700) != 0)
        exit(2);
    scene w;
    scene_begin(&w, shape, root);
    w.acknowledge = on_acknowledge;
    current = record_begin(root, drop);
    for (uint32_t i = 0; i < scene_step_count; i++) {
        if (scene_steps[i].run(&w) != BW_OK) {
            fprintf(stderr, "power: %s: %s\n", scene_steps[i].name, bw_error_message(w.error));
            exit(2);
        }
    }
    scene_close(&w);
    record_stop();
    scene_end(&w);
    scene_remove(root);
    return current;
}

/* A stream of its own for each state, so that any can be made again. */
static uint32_t pick_random(void *context, size_t choice, uint32_t ways)
{
    uint64_t *state = context;
    (void)choice;
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 40) % ways;
}

/** What a process that starts after the power loss finds, and whether it can go on. */
static void prove(scene *w, uint64_t promised)
{
    w->acknowledged = (uint32_t)(promised >> 2);
    w->initialised = (promised & 1u) != 0;
    w->sealed = (promised & 2u) != 0;
    w->tried = true;
    if (w->initialised)
        scene_prove(w, false);
    const bool finish = w->wrong[0] == '\0' && !w->sealed;
    for (uint32_t i = 0; finish && i < scene_step_count && w->wrong[0] == '\0'; i++) {
        const bw_status status = scene_steps[i].run(w);
        if (status == BW_SEALED || status == BW_FINISHED)
            break; /* the seal landed, and was not acknowledged */
        if (status != BW_OK)
            scene_wrong(w, "%s: %s: %s", scene_steps[i].name, bw_status_name(status),
                        bw_error_message(w->error));
    }
    scene_close(w);
    if (finish && w->wrong[0] == '\0') {
        scene_prove(w, false);
        atomic_fetch_add(&all->finished, 1u);
    }
}

static void check_state(const record_log *log, const scene_shape *shape, size_t n, uint64_t seed,
                        const char *to)
{
    uint64_t stream = seed;
    (void)record_make(log, n, pick_random, &stream, to);
    scene w;
    scene_begin(&w, shape, to);
    prove(&w, record_acknowledged(log, n));
    if (w.wrong[0] != '\0' && atomic_fetch_add(&all->failures, 1u) < TELL_MAX)
        printf("FAILED %s, behind change %zu, stream %" PRIu64 ": %s\n", shape->name, n, seed,
               w.wrong);
    scene_end(&w);
    scene_remove(to);
}

/** true when the tree is a new one. One table for each process. */
static bool is_new(uint64_t *seen, uint64_t hash, uint64_t promised)
{
    const uint64_t key = (hash ^ promised * UINT64_C(0x9e3779b97f4a7c15)) | 1u;
    for (size_t at = key % SEEN_SLOTS;; at = (at + 1) % SEEN_SLOTS) {
        if (seen[at] == key)
            return false;
        if (seen[at] == 0) {
            seen[at] = key;
            return true;
        }
    }
}

/* Each process takes every jobs-th crash point, and there as many streams as give new trees. */
static void work(const record_log *log, const scene_shape *shape, uint32_t job, uint32_t jobs,
                 uint64_t states, uint64_t seed)
{
    char to[96];
    (void)snprintf(to, sizeof to, "%s/%u", folder, job);
    uint64_t *seen = calloc(SEEN_SLOTS, sizeof *seen);
    const size_t points = record_changes(log) + 1;
    const uint64_t share = states / jobs + 1;
    uint64_t made = 0;
    for (uint64_t round = 0; made < share && round < 4096; round++) {
        for (size_t n = job; n < points && made < share; n += jobs) {
            const uint64_t stream = (seed * 4096 + round) * 65536 + n;
            uint64_t probe = stream;
            const uint64_t hash = record_make(log, n, pick_random, &probe, NULL);
            if (!is_new(seen, hash, record_acknowledged(log, n)))
                continue;
            check_state(log, shape, n, stream, to);
            atomic_fetch_add(&all->states, 1u);
            made++;
        }
    }
    free(seen);
}

static void run_shape(const scene_shape *shape, record_drop drop, uint64_t states, uint32_t jobs,
                      uint64_t seed)
{
    record_log *log = record_run(shape, drop);
    size_t most = 0;
    for (size_t n = 0; n <= record_changes(log); n++) {
        const size_t choices = record_choices(log, n);
        most = choices > most ? choices : most;
    }
    printf("%s: %zu changes recorded, at most %zu of them open at once\n", shape->name,
           record_changes(log), most);
    (void)fflush(NULL);
    pid_t pids[JOBS_MAX];
    for (uint32_t i = 0; i < jobs; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            work(log, shape, i, jobs, states, seed);
            (void)fflush(NULL);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < jobs; i++) {
        int state = 0;
        if (waitpid(pids[i], &state, 0) != pids[i] || !WIFEXITED(state) ||
            WEXITSTATUS(state) != 0) {
            printf("FAILED %s: a process ended with status %d\n", shape->name, state);
            atomic_fetch_add(&all->failures, 1u);
        }
    }
    record_free(log);
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0') {
        fprintf(stderr, "power: %s is no number\n", text);
        exit(2);
    }
    return value;
}

static const char usage[] =
    "usage: inject_power [--states N] [--seed N] [--jobs N] [--drop dir|file] [-o text|json]\n\n"
    "Crash states of the file store: what a loss of power may leave, for samples of it.\n"
    "--drop leaves syncs out: the sweep must notice. Exit: 0, 1 (something was wrong), 2 "
    "(usage).\n";

typedef struct order {
    uint64_t states, seed;
    uint32_t jobs;
    record_drop drop;
    bool json;
} order;

/** False: there is no such option, or no such value of it. */
static bool take(order *o, const char *name, const char *value)
{
    if (strcmp(name, "--states") == 0)
        o->states = number(value);
    else if (strcmp(name, "--seed") == 0)
        o->seed = number(value);
    else if (strcmp(name, "--jobs") == 0)
        o->jobs = number(value) < JOBS_MAX ? (uint32_t)number(value) : JOBS_MAX;
    else if (strcmp(name, "--drop") == 0 && strcmp(value, "dir") == 0)
        o->drop = RECORD_NO_DIR_SYNC;
    else if (strcmp(name, "--drop") == 0 && strcmp(value, "file") == 0)
        o->drop = RECORD_NO_FILE_SYNC;
    else if (strcmp(name, "-o") == 0 && strcmp(value, "json") == 0)
        o->json = true;
    else
        return strcmp(name, "-o") == 0 && strcmp(value, "text") == 0;
    return true;
}

int main(int argc, char **argv)
{
    wrap_begin();
    order o = {.states = 1000, .seed = 1, .jobs = 2, .drop = RECORD_ALL};
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (i + 1 == argc || !take(&o, argv[i], argv[i + 1])) {
            fprintf(stderr, "inject_power: %s%s%s is not understood\n%s", argv[i],
                    i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", usage);
            return 2;
        }
    }
    (void)snprintf(folder, sizeof folder, "/dev/shm/bw-power-XXXXXX");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mkdtemp(folder) == NULL || o.jobs == 0) {
        fprintf(stderr, "power: cannot begin in %s\n", folder);
        return 2;
    }
    for (uint32_t i = 0; i < scene_shape_count; i++)
        run_shape(&scene_shapes[i], o.drop, o.states / scene_shape_count, o.jobs, o.seed);
    scene_remove(folder);
    const uint64_t failures = atomic_load(&all->failures), made = atomic_load(&all->states);
    if (o.json)
        printf("{\"states\":%" PRIu64 ",\"went_on\":%" PRIu64 ",\"failures\":%" PRIu64 "}\n", made,
               atomic_load(&all->finished), failures);
    if (o.drop != RECORD_ALL) { /* the sweep is on trial, not the store */
        printf("%" PRIu64 " of %" PRIu64 " states are wrong without these syncs\n", failures, made);
        printf("%d passed, %d failed\n", failures > 0, failures == 0);
        return failures > 0 ? 0 : 1;
    }
    printf("%" PRIu64 " crash states, in %" PRIu64 " the run went on to its end\n", made,
           atomic_load(&all->finished));
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", made > failures ? made - failures : 0,
           failures);
    return failures == 0 && made > 0 ? 0 : 1;
}
