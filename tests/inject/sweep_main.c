// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Fails the n-th allocation or system call of each public function, once and for ever, for every
 * n until the function needs fewer; with --stride, for every so manieth n. The cases run in
 * processes of their own, watched: a crash or a case beyond its deadline is a failure like any
 * other, and the sweep goes on behind it.
 */
#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 16
#define STEPS_MAX 48
#define FAILURES_MAX 40
#define CASE_SECONDS_MAX 30
#define N_MAX 100000u

/* A unit is everything of a case but n. */
typedef struct unit_space {
    uint32_t first_shape, shapes, rounds, stride;
    int64_t until; /* no case begins later; 0: no limit */
} unit_space;

#define WAYS_OF_A_STEP (2u * (1u + WRAP_WAYS)) /* once and for ever; memory has one way */

typedef struct failure {
    char text[96], wrong[512];
} failure;

typedef struct job_slot {
    atomic_uint unit, n;          /* at work; a new process goes on behind it */
    atomic_int_least64_t started; /* CLOCK_BOOTTIME seconds; 0: none at work */
    atomic_int_least64_t slowest_ms;
    char slowest[96];
} job_slot;

typedef struct shared {
    atomic_uint next_unit;
    atomic_uint taken, failures; /* of the list below: places, and those filled */
    atomic_uint_least64_t injections, failed_calls;
    atomic_uint_least64_t by_call[STEPS_MAX][WRAP_CALLS];
    atomic_uint_least64_t by_end[2][INJECTION_ENDS];
    failure list[FAILURES_MAX];
    job_slot jobs[JOBS_MAX];
} shared;

static shared *all;
static char folder[64];

static int64_t milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t seconds(void)
{
    return milliseconds() / 1000;
}

static uint32_t units(const unit_space *s)
{
    return s->shapes * s->rounds * scene_step_count * WAYS_OF_A_STEP;
}

static injection_case case_of(const unit_space *s, uint32_t unit, uint32_t n)
{
    const uint32_t way = unit % WAYS_OF_A_STEP;
    const uint32_t step = unit / WAYS_OF_A_STEP % scene_step_count;
    const uint32_t shape = unit / WAYS_OF_A_STEP / scene_step_count % s->shapes;
    return (injection_case){
        .shape = s->first_shape + shape,
        .step = step,
        .plan = {.kind = way < 2 ? WRAP_MEMORY : WRAP_SYSTEM,
                 .way = way < 2 ? WRAP_ERROR : (wrap_way)(way / 2 - 1),
                 .for_ever = way % 2 == 1,
                 .n = n},
    };
}

/** There are fewer allocations than system calls, and less is alike in them: a sampled sweep, too,
 * fails each of them once, and more of them for ever. */
static uint32_t stride_of(const unit_space *s, uint32_t unit)
{
    const wrap_plan plan = case_of(s, unit, 1).plan;
    if (plan.kind == WRAP_SYSTEM)
        return s->stride;
    return plan.for_ever ? (s->stride + 5) / 6 : 1;
}

/** Where a unit begins: spread, so that the units of a sampled sweep differ. */
static uint32_t first_n(const unit_space *s, uint32_t unit)
{
    return 1 + (unit * 2654435761u >> 16) % stride_of(s, unit);
}

static void record_failure(const injection_case *c, const char *wrong)
{
    const uint32_t at = atomic_fetch_add(&all->taken, 1u);
    if (at < FAILURES_MAX) {
        injection_text(c, all->list[at].text);
        (void)snprintf(all->list[at].wrong, sizeof all->list[at].wrong, "%s (%s): %s",
                       scene_steps[c->step].name, scene_shapes[c->shape].name, wrong);
    }
    atomic_fetch_add(&all->failures, 1u); /* only now: it may be printed */
}

static void work(const unit_space *s, uint32_t job)
{
    char root[96];
    (void)snprintf(root, sizeof root, "%s/%u", folder, job);
    job_slot *slot = &all->jobs[job];
    for (;;) {
        const uint32_t unit = atomic_load(&slot->unit);
        if (unit >= units(s))
            return;
        injection_result result = {.end = INJECTION_MASKED};
        while (atomic_load(&slot->n) < N_MAX && (s->until == 0 || seconds() < s->until)) {
            const injection_case c = case_of(s, unit, atomic_load(&slot->n));
            atomic_store(&slot->started, seconds());
            const int64_t began = milliseconds();
            injection_run(&c, root, &result);
            const int64_t took = milliseconds() - began;
            atomic_store(&slot->started, 0);
            if (took > atomic_load(&slot->slowest_ms)) {
                atomic_store(&slot->slowest_ms, took);
                injection_text(&c, slot->slowest);
            }
            if (result.wrong[0] != '\0')
                record_failure(&c, result.wrong);
            if (result.failed_calls == 0)
                break;
            atomic_fetch_add(&all->injections, 1u);
            atomic_fetch_add(&all->failed_calls, result.failed_calls);
            atomic_fetch_add(&all->by_call[c.step][result.first], 1u);
            atomic_fetch_add(&all->by_end[c.plan.kind][result.end], 1u);
            atomic_fetch_add(&slot->n, stride_of(s, unit));
        }
        const uint32_t next = atomic_fetch_add(&all->next_unit, 1u);
        atomic_store(&slot->n, first_n(s, next));
        atomic_store(&slot->unit, next);
    }
}

