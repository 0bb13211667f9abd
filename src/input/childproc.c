// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/childproc.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OFFSET_NAME "BATCHWEAVE_OFFSET="
#define SHARD_NAME "BATCHWEAVE_SHARD="
#define POLL_MS 20
#define GRACE_MS 1000

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/**
 * The environment with the two variables in place of any that were there; the strings are borrowed.
 */
static char **child_environment(char *offset, char *shard)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **made = mem_array(count + 3, sizeof(char *));
    if (made == NULL)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!starts_with(environ[i], OFFSET_NAME) && !starts_with(environ[i], SHARD_NAME))
            made[n++] = environ[i];
    made[n++] = offset;
    made[n] = shard;
    return made;
}

/**
 * Signals as a fresh program expects them, and a group of its own, so that all it starts can be
 * ended.
 */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int spawn_shell(pid_t *pid, const char *command, int out, char **environment)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (failed == 0)
        failed = set_attributes(&attributes);
    char shell[] = "sh", option[] = "-c";
    char *text = mem_strdup(command);
    char *arguments[] = {shell, option, text, NULL};
    if (failed == 0)
        failed = text == NULL
                     ? ENOMEM
                     : posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environment);
    mem_free(text);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static bw_status start_failed(const char *command, int number, bw_error *error)
{
    char text[128];
    return error_set(error, BW_CHILD_FAILED, "cannot start %s: %s", command,
                     strerror_r(number, text, sizeof text));
}

bw_status childproc_start(childproc *child, const char *command, uint64_t offset, uint32_t shard,
                          uint32_t shards, bw_error *error)
{
    *child = (childproc){.out = -1};
    char offset_text[64], shard_text[64];
    snprintf(offset_text, sizeof offset_text, OFFSET_NAME "%" PRIu64, offset);
    snprintf(shard_text, sizeof shard_text, SHARD_NAME "%u/%u", shard, shards);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return start_failed(command, errno, error);
    char **environment = child_environment(offset_text, shard_text);
    const int failed =
        environment == NULL ? ENOMEM : spawn_shell(&child->pid, command, ends[1], environment);
    mem_free(environment);
    close(ends[1]);
    if (failed != 0) {
        child->pid = 0;
        close(ends[0]);
        return start_failed(command, failed, error);
    }
    child->out = ends[0];
    return BW_OK;
}

static void sleep_ms(int ms)
{
    const struct timespec wait = {.tv_nsec = ms * 1000000l};
    nanosleep(&wait, NULL);
}

/** true when it ended; its status is then known (or taken as a failure) and the pid gone. */
static bool reap(childproc *child, int *wait_status)
{
    const pid_t ended = waitpid(child->pid, wait_status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    if (ended < 0)
        *wait_status = 127 << 8;
    return true;
}

bw_status childproc_wait(childproc *child, int (*tick)(void *), void *context, bw_error *error)
{
    int wait_status = 0;
    while (!reap(child, &wait_status)) {
        if (tick != NULL && tick(context) != 0)
            return error_set(error, BW_INTERRUPTED, "interrupted while the child process ended");
        sleep_ms(POLL_MS);
    }
    child->pid = 0;
    if (WIFSIGNALED(wait_status))
        return error_set(error, BW_CHILD_FAILED, "the child process was ended by signal %d",
                         WTERMSIG(wait_status));
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) != 0)
        return error_set(error, BW_CHILD_FAILED, "the child process exited with status %d",
                         WEXITSTATUS(wait_status));
    return BW_OK;
}

void childproc_stop(childproc *child)
{
    if (child->out >= 0)
        close(child->out);
    child->out = -1;
    if (child->pid <= 0)
        return;
    int wait_status;
    kill(-child->pid, SIGTERM);
    for (int waited = 0; !reap(child, &wait_status); waited += POLL_MS) {
        if (waited >= GRACE_MS)
            kill(-child->pid, SIGKILL);
        sleep_ms(POLL_MS);
    }
    child->pid = 0;
}
