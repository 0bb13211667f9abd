// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A sweeper that dies between each two of its requests, or whose answers are lost: nothing that can
 * be reached is gone at any time, and the next sweepers leave nothing else. */
#include "retained.h"

#include "protocol/reclaim.h"
#include <stdio.h>
#include <string.h>

#define DEPARTED 3u
#define REQUESTS_MAX 500u

typedef struct scene {
    world w;
    actor p, q, departed[DEPARTED];
    state_ref refs[64];
    cursor start;
    chain *chain;
    reclaim *reclaim;
} scene;

static void publish(scene *s, actor *a, uint32_t count, bool finish)
{
    retained_begin_publish(a, count, finish, s->refs);
    assert_true(actor_drive(a));
    assert_int_equal(actor_report(a)->end, COMMIT_DONE);
    actor_settle(a);
}

static void open_new(scene *s, actor *a, const char *id)
{
    actor_start(a, &s->w, id);
    actor_open(a);
}

static void pin_and_release(scene *s, const pin *p, const pin_key *gone)
{
    const intent i = {.kind = INTENT_PIN,
                      .pin = {.group = view_text("g"),
                              .launch = view_text("one"),
                              .pin = p,
                              .releases = gone,
                              .release_count = gone != NULL}};
    actor_commit(&s->q, &i);
}

static void renew(scene *s)
{
    const reclaim_options options = {.apply = true,
                                     .orphans = true,
                                     .backoff_min_ns = NS_PER_MS,
                                     .backoff_max_ns = NS_PER_MS,
                                     .cache_bytes = 1 << 16,
                                     .seed = ++s->w.seed};
    reclaim_free(s->reclaim);
    chain_free(s->chain);
    assert_int_equal(chain_new(++s->w.seed, NULL, &s->chain), BW_OK);
    assert_int_equal(reclaim_new(s->chain, &options, &s->reclaim), BW_OK);
}

static void begin_pass(scene *s)
{
    reclaim_start(s->reclaim, s->w.now_ns, s->w.now_ns + 1000 * NS_PER_S);
}

static void pass(scene *s)
{
    begin_pass(s);
    assert_true(world_run(&s->w, &reclaim_machine, s->reclaim));
    const reclaim_report *r = reclaim_reported(s->reclaim);
    if (r->status != BW_OK)
        fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
}

/* All kinds of rubbish: steps in segments and an index, a page that is replaced, resume states,
 * batches that a dead incarnation left. The pass has swept once, so that there is something to be
 * swept twice. */
static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    s->start.dp = 1;
    world_open(&s->w, &(world_options){.block_size = 4, .tail_cap = 256});
    open_new(s, &s->p, "p");
    open_new(s, &s->q, "q");
    actor_commit(&s->q, &(intent){.kind = INTENT_LAUNCH,
                                  .launch = {.name = view_text("g"),
                                             .launch = view_text("one"),
                                             .start = LAUNCH_EARLIEST,
                                             .cursor = &s->start}});
    for (uint32_t k = 0; k < DEPARTED; k++) {
        char id[8];
        (void)snprintf(id, sizeof id, "a%u", k);
        open_new(s, &s->departed[k], id);
        publish(s, &s->departed[k], 3, k < 2);
    }
    for (uint32_t k = 0; k < 8; k++) {
        publish(s, &s->p, 1, false);
        publish(s, &s->q, 2, false);
    }
    const pin first = {.id = view_text("c"), .nonce = 1, .step = 12};
    pin_and_release(s, &first, NULL);
    renew(s);
    pass(s);
    publish(s, &s->departed[2], 2, true);
    for (uint32_t k = 0; k < 2; k++) { /* one of them comes back and leaves again */
        actor_stop(&s->departed[k]);
        actor_start(&s->departed[k], &s->w, k == 0 ? "a0" : "b");
        actor_begin_open(&s->departed[k], true);
        assert_true(actor_drive(&s->departed[k]));
        actor_settle(&s->departed[k]);
        publish(s, &s->departed[k], 1, true);
    }
    retained_begin_publish(&s->p, 3, false, s->refs); /* staged, and dead */
    actor_stop(&s->p);
    open_new(s, &s->p, "p");
    for (uint32_t k = 0; k < 8; k++) {
        publish(s, &s->p, 1, false);
        publish(s, &s->q, 1, false);
    }
    const pin second = {.id = view_text("d"), .nonce = 2, .step = 41};
    const pin_key gone = {.id = first.id, .nonce = 1};
    pin_and_release(s, &second, &gone);
    retained_whole(&s->w);
    renew(s);
}

