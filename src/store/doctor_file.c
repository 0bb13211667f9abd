// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What the machine says of a place, and what its syncs do. */
#include "store/doctor_file.h"
#include "base/clock.h"
#include "store/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define ROOM_WARN_BYTES (1ull << 30)
#define INODES_WARN 100000u
#define ROOM_FAULT_BYTES (1ull << 20)
#define DESCRIPTORS_WANTED 1024u
#define SYNCS 9u
#define SYNC_BYTES 4096u
/* A system call that reaches no device takes as long. The fastest flash with a capacitor takes ten
 * times that. */
#define SYNC_NS_MIN 2000
#define CLOCK_SKEW_MS_MAX 2000
/* 2024-01-01: a clock before it was never set. */
#define CLOCK_MS_MIN 1704067200000ll
#define REMOVE_DEPTH_MAX 16

static const char *reason(int number, char text[128])
{
    return strerror_r(number, text, 128);
}

/* ---- the file system ---- */

/** Options of the mount that `device` is on; "" when they cannot be told. */
static void mount_options(dev_t device, char options[512])
{
    char line[4096], wanted[32];
    options[0] = '\0';
    (void)snprintf(wanted, sizeof wanted, " %u:%u ", major(device), minor(device));
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
        const char *end = strstr(line, " - ");
        if (strstr(line, wanted) != NULL && end != NULL)
            (void)snprintf(options, 512, ",%s,", strrchr(end, ' ') + 1);
    }
    if (mounts != NULL)
        (void)fclose(mounts);
}

static bool without_barriers(dev_t device)
{
    char options[512];
    mount_options(device, options);
    return strstr(options, ",nobarrier") != NULL || strstr(options, ",barrier=0") != NULL;
}

static void judge_kind(directory *d, doctor_finding *f, const file_system *kind)
{
    d->is_memory = strcmp(kind->name, "tmpfs") == 0 || strcmp(kind->name, "ramfs") == 0;
    if (kind->trust == FS_LATE)
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE,
                   "%s: may say for a while that a new name is absent, and commits rest on that "
                   "answer; nothing is written there",
                   kind->name);
    else if (d->is_memory)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "%s: safe while the machine runs, and empty after its next start", kind->name);
    else if (strcmp(kind->name, "overlay") == 0)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "overlay: safe, and gone with its container unless it is a volume");
    else if (kind->trust == FS_COHERENT)
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "%s: known to be safe, on several machines, too; files are read, not mapped",
                   kind->name);
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "%s: known to be safe, on this machine", kind->name);
}

bool doctor_file_system(directory *d, doctor_finding *f)
{
    char text[128];
    struct statvfs info;
    file_system kind;
    const int fd = open(d->there, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatvfs(fd, &info) != 0 || file_system_of(fd, &kind) != 0) {
        doctor_say(f, DOCTOR_FAULT, errno == EACCES ? BW_DENIED : BW_IO, "%.300s: %s", d->there,
                   reason(errno, text));
        if (fd >= 0)
            close(fd);
        return false;
    }
    close(fd);
    doctor_figure_add(f, "type", kind.magic);
    judge_kind(d, f, &kind);
    if (f->verdict != DOCTOR_FAULT && (info.f_flag & ST_RDONLY) != 0)
        doctor_say(f, DOCTOR_FAULT, BW_DENIED, "%s, mounted read-only", kind.name);
    return f->verdict != DOCTOR_FAULT;
}

/* ---- room and limits ---- */

