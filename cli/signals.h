// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * SIGINT and SIGTERM. A command that is not graceful ends at once: whatever it does may be killed
 * at any point. A graceful one ends cleanly: waits in the library are interrupted, loops see
 * `signals_seen`; a second signal ends it at once.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

/** Called in the handler: async-signal-safe. */
typedef void (*interrupt_fn)(void *handle);

#define INTERRUPTS_MAX 4096u

void signals_install(void);
/** From here on the command looks at signals_seen. */
void signals_graceful(void);
/** The signal that was received, or 0. */
int signals_seen(void);
/**
 * Graceful, and interrupts `handle` when a signal comes, or now when one came; main thread only.
 * 0, or -1 when there is no room.
 */
int signals_add(interrupt_fn interrupt, void *handle);
/** Forgets all handles, before they are closed; main thread only. */
void signals_clear(void);

#endif
