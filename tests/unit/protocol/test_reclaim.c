// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* One pass gives back what no group can reach, in an order that a death at any point leaves sound:
 * parts, then the commit, then segments, manifests, orphans. */
#include "world.h"

#include "protocol/reclaim.h"
#include <stdio.h>
#include <string.h>

typedef struct scene {
    world w;
    actor p, q;
    chain *chain;
    reclaim *reclaim;
    cursor start;
} scene;

/* The parts of the actor's last publish. */
static void put_parts(actor *a, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const record *at = &a->batch[k].record;
        object_key key;
        key_part(&key, view_text(a->id), at->epoch, at->seq, at->nonce, 0);
        assert_int_equal(mem_space_set(a->world->space, key.text, "part", 4), BW_OK);
    }
}

static void publish(actor *a, uint32_t count)
{
    actor_publish(a, count);
    put_parts(a, count);
}

static void commit_as(actor *a, intent i)
{
    a->intent = i;
    commit_start(a->commit, &a->intent, view_text(""), a->world->now_ns,
                 a->world->now_ns + 100 * NS_PER_S);
    assert_true(actor_drive(a));
    const commit_report *r = actor_report(a);
    if (r->end != COMMIT_DONE)
        fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
}

static void launch(scene *s, const char *name, launch_start start)
{
    commit_as(&s->q, (intent){.kind = INTENT_LAUNCH,
                              .launch = {.name = view_text(name),
                                         .launch = view_text("one"),
                                         .start = start,
                                         .cursor = &s->start}});
}

static void pin_at(scene *s, const char *name, const char *id, uint64_t step)
{
    const pin p = {.id = view_text(id), .nonce = step + 1, .step = step};
    commit_as(&s->q,
              (intent){.kind = INTENT_PIN,
                       .pin = {.group = view_text(name), .launch = view_text("one"), .pin = &p}});
}

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

/* Two producers, 40 steps in folded segments; group g pinned at step 25. */
static void set_up(scene *s, const reclaim_options *options)
{
    memset(s, 0, sizeof *s);
    s->start.dp = 1;
    world_open(&s->w, &(world_options){.block_size = 4, .tail_cap = 512});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->p);
    actor_open(&s->q);
    launch(s, "g", LAUNCH_EARLIEST);
    for (uint32_t k = 0; k < 10; k++) {
        publish(&s->p, 3);
        publish(&s->q, 1);
    }
    pin_at(s, "g", "c25", 25);
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

static const reclaim_report *pass(scene *s)
{
    reclaim_start(s->reclaim, s->w.now_ns, s->w.now_ns + 100 * NS_PER_S);
    assert_true(world_run(&s->w, &reclaim_machine, s->reclaim));
    const reclaim_report *r = reclaim_reported(s->reclaim);
    if (r->status != BW_OK)
        fail_msg("%s: %s", bw_status_name(r->status), r->error.message);
    return r;
}

static size_t parts(scene *s)
{
    return mem_space_count(s->w.space, "data/");
}

static manifest *newest(scene *s)
{
    assert_int_equal(world_walk(&s->w, s->chain, CHAIN_NEWEST), BW_OK);
    return chain_held(s->chain);
}

static void a_dry_run_only_says(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.orphans = true});
    const size_t before = mem_space_count(s.w.space, "");
    const reclaim_report *r = pass(&s);
    assert_int_equal(r->steps, 25);
    assert_int_equal(r->bytes, 25 * 316);
    assert_int_equal(r->swept, 0);
    assert_int_equal(r->swept_to, 25);
    assert_true(r->segments_deleted > 0);
    assert_int_equal(mem_space_count(s.w.space, ""), before);
    assert_int_equal(s.w.asked[STORE_DELETE], 0);
    tear_down(&s);
}

