// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * gate: waiting for "something changed", woken from anywhere.
 *
 * A waiter takes a ticket, looks at its condition (under whatever lock guards it), and waits with
 * the ticket: an opening after the ticket ends the wait at once, so no wake is lost. Opening is
 * async-signal-safe, which a condition variable is not, and costs no system call when nobody waits.
 */
#ifndef CLIENT_GATE_H
#define CLIENT_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gate {
    atomic_uint sequence;
    atomic_uint waiters;
} gate;

void gate_init(gate *g);
uint32_t gate_ticket(gate *g);
/** Until opened after `ticket` was taken, or `deadline_ns` (monotonic; TIME_NEVER = none). May also
 * return early: loop. */
void gate_wait(gate *g, uint32_t ticket, int64_t deadline_ns);
/** Wakes all. Any thread, also in a signal handler. */
void gate_open(gate *g);

#endif
