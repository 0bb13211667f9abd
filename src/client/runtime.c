// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/runtime.h"

#include "base/alloc.h"
#include <sys/mman.h>
#include <unistd.h>

#define MARK_BYTES 4096u
/* Of the memory that was granted, one part in so many is for what is taken without asking: what a
 * rank waits for right now, windows of ranks that open late, footers, the process itself. */
#define UNASKED_PART 8u

static void set_mark(bw_runtime *r)
{
    r->pid = (int)getpid();
    void *mark = mmap(NULL, MARK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mark == MAP_FAILED)
        return;
    r->mark = mark;
    *r->mark = 1;
    r->mark_wiped = madvise(mark, MARK_BYTES, MADV_WIPEONFORK) == 0;
}

bool runtime_is_ours(const bw_runtime *r)
{
    return r->mark_wiped ? *r->mark != 0 : r->pid == (int)getpid();
}

bw_status runtime_check_process(const bw_runtime *r, bw_error *error)
{
    if (runtime_is_ours(r))
        return BW_OK;
    return error_set(
        error, BW_FORKED,
        "this handle was opened in another process, before a fork; open a new runtime here");
}

bw_status runtime_open(const runtime_options *options, bw_runtime **out, bw_error *error)
{
    bw_runtime *r = mem_zalloc(sizeof *r);
    if (r == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    r->options = *options;
    atomic_init(&r->spaces, 0u);
    log_to_stderr(&r->log, options->log);
    bool locked = false;
    bw_status status = BW_NOMEM;
    if (rng_seed_system(&r->rng) != 0) {
        status = error_set(error, BW_UNSUPPORTED, "the system has no source of randomness");
        goto failed;
    }
    if (lock_init(&r->lock) != BW_OK)
        goto failed;
    locked = true;
    if (executor_new(options->threads, &r->executor) != BW_OK ||
        budget_new(options->memory_bytes - options->memory_bytes / UNASKED_PART, &r->budget) !=
            BW_OK)
        goto failed;
    set_mark(r);
    *out = r;
    return BW_OK;
failed:
    if (status == BW_NOMEM)
        (void)error_set(error, BW_NOMEM, "out of memory");
    executor_free(r->executor);
    budget_unref(r->budget);
    if (locked)
        lock_destroy(&r->lock);
    mem_free(r);
    return status;
}

void runtime_close(bw_runtime *r)
{
    if (r == NULL)
        return;
    const bool ours = runtime_is_ours(r);
    if (ours && atomic_load(&r->spaces) != 0u) {
        /* Their threads would run on in freed memory. */
        log_line(&r->log, LOG_LEVEL_ERROR, "bw_runtime_close: spaces are open; nothing is freed");
        return;
    }
    if (r->mark != NULL)
        (void)munmap(r->mark, MARK_BYTES);
    if (ours) {
        executor_free(r->executor);
        unmapper_stop(budget_unmapper(r->budget));
        budget_stop_keeping(r->budget);
        lock_destroy(&r->lock);
    } else {
        mem_free(r->executor); /* its threads are the parent's */
    }
    budget_unref(r->budget);
    mem_free(r);
}

uint64_t runtime_random(bw_runtime *r)
{
    lock_acquire(&r->lock);
    const uint64_t value = rng_u64(&r->rng);
    lock_release(&r->lock);
    return value;
}

void runtime_token(bw_runtime *r, token128 *token)
{
    lock_acquire(&r->lock);
    rng_bytes(&r->rng, token->bytes, TOKEN_BYTES);
    lock_release(&r->lock);
}