static void what_no_group_reaches_goes(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true});
    const size_t segments = mem_space_count(s.w.space, "segment/");
    assert_int_equal(parts(&s), 40);
    const reclaim_report *r = pass(&s);
    assert_int_equal(r->steps, 25);
    assert_int_equal(parts(&s), 15);
    assert_int_equal(mem_space_count(s.w.space, "segment/"), segments - r->segments_deleted);
    const manifest *m = newest(&s);
    assert_int_equal(m->swept, 25);
    assert_int_equal(m->trim, 25);
    assert_int_equal(m->swept_bytes, 25 * 316);
    /* Steps 0 – 24: of each four, three are p's. */
    const producer_entry *p = manifest_producer(m, view_text("p"));
    const producer_entry *q = manifest_producer(m, view_text("q"));
    assert_int_equal(p->swept_seq, 19);
    assert_int_equal(p->swept_offset, 190);
    assert_int_equal(q->swept_seq, 6);
    assert_int_equal(q->swept_offset, 60);
    assert_true(m->ref_count == 0 || m->refs[0].last >= 25);
    assert_true(r->manifests.blocks_retired > 0);
    /* Nothing is left to do. */
    r = pass(&s);
    assert_int_equal(r->steps, 0);
    assert_int_equal(r->names_deleted, 0);
    tear_down(&s);
}

/* A pass of few steps stops within a segment, which stays until all of it is swept. */
static void passes_may_be_small(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true, .steps_max = 1});
    for (uint64_t step = 1; step <= 25; step++) {
        const reclaim_report *r = pass(&s);
        assert_int_equal(r->swept_to, step);
        assert_int_equal(parts(&s), 40 - step);
        const manifest *m = newest(&s);
        assert_int_equal(m->swept, step);
        for (uint32_t k = 0; k < m->ref_count; k++) {
            object_key key;
            segment_ref_key(&m->refs[k], &key);
            assert_true(world_has(&s.w, key.text));
        }
    }
    assert_int_equal(pass(&s)->steps, 0);
    tear_down(&s);
}

/* Every delete is answered before the chain says that the steps are swept. */
static void nothing_is_swept_before_it_is_deleted(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true});
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 0, 3, STORE_RETRY);
    world_fault(&s.w, FAULT_HOLD, STORE_DELETE, "", 0, 1, STORE_PENDING);
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_false(world_run(&s.w, &reclaim_machine, s.reclaim));
    chain *c = world_chain(&s.w);
    assert_int_equal(chain_held(c)->swept, 0);
    chain_free(c);
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, true, STORE_PENDING));
    assert_int_equal(newest(&s)->swept, 25);
    tear_down(&s);
}

/* Dead after the parts, and after the commit: the next pass takes it up, by the chain and by a
 * listing. */
static void a_dead_sweepers_work_is_taken_up(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_false(world_run(&s.w, &reclaim_machine, s.reclaim));
    late_write late;
    world_abandon(&s.w, &late);
    world_calm(&s.w);
    assert_int_equal(parts(&s), 15);
    renew(&s, &(reclaim_options){.apply = true});
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 1, 1, STORE_DENIED); /* of segments */
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_true(world_run(&s.w, &reclaim_machine, s.reclaim));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_DENIED);
    assert_int_equal(world_apply_late(&s.w, &late), STORE_EXISTS);
    late_free(&late);
    world_calm(&s.w);
    assert_int_equal(newest(&s)->swept, 25);
    renew(&s, &(reclaim_options){.apply = true, .orphans = true});
    (void)pass(&s);
    const manifest *m = newest(&s);
    uint64_t below = 0;
    for (uint32_t k = 0; k < m->ref_count; k++)
        below += m->refs[k].last < m->swept;
    assert_int_equal(below, 0);
    assert_int_equal(pass(&s)->orphans_deleted, 0);
    assert_int_equal(parts(&s), 15);
    tear_down(&s);
}

/* The other one commits first: this one is fenced, and deletes nothing that it did not commit. */
static void two_sweepers_agree(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true, .steps_max = 20});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_false(world_run(&s.w, &reclaim_machine, s.reclaim));
    const reclaim_options other = {.apply = true,
                                   .steps_max = 10,
                                   .cache_bytes = 1 << 16,
                                   .backoff_min_ns = NS_PER_MS,
                                   .backoff_max_ns = NS_PER_MS};
    chain *c = world_chain(&s.w);
    reclaim *second;
    assert_int_equal(reclaim_new(c, &other, &second), BW_OK);
    reclaim_start(second, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    /* The world keeps one request at a time. */
    const machine_request held = s.w.held;
    s.w.is_held = false;
    world_calm(&s.w);
    assert_true(world_run(&s.w, &reclaim_machine, second));
    assert_int_equal(reclaim_reported(second)->status, BW_OK);
    assert_int_equal(reclaim_reported(second)->swept_to, 10);
    s.w.held = held;
    s.w.is_held = true;
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, true, STORE_PENDING));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_OK);
    assert_int_equal(reclaim_reported(s.reclaim)->swept_to, 10);
    assert_int_equal(newest(&s)->swept, 10);
    assert_int_equal(pass(&s)->swept_to, 25);
    assert_int_equal(newest(&s)->swept, 25);
    assert_int_equal(newest(&s)->swept_bytes, 25 * 316);
    reclaim_free(second);
    chain_free(c);
    tear_down(&s);
}

