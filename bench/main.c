// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* bw-bench (exit codes as the command line's: 1 usage, 4 could not measure, 5 a limit missed):
 * options, the table of groups, own directories that are removed whatever happens. */
#include "bench.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct bench_group {
    const char *name;
    const char *what;
    bw_status (*run)(bench *b, bw_error *error);
} bench_group;

static const bench_group groups[] = {
    {"limits", "what the machine can do: memcpy, pread, fdatasync, publish by link", bench_limits},
    {"commit", "commits of staged batches against the floor with the same bytes", bench_commit},
    {"history", "a commit behind 10^3 and behind 10^6 steps", bench_history},
    {"manifest", "bytes of a commit with 32 producers", bench_manifest},
    {"states", "what resume states cost in a commit", bench_states},
    {"rivals", "eight processes that publish into one namespace against one", bench_rivals},
    {"decode", "CRC and full check of a segment, for each descriptor", bench_decode},
    {"next", "the call that hands out a prefetched item", bench_next},
    {"verified", "delivery with and without the check of every byte", bench_verified},
    {"memory", "resident memory of 128 ranks, some slow, against their budget", bench_memory},
    {"restart", "from opening a namespace of 10^5 steps to the first item", bench_restart},
    {"objects", "processor time of requests to an object store, beside bare libcurl",
     bench_objects},
    {"reads", "requests and bytes of ranks on an object store, counted by it", bench_reads},
    {"polling", "what ranks and producers that wait ask of an object store", bench_polling},
    {"scaling", "many producers on an object store against few, and against its bandwidth",
     bench_scaling},
    {"tail", "training steps where some requests of an object store are slow", bench_tail},
    {"latency", "commits and conditional writes on an object store, alone and loaded",
     bench_latency},
    {"requests", "requests and bytes of a rank, counted by strace", bench_requests},
    {"lifecycle", "bytes on the store while checkpoints advance, for 1,010 steps", bench_lifecycle},
};
#define GROUP_COUNT (sizeof groups / sizeof groups[0])
/* No group of rows: it has a clock or processes, options and lines of its own. */
static const char cadence_name[] = "cadence";

static void usage(FILE *out)
{
    fputs("usage: bw-bench [NAME…] [-o text|json] [--quick] [--rounds N] [--strict]\n"
          "                [--disk DIR] [--memory DIR] [--program PATH]\n"
          "       bw-bench cadence --virtual [-o text|json] [--minutes M] [--producers N,…]\n"
          "                [--policy P,…] [--case C,…]\n"
          "       bw-bench cadence --real [-o text|json] [--seconds S] [--rounds N]\n"
          "                [--latency READ,WRITE] [--producers N,…] [--policy P,…]\n\n"
          "Measures this machine and BatchWeave on it; all groups without a NAME:\n",
          out);
    for (size_t i = 0; i < GROUP_COUNT; i++)
        fprintf(out, "  %-10s %s\n", groups[i].name, groups[i].what);
    fputs(
        "\n  --quick         tiny budgets: every row, no meaning\n"
        "  --rounds N      rounds of each measurement (default 5)\n"
        "  --strict        exit 5 when a limit is missed; lifecycle's are counted, and always do\n"
        "  --disk DIR      where the disk is measured (default: TMPDIR or /tmp)\n"
        "  --memory DIR    a memory file system (default: /dev/shm)\n"
        "  --program PATH  the batchweave to count requests of (default: found beside bw-bench)\n"
        "  --virtual       of cadence: on a virtual clock, with many producers\n"
        "  --minutes M     of virtual time (default 10; the paper measured 300)\n"
        "  --real          of cadence: with processes, on the file store\n"
        "  --seconds S     that count, of each process in each of 2 rounds (default 10)\n"
        "  --latency R,W   ms that reads and writes take, on the memory file system (default\n"
        "                  30,60); 0,0: what the disk takes, synced\n",
        out);
}

static bool group_wanted(const char *name, char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

static bool names_known(char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < GROUP_COUNT; k++)
            found |= strcmp(names[i], groups[k].name) == 0;
        if (!found) {
            fprintf(stderr, "bw-bench: there is no group %s; --help lists them\n", names[i]);
            return false;
        }
    }
    return true;
}

