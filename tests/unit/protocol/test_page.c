// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Commits whose producer has departed to the page: read first, by its hash; replaced or missing
 * pages. */
#include "world.h"

#include "base/alloc.h"
#include <string.h>

typedef struct scene {
    world w;
    actor p;
    actor gone;
    page_ref ref;
    object_key key;
} scene;

static void refer(manifest *draft, void *context)
{
    draft->has_page = true;
    draft->page = *(const page_ref *)context;
    draft->finished_producers++;
}

/* `gone` finished at offset 40 and lives on the page only. */
static void set_up(scene *s)
{
    world_open(&s->w, &(world_options){.block_size = 4});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->gone, &s->w, "gone");
    actor_open(&s->p);
    producer_entry e = {.id = view_text("gone"),
                        .epoch = 3,
                        .finished = true,
                        .seq = 4,
                        .offset = 40,
                        .swept_seq = 4,
                        .swept_offset = 40,
                        .last_publish = 2,
                        .last_commit = 2};
    page departed = {.version = 3, .count = 1, .entries = &e};
    buf out;
    for (size_t i = 0; i < UUID_BYTES; i++)
        departed.uuid[i] = s->w.genesis.uuid[i];
    buf_init(&out, 1 << 20);
    assert_int_equal(page_encode(&departed, &out), BW_OK);
    s->ref = (page_ref){.version = 3, .nonce = 6, .bytes = out.size, .entries = 1};
    assert_int_equal(hash_bytes(out.data, out.size, &s->ref.hash), BW_OK);
    key_page(&s->key, 3, 6);
    assert_int_equal(mem_space_set(s->w.space, s->key.text, out.data, out.size), BW_OK);
    buf_free(&out);
    world_plant(&s->w, refer, &s->ref);
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    actor_stop(&s->gone);
    world_close(&s->w);
}

static const commit_report *open_gone(scene *s, bool reopen)
{
    actor_begin_open(&s->gone, reopen);
    assert_true(actor_drive(&s->gone));
    return actor_report(&s->gone);
}

static void a_departed_id_is_looked_up(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "page/", 0, 1, STORE_PENDING);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 1, STORE_RETRY);
    const commit_report *r = open_gone(&s, false);
    assert_int_equal(r->end, COMMIT_REFUSED);
    assert_int_equal(r->status, BW_FINISHED);
    assert_int_equal(r->result.offset, 40);
    r = open_gone(&s, true);
    assert_int_equal(r->end, COMMIT_DONE);
    assert_int_equal(r->result.epoch, 4);
    assert_int_equal(r->result.seq, 4);
    actor_settle(&s.gone);
    actor_publish(&s.gone, 1);
    chain *c = world_chain(&s.w);
    assert_int_equal(manifest_producer(chain_held(c), view_text("gone"))->offset, 50);
    assert_int_equal(chain_held(c)->finished_producers, 0);
    assert_true(chain_held(c)->has_page);
    chain_free(c);
    tear_down(&s);
}

/* Replaced while it was being read: a newer manifest says which page counts now. Missing for good
 * is damage. */
static void a_missing_page(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(open_gone(&s, false)->status, BW_FINISHED);
    actor_stop(&s.gone);
    actor_start(&s.gone, &s.w, "gone");
    assert_true(mem_space_remove(s.w.space, s.key.text));
    const commit_report *r = open_gone(&s, false);
    assert_int_equal(r->end, COMMIT_FAILED);
    assert_int_equal(r->status, BW_CORRUPT);
    assert_string_equal(r->error.key, s.key.text);
    assert_int_equal(mem_space_set(s.w.space, s.key.text, "x", 1), BW_OK);
    assert_int_equal(open_gone(&s, false)->status, BW_CORRUPT);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 1, STORE_DENIED);
    assert_int_equal(open_gone(&s, false)->status, BW_DENIED);
    tear_down(&s);
}

/* Larger than a page can be, says the store: that is an answer, and looked at once more. Found by
 * the simulator: it was not, and said to be missing. */
static void a_page_that_seems_too_large(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 1, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(open_gone(&s, false)->status, BW_FINISHED);
    assert_int_equal(s.w.faults[0].times, 0);
    actor_stop(&s.gone);
    actor_start(&s.gone, &s.w, "gone");
    world_fault(&s.w, FAULT_SAY, STORE_GET, "page/", 0, 2, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    const commit_report *r = open_gone(&s, false);
    assert_int_equal(r->status, BW_CORRUPT);
    assert_non_null(strstr(r->error.message, "larger"));
    tear_down(&s);
}

static void move_page(manifest *draft, void *context)
{
    page_ref *ref = context;
    ref->version = draft->version;
    draft->page = *ref;
}

/* The page moves to another name, and the old one goes. */
static void replace(scene *s)
{
    const uint8_t *bytes;
    size_t size;
    assert_true(mem_space_get(s->w.space, s->key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    world_plant(&s->w, move_page, &s->ref);
    assert_true(mem_space_remove(s->w.space, s->key.text));
    key_page(&s->key, s->ref.version, s->ref.nonce);
    assert_int_equal(mem_space_set(s->w.space, s->key.text, copy, size), BW_OK);
    mem_free(copy);
}

/* As often as it is replaced while it is being read. */
static void a_page_that_moves_and_moves(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    world_fault(&s.w, FAULT_HOLD, STORE_GET, "page/", 0, 3, STORE_PENDING);
    actor_begin_open(&s.gone, false);
    assert_false(actor_drive(&s.gone));
    for (uint32_t k = 0; k < 3; k++) {
        replace(&s);
        assert_int_equal(actor_release(&s.gone, true, STORE_PENDING), k == 2);
    }
    assert_int_equal(actor_report(&s.gone)->status, BW_FINISHED);
    tear_down(&s);
}

/* A witness reads the page before it says FENCED for want of an entry. */
static void a_witness_reads_the_page(void **state)
{
    (void)state;
    scene s;
    set_up(&s);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_open(&s.gone, true);
    assert_false(actor_drive(&s.gone));
    while (!world_has_manifest(&s.w, 14))
        actor_publish(&s.p, 1);
    (void)world_sweep(&s.w);
    const uint64_t reads = s.w.asked[STORE_GET];
    assert_true(actor_release(&s.gone, true, STORE_PENDING));
    assert_int_equal(actor_report(&s.gone)->end, COMMIT_DONE);
    assert_int_equal(actor_report(&s.gone)->result.offset, 40);
    assert_int_equal(commit_counted(s.gone.commit)->witness_lost, 1);
    assert_true(s.w.asked[STORE_GET] > reads);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_departed_id_is_looked_up),
        cmocka_unit_test(a_missing_page),
        cmocka_unit_test(a_page_that_seems_too_large),
        cmocka_unit_test(a_page_that_moves_and_moves),
        cmocka_unit_test(a_witness_reads_the_page),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
