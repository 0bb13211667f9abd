// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "client/gate.h"

#define ROUNDS 20000

static int64_t now(void)
{
    return clock_now(clock_system());
}

static void test_time_and_old_tickets(void **state)
{
    (void)state;
    gate g;
    gate_init(&g);
    const uint32_t ticket = gate_ticket(&g);
    int64_t began = now();
    gate_wait(&g, ticket, began + 20 * NS_PER_MS);
    assert_true(now() - began >= 20 * NS_PER_MS);
    gate_wait(&g, ticket, 0);
    gate_wait(&g, ticket, -5);
    gate_open(&g);
    began = now();
    gate_wait(&g, ticket, TIME_NEVER); /* opened since: no wait */
    assert_true(now() - began < NS_PER_S);
}

/* Two threads hand a number to and fro; a single lost wake would stop them for ever. */
typedef struct pair {
    gate gates[2];
    atomic_int turn;
} pair;

static void play(pair *p, int side)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (;;) {
            const uint32_t ticket = gate_ticket(&p->gates[side]);
            if (atomic_load(&p->turn) == side)
                break;
            gate_wait(&p->gates[side], ticket, TIME_NEVER);
        }
        atomic_store(&p->turn, 1 - side);
        gate_open(&p->gates[1 - side]);
    }
}

static void *other(void *context)
{
    play(context, 1);
    return NULL;
}

static void test_no_wake_is_lost(void **state)
{
    (void)state;
    pair p;
    pthread_t thread;
    gate_init(&p.gates[0]);
    gate_init(&p.gates[1]);
    atomic_init(&p.turn, 0);
    assert_int_equal(thread_start(&thread, "other", other, &p), BW_OK);
    play(&p, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&p.gates[0].waiters), 0);
    assert_int_equal(atomic_load(&p.gates[1].waiters), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_and_old_tickets),
        cmocka_unit_test(test_no_wake_is_lost),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
