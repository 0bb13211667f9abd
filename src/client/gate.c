// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/gate.h"

#include "base/clock.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == 4, "a futex is 32 bits wide");

void gate_init(gate *g)
{
    atomic_init(&g->sequence, 0u);
    atomic_init(&g->waiters, 0u);
}

uint32_t gate_ticket(gate *g)
{
    return atomic_load(&g->sequence);
}

void gate_wait(gate *g, uint32_t ticket, int64_t deadline_ns)
{
    /* The waiter counts itself before the kernel compares the sequence, the opener moves the
     * sequence before it looks at the count: one of the two sees the other. */
    atomic_fetch_add(&g->waiters, 1u);
    struct timespec deadline = {0};
    const bool limited = deadline_ns != TIME_NEVER;
    if (limited && deadline_ns > 0) {
        deadline.tv_sec = (time_t)(deadline_ns / NS_PER_S);
        deadline.tv_nsec = (long)(deadline_ns % NS_PER_S);
    }
    if (atomic_load(&g->sequence) == ticket)
        /* The bitset form takes an absolute time on the monotonic clock. */
        (void)syscall(SYS_futex, &g->sequence, FUTEX_WAIT_BITSET_PRIVATE, ticket,
                      limited ? &deadline : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&g->waiters, 1u);
}

void gate_open(gate *g)
{
    const int before = errno;
    atomic_fetch_add(&g->sequence, 1u);
    if (atomic_load(&g->waiters) != 0u)
        (void)syscall(SYS_futex, &g->sequence, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = before;
}
