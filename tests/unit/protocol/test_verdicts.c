// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a base or a witness says where commits overlap, are made in part, or share names: of steps,
 * pins, incarnations. And answers of the store that say that something is there, and damaged. */
#include "world.h"

#include "protocol/launch.h"

typedef struct scene {
    world w;
    actor p, q;
    cursor cursor;
} scene;

static void set_up(scene *s, const world_options *options)
{
    world_open(&s->w, options);
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    s->cursor = (cursor){.dp = 1};
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

static intent launch_as(scene *s, const char *launch)
{
    return (intent){.kind = INTENT_LAUNCH,
                    .launch = {.name = view_text("g"),
                               .launch = view_text(launch),
                               .start = LAUNCH_EARLIEST,
                               .cursor = &s->cursor}};
}

/* `who` asks for the same again, from a base of its own: nothing is written for it. */
static void again(scene *s, actor *who, const intent *i)
{
    const uint64_t creates = s->w.asked[STORE_CREATE];
    actor_commit(who, i);
    assert_int_equal(s->w.asked[STORE_CREATE], creates);
}

/* ---- what a base says already ---- */

static void groups_come_and_go(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    const intent launch = launch_as(&s, "l1");
    const intent rm = {.kind = INTENT_GROUP_RM, .group_rm = {view_text("g"), view_text("l1")}};
    const pin a = {.id = view_text("a"), .nonce = 1};
    const intent keep = {.kind = INTENT_PIN,
                         .pin = {.group = view_text("g"), .launch = view_text("l1"), .pin = &a}};
    actor_commit(&s.p, &launch);
    again(&s, &s.p, &launch);
    actor_commit(&s.p, &keep);
    again(&s, &s.p, &keep);
    actor_commit(&s.p, &rm);
    again(&s, &s.p, &rm);
    tear_down(&s);
}

static void a_finish_that_is_there(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    actor_open(&s.p);
    actor_begin_publish(&s.p, 0, true);
    const intent finish = s.p.intent;
    assert_true(actor_drive(&s.p));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    again(&s, &s.p, &finish);
    assert_int_equal(actor_report(&s.p)->result.first_step, COMMIT_STEP_UNKNOWN);
    tear_down(&s);
}

static void publish_one(actor *a, const descriptor *d)
{
    const intent i = {
        .kind = INTENT_PUBLISH,
        .publish = {.id = view_text(a->id), .token = a->token, .descriptors = d, .count = 1}};
    actor_commit(a, &i);
}

/* A nonce is of a producer's choice: others may have chosen the same. Our batch is the one with our
 * id, epoch and seq, too. */
static void one_nonce_for_all(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    actor r;
    actor_start(&r, &s.w, "r");
    actor_open(&r);
    actor_open(&s.q);
    actor_open(&s.q); /* epoch 2 */
    actor_open(&s.p);
    descriptor d[4];
    actor_batch(&s.p, 1, 0, &d[0]);
    actor_batch(&s.q, 1, 0, &d[1]);
    actor_batch(&r, 1, 0, &d[2]);
    actor_batch(&s.p, 2, 10, &d[3]);
    for (uint32_t k = 0; k < 4; k++)
        d[k].record.nonce = 77;
    publish_one(&s.p, &d[0]);
    publish_one(&s.q, &d[1]);
    publish_one(&r, &d[2]);
    publish_one(&s.p, &d[3]);
    /* All four stand in the tail; the first is looked for from the newest on. */
    const intent first = {
        .kind = INTENT_PUBLISH,
        .publish = {.id = view_text("p"), .token = s.p.token, .descriptors = d, .count = 1}};
    again(&s, &s.p, &first);
    assert_int_equal(actor_report(&s.p)->result.already, 1);
    assert_int_equal(actor_report(&s.p)->result.first_step, 0);
    actor_stop(&r);
    tear_down(&s);
}

static int64_t noon(void *context)
{
    (void)context;
    return 43200000;
}

static void a_manifest_carries_the_clock(void **state)
{
    (void)state;
    scene s;
    const clock_source clock = {.monotonic_ns = noon, .wall_ms = noon};
    const commit_options options = {.backoff_max_ns = 1, .seed = 5, .clock = &clock};
    set_up(&s, &(world_options){0});
    commit_free(s.p.commit);
    assert_int_equal(commit_new(s.p.chain, &options, &s.p.commit), BW_OK);
    actor_open(&s.p);
    assert_int_equal(chain_held(s.p.chain)->clock_ms, 43200000);
    tear_down(&s);
}

/* ---- made in part ---- */

/* Its name was retired before P heard of it. */
static void retire(scene *s, uint64_t version)
{
    while (!world_has_manifest(&s->w, version + 6))
        actor_open(&s->q);
    (void)world_sweep(&s->w);
    assert_false(world_has_manifest(&s->w, version));
}

static void hold(scene *s)
{
    world_fault(&s->w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    assert_false(actor_drive(&s->p));
}

/* There is room for two of three batches: the finish waits for the third. A witness of the two says
 * made though the rest is not there yet. */
static void a_finish_behind_a_limit(void **state)
{
    (void)state;
    for (uint32_t witness = 0; witness < 2; witness++) {
        scene s;
        set_up(&s, &(world_options){.tail_cap = 65536, .has_max_lag = true, .max_lag = 2});
        const intent launch = launch_as(&s, "l1");
        actor_commit(&s.q, &launch);
        actor_open(&s.p);
        actor_begin_publish(&s.p, 3, true);
        if (witness == 1) {
            hold(&s);
            assert_int_equal(world_apply_held(&s.w), STORE_CREATED);
            retire(&s, actor_report(&s.p)->open_version);
            assert_true(actor_release(&s.p, false, STORE_CREATED));
        } else {
            assert_true(actor_drive(&s.p));
        }
        const commit_report *r = actor_report(&s.p);
        assert_int_equal(r->end, COMMIT_DONE);
        assert_int_equal(r->result.published, 2);
        assert_int_equal(commit_counted(s.p.commit)->witness_made, witness);
        chain *c = world_chain(&s.w);
        assert_int_equal(chain_held(c)->next, 2);
        assert_false(manifest_producer(chain_held(c), view_text("p"))->finished);
        chain_free(c);
        tear_down(&s);
    }
}

/* ---- fenced while nobody knew ---- */

/* Another incarnation of P comes while its create is out and its name is retired. */
static void take_over(scene *s)
{
    actor next;
    actor_start(&next, &s->w, "p");
    actor_open(&next);
    actor_stop(&next);
    retire(s, actor_report(&s->p)->open_version);
}

/* A finish alone leaves no batch by which it could be known. */
static void a_fenced_finish(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    actor_open(&s.p);
    actor_begin_publish(&s.p, 0, true);
    hold(&s);
    take_over(&s);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.p)->status, BW_FENCED);
    assert_true(actor_report(&s.p)->open_unknown);
    tear_down(&s);
}