void doctor_room(const directory *d, doctor_finding *f)
{
    struct statvfs info;
    char text[128];
    if (statvfs(d->there, &info) != 0) {
        doctor_say(f, DOCTOR_FAULT, BW_IO, "%.300s: %s", d->there, reason(errno, text));
        return;
    }
    const uint64_t unit = info.f_frsize, left = info.f_bavail * unit, all = info.f_blocks * unit;
    const bool counted = info.f_files > 0; /* some file systems make them as they are needed */
    const uint64_t inodes = info.f_favail;
    doctor_figure_add(f, "free_bytes", left);
    doctor_figure_add(f, "total_bytes", all);
    if (counted)
        doctor_figure_add(f, "free_inodes", inodes);
    const bool little = left < ROOM_WARN_BYTES || left < all / 20;
    const bool few = counted && (inodes < INODES_WARN || inodes < info.f_files / 20);
    const double gib = (double)left / (double)(1u << 30);
    const uint64_t percent = all > 0 ? left * 100 / all : 0;
    if (left < ROOM_FAULT_BYTES)
        doctor_say(f, DOCTOR_FAULT, BW_NO_SPACE, "%" PRIu64 " bytes are free", left);
    else if (counted && inodes == 0)
        doctor_say(f, DOCTOR_FAULT, BW_NO_SPACE, "no inode is free: no file can be made");
    else if (few)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "%.1f GiB are free, and only %" PRIu64
                   " inodes; each batch takes one at least, and so does each commit",
                   gib, inodes);
    else
        doctor_say(f, little ? DOCTOR_WARNING : DOCTOR_OK, BW_OK,
                   "%.1f GiB are free, %" PRIu64 " %%%s", gib, percent,
                   counted ? ", and inodes enough" : "");
}

void doctor_limits(doctor_finding *f)
{
    struct rlimit files, size;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || getrlimit(RLIMIT_FSIZE, &size) != 0) {
        doctor_say(f, DOCTOR_WARNING, BW_OK, "the limits of this process cannot be told");
        return;
    }
    doctor_figure_add(f, "descriptors", files.rlim_cur);
    if (files.rlim_cur < DESCRIPTORS_WANTED)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "a process may open %" PRIu64 " files; %u are better (ulimit -n)",
                   (uint64_t)files.rlim_cur, DESCRIPTORS_WANTED);
    else if (size.rlim_cur != RLIM_INFINITY)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "no file may be larger than %" PRIu64 " bytes (ulimit -f)",
                   (uint64_t)size.rlim_cur);
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "a process may open %" PRIu64 " files",
                   (uint64_t)files.rlim_cur);
}

/* ---- clocks ---- */

static int64_t modified_ms(const char *path)
{
    struct stat info;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool told = fd >= 0 && write(fd, "x", 1) == 1 && fstat(fd, &info) == 0;
    if (fd >= 0)
        close(fd);
    return told ? (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000 : -1;
}

void doctor_clock(const directory *d, doctor_finding *f)
{
    char path[PATH_MAX];
    const size_t size = strlen(d->scratch);
    if (size + sizeof "/clock" > sizeof path)
        return;
    memcpy(path, d->scratch, size);
    memcpy(path + size, "/clock", sizeof "/clock");
    const int64_t before_ns = clock_now(clock_system());
    const int64_t wall_ms = clock_wall_ms(clock_system());
    const int64_t file_ms = modified_ms(path);
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 20 * 1000000};
    (void)nanosleep(&nap, NULL);
    const int64_t passed_ns = clock_now(clock_system()) - before_ns;
    const int64_t skew_ms = file_ms - wall_ms;
    if (passed_ns < nap.tv_nsec / 2)
        doctor_say(f, DOCTOR_FAULT, BW_IO, "the steady clock of this machine stands still");
    else if (wall_ms < CLOCK_MS_MIN)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "this machine's clock was never set: ages are told wrong, nothing else is");
    else if (file_ms < 0)
        doctor_say(f, DOCTOR_WARNING, BW_OK, "the file system tells no time");
    else if (skew_ms > CLOCK_SKEW_MS_MAX || skew_ms < -CLOCK_SKEW_MS_MAX)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "the file system's clock is %.1f s %s: ages are told wrong, nothing else is",
                   (double)llabs(skew_ms) / 1000.0, skew_ms > 0 ? "ahead" : "behind");
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "set, and the file system's is the same");
}

