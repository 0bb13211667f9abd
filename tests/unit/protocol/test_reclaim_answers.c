// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a pass makes of the store's answers and of its own limits: more names than one delete takes,
 * orphans that share a nonce with a batch, damage, doubt, and deadlines. */
#include "world.h"

#include "protocol/reclaim.h"
#include <string.h>

typedef struct scene {
    world w;
    actor p, q; /* the producer; somebody else */
    chain *chain;
    reclaim *reclaim;
    cursor start;
} scene;

static const reclaim_options applied = {.apply = true, .orphans = true};

static void renew(scene *s, const reclaim_options *more)
{
    reclaim_options options = *more;
    options.backoff_min_ns = options.backoff_max_ns = NS_PER_MS;
    options.cache_bytes = 1 << 16;
    options.seed = 3;
    reclaim_free(s->reclaim);
    chain_free(s->chain);
    assert_int_equal(chain_new(++s->w.seed, NULL, &s->chain), BW_OK);
    assert_int_equal(reclaim_new(s->chain, &options, &s->reclaim), BW_OK);
}

/* `steps` batches of one part each, all folded alone and below trim but for the last one. */
static void set_up(scene *s, uint32_t steps, const reclaim_options *options)
{
    memset(s, 0, sizeof *s);
    s->start.dp = 1;
    world_open(&s->w, &(world_options){.block_size = 4, .tail_cap = 64});
    s->w.list_max = 1000;
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->p);
    actor_open(&s->q);
    for (uint32_t k = 0; k < steps; k++)
        actor_publish(&s->p, 1);
    const pin a = {.id = view_text("a"), .nonce = 1, .step = steps - 1};
    const intent launch = {.kind = INTENT_LAUNCH,
                           .launch = {.name = view_text("g"),
                                      .launch = view_text("l"),
                                      .start = LAUNCH_EARLIEST,
                                      .cursor = &s->start}};
    const intent keep = {.kind = INTENT_PIN,
                         .pin = {.group = view_text("g"), .launch = view_text("l"), .pin = &a}};
    actor_commit(&s->q, &launch);
    actor_commit(&s->q, &keep);
    renew(s, options);
}

static void tear_down(scene *s)
{
    reclaim_free(s->reclaim);
    chain_free(s->chain);
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

static bool drive(scene *s)
{
    return world_run(&s->w, &reclaim_machine, s->reclaim);
}

static void begin(scene *s)
{
    reclaim_start(s->reclaim, s->w.now_ns, s->w.now_ns + 100 * NS_PER_S);
}

static const reclaim_report *pass(scene *s, bw_status status)
{
    begin(s);
    assert_true(drive(s));
    const reclaim_report *r = reclaim_reported(s->reclaim);
    if (r->status != status)
        fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
    return r;
}

static uint64_t swept(scene *s)
{
    chain *c = world_chain(&s->w);
    const uint64_t step = chain_held(c)->swept;
    chain_free(c);
    return step;
}

/* ---- answers ---- */

/* What was never there is deleted, too. */
static void a_delete_of_nothing(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 6, &applied);
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(pass(&s, BW_OK)->steps, 5);
    assert_int_equal(swept(&s), 5);
    tear_down(&s);
}

/* Not deleted, not swept: with a deadline, and with a store that says no and not why. */
static void deletes_that_fail(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 6, &applied);
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 0, UINT32_MAX, STORE_RETRY);
    const int64_t deadline_ns = s.w.now_ns + 100 * NS_PER_MS;
    reclaim_start(s.reclaim, s.w.now_ns, deadline_ns);
    assert_true(drive(&s));
    assert_true(reclaim_reported(s.reclaim)->status != BW_OK);
    assert_true(s.w.now_ns >= deadline_ns);
    world_calm(&s.w);
    world_fault(&s.w, FAULT_KEEP, STORE_DELETE, "", 0, 1, STORE_PENDING);
    begin(&s);
    assert_false(drive(&s));
    machine_reply refused = {.id = s.w.kept[0].id, .outcome = STORE_DENIED};
    machine_reply stray = {.id = refused.id + 7, .outcome = STORE_OK};
    s.w.kept_count = 0;
    reclaim_machine.reply(s.reclaim, s.w.now_ns, &stray); /* to no request of this pass */
    assert_true(reclaim_machine.running(s.reclaim));
    reclaim_machine.reply(s.reclaim, s.w.now_ns, &refused);
    assert_false(reclaim_machine.running(s.reclaim));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_DENIED);
    assert_int_equal(swept(&s), 0);
    (void)pass(&s, BW_OK);
    assert_int_equal(swept(&s), 5);
    tear_down(&s);
}