static void plant(scene *s, const char *id, uint32_t epoch, uint64_t seq, uint64_t nonce)
{
    object_key key;
    key_part(&key, view_text(id), epoch, seq, nonce, 0);
    assert_int_equal(mem_space_set(s->w.space, key.text, "orphan", 6), BW_OK);
}

/* Only on proof: what an older epoch staged and nobody names; what lies below swept. */
static void orphans_go_on_proof_only(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true, .orphans = true});
    actor_stop(&s.p);
    actor_start(&s.p, &s.w, "p"); /* epoch 2 */
    actor_open(&s.p);
    publish(&s.p, 2);
    plant(&s, "p", 1, 30, 77);       /* lost to another batch of that seq */
    plant(&s, "p", 1, 31, 78);       /* staged by the dead, never published */
    plant(&s, "p", 1, 3, 79);        /* below swept, come too late */
    plant(&s, "p", 2, 40, 80);       /* may be published yet */
    plant(&s, "q", 1, 11, 81);       /* may be published yet */
    plant(&s, "stranger", 1, 1, 82); /* the chain never named it */
    assert_int_equal(parts(&s), 48);
    const reclaim_report *r = pass(&s);
    assert_int_equal(r->orphans_deleted, 3);
    assert_int_equal(r->orphan_bytes, 18);
    assert_int_equal(r->strangers, 1);
    assert_int_equal(r->staged_count, 2);
    assert_int_equal(r->staged_objects, 2);
    assert_int_equal(r->staged_bytes, 12);
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(r->staged[k].objects, 1);
        assert_int_equal(r->staged[k].bytes, 6);
        assert_true(strcmp(r->staged[k].producer, "p") == 0 ||
                    strcmp(r->staged[k].producer, "q") == 0);
    }
    assert_string_not_equal(r->staged[0].producer, r->staged[1].producer);
    assert_int_equal(parts(&s), 48 - 25 - 3);
    assert_int_equal(pass(&s)->orphans_deleted, 0);
    /* Sealed, nobody publishes any more. */
    actor_begin_seal(&s.p, true);
    assert_true(actor_drive(&s.p));
    assert_int_equal(pass(&s)->orphans_deleted, 2);
    assert_int_equal(reclaim_reported(s.reclaim)->staged_objects, 0);
    assert_int_equal(parts(&s), 17 + 1);
    tear_down(&s);
}

/* Of more producers than a report has room for, there is the sum. */
static void what_many_have_staged_is_summed(void **state)
{
    (void)state;
    scene s;
    actor more[RECLAIM_STAGED_MAX + 1];
    set_up(&s, &(reclaim_options){.apply = false, .orphans = true});
    for (uint32_t k = 0; k <= RECLAIM_STAGED_MAX; k++) {
        char id[16];
        (void)snprintf(id, sizeof id, "m%u", k);
        actor_start(&more[k], &s.w, id);
        actor_open(&more[k]);
        plant(&s, id, 1, 1, 900 + k);
        plant(&s, id, 1, 2, 950 + k);
    }
    const reclaim_report *r = pass(&s);
    assert_int_equal(r->staged_count, RECLAIM_STAGED_MAX);
    for (uint32_t k = 0; k < r->staged_count; k++)
        assert_true(r->staged[k].objects >= 1 && r->staged[k].objects <= 2);
    assert_int_equal(r->staged_objects, 2 * (RECLAIM_STAGED_MAX + 1));
    assert_int_equal(r->staged_bytes, 12 * (RECLAIM_STAGED_MAX + 1));
    for (uint32_t k = 0; k <= RECLAIM_STAGED_MAX; k++)
        actor_stop(&more[k]);
    tear_down(&s);
}

static void begin_page(scene *s, actor *more, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        char id[16];
        (void)snprintf(id, sizeof id, "a%u", k);
        actor_start(&more[k], &s->w, id);
        actor_open(&more[k]);
        actor_begin_publish(&more[k], 1, true);
        assert_true(actor_drive(&more[k]));
        put_parts(&more[k], 1);
    }
}