static void tear_down(scene *s)
{
    reclaim_free(s->reclaim);
    chain_free(s->chain);
    for (uint32_t k = 0; k < DEPARTED; k++)
        actor_stop(&s->departed[k]);
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

static void clean(scene *s)
{
    for (uint32_t k = 0; k < 3; k++) {
        renew(s);
        pass(s);
        retained_whole(&s->w);
    }
    retained_only(&s->w);
}

/* Answers `count` requests truthfully and keeps the next one. False: the pass ended before. */
static bool drive(scene *s, uint32_t count, errand *next)
{
    for (uint32_t k = 0; reclaim_machine.running(s->reclaim);) {
        machine_request request;
        if (!reclaim_machine.next(s->reclaim, &request)) {
            const int64_t due = reclaim_machine.due(s->reclaim);
            assert_true(due != TIME_NEVER);
            s->w.now_ns = due > s->w.now_ns ? due : s->w.now_ns;
            reclaim_machine.tick(s->reclaim, s->w.now_ns);
            continue;
        }
        errand_keep(next, &request);
        if (k++ == count)
            return true;
        machine_reply reply;
        store_list list = {0};
        errand_apply(&s->w, next, &reply, &list);
        errand_answer(&s->w, &reclaim_machine, s->reclaim, &reply);
        errand_drop(next);
        /* The way to a request is the same each time, and was looked at by who died before it. */
        if (count == REQUESTS_MAX)
            retained_whole(&s->w);
    }
    return false;
}

/* What the tests below saw: none may be a scene in which it does not happen. */
static void seen(uint32_t asked[STORE_OP_KINDS], uint32_t requests)
{
    assert_true(requests > 30);
    assert_true(asked[STORE_DELETE] >= 4);
    assert_true(asked[STORE_PUT] >= 1);
    assert_true(asked[STORE_CREATE] >= 2);
    assert_true(asked[STORE_LIST] >= 3);
    assert_true(asked[STORE_GET] >= 10);
}

static void the_scene_has_all_of_it(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    begin_pass(&s);
    assert_true(world_run(&s.w, &reclaim_machine, s.reclaim));
    const reclaim_report *r = reclaim_reported(s.reclaim);
    assert_int_equal(r->status, BW_OK);
    assert_true(r->steps > 20);
    assert_true(r->segments_deleted > 2);
    assert_int_equal(r->moved, 3); /* a0 once more, a2, b; a1 left before */
    assert_true(r->orphans_deleted >= 3);
    assert_true(r->manifests.blocks_retired > 0);
    chain *c = world_chain(&s.w);
    assert_int_equal(chain_held(c)->page.entries, 4);
    assert_int_equal(chain_held(c)->finished_producers, 4);
    assert_int_equal(chain_held(c)->producer_count, 2);
    chain_free(c);
    retained_whole(&s.w);
    clean(&s);
    tear_down(&s);
}

typedef enum death { NEVER_APPLIED, APPLIED, APPLIED_LATE, APPLIED_TWICE } death;

static void killed(death how)
{
    uint32_t asked[STORE_OP_KINDS] = {0}, n = 0;
    for (;; n++) {
        scene s;
        errand last;
        assert_true(n < REQUESTS_MAX);
        set_up(&s);
        begin_pass(&s);
        if (!drive(&s, n, &last)) {
            tear_down(&s);
            break;
        }
        asked[last.request.kind]++;
        if (how == APPLIED || how == APPLIED_TWICE)
            errand_late(&s.w, &last);
        retained_whole(&s.w);
        clean(&s);
        if (how == APPLIED_LATE || how == APPLIED_TWICE) {
            errand_late(&s.w, &last);
            retained_whole(&s.w);
            clean(&s);
        }
        errand_drop(&last);
        tear_down(&s);
    }
    seen(asked, n);
}

static void killed_before_a_request(void **state)
{
    (void)state;
    killed(NEVER_APPLIED);
}

static void killed_after_a_request(void **state)
{
    (void)state;
    killed(APPLIED);
}

static void killed_and_the_request_comes_late(void **state)
{
    (void)state;
    killed(APPLIED_LATE);
}

static void killed_and_the_request_comes_twice(void **state)
{
    (void)state;
    killed(APPLIED_TWICE);
}

/* The n-th request has no answer, applied or not; the same sweeper goes on. */
static void unanswered(bool applied)
{
    uint32_t asked[STORE_OP_KINDS] = {0}, n = 0;
    for (;; n++) {
        scene s;
        errand last, none;
        assert_true(n < REQUESTS_MAX);
        set_up(&s);
        begin_pass(&s);
        if (!drive(&s, n, &last)) {
            tear_down(&s);
            break;
        }
        asked[last.request.kind]++;
        if (applied)
            errand_late(&s.w, &last);
        machine_reply reply = {.id = last.request.id,
                               .outcome =
                                   last.request.kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY,
                               .code = BW_IO};
        errand_answer(&s.w, &reclaim_machine, s.reclaim, &reply);
        errand_drop(&last);
        assert_false(drive(&s, REQUESTS_MAX, &none));
        assert_int_equal(reclaim_reported(s.reclaim)->status, BW_OK);
        assert_false(reclaim_reported(s.reclaim)->overtaken);
        retained_whole(&s.w);
        clean(&s);
        tear_down(&s);
    }
    seen(asked, n);
}

static void the_answer_is_lost(void **state)
{
    (void)state;
    unanswered(true);
}

static void the_request_is_lost(void **state)
{
    (void)state;
    unanswered(false);
}

/* It slept behind its n-th request while another one swept, went on and retired what it stands on:
 * what it does on its old manifest is harmless, and it ends. */
static void one_wakes_up_on_an_old_manifest(void **state)
{
    (void)state;
    uint32_t asked[STORE_OP_KINDS] = {0}, n = 0, overtaken = 0;
    for (;; n++) {
        scene s;
        errand last, none;
        assert_true(n < REQUESTS_MAX);
        set_up(&s);
        begin_pass(&s);
        if (!drive(&s, n, &last)) {
            tear_down(&s);
            break;
        }
        asked[last.request.kind]++;
        reclaim *sleeper = s.reclaim;
        chain *its_chain = s.chain;
        s.reclaim = NULL;
        s.chain = NULL;
        clean(&s);
        for (uint32_t k = 0; k < 8; k++)
            publish(&s, &s.q, 2, false);
        const pin third = {.id = view_text("e"), .nonce = 3, .step = 55};
        const pin_key gone = {.id = view_text("d"), .nonce = 2};
        pin_and_release(&s, &third, &gone);
        renew(&s);
        pass(&s);
        reclaim_free(s.reclaim);
        chain_free(s.chain);
        s.reclaim = sleeper;
        s.chain = its_chain;
        machine_reply reply;
        store_list list = {0};
        errand_apply(&s.w, &last, &reply, &list);
        errand_answer(&s.w, &reclaim_machine, s.reclaim, &reply);
        errand_drop(&last);
        retained_whole(&s.w);
        assert_false(drive(&s, REQUESTS_MAX, &none));
        const reclaim_report *r = reclaim_reported(s.reclaim);
        if (r->status != BW_OK)
            fail_msg("request %u: %s: %s", n, bw_status_name(r->status), r->error.message);
        overtaken += r->overtaken;
        clean(&s);
        tear_down(&s);
    }
    seen(asked, n);
    assert_true(overtaken > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scene_has_all_of_it),
        cmocka_unit_test(killed_before_a_request),
        cmocka_unit_test(killed_after_a_request),
        cmocka_unit_test(killed_and_the_request_comes_late),
        cmocka_unit_test(killed_and_the_request_comes_twice),
        cmocka_unit_test(the_answer_is_lost),
        cmocka_unit_test(the_request_is_lost),
        cmocka_unit_test(one_wakes_up_on_an_old_manifest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
