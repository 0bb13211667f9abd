// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Tails fold into segments and segments merge into indexes while producers race; nothing is lost on
 * the way. */
#include "world.h"

#include "base/alloc.h"
#include <string.h>

static uint8_t highest_level(world *w, uint32_t *refs)
{
    chain *c = world_chain(w);
    const manifest *m = chain_held(c);
    uint8_t level = 0;
    for (uint32_t i = 0; i < m->ref_count; i++)
        level = m->refs[i].level > level ? m->refs[i].level : level;
    *refs = m->ref_count;
    assert_true(m->tail.bytes.size <= 256 + 3 * 140);
    chain_free(c);
    return level;
}

static void two_committers_fold_and_merge(void **state)
{
    (void)state;
    world w;
    actor p, q;
    rng r;
    rng_seed(&r, 5);
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 256});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_open(&q);
    uint64_t published = 0;
    for (uint32_t i = 0; i < 1400; i++) {
        actor *a = rng_below(&r, 2) == 0 ? &p : &q;
        const uint32_t count = 1 + (uint32_t)rng_below(&r, 3);
        actor_publish(a, count);
        published += count;
        if (i % 100 == 99)
            (void)world_sweep(&w);
    }
    uint32_t refs;
    assert_int_equal(highest_level(&w, &refs), 2);
    assert_true(refs < 3 * 32);
    assert_int_equal(world_check(&w), published);
    const commit_counts *a = commit_counted(p.commit), *b = commit_counted(q.commit);
    assert_true(a->folds > 100 && b->folds > 100);
    assert_true(a->merges + b->merges >= 17);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

/* Alone, a producer puts the segment beside the create before it must, and never waits for it. */
static void a_producer_alone_folds_off_the_path(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 1024});
    actor_start(&p, &w, "p");
    actor_open(&p);
    for (uint32_t i = 0; i < 600; i++)
        actor_publish(&p, 1);
    assert_int_equal(world_check(&w), 600);
    assert_true(commit_counted(p.commit)->folds > 20);
    assert_int_equal(commit_counted(p.commit)->fold_waits, 0);
    assert_int_equal(commit_counted(p.commit)->merge_waits, 0);
    assert_true(commit_counted(p.commit)->merges > 0);
    /* Every segment put was used: none is litter. */
    const size_t segments = mem_space_count(w.space, "segment/");
    assert_true(segments <= commit_counted(p.commit)->folds + commit_counted(p.commit)->merges + 1);
    actor_stop(&p);
    world_close(&w);
}

/* A segment whose put failed is not referenced; once the tail is above its cap the commit waits
 * until a put is answered OK. */
static void a_fold_waits_until_it_is_durable(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 512});
    actor_start(&p, &w, "p");
    actor_open(&p);
    world_fault(&w, FAULT_SAY, STORE_PUT, "segment/", 0, 12, STORE_RETRY);
    for (uint32_t i = 0; i < 40; i++)
        actor_publish(&p, 1);
    assert_true(commit_counted(p.commit)->fold_waits >= 1);
    assert_true(commit_counted(p.commit)->folds > 0);
    assert_int_equal(world_check(&w), 40);
    actor_stop(&p);
    world_close(&w);
}

static void a_must_fold_that_is_denied_fails_the_commit(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 256});
    actor_start(&p, &w, "p");
    actor_open(&p);
    world_fault(&w, FAULT_SAY, STORE_PUT, "segment/", 0, 1000, STORE_DENIED);
    uint32_t made = 0;
    for (;;) {
        actor_begin_publish(&p, 1, false);
        assert_true(actor_drive(&p));
        if (actor_report(&p)->end != COMMIT_DONE)
            break;
        actor_settle(&p);
        assert_true(++made < 20);
    }
    assert_int_equal(actor_report(&p)->end, COMMIT_FAILED);
    assert_int_equal(actor_report(&p)->status, BW_DENIED);
    assert_false(actor_report(&p)->open_unknown);
    world_calm(&w);
    actor_publish(&p, 1);
    /* A finish adds no batch and need not fold. */
    actor_begin_publish(&p, 0, true);
    assert_true(actor_drive(&p));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    assert_int_equal(world_check(&w), made + 1);
    actor_stop(&p);
    world_close(&w);
}