/* ---- syncs ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/** One write as the store does it. What failed, or NULL. */
static const char *sync_once(int dir, uint32_t k, int64_t *file_ns, int64_t *dir_ns)
{
    static const char bytes[SYNC_BYTES] = {1};
    char name[32], linked[32];
    (void)snprintf(name, sizeof name, "sync-%u", k);
    (void)snprintf(linked, sizeof linked, "synced-%u", k);
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return "a file cannot be made";
    const char *failed = write(fd, bytes, sizeof bytes) == SYNC_BYTES ? NULL : "write";
    const int64_t before_ns = clock_now(clock_system());
    if (failed == NULL && fdatasync(fd) != 0)
        failed = "fdatasync of a file";
    *file_ns = clock_now(clock_system()) - before_ns;
    const int number = errno;
    close(fd);
    errno = number;
    if (failed == NULL && renameat(dir, name, dir, linked) != 0)
        failed = "rename";
    const int64_t between_ns = clock_now(clock_system());
    if (failed == NULL && fsync(dir) != 0)
        failed = "fsync of a directory";
    *dir_ns = clock_now(clock_system()) - between_ns;
    return failed;
}

static void judge_syncs(const directory *d, doctor_finding *f, int64_t file_ns, int64_t dir_ns,
                        bool no_barriers)
{
    doctor_figure_add(f, "file_us", (uint64_t)(file_ns / 1000));
    doctor_figure_add(f, "directory_us", (uint64_t)(dir_ns / 1000));
    const double file_ms = (double)file_ns / 1e6, dir_ms = (double)dir_ns / 1e6;
    if (d->is_memory)
        doctor_say(f, DOCTOR_OK, BW_OK, "syncs are answered; there is no device behind them");
    else if (no_barriers)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "mounted without barriers: what was synced may be lost with the power");
    else if (file_ns < SYNC_NS_MIN)
        doctor_say(f, DOCTOR_WARNING, BW_OK,
                   "a sync takes %.1f us: no device is that fast, something drops it, and a loss "
                   "of power may take what was acknowledged",
                   (double)file_ns / 1e3);
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "a sync of 4 KiB takes %.2f ms, of a directory %.2f ms",
                   file_ms, dir_ms);
}

void doctor_durability(const directory *d, doctor_finding *f)
{
    int64_t file_ns[SYNCS], dir_ns[SYNCS];
    struct stat info;
    char text[128];
    const int dir = open(d->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *failed = dir < 0 ? "open" : NULL;
    for (uint32_t k = 0; failed == NULL && k < SYNCS; k++)
        failed = sync_once(dir, k, &file_ns[k], &dir_ns[k]);
    if (failed != NULL) {
        const int number = errno;
        doctor_say(f, DOCTOR_FAULT,
                   number == ENOSPC || number == EDQUOT ? BW_NO_SPACE : BW_STORE_UNSAFE,
                   "%s failed: %s", failed, reason(number, text));
    } else {
        qsort(file_ns, SYNCS, sizeof *file_ns, by_value);
        qsort(dir_ns, SYNCS, sizeof *dir_ns, by_value);
        judge_syncs(d, f, file_ns[SYNCS / 2], dir_ns[SYNCS / 2],
                    fstat(dir, &info) == 0 && without_barriers(info.st_dev));
    }
    if (dir >= 0)
        close(dir);
}

/* ---- removing ---- */

static int remove_in(int parent, const char *name, int depth)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = fd < 0 || depth > REMOVE_DEPTH_MAX ? NULL : fdopendir(fd);
    if (listing == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int result = 0;
    for (const struct dirent *each = readdir(listing); each != NULL && result == 0;
         each = readdir(listing)) {
        if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, each->d_name, 0) == 0 || errno == ENOENT)
            continue;
        result = remove_in(fd, each->d_name, depth + 1);
    }
    closedir(listing);
    return result == 0 ? unlinkat(parent, name, AT_REMOVEDIR) : result;
}

int doctor_remove(const char *path)
{
    return remove_in(AT_FDCWD, path, 0);
}