/* A segment that is larger than one can be is read again before it is believed. One that is missing
 * is judged by the newest manifest; where that cannot be read, the pass says why. */
static void segments_that_cannot_be_read(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 6, &applied);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 1, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    world_fault(&s.w, FAULT_HOLD, STORE_GET, "segment/", 2, 1, STORE_PENDING);
    begin(&s);
    assert_false(drive(&s));
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, UINT32_MAX, STORE_NOT_FOUND);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 1, STORE_DENIED);
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, false, STORE_NOT_FOUND));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_DENIED);
    world_calm(&s.w);
    (void)pass(&s, BW_OK);
    assert_int_equal(swept(&s), 5);
    tear_down(&s);
}

/* Its commit lost a race, and there is no time for another: not made, and told so. */
static void a_commit_that_came_too_late(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 6, &applied);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    begin(&s);
    assert_false(drive(&s));
    actor_publish(&s.p, 1);
    s.w.now_ns += 200 * NS_PER_S;
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, true, STORE_PENDING));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_TIMEOUT);
    assert_int_equal(reclaim_reported(s.reclaim)->error.code, BW_TIMEOUT); /* and says why */
    assert_int_equal(swept(&s), 0);
    (void)pass(&s, BW_OK);
    assert_int_equal(swept(&s), 5);
    tear_down(&s);
}

/* Deletes that are answered past the deadline: what they did is committed, or the next pass would
 * do the same again. */
static void deletes_that_took_all_the_time(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 6, &applied);
    world_fault(&s.w, FAULT_HOLD, STORE_DELETE, "", 0, 1, STORE_PENDING);
    begin(&s);
    assert_false(drive(&s));
    s.w.now_ns += 200 * NS_PER_S;
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, true, STORE_PENDING));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_OK);
    assert_int_equal(swept(&s), 5);
    tear_down(&s);
}

/* ---- limits ---- */

static void only_manifests(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 20, &(reclaim_options){.apply = true, .orphans = true, .manifests_only = true});
    const reclaim_report *r = pass(&s, BW_OK);
    assert_int_equal(r->steps, 0);
    assert_true(r->manifests.manifests_deleted > 0);
    assert_int_equal(s.w.asked[STORE_LIST], 1); /* of manifests */
    assert_int_equal(swept(&s), 0);
    tear_down(&s);
}

/* More parts and more segments than one delete takes: said first, then done. */
static void more_names_than_one_delete_takes(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 301, &(reclaim_options){.orphans = true});
    const reclaim_report *r = pass(&s, BW_OK);
    assert_int_equal(r->steps, 300);
    assert_int_equal(r->names_deleted, 600); /* a part and perhaps a state each */
    const uint64_t segments = r->segments_deleted;
    assert_true(segments > 256);
    assert_int_equal(s.w.asked[STORE_DELETE], 0);
    renew(&s, &applied);
    r = pass(&s, BW_OK);
    assert_int_equal(r->names_deleted, 600);
    assert_int_equal(r->segments_deleted, segments);
    assert_int_equal(swept(&s), 300);
    tear_down(&s);
}

/* ---- orphans ---- */