static pid_t start(const unit_space *s, uint32_t job)
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    work(s, job);
    (void)fflush(NULL);
    _exit(0);
}

/** Looks after one job: true when it has ended. */
static bool watch(const unit_space *s, uint32_t job, pid_t *pid)
{
    job_slot *slot = &all->jobs[job];
    const int64_t started = atomic_load(&slot->started);
    const bool late = started != 0 && seconds() - started > CASE_SECONDS_MAX;
    if (late)
        (void)kill(*pid, SIGKILL);
    int state = 0;
    if (waitpid(*pid, &state, late ? 0 : WNOHANG) != *pid)
        return false;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return true;
    char wrong[64];
    if (late)
        (void)snprintf(wrong, sizeof wrong, "hangs");
    else if (WIFSIGNALED(state))
        (void)snprintf(wrong, sizeof wrong, "killed by signal %d", WTERMSIG(state));
    else
        (void)snprintf(wrong, sizeof wrong, "exit %d", WEXITSTATUS(state));
    const injection_case c = case_of(s, atomic_load(&slot->unit), atomic_load(&slot->n));
    record_failure(&c, wrong);
    char root[96];
    (void)snprintf(root, sizeof root, "%s/%u", folder, job);
    scene_remove(root);
    atomic_store(&slot->started, 0);
    atomic_fetch_add(&slot->n, stride_of(s, atomic_load(&slot->unit)));
    *pid = start(s, job);
    return false;
}

static void run_all(const unit_space *s, uint32_t jobs)
{
    pid_t pids[JOBS_MAX];
    for (uint32_t i = 0; i < jobs; i++) {
        const uint32_t unit = atomic_fetch_add(&all->next_unit, 1u);
        atomic_store(&all->jobs[i].unit, unit);
        atomic_store(&all->jobs[i].n, first_n(s, unit));
        pids[i] = start(s, i);
    }
    uint32_t running = jobs, told = 0;
    while (running > 0) {
        const struct timespec tick = {0, 20000000};
        (void)nanosleep(&tick, NULL);
        for (; told < atomic_load(&all->failures) && told < FAILURES_MAX; told++)
            printf("FAILED %s: %s\n", all->list[told].text, all->list[told].wrong);
        (void)fflush(stdout);
        for (uint32_t i = 0; i < jobs; i++) {
            if (pids[i] > 0 && watch(s, i, &pids[i])) {
                pids[i] = 0;
                running--;
            }
        }
    }
}

/* ---- what it found ---- */

static uint64_t sum_of_call(uint32_t call)
{
    uint64_t sum = 0;
    for (uint32_t step = 0; step < scene_step_count; step++)
        sum += atomic_load(&all->by_call[step][call]);
    return sum;
}

static uint64_t sum_of_step(uint32_t step)
{
    uint64_t sum = 0;
    for (uint32_t call = 0; call < WRAP_CALLS; call++)
        sum += atomic_load(&all->by_call[step][call]);
    return sum;
}

static void print_text(void)
{
    static const char *const kinds[] = {"memory", "system"};
    printf("function                              injections\n");
    for (uint32_t step = 0; step < scene_step_count; step++)
        printf("  %-35s %10" PRIu64 "\n", scene_steps[step].name, sum_of_step(step));
    printf("call that failed first                injections\n");
    for (uint32_t call = 0; call < WRAP_CALLS; call++)
        if (sum_of_call(call) > 0)
            printf("  %-35s %10" PRIu64 "\n", wrap_name((wrap_call)call), sum_of_call(call));
    printf("outcome                                   masked     usable fail-stopped\n");
    for (uint32_t kind = 0; kind < 2; kind++)
        printf("  %-35s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", kinds[kind],
               atomic_load(&all->by_end[kind][INJECTION_MASKED]),
               atomic_load(&all->by_end[kind][INJECTION_USABLE]),
               atomic_load(&all->by_end[kind][INJECTION_STOPPED]));
    for (uint32_t i = 0; i < JOBS_MAX; i++)
        if (atomic_load(&all->jobs[i].slowest_ms) > 0)
            printf("slowest of process %u: %s, %" PRIdLEAST64 " ms\n", i, all->jobs[i].slowest,
                   atomic_load(&all->jobs[i].slowest_ms));
    printf("%" PRIu64 " injections, %" PRIu64 " calls failed\n", atomic_load(&all->injections),
           atomic_load(&all->failed_calls));
}

