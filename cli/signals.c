// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <stddef.h>
#include <unistd.h>

/* The handler runs in the main thread only (all others block these signals), so plain order of
 * writes is enough. */
static struct {
    interrupt_fn interrupt;
    void *handle;
} interrupts[INTERRUPTS_MAX];
static volatile sig_atomic_t interrupt_count;
static volatile sig_atomic_t received;
static volatile sig_atomic_t graceful;

static void on_signal(int number)
{
    if (received != 0 || !graceful) {
        static const char text[] = "batchweave: ended by a signal [INTERRUPTED]\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(128 + number);
    }
    received = number;
    for (int i = 0; i < interrupt_count; i++)
        interrupts[i].interrupt(interrupts[i].handle);
}

void signals_install(void)
{
    /* No SA_RESTART: a read from a pipe comes back. */
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Inherited as ignored it would hide how a child ended. */
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, NULL);
}

void signals_graceful(void)
{
    graceful = 1;
}

int signals_seen(void)
{
    return received;
}

int signals_add(interrupt_fn interrupt, void *handle)
{
    signals_graceful();
    if ((size_t)interrupt_count >= INTERRUPTS_MAX)
        return -1;
    interrupts[interrupt_count].interrupt = interrupt;
    interrupts[interrupt_count].handle = handle;
    interrupt_count = interrupt_count + 1;
    if (received != 0)
        interrupt(handle);
    return 0;
}

void signals_clear(void)
{
    interrupt_count = 0;
}
