// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Cadences side by side for real: processes that publish into one namespace on the file store, as
 * they do in every product, but for requests that take the time of a store behind a network
 * (delay.h). With no time added it is the plain file store on the disk, synced.
 *
 * A batch is done in 237 ms ± 30 % in each process, as on the virtual clock. Lag is from the put of
 * a batch, its upload included, to the moment at which its producer is told COMMITTED; a batch that
 * was not told by the end counts with its age then, and as open.
 */
#include "delay.h"
#include "fill.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "client/producer.h"
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 128u
#define POLICIES_MAX 8u
#define LAGS_MAX 16384u /* batches of a process: an hour of them */
#define SECONDS_MAX 2700u
#define BATCH_NS (237 * NS_PER_MS)
#define ITEM_BYTES 1024u
/* Of the seconds asked for, one in so many more before them: joins are over then. */
#define WARM_SHARE 4
#define OPEN_NS (300 * NS_PER_S)

/* What a process did in the time that counts; shared with its parent. */
typedef struct tally {
    uint64_t commits, conflicts, reads, writes, acknowledged;
    int64_t processor_us;
    uint32_t lags, open;
    uint32_t lag_us[LAGS_MAX];
} tally;

typedef struct shared {
    atomic_uint ready;
    atomic_int_least64_t start_ns; /* 0: not yet */
    tally tallies[PROCESSES_MAX];
} shared;

typedef struct real_run {
    const bench_real *plan;
    const char *policy;
    uint32_t processes;
    char path[BENCH_PATH_MAX], url[BENCH_PATH_MAX];
    bool plain;
    shared *shared;
} real_run;

static void sleep_ns(int64_t ns)
{
    const struct timespec pause = {ns / NS_PER_S, (long)(ns % NS_PER_S)};
    if (ns > 0)
        nanosleep(&pause, NULL);
}

/* ---- a process ---- */

typedef struct maker {
    const real_run *run;
    tally *out, before;
    rng random;
    bw_runtime *runtime;
    bw_space *space;
    bw_producer *producer;
    int64_t counts_from_ns, end_ns;
    bool counts;
    uint64_t puts, told;
    int64_t put_ns[LAGS_MAX];
} maker;

static bw_status open_store(const real_run *run, uint64_t seed, store **out, bw_error *error)
{
    const store_file_options options = {.durable = run->plain, .writable = true};
    store *file = NULL;
    BW_TRY(store_file_open(run->path, &options, &file, error));
    if (run->plain) {
        *out = file;
        return BW_OK;
    }
    const delay_medians medians = {run->plan->read_ms, run->plan->write_ms};
    const bw_status status = delay_wrap(file, medians, seed, out, error);
    if (status != BW_OK)
        store_close(file);
    return status;
}

static bw_status open_producer(maker *m, uint32_t index, bw_error *error)
{
    const real_run *run = m->run;
    const space_options options = {
        .writable = true, .durable = run->plain, .retry_limit_ns = 30 * NS_PER_S};
    const char *const pairs[] = {"policy",         run->policy, "events", "100000",
                                 "staged_batches", "16384",     NULL};
    char id[8];
    store *s = NULL;
    bw_config *config = NULL;
    snprintf(id, sizeof id, "p%" PRIu32, index);
    BW_TRY(bw_runtime_open(NULL, &m->runtime, error));
    BW_TRY(open_store(run, rng_u64(&m->random), &s, error));
    BW_TRY(space_open_on(m->runtime, s, run->url, &options, BW_FOREVER, &m->space, error));
    BW_TRY(fill_config(pairs, &config, error));
    const bw_status status =
        bw_producer_open(m->space, id, config, BW_FOREVER, &m->producer, error);
    bw_config_free(config);
    return status;
}