/* Departed producers move once nothing of theirs is left, and are found again when they return. */
static void the_departed_move_to_the_page(void **state)
{
    (void)state;
    enum { MORE = 3 };
    scene s;
    actor more[MORE];
    set_up(&s, &(reclaim_options){.apply = true, .orphans = true});
    begin_page(&s, more, MORE);
    assert_int_equal(pass(&s)->moved, 0);
    assert_false(newest(&s)->has_page);
    publish(&s.p, 1);
    pin_at(&s, "g", "c44", 44);
    const pin_key old = {.id = view_text("c25"), .nonce = 26};
    commit_as(&s.q, (intent){.kind = INTENT_PIN,
                             .pin = {.group = view_text("g"),
                                     .launch = view_text("one"),
                                     .releases = &old,
                                     .release_count = 1}});
    assert_int_equal(pass(&s)->moved, MORE);
    const manifest *m = newest(&s);
    assert_true(m->has_page);
    assert_int_equal(m->page.entries, MORE);
    assert_int_equal(m->producer_count, 2);
    assert_int_equal(m->finished_producers, MORE);
    assert_int_equal(mem_space_count(s.w.space, "page/"), 1);
    /* One comes back, publishes and leaves again: the next page has it once, and replaces the old.
     */
    actor_stop(&more[1]);
    actor_start(&more[1], &s.w, "a1");
    actor_begin_open(&more[1], true);
    assert_true(actor_drive(&more[1]));
    actor_settle(&more[1]);
    assert_int_equal(more[1].epoch, 2);
    assert_int_equal(more[1].offset, 10);
    for (uint32_t k = 0; k < MORE; k++)
        actor_stop(&more[k]);
    tear_down(&s);
}

/* A page is for the version in its name: who loses that race leaves the move to the next pass. */
static void a_page_that_lost_its_version_is_not_used(void **state)
{
    (void)state;
    enum { MORE = 2 };
    scene s;
    actor more[MORE];
    set_up(&s, &(reclaim_options){.apply = true, .orphans = true});
    begin_page(&s, more, MORE);
    publish(&s.p, 1);
    pin_at(&s, "g", "c43", 43);
    const pin_key old = {.id = view_text("c25"), .nonce = 26};
    commit_as(&s.q, (intent){.kind = INTENT_PIN,
                             .pin = {.group = view_text("g"),
                                     .launch = view_text("one"),
                                     .releases = &old,
                                     .release_count = 1}});
    world_fault(&s.w, FAULT_HOLD, STORE_PUT, "page/", 0, 1, STORE_PENDING);
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_false(world_run(&s.w, &reclaim_machine, s.reclaim));
    const machine_request held = s.w.held;
    s.w.is_held = false;
    world_calm(&s.w);
    publish(&s.p, 1);
    s.w.held = held;
    s.w.is_held = true;
    assert_true(world_release(&s.w, &reclaim_machine, s.reclaim, true, STORE_PENDING));
    assert_int_equal(reclaim_reported(s.reclaim)->status, BW_OK);
    assert_int_equal(reclaim_reported(s.reclaim)->moved, 0);
    assert_int_equal(newest(&s)->swept, 43);
    assert_false(newest(&s)->has_page);
    /* The lost page is an orphan, gone by the same pass. */
    assert_int_equal(mem_space_count(s.w.space, "page/"), 0);
    for (uint32_t k = 0; k < MORE; k++)
        actor_stop(&more[k]);
    tear_down(&s);
}

static void move_pin(scene *s, const char *from, const char *to, uint64_t from_step,
                     uint64_t to_step)
{
    pin_at(s, "g", to, to_step);
    const pin_key old = {.id = view_text(from), .nonce = from_step + 1};
    commit_as(&s->q, (intent){.kind = INTENT_PIN,
                              .pin = {.group = view_text("g"),
                                      .launch = view_text("one"),
                                      .releases = &old,
                                      .release_count = 1}});
}

