// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Verdicts by a witness for every kind of intent (R8): the create lies on a name that was retired
 * before its marker was read. */
#include "world.h"

typedef struct scene {
    world w;
    actor p, q;
    page_ref ref;
} scene;

static void set_up(scene *s)
{
    world_open(&s->w, &(world_options){.block_size = 2});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->q);
}

static void tear_down(scene *s)
{
    (void)world_check(&s->w);
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

/* P's create is sent and not answered. `lands`: it is applied now. Then its block is retired. */
static void sleep_through_retirement(scene *s, bool lands)
{
    assert_false(actor_drive(&s->p));
    if (lands)
        assert_int_equal(world_apply_held(&s->w), STORE_CREATED);
    const uint64_t version = actor_report(&s->p)->open_version;
    for (uint32_t i = 0; i < 6; i++)
        actor_publish(&s->q, 1);
    (void)world_sweep(&s->w);
    assert_false(world_has_manifest(&s->w, version));
}

static void hold_create(scene *s)
{
    world_fault(&s->w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
}

static void an_open_that_was_made(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    hold_create(&s);
    actor_begin_open(&s.p, false);
    sleep_through_retirement(&s, true);
    assert_true(actor_release(&s.p, false, STORE_CREATED));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_int_equal(commit_counted(s.p.commit)->witness_made, 1);
    actor_settle(&s.p);
    assert_int_equal(s.p.epoch, 1);
    actor_publish(&s.p, 1);
    tear_down(&s);
}

static void a_finish_that_was_made(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        scene s;
        set_up(&s);
        actor_open(&s.p);
        hold_create(&s);
        actor_begin_publish(&s.p, count, true);
        sleep_through_retirement(&s, true);
        assert_true(actor_release(&s.p, false, STORE_CREATED));
        assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
        assert_int_equal(commit_counted(s.p.commit)->witness_made, 1);
        tear_down(&s);
    }
}

static void a_finish_that_was_lost(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    actor_open(&s.p);
    hold_create(&s);
    actor_begin_publish(&s.p, 0, true);
    sleep_through_retirement(&s, false);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
    tear_down(&s);
}

/* Sealed meanwhile: lost, and there is no other try. */
static void a_publish_that_met_a_seal(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    actor_open(&s.p);
    hold_create(&s);
    actor_begin_publish(&s.p, 1, false);
    sleep_through_retirement(&s, false);
    actor_begin_seal(&s.q, true);
    assert_true(actor_drive(&s.q));
    assert_int_equal(actor_report(&s.q)->end, COMMIT_DONE);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_REFUSED);
    assert_int_equal(actor_report(&s.p)->status, BW_SEALED);
    assert_false(actor_report(&s.p)->open_unknown);
    assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
    tear_down(&s);
}

static void refer(manifest *draft, void *context)
{
    draft->finished_producers += draft->has_page ? 0 : 1;
    draft->has_page = true;
    draft->page = *(const page_ref *)context;
}

/* P departed long ago: it is on a page only, of this version and nonce. */
static void put_on_page(scene *s, uint64_t version, uint64_t nonce)
{
    producer_entry e = {.id = view_text("p"),
                        .epoch = 3,
                        .finished = true,
                        .seq = 4,
                        .offset = 40,
                        .swept_seq = 4,
                        .swept_offset = 40,
                        .last_publish = 2,
                        .last_commit = 2};
    page departed = {.version = version, .count = 1, .entries = &e};
    buf out;
    object_key key;
    for (size_t i = 0; i < UUID_BYTES; i++)
        departed.uuid[i] = s->w.genesis.uuid[i];
    buf_init(&out, 1 << 20);
    assert_int_equal(page_encode(&departed, &out), BW_OK);
    s->ref = (page_ref){.version = version, .nonce = nonce, .bytes = out.size, .entries = 1};
    assert_int_equal(hash_bytes(out.data, out.size, &s->ref.hash), BW_OK);
    key_page(&key, version, nonce);
    assert_int_equal(mem_space_set(s->w.space, key.text, out.data, out.size), BW_OK);
    buf_free(&out);
    world_plant(&s->w, refer, &s->ref);
}

/* The witness refers to another page than the base did: it is read before the verdict, and where it
 * has gone meanwhile, a newer manifest is. */
static void a_witness_reads_the_page_first(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < 2; missing++) {
        scene s;
        set_up(&s);
        put_on_page(&s, 2, 6);
        hold_create(&s);
        actor_begin_open(&s.p, true);
        assert_false(actor_drive(&s.p));
        put_on_page(&s, 3, 7);
        for (uint32_t i = 0; i < 6; i++)
            actor_publish(&s.q, 1);
        (void)world_sweep(&s.w);
        if (missing > 0)
            world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 1, STORE_NOT_FOUND);
        assert_true(actor_release(&s.p, true, STORE_PENDING));
        assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
        assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
        assert_int_equal(actor_report(&s.p)->result.epoch, 4);
        assert_int_equal(actor_report(&s.p)->result.offset, 40);
        actor_stop(&s.p);
        actor_stop(&s.q);
        world_close(&s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_that_was_made),
        cmocka_unit_test(a_finish_that_was_made),
        cmocka_unit_test(a_finish_that_was_lost),
        cmocka_unit_test(a_publish_that_met_a_seal),
        cmocka_unit_test(a_witness_reads_the_page_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
