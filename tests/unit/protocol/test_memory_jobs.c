// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory runs out, or a hash cannot be computed, anywhere in a job's pins and in the sweep behind
 * them: nothing that can be reached is gone, and nothing else is left once all went through. */
#include "insist.h"

#include "protocol/reclaim.h"
#include "retained.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    world w;
    actor p, q, gone[4];
    state_ref refs[64];
    cursor start;
    chain *chain;
    reclaim *reclaim;
} job;

static void insist_intent(actor *a, const intent *i)
{
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        actor_begin_intent(a, i);
        assert_true(actor_drive(a));
        const commit_report *r = actor_report(a);
        if (r->end == COMMIT_DONE)
            return;
        if (r->status != BW_NOMEM)
            fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
    }
    fail_msg("%u tries were not enough", TRIES_MAX);
}

static void insist_publish(job *j, actor *a, uint32_t count, bool finish)
{
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        void (*turn)(bool) = world_turn;
        world_turn = NULL; /* the staging is not what is tried here */
        scarcity.scarce = false;
        const uint64_t seq = a->seq;
        retained_begin_publish(a, count, finish, j->refs);
        world_turn = turn;
        assert_true(actor_drive(a));
        const commit_report *r = actor_report(a);
        if (r->end == COMMIT_DONE) {
            actor_settle(a);
            assert_int_equal(a->seq, seq + count);
            return;
        }
        assert_int_equal(r->status, BW_NOMEM);
    }
    fail_msg("%u tries were not enough", TRIES_MAX);
}

static void insist_pin(job *j, const char *id, uint64_t step, const char *old, uint64_t old_step)
{
    const pin p = {.id = view_text(id), .nonce = step + 1, .step = step};
    const pin_key key = {.id = view_text(old), .nonce = old_step + 1};
    insist_intent(&j->q, &(intent){.kind = INTENT_PIN,
                                   .pin = {.group = view_text("g"),
                                           .launch = view_text("one"),
                                           .pin = &p,
                                           .releases = &key,
                                           .release_count = *old != '\0'}});
}

static void renew(job *j)
{
    const reclaim_options options = {.apply = true,
                                     .orphans = true,
                                     .cache_bytes = 900,
                                     .backoff_min_ns = 1,
                                     .backoff_max_ns = 1,
                                     .seed = ++j->w.seed};
    reclaim_free(j->reclaim);
    chain_free(j->chain);
    assert_int_equal(chain_new(++j->w.seed, NULL, &j->chain), BW_OK);
    assert_int_equal(reclaim_new(j->chain, &options, &j->reclaim), BW_OK);
}

static bw_status pass(job *j)
{
    reclaim_start(j->reclaim, j->w.now_ns, TIME_NEVER);
    assert_true(world_run(&j->w, &reclaim_machine, j->reclaim));
    const reclaim_report *r = reclaim_reported(j->reclaim);
    if (r->status != BW_OK && r->status != BW_NOMEM)
        fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
    assert_false(r->overtaken);
    return r->status;
}

/* Steps in segments, three that depart, one that is forgotten, rubbish of a dead incarnation. */
static void job_begin(job *j)
{
    memset(j, 0, sizeof *j);
    j->start.dp = 1;
    world_open(&j->w, &(world_options){.block_size = 4, .tail_cap = 256});
    actor_start(&j->p, &j->w, "p");
    actor_start(&j->q, &j->w, "q");
    for (uint32_t k = 0; k < 4; k++) {
        char id[8];
        (void)snprintf(id, sizeof id, "a%u", k);
        actor_start(&j->gone[k], &j->w, id);
    }
}

static void job_lives(job *j, uint64_t first)
{
    insist_open(&j->p, false);
    insist_open(&j->q, false);
    insist_intent(&j->q, &(intent){.kind = INTENT_LAUNCH,
                                   .launch = {.name = view_text("g"),
                                              .launch = view_text("one"),
                                              .start = LAUNCH_EARLIEST,
                                              .cursor = &j->start}});
    for (uint32_t k = 0; k < 4; k++) {
        insist_open(&j->gone[k], false);
        insist_publish(j, &j->gone[k], 3, k != 2);
    }
    insist_intent(&j->q, &(intent){.kind = INTENT_FORGET,
                                   .forget = {.id = view_text("a2"), .epoch = j->gone[2].epoch}});
    for (uint32_t k = 0; k < 9; k++) {
        insist_publish(j, &j->p, 1, false);
        insist_publish(j, &j->q, 2, false);
    }
    insist_pin(j, "c", first, "", 0);
    insist_pin(j, "d", 30, "", 0);
}

static void job_ends(job *j)
{
    for (uint32_t n = 0; n < 2; n++) {
        renew(j);
        assert_int_equal(pass(j), BW_OK);
        retained_whole(&j->w);
    }
    retained_only(&j->w);
    reclaim_free(j->reclaim);
    chain_free(j->chain);
    for (uint32_t k = 0; k < 4; k++)
        actor_stop(&j->gone[k]);
    actor_stop(&j->p);
    actor_stop(&j->q);
    world_close(&j->w);
}

static void jobs_pin_and_give_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        job j;
        job_begin(&j);
        scarcity_begin(seed, seed % 2 == 0 ? 20 : 120);
        job_lives(&j, 12);
        insist_pin(&j, "e", 33, "c", 12);
        insist_intent(&j.q,
                      &(intent){.kind = INTENT_GROUP_RM,
                                .group_rm = {.name = view_text("g"), .launch = view_text("one")}});
        scarcity_end();
        renew(&j);
        scarcity_begin(seed + 1000, 60);
        bw_status status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++)
            status = pass(&j);
        scarcity_end();
        assert_int_equal(status, BW_OK);
        job_ends(&j);
    }
}

/* The n-th request of a pass fails, for each n: it ends for want of memory or gets through, takes
 * nothing that is needed, and the next one leaves nothing behind. */
static void pass_without(bool all_further)
{
    uint32_t ended = 0, through = 0, n = 1;
    for (;; n++) {
        job j;
        job_begin(&j);
        job_lives(&j, 6);
        renew(&j);
        assert_int_equal(pass(&j), BW_OK); /* a page there is */
        insist_pin(&j, "e", 33, "c", 6);
        renew(&j);
        scarcity_begin(1, 0);
        scarcity.nth = n;
        scarcity.ever = all_further;
        const uint64_t before = scarcity.failed;
        const bw_status status = pass(&j);
        scarcity_end();
        const bool all = scarcity.failed == before;
        scarcity.nth = 0;
        ended += status != BW_OK;
        through += !all && status == BW_OK;
        retained_whole(&j.w);
        job_ends(&j);
        if (all)
            break;
    }
    assert_true(n > 100);
    assert_true(ended > 50);
    assert_int_equal(ended + through, n - 1);
}

static void a_pass_without_its_nth_request(void **state)
{
    (void)state;
    pass_without(false);
}

static void a_pass_without_memory_from_its_nth_request_on(void **state)
{
    (void)state;
    pass_without(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_pin_and_give_back),
        cmocka_unit_test(a_pass_without_its_nth_request),
        cmocka_unit_test(a_pass_without_memory_from_its_nth_request_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