/* Who has finished but is not wholly swept stays in the map, and does not keep the others there. */
static void who_is_not_swept_does_not_hold_up_the_page(void **state)
{
    (void)state;
    enum { MORE = 3 };
    scene s;
    actor more[MORE];
    set_up(&s, &(reclaim_options){.apply = true});
    begin_page(&s, more, MORE); /* steps 40 – 42 */
    publish(&s.p, 1);
    move_pin(&s, "c25", "c42", 25, 42);
    assert_int_equal(pass(&s)->moved, 2);
    const manifest *m = newest(&s);
    assert_true(m->has_page);
    assert_int_equal(m->page.entries, 2);
    assert_non_null(manifest_producer(m, view_text("a2")));
    /* One alone is not worth a page. */
    move_pin(&s, "c42", "c44", 42, 44);
    assert_int_equal(pass(&s)->moved, 0);
    assert_int_equal(newest(&s)->page.entries, 2);
    assert_int_equal(newest(&s)->producer_count, 3);
    for (uint32_t k = 0; k < MORE; k++)
        actor_stop(&more[k]);
    tear_down(&s);
}

/* Another sweeper has put it and is about to commit the version that refers to it. */
static void a_page_to_come_stays(void **state)
{
    (void)state;
    scene s;
    object_key coming, lost;
    set_up(&s, &(reclaim_options){.apply = true, .orphans = true});
    const uint64_t version = newest(&s)->version;
    key_page(&coming, version + 4, 5);
    key_page(&lost, version, 6);
    assert_int_equal(mem_space_set(s.w.space, coming.text, "page", 4), BW_OK);
    assert_int_equal(mem_space_set(s.w.space, lost.text, "page", 4), BW_OK);
    assert_int_equal(pass(&s)->orphans_deleted, 1);
    assert_true(world_has(&s.w, coming.text));
    assert_false(world_has(&s.w, lost.text));
    for (uint32_t k = 0; k < 4; k++)
        publish(&s.p, 1);
    (void)pass(&s);
    assert_false(world_has(&s.w, coming.text));
    tear_down(&s);
}

/* The newest pin of a group says nothing about what the older ones reach. */
static void older_pins_keep_what_they_reach(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true, .orphans = true});
    pin_at(&s, "g", "c35", 35);
    assert_int_equal(pass(&s)->steps, 25);
    assert_int_equal(parts(&s), 15);
    tear_down(&s);
}

/* A segment that is not there, and no newer manifest that would say why: CORRUPT, by name. */
static void a_missing_segment_is_told(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true});
    object_key key;
    segment_ref_key(&newest(&s)->refs[0], &key);
    assert_true(mem_space_remove(s.w.space, key.text));
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns + 100 * NS_PER_S);
    assert_true(world_run(&s.w, &reclaim_machine, s.reclaim));
    const reclaim_report *r = reclaim_reported(s.reclaim);
    assert_int_equal(r->status, BW_CORRUPT);
    assert_string_equal(r->error.key, key.text);
    assert_int_equal(parts(&s), 40);
    tear_down(&s);
}

/* The deletes took all of the time: the commit is over as it starts, and so is the pass. */
static void a_pass_out_of_time_ends(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(reclaim_options){.apply = true});
    reclaim_start(s.reclaim, s.w.now_ns, s.w.now_ns);
    assert_true(world_run(&s.w, &reclaim_machine, s.reclaim));
    assert_false(reclaim_machine.running(s.reclaim));
    const reclaim_report *r = reclaim_reported(s.reclaim);
    assert_int_equal(r->status, BW_IO);
    assert_int_equal(r->error.code, BW_IO);
    assert_int_equal(newest(&s)->swept, 0);
    assert_int_equal(pass(&s)->steps, 25);
    assert_int_equal(newest(&s)->swept, 25);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dry_run_only_says),
        cmocka_unit_test(what_no_group_reaches_goes),
        cmocka_unit_test(passes_may_be_small),
        cmocka_unit_test(nothing_is_swept_before_it_is_deleted),
        cmocka_unit_test(a_dead_sweepers_work_is_taken_up),
        cmocka_unit_test(two_sweepers_agree),
        cmocka_unit_test(orphans_go_on_proof_only),
        cmocka_unit_test(what_many_have_staged_is_summed),
        cmocka_unit_test(the_departed_move_to_the_page),
        cmocka_unit_test(a_page_that_lost_its_version_is_not_used),
        cmocka_unit_test(who_is_not_swept_does_not_hold_up_the_page),
        cmocka_unit_test(a_page_to_come_stays),
        cmocka_unit_test(older_pins_keep_what_they_reach),
        cmocka_unit_test(a_missing_segment_is_told),
        cmocka_unit_test(a_pass_out_of_time_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
