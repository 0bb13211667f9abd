// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Requests and bytes of one rank, counted outside the library: the system calls of `batchweave
 * consume --rank` on the files beneath data/, as strace saw them, divided by the steps it was
 * handed and their payload.
 */
#include "fill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_DP 4u
#define REQUEST_ITEMS 4u
#define REQUEST_ITEM_BYTES                                                                         \
    25600u /* slices of 100 KiB, the least that the figure is promised for                         \
            */
#define REQUEST_RANK "1"

typedef struct counted {
    uint64_t requests, bytes;
} counted;

/** One line of strace -ff -y: a read or a map of a file beneath data/ adds to the count. */
static void count_line(const char *line, counted *c)
{
    const bool read = strncmp(line, "pread64(", 8) == 0 || strncmp(line, "read(", 5) == 0 ||
                      strncmp(line, "preadv(", 7) == 0 || strncmp(line, "preadv2(", 8) == 0 ||
                      strncmp(line, "readv(", 6) == 0;
    const bool map = strncmp(line, "mmap(", 5) == 0;
    const char *result = strrchr(line, '=');
    if ((!read && !map) || strstr(line, "/data/") == NULL || result == NULL || result[2] == '-')
        return;
    c->requests++;
    /* What a read returned; what a map was asked for: mmap(NULL, LENGTH, … */
    const char *number = read ? result + 2 : strchr(line, ',');
    c->bytes += strtoull(number + (map ? 1 : 0), NULL, 10);
}

static bw_status count_file(const char *path, counted *c, bw_error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return bench_failed(error, path);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0)
        count_line(line, c);
    free(line);
    fclose(file);
    return BW_OK;
}

/** strace -ff writes a file per thread. */
static bw_status count_folder(const char *folder, counted *c, bw_error *error)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return bench_failed(error, folder);
    bw_status status = BW_OK;
    for (const struct dirent *entry; status == BW_OK && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char path[BENCH_PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        status = count_file(path, c, error);
    }
    closedir(directory);
    return status;
}

/** Runs a command with its standard output thrown away. */
static bw_status run_command(char *const *words, bw_error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    const int failed = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        errno = failed;
        return bench_failed(error, words[0]);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(error, BW_CHILD_FAILED, "%s ended with status %#x", words[0],
                         (unsigned)status);
    return BW_OK;
}

static bw_status trace_rank(const bench *b, const char *url, counted *c, bw_error *error)
{
    char folder[BENCH_PATH_MAX];
    char output[BENCH_PATH_MAX + 16];
    char world[16];
    BW_TRY(bench_make_dir(b->memory, "trace", folder, error));
    snprintf(output, sizeof output, "%s/thread", folder);
    snprintf(world, sizeof world, "%u", REQUEST_DP);
    const char *const words[] = {
        "strace",   "-ff",     "-qq",    "-y",       "-s",
        "0",        "-o",      output,   "-e",       "trace=read,readv,pread64,preadv,preadv2,mmap",
        b->program, "consume", url,      "--rank",   REQUEST_RANK,
        "--world",  world,     "--from", "earliest", NULL};
    /* The words of a command are never written to, whatever their type says. */
    BW_TRY(run_command((char *const *)(uintptr_t)words, error));
    return count_folder(folder, c, error);
}

static bw_status fill_and_trace(bench *b, const fill_plan *plan, counted *c, bw_error *error)
{
    char url[BENCH_PATH_MAX];
    BW_TRY(fill_url(b->memory, "requests", url, error));
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = fill_space(runtime, url, plan, error);
    bw_runtime_close(runtime);
    BW_TRY(status);
    return trace_rank(b, url, c, error);
}

bw_status bench_requests(bench *b, bw_error *error)
{
    if (access(b->program, X_OK) != 0)
        return bench_failed(error, b->program);
    const fill_plan plan = {.dp = REQUEST_DP,
                            .items = REQUEST_ITEMS,
                            .item_bytes = REQUEST_ITEM_BYTES,
                            .steps = bench_budget(b, 200, 8)};
    counted c = {0};
    BW_TRY(fill_and_trace(b, &plan, &c, error));
    const double payload = (double)plan.steps * plan.items * plan.item_bytes;
    bench_limit(bench_add(b, "requests.per_rank_step", "requests",
                          bench_exactly((double)c.requests / (double)plan.steps)),
                JUDGE_VALUE_MAX, 1);
    bench_limit(
        bench_add(b, "requests.bytes_per_payload", "B/B", bench_exactly((double)c.bytes / payload)),
        JUDGE_VALUE_MAX, 1.005);
    return BW_OK;
}
