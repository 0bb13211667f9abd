// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "memory_walk.h"

#include "base/alloc.h"
#include "store_net/net_keyring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint32_t left; /* requests until one fails, once or for good; 0: none does */
static bool for_good;
static bool failed;

static bool fails(void)
{
    if (left == 0 || left-- > 1)
        return false;
    left = for_good ? 1 : 0;
    return failed = true;
}

/* The linker gives these names. */
void *__real_mem_alloc(size_t bytes);
void *__real_mem_zalloc(size_t bytes);
void *__real_mem_realloc(void *memory, size_t bytes);
char *__real_mem_strdup(const char *text);
void *__wrap_mem_alloc(size_t bytes);
void *__wrap_mem_zalloc(size_t bytes);
void *__wrap_mem_realloc(void *memory, size_t bytes);
char *__wrap_mem_strdup(const char *text);

void *__wrap_mem_alloc(size_t bytes)
{
    return fails() ? NULL : __real_mem_alloc(bytes);
}

void *__wrap_mem_zalloc(size_t bytes)
{
    return fails() ? NULL : __real_mem_zalloc(bytes);
}

void *__wrap_mem_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_mem_realloc(memory, bytes);
}

char *__wrap_mem_strdup(const char *text)
{
    return fails() ? NULL : __real_mem_strdup(text);
}

/* How many requests failed. */
static uint32_t walk(const script_step *steps, size_t count, void (*set)(chain_stand *t),
                     net_chain *(*make)(chain_stand *t))
{
    uint32_t all = 0;
    failed = true;
    for (uint32_t n = 1; failed; n++) {
        chain_stand t;
        net_keyring *ring = NULL;
        stand_start(&t, steps, count);
        set(&t);
        net_chain *chain = make(&t);
        assert_non_null(chain);
        failed = false;
        left = n;
        const bw_status status = net_keyring_open(chain, &ring, t.error);
        left = 0;
        if (status != (failed ? BW_NOMEM : BW_OK) && !(failed && status == BW_OK))
            fail_msg("request %u: %s", n, bw_error_message(t.error));
        assert_null(status == BW_OK ? NULL : strstr(bw_error_message(t.error), PLANTED));
        assert_true((status == BW_OK) == (ring != NULL));
        net_keyring_free(ring);
        stand_stop(&t);
        all += failed;
    }
    return all;
}

void memory_walk(const script_step *steps, size_t count, void (*set)(chain_stand *t),
                 net_chain *(*make)(chain_stand *t))
{
    for_good = false;
    const uint32_t once = walk(steps, count, set, make);
    for_good = true;
    assert_true(once + walk(steps, count, set, make) >= 6);
}
