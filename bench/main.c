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
    {"requests", "requests and bytes of a rank, counted by strace", bench_requests},
    {"lifecycle", "bytes on the store while checkpoints advance, for 1,010 steps", bench_lifecycle},
};
#define GROUP_COUNT (sizeof groups / sizeof groups[0])
/* No group of rows: it has a clock, options and lines of its own. */
static const char cadence_name[] = "cadence";

static void usage(FILE *out)
{
    fputs("usage: bw-bench [NAME…] [-o text|json] [--quick] [--rounds N] [--strict]\n"
          "                [--disk DIR] [--memory DIR] [--program PATH]\n"
          "       bw-bench cadence --virtual [-o text|json] [--minutes M] [--producers N,…]\n"
          "                [--policy P,…] [--case C,…]\n\n"
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
        "  --minutes M     of virtual time (default 10; the paper measured 300)\n",
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

/** The command line beside this program: installed, or in a build folder. "batchweave" when there
 * is none. */
static void find_program(char *path)
{
    static const char *const places[] = {"batchweave", "../cli/batchweave", "../../bin/batchweave"};
    char own[BENCH_PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size < 0 ? 0 : size] = '\0';
    char *slash = strrchr(own, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof places[0]; i++) {
        *slash = '\0';
        const int length = snprintf(path, BENCH_PATH_MAX, "%s/%s", own, places[i]);
        if (length > 0 && (size_t)length < BENCH_PATH_MAX && access(path, X_OK) == 0)
            return;
    }
    snprintf(path, BENCH_PATH_MAX, "batchweave");
}

typedef struct main_options {
    const char *disk, *memory, *program;
    bool json, strict, is_virtual;
    bench_virtual virtual_run;
} main_options;

/** -1: go on; else the exit code. */
static int parse_options(int argc, char **argv, bench *b, main_options *options)
{
    enum {
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
        OPTION_CASE
    };
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
        {NULL, 0, NULL, 0},
    };
    char *end = NULL;
    unsigned long rounds = 0;
    int option;
    while ((option = getopt_long(argc, argv, "o:h", table, NULL)) != -1) {
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
            b->rounds = (uint32_t)rounds;
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
        case OPTION_VIRTUAL:
            options->is_virtual = true;
            break;
        case OPTION_MINUTES:
            options->virtual_run.minutes = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case OPTION_PRODUCERS:
            options->virtual_run.producers = optarg;
            break;
        case OPTION_POLICY:
            options->virtual_run.policies = optarg;
            break;
        case OPTION_CASE:
            options->virtual_run.cases = optarg;
            break;
        default:
            usage(stderr);
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

/** In the child: measures and prints. */
static int measure(bench *b, const main_options *options, char *const *names, int count)
{
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
static int measure_in_child(bench *b, const main_options *options, char *const *names, int count)
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

/** The exit code. */
static int run_virtual(main_options *options, char **names, int count)
{
    if (!options->is_virtual || count != 1 || strcmp(names[0], cadence_name) != 0) {
        fputs(
            "bw-bench: cadence is measured alone, on a virtual clock: bw-bench cadence --virtual\n",
            stderr);
        return 1;
    }
    options->virtual_run.json = options->json;
    bw_error *error = bw_error_new();
    if (error == NULL)
        return 4;
    const bw_status status = bench_cadence_virtual(&options->virtual_run, error);
    if (status != BW_OK)
        fprintf(stderr, "bw-bench: cadence: %s\n", bw_error_message(error));
    bw_error_free(error);
    return status == BW_OK ? 0 : status == BW_INVALID ? 1 : 4;
}

int main(int argc, char **argv)
{
    static bench b = {.rounds = 5};
    const char *temporary = getenv("TMPDIR");
    main_options options = {.disk = temporary != NULL ? temporary : "/tmp",
                            .memory = "/dev/shm",
                            .virtual_run = {.minutes = 10}};
    const int early = parse_options(argc, argv, &b, &options);
    if (early >= 0)
        return early;
    if (options.is_virtual || (optind < argc && strcmp(argv[optind], cadence_name) == 0))
        return run_virtual(&options, argv + optind, argc - optind);
    if (!names_known(argv + optind, argc - optind))
        return 1;
    if (options.program != NULL)
        snprintf(b.program, sizeof b.program, "%s", options.program);
    else
        find_program(b.program);
    int code = 4;
    if (make_own_dir(options.disk, b.disk) && make_own_dir(options.memory, b.memory))
        code = measure_in_child(&b, &options, argv + optind, argc - optind);
    bench_remove_dir(b.disk);
    bench_remove_dir(b.memory);
    return code;
}