static void count(maker *m, tally *t)
{
    struct rusage used;
    bw_producer *p = m->producer;
    lock_acquire(&p->lock);
    t->commits = p->locked.stats.commits;
    t->conflicts = p->locked.stats.conflicts;
    lock_release(&p->lock);
    for (int kind = 0; kind < STORE_OP_KINDS; kind++) {
        const bool writes = kind == STORE_PUT || kind == STORE_CREATE || kind == STORE_DELETE;
        *(writes ? &t->writes : &t->reads) += atomic_load(&m->space->meter.ops[kind]);
    }
    getrusage(RUSAGE_SELF, &used);
    t->processor_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                      used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

/* Batch `k` was told at `at_ns`, or is open then. */
static void add_lag(maker *m, uint64_t k, int64_t at_ns)
{
    const int64_t lag_ns = at_ns - m->put_ns[k];
    if (m->put_ns[k] >= m->counts_from_ns && lag_ns >= 0)
        m->out->lag_us[m->out->lags++] = (uint32_t)(lag_ns / 1000);
}

static bw_status listen_until(maker *m, int64_t until_ns, bw_error *error)
{
    for (;;) {
        bw_event *event = NULL;
        const int64_t left_ns = until_ns - bench_now();
        if (left_ns <= 0)
            return BW_OK;
        const bw_status status = bw_producer_event(m->producer, left_ns, &event, error);
        if (status == BW_TIMEOUT)
            return BW_OK;
        BW_TRY(status);
        const bw_event_kind kind = bw_event_what(event);
        if (kind == BW_EVENT_COMMITTED) {
            add_lag(m, bw_event_token(event), bench_now());
            m->told = bw_event_token(event) + 1;
        }
        bw_event_free(event);
        if (kind == BW_EVENT_FENCED || kind == BW_EVENT_FAILED)
            return error_set(error, BW_BUG, "the producer ended");
    }
}

static bw_status put(maker *m, bw_error *error)
{
    static const uint8_t bytes[ITEM_BYTES];
    const struct iovec piece = {(void *)(uintptr_t)bytes, sizeof bytes};
    bw_batch *batch = NULL;
    if (m->puts == LAGS_MAX)
        return error_set(error, BW_TOO_LARGE, "more than %u batches", LAGS_MAX);
    BW_TRY(bw_batch_new(m->producer, 1, &batch, error));
    bw_status status = bw_batch_item(batch, 0, 0, 0, &piece, 1, error);
    m->put_ns[m->puts] = bench_now();
    if (status == BW_OK)
        status =
            bw_producer_put(m->producer, batch, m->puts + 1, NULL, 0, m->puts, BW_FOREVER, error);
    if (status == BW_OK)
        m->puts++;
    else
        bw_batch_free(batch);
    return status;
}

static bw_status work(maker *m, bw_error *error)
{
    int64_t start_ns;
    atomic_fetch_add(&m->run->shared->ready, 1);
    while ((start_ns = atomic_load(&m->run->shared->start_ns)) == 0)
        sleep_ns(NS_PER_MS);
    const int64_t span_ns = (int64_t)m->run->plan->seconds * NS_PER_S;
    m->counts_from_ns = start_ns + span_ns / WARM_SHARE;
    m->end_ns = m->counts_from_ns + span_ns;
    int64_t next_ns = start_ns + (int64_t)rng_below(&m->random, (uint64_t)BATCH_NS);
    while (next_ns < m->end_ns) {
        BW_TRY(listen_until(m, next_ns, error));
        if (!m->counts && next_ns >= m->counts_from_ns) {
            m->counts = true;
            count(m, &m->before);
        }
        BW_TRY(put(m, error));
        next_ns += BATCH_NS * 7 / 10 + (int64_t)rng_below(&m->random, BATCH_NS * 6 / 10);
    }
    return listen_until(m, m->end_ns, error);
}

static void take_tally(maker *m)
{
    tally *t = m->out, after = {0};
    count(m, &after);
    t->commits = after.commits - m->before.commits;
    t->conflicts = after.conflicts - m->before.conflicts;
    t->reads = after.reads - m->before.reads;
    t->writes = after.writes - m->before.writes;
    t->processor_us = after.processor_us - m->before.processor_us;
    t->acknowledged = m->told;
    for (uint64_t k = m->told; k < m->puts; k++) {
        t->open += m->put_ns[k] >= m->counts_from_ns && m->put_ns[k] <= m->end_ns;
        add_lag(m, k, m->end_ns);
    }
}

/* What it still has staged dies with it, and with its namespace. */
static void work_and_exit(const real_run *run, uint32_t index)
{
    static maker m;
    bw_error *error = bw_error_new();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    m.run = run;
    m.out = &run->shared->tallies[index];
    rng_seed(&m.random, index);
    bw_status status = open_producer(&m, index, error);
    if (status == BW_OK)
        status = work(&m, error);
    if (status == BW_OK)
        take_tally(&m);
    else
        fprintf(stderr, "bw-bench: producer %" PRIu32 ": %s: %s\n", index, bw_status_name(status),
                bw_error_message(error));
    _exit(status == BW_OK ? 0 : 1);
}

/* ---- all of them ---- */

typedef struct result {
    char policy[BENCH_WORD_BYTES];
    double seconds;
    uint64_t commits, conflicts, reads, writes;
    int64_t processor_us;
    double *lags; /* seconds */
    size_t lag_count, lag_capacity;
    uint64_t open;
} result;

static bw_status make_space(const real_run *run, bw_error *error)
{
    const char *const pairs[] = {"dp", "1", "items", "1", "durable", "false", NULL};
    bw_runtime *runtime = NULL;
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = bw_space_init(runtime, run->url, config, error);
    bw_runtime_close(runtime);
    bw_config_free(config);
    return status;
}

/* Until all have opened their producers; then they start at once. */
static bool start_all(const real_run *run)
{
    const int64_t until_ns = bench_now() + OPEN_NS;
    while (atomic_load(&run->shared->ready) < run->processes) {
        siginfo_t ended = {.si_pid = 0};
        if (bench_now() > until_ns ||
            (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0))
            return false;
        sleep_ns(5 * NS_PER_MS);
    }
    atomic_store(&run->shared->start_ns, bench_now() + 20 * NS_PER_MS);
    return true;
}

static bw_status run_processes(const real_run *run, bw_error *error)
{
    pid_t children[PROCESSES_MAX];
    bool good = true;
    for (uint32_t i = 0; i < run->processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            work_and_exit(run, i);
        good = good && children[i] > 0;
    }
    good = good && start_all(run);
    for (uint32_t i = 0; i < run->processes; i++) {
        int ended = 1;
        if (!good && children[i] > 0)
            kill(children[i], SIGKILL);
        if (children[i] > 0)
            good = waitpid(children[i], &ended, 0) == children[i] && ended == 0 && good;
    }
    return good ? BW_OK
                : error_set(error, BW_CHILD_FAILED, "a process that published ended with an error");
}

static bw_status add_tallies(const real_run *run, result *r, bw_error *error)
{
    uint64_t acknowledged = 0, steps = 0;
    r->seconds += run->plan->seconds;
    for (uint32_t i = 0; i < run->processes; i++) {
        const tally *t = &run->shared->tallies[i];
        void *lags = r->lags;
        if (mem_grow(&lags, &r->lag_capacity, r->lag_count + t->lags, sizeof *r->lags) != 0)
            return error_set(error, BW_NOMEM, "no memory for lags");
        r->lags = lags;
        for (uint32_t k = 0; k < t->lags; k++)
            r->lags[r->lag_count++] = t->lag_us[k] / 1e6;
        r->commits += t->commits;
        r->conflicts += t->conflicts;
        r->reads += t->reads;
        r->writes += t->writes;
        r->processor_us += t->processor_us;
        r->open += t->open;
        acknowledged += t->acknowledged;
    }
    BW_TRY(fill_count_steps(run->url, &steps, error));
    if (steps < acknowledged)
        return error_set(error, BW_BUG,
                         "%" PRIu64 " batches were acknowledged, %" PRIu64 " steps are there",
                         acknowledged, steps);
    return BW_OK;
}

static bw_status run_once(const bench_real *plan, uint32_t processes, result *r, bw_error *error)
{
    static uint32_t turns;
    char name[32];
    real_run run = {.plan = plan, .policy = r->policy, .processes = processes};
    run.plain = plan->read_ms <= 0 && plan->write_ms <= 0;
    const char *folder = run.plain ? plan->disk : plan->memory;
    snprintf(name, sizeof name, "cadence.%" PRIu32, turns++);
    BW_TRY(bench_make_dir(folder, name, run.path, error));
    BW_TRY(fill_url(folder, name, run.url, error));
    run.shared =
        mmap(NULL, sizeof *run.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.shared == MAP_FAILED)
        return bench_failed(error, "memory shared with processes");
    bw_status status = make_space(&run, error);
    if (status == BW_OK)
        status = run_processes(&run, error);
    if (status == BW_OK)
        status = add_tallies(&run, r, error);
    munmap(run.shared, sizeof *run.shared);
    bench_remove_dir(run.path);
    return status;
}

static int compare_lags(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double lag_quantile(const result *r, double share)
{
    return r->lag_count > 0 ? r->lags[(size_t)(share * (double)(r->lag_count - 1))] : 0;
}

static void print_result(const bench_real *plan, uint32_t processes, result *r)
{
    qsort(r->lags, r->lag_count, sizeof *r->lags, compare_lags);
    const double attempts = (double)(r->commits + r->conflicts);
    const double commits = r->commits > 0 ? (double)r->commits : 1;
    printf(plan->json ? "{\"policy\":\"%s\",\"producers\":%" PRIu32
                        ",\"seconds\":%.0f,\"commits_per_s\":%.3f,\"success_percent\":%.2f,"
                        "\"lag_p50_s\":%.4f,\"lag_p99_s\":%.4f,\"lag_max_s\":%.4f,\"batches\":%zu,"
                        "\"open\":%" PRIu64 ",\"reads_per_commit\":%.2f,\"requests_per_s\":%.2f,"
                        "\"processor_percent\":%.3f}\n"
                      : "%-14s %9" PRIu32 " %6.0f %9.2f %8.2f %8.3f %8.3f %8.3f %8zu %6" PRIu64
                        " %7.1f %9.1f %6.2f\n",
           r->policy, processes, r->seconds, (double)r->commits / r->seconds,
           attempts > 0 ? 100 * (double)r->commits / attempts : 0, lag_quantile(r, .5),
           lag_quantile(r, .99), lag_quantile(r, 1), r->lag_count, r->open,
           (double)r->reads / commits, (double)(r->reads + r->writes) / r->seconds,
           (double)r->processor_us / 1e4 / r->seconds);
    fflush(stdout);
}

/* In turns: the second round goes backwards. */
static bw_status run_rounds(const bench_real *plan, uint32_t processes, bw_error *error)
{
    const char *list = plan->policies != NULL ? plan->policies : "naive,fixed:100,dac,turn";
    result results[POLICIES_MAX] = {0};
    uint32_t count = 0;
    while (count < POLICIES_MAX && bench_next_word(&list, results[count].policy))
        count++;
    bw_status status = *list == '\0'
                           ? BW_OK
                           : error_set(error, BW_INVALID, "no list of at most %u cadences: %s",
                                       POLICIES_MAX, list);
    for (uint32_t round = 0; round < plan->rounds; round++)
        for (uint32_t k = 0; k < count && status == BW_OK; k++)
            status = run_once(plan, processes, &results[round % 2 == 0 ? k : count - 1 - k], error);
    for (uint32_t k = 0; k < count; k++) {
        if (status == BW_OK)
            print_result(plan, processes, &results[k]);
        mem_free(results[k].lags);
    }
    return status;
}

static bw_status check_policies(const char *list, bw_error *error)
{
    char policy[BENCH_WORD_BYTES];
    cadence c;
    while (list != NULL && bench_next_word(&list, policy))
        BW_TRY(cadence_parse(policy, &c, error));
    return BW_OK;
}

bw_status bench_cadence_real(const bench_real *plan, bw_error *error)
{
    const char *list = plan->producers != NULL ? plan->producers : "2,8,32";
    char word[BENCH_WORD_BYTES];
    if (plan->seconds < 1 || plan->seconds > SECONDS_MAX)
        return error_set(error, BW_INVALID, "1 … %u seconds", SECONDS_MAX);
    BW_TRY(check_policies(plan->policies, error));
    if (!plan->json)
        printf("%-14s %9s %6s %9s %8s %8s %8s %8s %8s %6s %7s %9s %6s\n", "policy", "producers",
               "s", "commits/s", "success%", "lag p50", "p99", "max s", "batches", "open", "reads",
               "requests/s", "cpu%");
    while (bench_next_word(&list, word)) {
        char *end = NULL;
        const unsigned long processes = strtoul(word, &end, 10);
        if (*end != '\0' || processes < 1 || processes > PROCESSES_MAX)
            return error_set(error, BW_INVALID, "1 … %u producers, not %s", PROCESSES_MAX, word);
        BW_TRY(run_rounds(plan, (uint32_t)processes, error));
    }
    return *list == '\0' ? BW_OK : error_set(error, BW_INVALID, "no list of numbers: %s", list);
}
