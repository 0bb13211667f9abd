// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "insist.h"

static void machines_turn(bool its)
{
    scarcity.scarce = its;
}

void scarcity_begin(uint64_t seed, uint32_t odds)
{
    scarcity_dice(seed, odds);
    world_turn = machines_turn;
}

void scarcity_end(void)
{
    world_turn = NULL;
    scarcity.scarce = false;
}

void insist_open(actor *a, bool reopen)
{
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        actor_begin_open(a, reopen);
        assert_true(actor_drive(a));
        const commit_report *r = actor_report(a);
        if (r->end == COMMIT_DONE) {
            actor_settle(a);
            return;
        }
        assert_int_equal(r->status, BW_NOMEM);
    }
    fail_msg("%u tries were not enough", TRIES_MAX);
}
