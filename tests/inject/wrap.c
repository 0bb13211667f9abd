// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "wrap.h"

#include "wrap_real.h"
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    wrap_plan plan;
    atomic_bool armed;
    atomic_uint calls, failures;
    atomic_int first;
} injection;

static struct {
    atomic_int_least64_t allocations, mappings;
} live;

static const struct {
    const char *name;
    wrap_kind kind;
} calls[WRAP_CALLS] = {
#define WRAP_ROW(call, type) [WRAP_##call] = {#call, WRAP_##type},
    WRAP_MAP(WRAP_ROW)
#undef WRAP_ROW
};

const char *wrap_name(wrap_call call)
{
    return calls[call].name;
}

void wrap_arm(const wrap_plan *plan)
{
    injection.plan = *plan;
    atomic_store(&injection.calls, 0u);
    atomic_store(&injection.failures, 0u);
    atomic_store(&injection.first, -1);
    atomic_store(&injection.armed, true);
}

uint32_t wrap_disarm(wrap_call *first)
{
    atomic_store(&injection.armed, false);
    const int call = atomic_load(&injection.first);
    if (call >= 0)
        *first = (wrap_call)call;
    return atomic_load(&injection.failures);
}

uint32_t wrap_count(void)
{
    return atomic_load(&injection.calls);
}

bool wrap_fails(wrap_call call)
{
    if (!atomic_load_explicit(&injection.armed, memory_order_acquire) ||
        calls[call].kind != injection.plan.kind)
        return false;
    const uint32_t number = atomic_fetch_add(&injection.calls, 1u) + 1u;
    if (number < injection.plan.n || (number > injection.plan.n && !injection.plan.for_ever))
        return false;
    int none = -1;
    (void)atomic_compare_exchange_strong(&injection.first, &none, (int)call);
    (void)atomic_fetch_add(&injection.failures, 1u);
    return true;
}

wrap_way wrap_way_now(void)
{
    return injection.plan.way;
}

int wrap_error(wrap_call call)
{
    /* What the manual pages allow each call to say, and a healthy store may meet. */
    static const int by_call[WRAP_CALLS][3] = {
        [WRAP_pthread_create] = {EAGAIN, EAGAIN, EAGAIN},
        [WRAP_pthread_mutex_init] = {ENOMEM, EAGAIN, ENOMEM},
        [WRAP_pthread_cond_init] = {ENOMEM, EAGAIN, ENOMEM},
        [WRAP_getrandom] = {ENOSYS, EAGAIN, EINTR},
        [WRAP_eventfd] = {EMFILE, ENOMEM, ENFILE},
        [WRAP_read] = {EAGAIN, EINTR, EAGAIN},
        [WRAP_write] = {EAGAIN, EINTR, EAGAIN},
        [WRAP_mmap] = {ENOMEM, EAGAIN, ENOMEM},
        [WRAP_open] = {EMFILE, EIO, EACCES},
        [WRAP_openat] = {EMFILE, EIO, ENOSPC},
        [WRAP_openat2] = {EMFILE, EIO, EAGAIN},
        [WRAP_access] = {EIO, EACCES, ENOMEM},
        [WRAP_faccessat] = {EIO, EACCES, ENOMEM},
        [WRAP_fstat] = {EIO, ENOMEM, EIO},
        [WRAP_fstatat] = {EIO, ENOMEM, EACCES},
        [WRAP_fstatfs] = {EIO, ENOMEM, EINTR},
        [WRAP_flock] = {ENOLCK, EINTR, EINTR},
        [WRAP_fdopendir] = {ENOMEM, ENOMEM, ENOMEM},
        [WRAP_readdir] = {EIO, EIO, EIO},
        [WRAP_pread] = {EIO, EIO, EINTR},
        [WRAP_writev] = {ENOSPC, EIO, EDQUOT},
        [WRAP_fdatasync] = {EIO, ENOSPC, EDQUOT},
        [WRAP_fsync] = {EIO, ENOSPC, EIO},
        [WRAP_mkdir] = {ENOSPC, EIO, EACCES},
        [WRAP_mkdirat] = {ENOSPC, EIO, EACCES},
        [WRAP_linkat] = {EIO, ENOSPC, EMLINK},
        [WRAP_renameat] = {EIO, ENOSPC, EACCES},
        [WRAP_renameat2] = {EIO, ENOSPC, EACCES},
        [WRAP_unlinkat] = {EIO, EBUSY, EACCES},
    };
    const wrap_way way = injection.plan.way;
    const int number = by_call[call][way <= WRAP_ERROR_3 ? way : WRAP_ERROR];
    /* A signal comes once; who repeats the call after it does right. */
    return number == EINTR && injection.plan.for_ever ? by_call[call][WRAP_ERROR] : number;
}