static void plant(scene *s, const char *id, uint32_t epoch, uint64_t seq, uint64_t nonce)
{
    object_key key;
    key_part(&key, view_text(id), epoch, seq, nonce, 0);
    assert_int_equal(mem_space_set(s->w.space, key.text, "part", 4), BW_OK);
}

static size_t parts(scene *s)
{
    return mem_space_count(s->w.space, "data/");
}

/* More than are judged at once, and more than one delete takes. A dry run only counts them. */
static void more_orphans_than_are_judged_at_once(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 2, &(reclaim_options){.orphans = true});
    actor_open(&s.p); /* epoch 2: what epoch 1 left and nobody named is an orphan */
    for (uint64_t k = 0; k < 4500; k++)
        plant(&s, "p", 1, 100 + k, 7000 + k);
    const reclaim_report *r = pass(&s, BW_OK);
    assert_int_equal(r->orphans_deleted, 4500);
    assert_int_equal(r->orphan_bytes, 4 * 4500);
    assert_int_equal(parts(&s), 4500);
    renew(&s, &applied);
    r = pass(&s, BW_OK);
    assert_int_equal(r->orphans_deleted, 4500);
    assert_int_equal(parts(&s), 0);
    tear_down(&s);
}

/* A nonce alone names nothing: epoch and seq must be those of the batch, too. Whose it is is not
 * asked: that would take a hash, and without memory for it what is needed would be an orphan. */
static void orphans_with_the_nonce_of_a_batch(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 2, &applied);
    actor_publish(&s.p, 1);
    const record kept = s.p.batch[0].record;
    actor_open(&s.p);
    actor_open(&s.p); /* epoch 3 */
    actor_open(&s.q); /* epoch 2 */
    plant(&s, "p", kept.epoch, kept.seq, kept.nonce);
    plant(&s, "p", kept.epoch, kept.seq + 10, kept.nonce);
    plant(&s, "p", kept.epoch + 1, kept.seq, kept.nonce);
    plant(&s, "q", kept.epoch, kept.seq, kept.nonce);
    assert_int_equal(pass(&s, BW_OK)->orphans_deleted, 2);
    object_key key;
    key_part(&key, view_text("p"), kept.epoch, kept.seq, kept.nonce, 0);
    assert_true(world_has(&s.w, key.text));
    assert_int_equal(parts(&s), 2);
    tear_down(&s);
}

/* ---- a manifest that lies ---- */

static producer_entry lies[2];

static void lose_a_producer(manifest *draft, void *context)
{
    const uint32_t how = *(const uint32_t *)context;
    assert_int_equal(draft->producer_count, 2);
    memcpy(lies, draft->producers, sizeof lies);
    if (how == 0)
        lies[0] = lies[1];
    else if (how == 1)
        lies[0].seq = 1;
    else
        lies[0].offset = 10;
    draft->producers = lies;
    draft->producer_count = how == 0 ? 1 : 2;
}

/* Steps of a producer that the map does not have, or has less of: nothing of it is deleted beyond
 * what was asked for, and nothing is swept. */
static void steps_that_nobody_published(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        scene s;
        set_up(&s, 6, &applied);
        world_plant(&s.w, lose_a_producer, &how);
        (void)pass(&s, BW_CORRUPT);
        assert_int_equal(swept(&s), 0);
        assert_int_equal(s.w.asked[STORE_DELETE], 0);
        tear_down(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delete_of_nothing),
        cmocka_unit_test(deletes_that_fail),
        cmocka_unit_test(segments_that_cannot_be_read),
        cmocka_unit_test(a_commit_that_came_too_late),
        cmocka_unit_test(deletes_that_took_all_the_time),
        cmocka_unit_test(only_manifests),
        cmocka_unit_test(more_names_than_one_delete_takes),
        cmocka_unit_test(more_orphans_than_are_judged_at_once),
        cmocka_unit_test(orphans_with_the_nonce_of_a_batch),
        cmocka_unit_test(steps_that_nobody_published),
    };
    return cmocka_run_group_tests_name("reclaim_answers", tests, NULL, NULL);
}