static bool run_groups(bench *b, char *const *names, int count)
{
    bw_error *error = bw_error_new();
    bool good = error != NULL;
    for (size_t i = 0; good && i < GROUP_COUNT; i++) {
        if (!group_wanted(groups[i].name, names, count))
            continue;
        fprintf(stderr, "bw-bench: %s …\n", groups[i].name);
        if (groups[i].run(b, error) != BW_OK) {
            fprintf(stderr, "bw-bench: %s: %s: %s %s\n", groups[i].name,
                    bw_status_name(bw_error_code(error)), bw_error_message(error),
                    bw_error_key(error));
            good = false;
        }
    }
    bw_error_free(error);
    return good;
}

static bool make_own_dir(const char *parent, char *path)
{
    const int size = snprintf(path, BENCH_PATH_MAX, "%s/bw-bench-XXXXXX", parent);
    if (size < 0 || (size_t)size >= BENCH_PATH_MAX || mkdtemp(path) == NULL) {
        fprintf(stderr, "bw-bench: cannot make a directory in %s\n", parent);
        path[0] = '\0';
        return false;
    }
    return true;
}

#define PLACES 3u

/** A program in one of the places beside this one: installed, or in a build folder. Its bare name
 * when it is in none. */
static void find_program(const char *name, const char *const places[PLACES], char *path)
{
    char own[BENCH_PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size < 0 ? 0 : size] = '\0';
    char *slash = strrchr(own, '/');
    for (size_t i = 0; slash != NULL && i < PLACES; i++) {
        *slash = '\0';
        const int length = snprintf(path, BENCH_PATH_MAX, "%s/%s%s", own, places[i], name);
        if (length > 0 && (size_t)length < BENCH_PATH_MAX && access(path, X_OK) == 0)
            return;
    }
    snprintf(path, BENCH_PATH_MAX, "%s", name);
}

enum main_option {
    OPTION_QUICK = 256,
    OPTION_ROUNDS,
    OPTION_STRICT,
    OPTION_DISK,
    OPTION_MEMORY,
    OPTION_PROGRAM,
    OPTION_VIRTUAL,
    OPTION_MINUTES,
    OPTION_PRODUCERS,
    OPTION_POLICY,
    OPTION_CASE,
    OPTION_REAL,
    OPTION_SECONDS,
    OPTION_LATENCY,
    OPTION_END
};
#define MAIN_OPTIONS (OPTION_END - OPTION_QUICK)

typedef struct main_options {
    const char *disk, *memory, *program;
    bool json, strict, is_virtual, is_real;
    const char
        *given[MAIN_OPTIONS]; /* the names of those that were, by their place in main_option */
    bench_virtual virtual_run;
    bench_real real_run;
} main_options;

static bool parse_latency(const char *text, bench_real *run)
{
    char *comma = NULL, *end = NULL;
    run->read_ms = strtod(text, &comma);
    run->write_ms = *comma == ',' ? strtod(comma + 1, &end) : -1;
    const bool good = end != NULL && end != comma + 1 && *end == '\0' && run->read_ms >= 0 &&
                      run->write_ms >= 0 && run->read_ms <= 10000 && run->write_ms <= 10000;
    if (!good)
        fprintf(stderr, "bw-bench: --latency is two numbers of milliseconds, not %s\n", text);
    return good;
}

enum taker { OF_GROUPS = 1, OF_VIRTUAL = 2, OF_REAL = 4, OF_ANY = 7 };

static const struct option table[] = {
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"rounds", required_argument, NULL, OPTION_ROUNDS},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"disk", required_argument, NULL, OPTION_DISK},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"program", required_argument, NULL, OPTION_PROGRAM},
    {"virtual", no_argument, NULL, OPTION_VIRTUAL},
    {"minutes", required_argument, NULL, OPTION_MINUTES},
    {"producers", required_argument, NULL, OPTION_PRODUCERS},
    {"policy", required_argument, NULL, OPTION_POLICY},
    {"case", required_argument, NULL, OPTION_CASE},
    {"real", no_argument, NULL, OPTION_REAL},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"latency", required_argument, NULL, OPTION_LATENCY},
    {NULL, 0, NULL, 0},
};