/* A clone of P, token and all, published the same batch elsewhere: that tells nothing about P's own
 * attempt. */
static void a_batch_at_another_step(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    actor_open(&s.q);
    actor_open(&s.p);
    actor_begin_publish(&s.p, 1, false);
    hold(&s);
    actor clone;
    actor_start(&clone, &s.w, "p");
    clone.token = s.p.token;
    actor_publish(&s.q, 1);
    publish_one(&clone, &s.p.batch[0]);
    take_over(&s);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.p)->status, BW_FENCED);
    assert_true(actor_report(&s.p)->open_unknown);
    actor_stop(&clone);
    tear_down(&s);
}

/* Only the pin with our nonce and our id is ours; a release leaves nothing behind. */
static void a_fenced_pin_and_a_fenced_release(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 2; k++) {
        scene s;
        set_up(&s, &(world_options){.tail_cap = 65536});
        const intent first = launch_as(&s, "l1"), second = launch_as(&s, "l2");
        const pin theirs = {.id = view_text("a"), .nonce = 5},
                  ours = {.id = view_text("b"), .nonce = 5};
        const pin_key key = {view_text("a"), 5};
        const intent made = {
            .kind = INTENT_PIN,
            .pin = {.group = view_text("g"), .launch = view_text("l1"), .pin = &theirs}};
        intent i = made;
        i.pin.pin = k == 0 ? &ours : NULL;
        i.pin.releases = &key;
        i.pin.release_count = k;
        actor_commit(&s.p, &first);
        actor_commit(&s.p, &made);
        actor_begin_intent(&s.p, &i);
        hold(&s);
        actor_commit(&s.q, &second);
        retire(&s, actor_report(&s.p)->open_version);
        assert_true(actor_release(&s.p, true, STORE_PENDING));
        assert_int_equal(actor_report(&s.p)->end, COMMIT_REFUSED);
        assert_int_equal(actor_report(&s.p)->status, BW_FENCED);
        assert_true(actor_report(&s.p)->open_unknown);
        tear_down(&s);
    }
}