/* An early put still in flight when the next base must fold: its answer comes first, then the right
 * one is put. */
static void a_fold_in_flight_gives_way(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 256});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_open(&q);
    actor_publish(&p, 1);
    while (chain_held(p.chain)->tail.records != 1 || p.seq < 40)
        actor_publish(&p, 1); /* until the crowd is forgotten */
    world_fault(&w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&p, 1, false);
    assert_false(actor_drive(&p));
    machine_request put;
    const bool early = commit_machine.next(p.commit, &put);
    for (int i = 0; i < 3; i++)
        actor_publish(&q, 1);
    /* The create is answered EXISTS while the early put is still out. */
    assert_true(early);
    assert_int_equal(put.kind, STORE_PUT);
    world_fault(&w, FAULT_HOLD, STORE_GET, "retired/", 0, 1, STORE_PENDING);
    assert_false(actor_release(&p, true, STORE_PENDING));
    w.is_held = false; /* the marker read is answered by hand */
    machine_reply absent = {.id = w.held.id, .outcome = STORE_NOT_FOUND};
    commit_machine.reply(p.commit, w.now_ns, &absent);
    machine_request request;
    while (commit_machine.next(p.commit, &request)) {
        machine_reply reply;
        world_execute(&w, &request, &reply);
        commit_machine.reply(p.commit, w.now_ns, &reply);
        mem_free(reply.bytes);
    }
    machine_reply failed = {.id = put.id, .outcome = STORE_RETRY};
    commit_machine.reply(p.commit, w.now_ns, &failed);
    assert_true(actor_drive(&p));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    actor_settle(&p);
    assert_int_equal(world_check(&w), p.seq + q.seq);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

/* Publishes one batch, perhaps over a put of before. */
static void actor_publish_over(actor *a)
{
    actor_begin_publish(a, 1, false);
    (void)actor_drive(a);
    actor_settle(a);
}

/* A segment that is put early holds up no commit before one must fold; what it says stays as it
 * was asked for. */
static void commits_go_on_over_a_segment_in_flight(void **state)
{
    (void)state;
    world w;
    actor p;
    uint8_t bytes[256];
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 256});
    actor_start(&p, &w, "p");
    actor_open(&p);
    world_fault(&w, FAULT_KEEP, STORE_PUT, "segment/", 0, 1, STORE_PENDING);
    while (w.kept_count == 0)
        actor_publish_over(&p);
    const machine_request *put = &w.kept[0];
    assert_true(put->size <= sizeof bytes);
    memcpy(bytes, put->bytes, put->size);
    assert_true(commit_may_start(p.commit));
    assert_true(commit_puts_segment(p.commit));
    actor_publish_over(&p);
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    while (actor_report(&p)->end == COMMIT_DONE)
        actor_publish_over(&p);
    assert_int_equal(actor_report(&p)->end, COMMIT_RUNNING);
    assert_int_equal(commit_counted(p.commit)->fold_waits, 1);
    assert_int_equal(chain_held(p.chain)->ref_count, 0);
    assert_memory_equal(bytes, put->bytes, put->size);
    /* Its answer lets the right one be put. */
    assert_true(actor_answer(&p, "segment/", true, STORE_PENDING));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    actor_settle(&p);
    assert_false(commit_puts_segment(p.commit));
    assert_int_equal(chain_held(p.chain)->ref_count, 1);
    assert_int_equal(world_check(&w), p.seq);
    actor_stop(&p);
    world_close(&w);
}

static uint8_t level_of(const manifest *m)
{
    uint8_t level = 0;
    for (uint32_t i = 0; i < m->ref_count; i++)
        level = m->refs[i].level > level ? m->refs[i].level : level;
    return level;
}

static bool is_index(const machine_request *request)
{
    key_fields fields;
    key_parse(view_text(request->key.text), &fields);
    return fields.kind == KEY_SEGMENT && fields.last - fields.number + 1 >= INDEX_CHILDREN;
}