static const uint8_t takers[] = {
    [OPTION_QUICK - OPTION_QUICK] = OF_GROUPS,
    [OPTION_ROUNDS - OPTION_QUICK] = OF_GROUPS | OF_REAL,
    [OPTION_STRICT - OPTION_QUICK] = OF_GROUPS,
    [OPTION_DISK - OPTION_QUICK] = OF_GROUPS | OF_REAL,
    [OPTION_MEMORY - OPTION_QUICK] = OF_GROUPS | OF_REAL,
    [OPTION_PROGRAM - OPTION_QUICK] = OF_GROUPS | OF_REAL,
    [OPTION_VIRTUAL - OPTION_QUICK] = OF_VIRTUAL,
    [OPTION_MINUTES - OPTION_QUICK] = OF_VIRTUAL,
    [OPTION_PRODUCERS - OPTION_QUICK] = OF_VIRTUAL | OF_REAL,
    [OPTION_POLICY - OPTION_QUICK] = OF_VIRTUAL | OF_REAL,
    [OPTION_CASE - OPTION_QUICK] = OF_VIRTUAL,
    [OPTION_REAL - OPTION_QUICK] = OF_REAL,
    [OPTION_SECONDS - OPTION_QUICK] = OF_REAL,
    [OPTION_LATENCY - OPTION_QUICK] = OF_REAL,
};

/** Those of cadence; false where it is none, or no good one. */
static bool take_cadence_option(int option, main_options *options)
{
    switch (option) {
    case OPTION_VIRTUAL:
        options->is_virtual = true;
        return true;
    case OPTION_REAL:
        options->is_real = true;
        return true;
    case OPTION_MINUTES:
        options->virtual_run.minutes = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case OPTION_SECONDS:
        options->real_run.seconds = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case OPTION_PRODUCERS:
        options->virtual_run.producers = options->real_run.producers = optarg;
        return true;
    case OPTION_POLICY:
        options->virtual_run.policies = options->real_run.policies = optarg;
        return true;
    case OPTION_CASE:
        options->virtual_run.cases = optarg;
        return true;
    case OPTION_LATENCY:
        return parse_latency(optarg, &options->real_run);
    default:
        usage(stderr);
        return false;
    }
}

/** -1: go on; else the exit code. */
static int parse_options(int argc, char **argv, bench *b, main_options *options)
{
    char *end = NULL;
    unsigned long rounds = 0;
    int option, index = 0;
    while ((option = getopt_long(argc, argv, "o:h", table, &index)) != -1) {
        if (option >= OPTION_QUICK)
            options->given[option - OPTION_QUICK] = table[index].name;
        switch (option) {
        case 'h':
            usage(stdout);
            return 0;
        case 'o':
            options->json = strcmp(optarg, "json") == 0;
            if (!options->json && strcmp(optarg, "text") != 0) {
                fprintf(stderr, "bw-bench: -o is text or json, not %s\n", optarg);
                return 1;
            }
            break;
        case OPTION_QUICK:
            b->quick = true;
            b->rounds = 1;
            break;
        case OPTION_ROUNDS:
            rounds = strtoul(optarg, &end, 10);
            if (end == optarg || *end != '\0' || rounds < 1 || rounds > BENCH_ROUNDS_MAX) {
                fprintf(stderr, "bw-bench: --rounds is 1 … %u\n", BENCH_ROUNDS_MAX);
                return 1;
            }
            b->rounds = options->real_run.rounds = (uint32_t)rounds;
            break;
        case OPTION_STRICT:
            options->strict = true;
            break;
        case OPTION_DISK:
            options->disk = optarg;
            break;
        case OPTION_MEMORY:
            options->memory = optarg;
            break;
        case OPTION_PROGRAM:
            options->program = optarg;
            break;
        default:
            if (!take_cadence_option(option, options))
                return 1;
        }
    }
    return -1;
}

static uint32_t count_missed(const bench *b, bool only_counted)
{
    uint32_t missed = 0;
    for (uint32_t i = 0; i < b->row_count; i++)
        missed += !bench_row_passes(&b->rows[i]) && (b->rows[i].counted || !only_counted);
    return missed;
}