/* Who may give up after one lost race goes on while a pin is in doubt: LOST would say that it was
 * not made. */
static void a_pin_in_doubt_is_not_lost(void **state)
{
    (void)state;
    scene s;
    world_open(&s.w, &(world_options){.tail_cap = 65536});
    s.w.conflict_retries = 1;
    actor_start(&s.p, &s.w, "p");
    s.w.conflict_retries = 0;
    actor_start(&s.q, &s.w, "q");
    s.cursor = (cursor){.dp = 1};
    const intent launch = launch_as(&s, "l1");
    const pin a = {.id = view_text("a"), .nonce = 1};
    const intent keep = {.kind = INTENT_PIN,
                         .pin = {.group = view_text("g"), .launch = view_text("l1"), .pin = &a}};
    actor_commit(&s.p, &launch);
    actor_begin_intent(&s.p, &keep);
    hold(&s);
    retire(&s, actor_report(&s.p)->open_version);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_int_equal(actor_report(&s.p)->conflicts, 1);
    chain *c = world_chain(&s.w);
    assert_int_equal(manifest_group(chain_held(c), view_text("g"))->pin_count, 1);
    chain_free(c);
    tear_down(&s);
}

/* ---- there, and damaged ---- */

/* The store's own word that an object is larger than one can be. */
static void damage(scene *s, const char *prefix, bw_status code)
{
    world_fault(&s->w, FAULT_SAY, STORE_GET, prefix, 0, 1, STORE_FATAL);
    for (uint32_t k = 0; k < FAULTS_MAX; k++)
        if (s->w.faults[k].times > 0)
            s->w.faults[k].code = code;
}

/* A marker that is anything but absent is present: the witness decides, and says made. */
static void a_marker_beyond_its_cap(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 65536});
    actor_open(&s.p);
    damage(&s, "retired/", BW_TOO_LARGE);
    actor_publish(&s.p, 1);
    assert_int_equal(commit_counted(s.p.commit)->marker_after_created, 1);
    assert_int_equal(commit_counted(s.p.commit)->witness_made, 1);
    assert_int_equal(world_check(&s.w), 1);
    tear_down(&s);
}

/* What stands under our name is read again before it is believed to be damaged. */
static void a_manifest_beyond_its_cap(void **state)
{
    (void)state;
    const bw_status codes[] = {BW_TOO_LARGE, BW_CORRUPT};
    for (uint32_t k = 0; k < 2; k++) {
        scene s;
        set_up(&s, &(world_options){.tail_cap = 65536});
        actor_open(&s.p);
        actor_begin_publish(&s.p, 1, false);
        hold(&s);
        actor_open(&s.q);
        damage(&s, "manifest/", codes[k]);
        assert_true(actor_release(&s.p, true, STORE_PENDING));
        assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
        assert_int_equal(commit_counted(s.p.commit)->exists_other, 1);
        assert_int_equal(world_check(&s.w), 1);
        tear_down(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_come_and_go),
        cmocka_unit_test(a_finish_that_is_there),
        cmocka_unit_test(one_nonce_for_all),
        cmocka_unit_test(a_manifest_carries_the_clock),
        cmocka_unit_test(a_finish_behind_a_limit),
        cmocka_unit_test(a_fenced_finish),
        cmocka_unit_test(a_batch_at_another_step),
        cmocka_unit_test(a_fenced_pin_and_a_fenced_release),
        cmocka_unit_test(a_pin_in_doubt_is_not_lost),
        cmocka_unit_test(a_marker_beyond_its_cap),
        cmocka_unit_test(a_manifest_beyond_its_cap),
    };
    return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