/* Runs what the machine asks for, except puts of an index, which are lost in the network. */
static void run_without_index(world *w, actor *a)
{
    machine_request request;
    while (commit_machine.next(a->commit, &request)) {
        machine_reply reply;
        if (is_index(&request))
            continue;
        world_execute(w, &request, &reply);
        commit_machine.reply(a->commit, w->now_ns, &reply);
        mem_free(reply.bytes);
    }
}

/* Drives to the end; the first `refused` puts of an index are answered with `say`. */
static void drive_refusing_index(world *w, actor *a, uint32_t *refused, store_outcome say)
{
    while (commit_machine.running(a->commit)) {
        machine_request request;
        if (!commit_machine.next(a->commit, &request)) {
            w->now_ns = commit_machine.due(a->commit);
            commit_machine.tick(a->commit, w->now_ns);
            continue;
        }
        machine_reply reply = {.id = request.id, .outcome = say};
        if (!is_index(&request) || *refused == 0)
            world_execute(w, &request, &reply);
        else
            --*refused;
        commit_machine.reply(a->commit, w->now_ns, &reply);
        mem_free(reply.bytes);
    }
}

/* With 32 references of a level in a row a publish must merge, and waits for the index. */
static void a_merge_waits_until_it_is_durable(void **state)
{
    (void)state;
    world w;
    actor p;
    uint32_t refused = 60;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 64});
    actor_start(&p, &w, "p");
    actor_open(&p);
    for (uint32_t i = 0; i < 60; i++) {
        actor_begin_publish(&p, 1, false);
        drive_refusing_index(&w, &p, &refused, STORE_RETRY);
        assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
        assert_true(chain_held(p.chain)->ref_count <= 33);
        actor_settle(&p);
    }
    assert_int_equal(refused, 0);
    assert_true(commit_counted(p.commit)->merge_waits >= 1);
    refused = 1000;
    commit_end end;
    do {
        actor_begin_publish(&p, 1, false);
        drive_refusing_index(&w, &p, &refused, STORE_DENIED);
        end = actor_report(&p)->end;
        actor_settle(&p);
    } while (end == COMMIT_DONE && p.seq < 200);
    assert_int_equal(end, COMMIT_FAILED);
    assert_int_equal(actor_report(&p)->status, BW_DENIED);
    actor_publish(&p, 1);
    assert_int_equal(world_check(&w), p.seq);
    actor_stop(&p);
    world_close(&w);
}

/* An index is referred to once its own put was answered OK, not while it is on its way; a lost race
 * does not change that. */
static void an_index_in_flight_is_not_referred_to(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 4, .tail_cap = 64});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_open(&q);
    actor_publish(&p, 1);
    while (chain_held(p.chain)->ref_count < 16)
        actor_publish(&p, 1);
    assert_int_equal(level_of(chain_held(p.chain)), 0);
    world_fault(&w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&p, 1, false);
    assert_false(actor_drive(&p));
    world_fault(&w, FAULT_SAY, STORE_PUT, "segment/", 1, 1, STORE_RETRY); /* Q's own index */
    actor_publish(&q, 1);
    world_calm(&w);
    assert_int_equal(level_of(chain_held(q.chain)), 0);
    machine_reply exists = {.id = w.held.id, .outcome = STORE_EXISTS};
    w.is_held = false;
    commit_machine.reply(p.commit, w.now_ns, &exists);
    run_without_index(&w, &p);
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    assert_true(commit_machine.running(p.commit)); /* the put is still out */
    assert_true(commit_puts_segment(p.commit));
    assert_int_equal(level_of(chain_held(p.chain)), 0);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_committers_fold_and_merge),
        cmocka_unit_test(a_producer_alone_folds_off_the_path),
        cmocka_unit_test(a_fold_waits_until_it_is_durable),
        cmocka_unit_test(a_must_fold_that_is_denied_fails_the_commit),
        cmocka_unit_test(a_fold_in_flight_gives_way),
        cmocka_unit_test(commits_go_on_over_a_segment_in_flight),
        cmocka_unit_test(a_merge_waits_until_it_is_durable),
        cmocka_unit_test(an_index_in_flight_is_not_referred_to),
    };
    return cmocka_run_group_tests_name("folding", tests, NULL, NULL);
}