/* ---- memory ---- */

static void *born(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&live.allocations, 1);
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return wrap_fails(WRAP_malloc) ? NULL : born(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return wrap_fails(WRAP_calloc) ? NULL : born(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (wrap_fails(WRAP_realloc))
        return NULL;
    void *moved = __real_realloc(memory, size);
    return memory == NULL ? born(moved) : moved;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (wrap_fails(WRAP_posix_memalign))
        return ENOMEM;
    const int result = __real_posix_memalign(memory, alignment, size);
    if (result == 0)
        (void)born(*memory);
    return result;
}

void __wrap_free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&live.allocations, 1);
    __real_free(memory);
}

/* libcrypto keeps things for itself, so its own are not counted as ours. */
static void *crypto_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size == 0 || wrap_fails(WRAP_libcrypto) ? NULL : __real_malloc(size);
}

static void *crypto_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return wrap_fails(WRAP_libcrypto) ? NULL : __real_realloc(memory, size);
}

static void crypto_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    __real_free(memory);
}

void *__wrap_mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (wrap_fails(WRAP_mmap)) {
        errno = wrap_error(WRAP_mmap);
        return (void *)-1;
    }
    void *memory = __real_mmap64(address, size, protection, flags, fd, offset);
    if (memory != (void *)-1)
        atomic_fetch_add(&live.mappings, 1);
    return memory;
}

int __wrap_munmap(void *memory, size_t size)
{
    atomic_fetch_sub(&live.mappings, 1);
    return __real_munmap(memory, size);
}

/* ---- time ---- */

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    const int result = __real_clock_gettime(id, now);
    if (result == 0 && id == CLOCK_MONOTONIC) {
        const int64_t ns = ((int64_t)now->tv_sec * 1000000000 + now->tv_nsec) * WRAP_SPEED;
        now->tv_sec = (time_t)(ns / 1000000000);
        now->tv_nsec = (long)(ns % 1000000000);
    }
    return result;
}

struct timespec wrap_real_time(const struct timespec *fast)
{
    const int64_t ns = ((int64_t)fast->tv_sec * 1000000000 + fast->tv_nsec) / WRAP_SPEED;
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    const struct timespec real = wrap_real_time(until);
    return __real_pthread_cond_timedwait(condition, mutex, &real);
}

/* ---- the rest ---- */

void wrap_begin(void)
{
    json_set_alloc_funcs(malloc, free);
    (void)CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
    (void)OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_DIGESTS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                              NULL);
    EVP_MD *digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    EVP_MD_free(digest);
    ERR_clear_error();
}

static int64_t entries(const char *path)
{
    DIR *directory = opendir(path);
    int64_t count = -3; /* `.`, `..`, and the directory itself where it counts descriptors */
    if (directory == NULL)
        return -1;
    while (__real_readdir64(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Ours alone at these moments. One that was joined is seen until the kernel is through with it: on
 * a busy machine for a while. */
static int64_t threads(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    int64_t count = entries("/proc/self/task") + 1;
    for (int tries = 0; count > 1 && tries < 3000; tries++) {
        (void)nanosleep(&pause, NULL);
        count = entries("/proc/self/task") + 1;
    }
    return count;
}

void wrap_live_now(wrap_live *now)
{
    now->allocations = atomic_load(&live.allocations);
    now->mappings = atomic_load(&live.mappings);
    now->files = entries("/proc/self/fd");
    now->threads = threads();
}
