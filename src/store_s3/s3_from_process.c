// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * A program that hands out keys. It is run without a shell, in a process group of its own, with
 * nothing to read; what it writes to standard error is the user's to see. Not a word of what it
 * writes to standard output gets into a message.
 */
#include "store_s3/s3_source.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 64u
#define TIMEOUT_NS (60 * NS_PER_S)
#define SLICE_MS 20
#define PATH_USUAL "/usr/local/bin:/usr/bin:/bin"

typedef struct child {
    pid_t pid;
    int out; /* the read end of its standard output */
} child;

/* ---- start ---- */

/* As a shell finds it; false when there is no such program. */
static bool find_program(const net_environment *e, const char *name, char path[NET_PATH_MAX])
{
    const char *folders = net_variable(e, "PATH");
    if (strchr(name, '/') != NULL)
        return (size_t)snprintf(path, NET_PATH_MAX, "%s", name) < NET_PATH_MAX;
    for (const char *at = *folders != '\0' ? folders : PATH_USUAL; *at != '\0';) {
        const size_t size = strcspn(at, ":");
        const int written =
            snprintf(path, NET_PATH_MAX, "%.*s%s%s", (int)size, at, size > 0 ? "/" : "", name);
        if (written > 0 && (size_t)written < NET_PATH_MAX && access(path, X_OK) == 0)
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &defaults);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int spawn(const char *path, char *const *words, char *const *environment, int out,
                 pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (failed == 0)
            failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (failed == 0)
            failed = set_attributes(&attributes);
        if (failed == 0)
            failed = posix_spawn(pid, path, &actions, &attributes, words, environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static bw_status start(const s3_chain *c, char *command, child *out, bw_error *error)
{
    char *words[WORDS_MAX];
    char path[NET_PATH_MAX];
    char why[128];
    int ends[2];
    if (!s3_words(command, words, WORDS_MAX))
        return error_set(error, BW_INVALID,
                         "the command has no words, more than %u, or a quote that is not closed",
                         WORDS_MAX - 1);
    if (!find_program(c->net.environment, words[0], path))
        return error_set(error, BW_INVALID, "there is no program %.200s in PATH", words[0]);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, BW_IO, "no pipe: %s", strerror_r(errno, why, sizeof why));
    const int failed =
        spawn(path, words, net_environment_all(c->net.environment), ends[1], &out->pid);
    (void)close(ends[1]);
    out->out = ends[0];
    if (failed == 0)
        return BW_OK;
    (void)close(ends[0]);
    return error_set(error, BW_INVALID, "%.200s cannot be run: %s", path,
                     strerror_r(failed, why, sizeof why));
}

/* ---- what it writes ---- */

static bw_status read_all(const s3_chain *c, const child *p, int64_t deadline_ns, buf *answer,
                          bw_error *error)
{
    uint8_t bytes[4096];
    ssize_t got = 1;
    while (got != 0) {
        struct pollfd ready = {.fd = p->out, .events = POLLIN};
        if (c->net.stop != NULL && atomic_load(c->net.stop))
            return error_set(error, BW_INTERRUPTED, "stopped");
        if (clock_now(clock_system()) >= deadline_ns)
            return error_set(error, BW_TIMEOUT, "it did not end within %d s",
                             (int)(TIMEOUT_NS / NS_PER_S));
        if (poll(&ready, 1, SLICE_MS) <= 0)
            continue;
        got = read(p->out, bytes, sizeof bytes);
        if (got > 0)
            buf_put(answer, bytes, (size_t)got);
        else if (got < 0 && errno != EINTR)
            got = 0;
        secret_wipe(bytes, sizeof bytes);
        if (buf_status(answer) != BW_OK)
            return error_set(error, BW_TOO_LARGE, "it writes more than %u bytes",
                             HTTP_ANSWER_BYTES_MAX);
    }
    return BW_OK;
}

/* Waits for its end, and makes one when `at_once` or the deadline has passed. A host that waits for
 * all children may have taken the status away: then what it wrote has to do. */
static bw_status wait_for(const s3_chain *c, child *p, bool at_once, int64_t deadline_ns,
                          bw_error *error)
{
    static const struct timespec slice = {.tv_nsec = SLICE_MS * 1000000l};
    int status = 0;
    bool killed = false;
    pid_t ended = 0;
    while ((ended = waitpid(p->pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        const bool late = clock_now(clock_system()) >= deadline_ns;
        if (at_once || late || (c->net.stop != NULL && atomic_load(c->net.stop))) {
            (void)kill(-p->pid, SIGKILL);
            killed = true;
        }
        (void)nanosleep(&slice, NULL);
    }
    if (killed)
        return error_set(error, BW_TIMEOUT, "it did not end in time");
    if (ended > 0 && WIFSIGNALED(status))
        return error_set(error, BW_CHILD_FAILED, "it was ended by signal %d", WTERMSIG(status));
    if (ended > 0 && WEXITSTATUS(status) != 0)
        return error_set(error, BW_CHILD_FAILED, "it exited with status %d", WEXITSTATUS(status));
    return BW_OK;
}

static bw_status run(s3_chain *c, char *command, buf *answer, bw_error *error)
{
    child p = {.out = -1};
    BW_TRY(start(c, command, &p, error));
    const int64_t deadline_ns = clock_deadline(clock_system(), TIMEOUT_NS);
    const bw_status status = read_all(c, &p, deadline_ns, answer, error);
    /* First its end, then that of the pipe: it would complain of the pipe to the user. */
    const bw_status end =
        wait_for(c, &p, status != BW_OK, deadline_ns, status == BW_OK ? error : NULL);
    (void)close(p.out);
    return status != BW_OK ? status : end;
}

bw_status s3_process_keys(s3_chain *c, const char *command, net_keys *out, bw_error *error)
{
    buf answer;
    char *text = mem_strdup(command); /* it may have a secret among its words */
    bw_status status = http_answer_init(&answer);
    if (text == NULL || status != BW_OK)
        status = error_set(error, BW_NOMEM, "no memory for credentials");
    if (status == BW_OK)
        status = run(c, text, &answer, error);
    if (status == BW_OK)
        status = s3_keys_parse(out, answer.data, answer.size, "SessionToken",
                               clock_wall_ms(clock_system()), error);
    if (text != NULL)
        secret_wipe(text, strlen(command));
    mem_free(text);
    http_answer_free(&answer);
    if (status != BW_OK)
        error_prefix(error, "%s", out->source);
    return status;
}
