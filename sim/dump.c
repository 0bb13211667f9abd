// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The virtual store as a folder of files, for programs that know nothing of the simulator. */
#include "month.h"
#include "vstore.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS_OPEN 16

static void make_folder(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        sim_defect("no folder for the store");
}

static int write_object(void *context, object *o)
{
    const char *folder = context;
    char path[PATH_MAX];
    if (o->now == NULL)
        return 0;
    const int size = snprintf(path, sizeof path, "%s/%s", folder, o->key.text);
    if (size < 0 || (size_t)size >= sizeof path)
        sim_defect("a folder with too long a name");
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        make_folder(path);
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(o->now->bytes, 1, o->now->size, file) != o->now->size ||
        fclose(file) != 0)
        sim_defect("no room for the store");
    return 0;
}

void dump_write(const sim *s, const char *folder)
{
    make_folder(folder);
    (void)vstore_each(s->store, write_object, (void *)(uintptr_t)folder);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void dump_remove(const char *folder)
{
    if (nftw(folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS) != 0)
        sim_defect("cannot remove what was written of the store");
}

int dump_judge(const char *program, const char *folder)
{
    int status;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        sim_defect("no process");
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execlp(program, program, folder, (char *)NULL);
        perror(program);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            sim_defect("lost a process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