/** The exit code. */
static int run_cadence(bench *b, main_options *options)
{
    bw_error *error = bw_error_new();
    if (error == NULL)
        return 4;
    options->virtual_run.json = options->real_run.json = options->json;
    options->real_run.disk = b->disk;
    options->real_run.memory = b->memory;
    const bw_status status = options->is_real ? bench_cadence_real(&options->real_run, error)
                                              : bench_cadence_virtual(&options->virtual_run, error);
    if (status != BW_OK)
        fprintf(stderr, "bw-bench: cadence: %s\n", bw_error_message(error));
    bw_error_free(error);
    return status == BW_OK ? 0 : status == BW_INVALID ? 1 : 4;
}

/** In the child: measures and prints. */
static int measure(bench *b, main_options *options, char *const *names, int count)
{
    if (options->is_real)
        return run_cadence(b, options);
    if (!run_groups(b, names, count))
        return 4;
    if (options->json)
        bench_print_json(b);
    else
        bench_print_text(b);
    const uint32_t missed = count_missed(b, false);
    if (missed > 0)
        fprintf(stderr, "bw-bench: %u limits missed\n", missed);
    return count_missed(b, !options->strict) > 0 ? 5 : 0;
}

/** The child's exit code. The parent outlives an interrupt and a crash, so that the directories are
 * always removed. */
static int measure_in_child(bench *b, main_options *options, char *const *names, int count)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, terminate;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGTERM, &ignore, &terminate);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGTERM, &terminate, NULL);
        const int code = measure(b, options, names, count);
        fflush(NULL);
        exit(code);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 4;
    if (WIFSIGNALED(status))
        fprintf(stderr, "bw-bench: ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

/** cadence has a clock of its own, or processes: it is named alone, and one of both. */
static bool cadence_fits(const main_options *options, char *const *names, int count)
{
    const bool named = count == 1 && strcmp(names[0], cadence_name) == 0;
    const bool fits = named && options->is_virtual != options->is_real;
    if (!fits)
        fputs("bw-bench: cadence is measured alone: bw-bench cadence --virtual, on a virtual "
              "clock, or --real, with processes\n",
              stderr);
    return fits;
}

static bool options_fit(const main_options *options, enum taker taker)
{
    for (uint32_t i = 0; i < MAIN_OPTIONS; i++) {
        if (options->given[i] == NULL || (takers[i] & taker) != 0)
            continue;
        fprintf(stderr, "bw-bench: --%s is an option of %s; --help lists them\n", options->given[i],
                taker == OF_GROUPS             ? "cadence alone"
                : (takers[i] & OF_GROUPS) != 0 ? "the other groups, and this does not take it"
                : taker == OF_VIRTUAL          ? "cadence --real"
                                               : "cadence --virtual");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static bench b = {.rounds = 5};
    const char *temporary = getenv("TMPDIR");
    main_options options = {
        .disk = temporary != NULL ? temporary : "/tmp",
        .memory = "/dev/shm",
        .virtual_run = {.minutes = 10},
        .real_run = {.seconds = 10, .rounds = 2, .read_ms = 30, .write_ms = 60}};
    const int early = parse_options(argc, argv, &b, &options);
    if (early >= 0)
        return early;
    const bool cadence = options.is_virtual || options.is_real ||
                         (optind < argc && strcmp(argv[optind], cadence_name) == 0);
    if (cadence && !cadence_fits(&options, argv + optind, argc - optind))
        return 1;
    if (!options_fit(&options, options.is_virtual ? OF_VIRTUAL : cadence ? OF_REAL : OF_GROUPS))
        return 1;
    if (options.is_virtual)
        return run_cadence(&b, &options);
    if (!cadence && !names_known(argv + optind, argc - optind))
        return 1;
    if (options.program != NULL)
        snprintf(b.program, sizeof b.program, "%s", options.program);
    else
        find_program("batchweave", (const char *const[PLACES]){"", "../cli/", "../../bin/"},
                     b.program);
    find_program("batchweave-teststore", (const char *const[PLACES]){"", "teststore/", ""},
                 b.teststore);
    int code = 4;
    if (make_own_dir(options.disk, b.disk) && make_own_dir(options.memory, b.memory))
        code = measure_in_child(&b, &options, argv + optind, argc - optind);
    bench_remove_dir(b.disk);
    bench_remove_dir(b.memory);
    return code;
}