static void print_json(void)
{
    printf("{\"injections\":%" PRIu64 ",\"failed_calls\":%" PRIu64
           ",\"failures\":%u,\"functions\":{",
           atomic_load(&all->injections), atomic_load(&all->failed_calls),
           atomic_load(&all->failures));
    for (uint32_t step = 0; step < scene_step_count; step++)
        printf("%s\"%s\":%" PRIu64, step == 0 ? "" : ",", scene_steps[step].name,
               sum_of_step(step));
    printf("},\"calls\":{");
    for (uint32_t call = 0; call < WRAP_CALLS; call++)
        printf("%s\"%s\":%" PRIu64, call == 0 ? "" : ",", wrap_name((wrap_call)call),
               sum_of_call(call));
    printf("}}\n");
}

static int replay(const char *text)
{
    injection_case c;
    if (!injection_parse(text, &c)) {
        fprintf(stderr, "sweep: --replay shape:step:kind:way:mode:n\n");
        return 2;
    }
    char root[96];
    (void)snprintf(root, sizeof root, "%s/replay", folder);
    injection_result result;
    injection_run(&c, root, &result);
    printf("%s: %u calls failed, the first %s; %s\n", scene_steps[c.step].name, result.failed_calls,
           result.failed_calls == 0 ? "-" : wrap_name(result.first),
           result.wrong[0] == '\0' ? "all held" : result.wrong);
    return result.wrong[0] == '\0' ? 0 : 1;
}

static uint32_t number(const char *text)
{
    char *end = NULL;
    const unsigned long value = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value == 0 || value > 1000000) {
        fprintf(stderr, "sweep: %s is no number from 1 on\n", text);
        exit(2);
    }
    return (uint32_t)value;
}

static const char usage[] =
    "usage: inject_sweep [--stride N] [--rounds N] [--jobs N] [--shape NAME] [--seconds N]\n"
    "                    [-o text|json]\n"
    "       inject_sweep --replay shape:step:kind:way:mode:n     one case, in this process\n\n"
    "Fails the n-th allocation or system call of each public function, for every n.\n"
    "Exit: 0 when all held, 1 when something did not, 2 on a wrong call.\n";

typedef struct order {
    unit_space s;
    uint32_t jobs;
    bool json;
    const char *again;
} order;

static bool choose_shape(unit_space *s, const char *name)
{
    for (uint32_t k = 0; k < scene_shape_count; k++)
        if (strcmp(scene_shapes[k].name, name) == 0) {
            s->first_shape = k;
            s->shapes = 1;
            return true;
        }
    return false;
}

/** False: there is no such option, or no such value of it. */
static bool take(order *o, const char *name, const char *value)
{
    if (strcmp(name, "--stride") == 0)
        o->s.stride = number(value);
    else if (strcmp(name, "--rounds") == 0)
        o->s.rounds = number(value);
    else if (strcmp(name, "--jobs") == 0)
        o->jobs = number(value) < JOBS_MAX ? number(value) : JOBS_MAX;
    else if (strcmp(name, "--replay") == 0)
        o->again = value;
    else if (strcmp(name, "--seconds") == 0)
        o->s.until = seconds() + number(value);
    else if (strcmp(name, "--shape") == 0)
        return choose_shape(&o->s, value);
    else if (strcmp(name, "-o") == 0 && strcmp(value, "json") == 0)
        o->json = true;
    else
        return strcmp(name, "-o") == 0 && strcmp(value, "text") == 0;
    return true;
}

int main(int argc, char **argv)
{
    wrap_begin();
    order o = {.s = {.shapes = scene_shape_count, .rounds = 1, .stride = 1}, .jobs = 2};
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (i + 1 == argc || !take(&o, argv[i], argv[i + 1])) {
            fprintf(stderr, "inject_sweep: %s%s%s is not understood\n%s", argv[i],
                    i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", usage);
            return 2;
        }
    }
    (void)snprintf(folder, sizeof folder, "/dev/shm/bw-sweep-XXXXXX");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mkdtemp(folder) == NULL || scene_step_count > STEPS_MAX) {
        fprintf(stderr, "sweep: cannot begin in %s\n", folder);
        return 2;
    }
    int result;
    if (o.again != NULL) {
        result = replay(o.again);
    } else {
        run_all(&o.s, o.jobs);
        const uint32_t failures = atomic_load(&all->failures);
        if (o.json)
            print_json();
        else
            print_text();
        const uint64_t injections = atomic_load(&all->injections);
        printf("%" PRIu64 " passed, %u failed\n", injections > failures ? injections - failures : 0,
               failures);
        result = failures == 0 && injections > 0 ? 0 : 1;
    }
    scene_remove(folder);
    return result;
}
