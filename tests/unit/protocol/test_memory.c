// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory runs out, or a hash cannot be computed, anywhere inside of codec and protocol: each call
 * ends with BW_NOMEM or gets through, nothing is published twice or lost, and the same handle goes
 * on. Each seed lets other calls fail; over all seeds each place that allocates fails somewhere. */
#include "insist.h"

#include "base/clock.h"
#include "intent_bases.h"
#include "protocol/handout.h"
#include "protocol/launch.h"
#include "protocol/reclaim.h"
#include "protocol/stage.h"
#include "protocol/turn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- commits ---- */

/* Until it is done; each failure is for want of memory. */
static void insist(actor *a, uint32_t count, bool finish)
{
    const uint64_t seq = a->seq + count;
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        actor_begin_publish(a, (uint32_t)(seq - a->seq), finish);
        assert_true(actor_drive(a));
        const commit_report *r = actor_report(a);
        if (r->end == COMMIT_DONE) {
            actor_settle(a);
            if (a->seq == seq)
                return;
        } else if (r->end != COMMIT_LOST) {
            assert_int_equal(r->status, BW_NOMEM);
        }
    }
    fail_msg("%u tries were not enough", TRIES_MAX);
}

static void commits_lose_and_double_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p, q;
        uint64_t published = 0;
        world_open(&w, &(world_options){.block_size = 4, .tail_cap = 256});
        actor_start(&p, &w, "p");
        actor_start(&q, &w, "q");
        scarcity_begin(seed, seed % 2 == 0 ? 20 : 200);
        insist_open(&p, false);
        insist_open(&q, false);
        for (uint32_t i = 0; i < 90; i++) {
            actor *a = i % 3 == 0 ? &q : &p;
            const uint32_t count = 1 + i % 3;
            insist(a, count, false);
            published += count;
            /* Lost replies, races and retired names are closed without memory, too. */
            if (i % 7 == 3)
                world_fault(&w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
        }
        scarcity_end();
        world_calm(&w);
        (void)world_sweep(&w);
        assert_int_equal(world_check(&w), published);
        actor_stop(&p);
        actor_stop(&q);
        world_close(&w);
    }
    assert_true(scarcity.failed > 1000);
}

#define FIRST_INDEX "segment/00000000000000000000-"

/* Alone, a producer puts segments and indexes beside its creates. An index that cannot be put
 * early becomes one that a publish waits for. */
static void folds_and_merges_of_a_producer_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p, q;
        world_open(&w, &(world_options){.block_size = 4, .tail_cap = 64});
        actor_start(&p, &w, "p");
        actor_start(&q, &w, "q");
        actor_open(&p);
        world_fault(&w, FAULT_SAY, STORE_PUT, FIRST_INDEX, 1, UINT32_MAX, STORE_RETRY);
        while (chain_held(p.chain)->ref_count < 2 * INDEX_CHILDREN - 1)
            actor_publish(&p, 1);
        scarcity_begin(seed, 8);
        insist(&p, 1, false);
        scarcity_end();
        actor_open(&q);
        world_calm(&w);
        scarcity_begin(seed, 8);
        insist(&q, 1, false);
        for (uint32_t i = 0; i < 4; i++)
            insist(&p, 1, false);
        scarcity_end();
        assert_int_equal(world_check(&w), p.seq + q.seq);
        actor_stop(&p);
        actor_stop(&q);
        world_close(&w);
    }
}

/* The name of an attempt is retired: the witness may want memory for a verdict. */
static void a_witness_without_memory(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p, q;
        world_open(&w, &(world_options){.block_size = 2, .tail_cap = 65536});
        actor_start(&p, &w, "p");
        actor_start(&q, &w, "q");
        actor_open(&q);
        actor_open(&p);
        world_fault(&w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
        actor_begin_publish(&p, 8, false);
        assert_false(actor_drive(&p));
        for (uint32_t i = 0; i < 6; i++)
            actor_open(&q);
        (void)world_sweep(&w);
        scarcity_begin(seed, 12);
        assert_true(actor_release(&p, true, STORE_PENDING));
        scarcity_end();
        const commit_report *r = actor_report(&p);
        if (r->end == COMMIT_DONE) {
            actor_settle(&p);
        } else {
            assert_int_equal(r->status, BW_NOMEM);
            refused += r->open_unknown;
            p.call--; /* the same batches once more */
        }
        insist(&p, r->end == COMMIT_DONE ? 1 : 8, false);
        assert_int_equal(world_check(&w), p.seq);
        actor_stop(&p);
        actor_stop(&q);
        world_close(&w);
    }
    assert_true(refused > 0);
}

static void refer(manifest *draft, void *context)
{
    draft->has_page = true;
    draft->page = *(const page_ref *)context;
    draft->finished_producers++;
}

/* Who is on the page only is read from there. */
static void a_departed_id_comes_back(void **state)
{
    (void)state;
    producer_entry e = {.id = view_text("p"),
                        .epoch = 3,
                        .finished = true,
                        .seq = 4,
                        .offset = 40,
                        .swept_seq = 4,
                        .swept_offset = 40,
                        .last_publish = 2,
                        .last_commit = 2};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p, q;
        buf out;
        object_key key;
        page departed = {.version = 3, .count = 1, .entries = &e};
        world_open(&w, &(world_options){.block_size = 4});
        memcpy(departed.uuid, w.genesis.uuid, UUID_BYTES);
        buf_init(&out, 1 << 20);
        assert_int_equal(page_encode(&departed, &out), BW_OK);
        page_ref ref = {.version = 3, .nonce = 6, .bytes = out.size, .entries = 1};
        assert_int_equal(hash_bytes(out.data, out.size, &ref.hash), BW_OK);
        key_page(&key, 3, 6);
        assert_int_equal(mem_space_set(w.space, key.text, out.data, out.size), BW_OK);
        buf_free(&out);
        actor_start(&q, &w, "q");
        actor_open(&q);
        world_plant(&w, refer, &ref);
        actor_start(&p, &w, "p");
        scarcity_begin(seed, 12);
        insist_open(&p, true);
        insist(&p, 1, false);
        scarcity_end();
        assert_int_equal(p.epoch, 4);
        assert_int_equal(p.offset, 50);
        actor_stop(&p);
        actor_stop(&q);
        world_close(&w);
    }
}

/* ---- walks, sweeps, inits ---- */

/* A reader that skipped versions adds up what lies between, in the tail or in a segment. */
static void gaps_are_checked(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p;
        world_open(&w, &(world_options){.block_size = 4, .tail_cap = seed % 2 == 0 ? 65536 : 512});
        actor_start(&p, &w, "p");
        actor_open(&p);
        for (uint32_t i = 0; i < 13; i++)
            actor_publish(&p, 1);
        chain *reader = world_chain(&w);
        for (uint32_t i = 0; i < 12; i++)
            actor_publish(&p, 1);
        scarcity_begin(seed, 12);
        bw_status status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++) {
            status = world_walk(&w, reader, CHAIN_REOPEN);
            assert_true(status == BW_OK || status == BW_NOMEM);
        }
        scarcity_end();
        assert_int_equal(status, BW_OK);
        assert_int_equal(chain_held(reader)->next, 25);
        assert_true(chain_counted(reader)->skipped_checks > 0);
        chain_free(reader);
        actor_stop(&p);
        world_close(&w);
    }
}

/* A cursor's version that there was no memory for is read again; a segment beside its marker may be
 * left out. */
static void a_restart_begins_at_its_cursor(void **state)
{
    (void)state;
    uint64_t segments_left_out = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p;
        chain *reader;
        segment_cache *cache;
        descriptor found;
        segment_ref needed;
        world_open(&w, &(world_options){.block_size = 1024, .tail_cap = 256});
        actor_start(&p, &w, "p");
        actor_open(&p);
        for (uint32_t i = 0; i < 30; i++)
            actor_publish(&p, 1);
        const manifest *m = chain_held(p.chain);
        const resume_point at = {
            .version = m->version, .step = m->refs[0].last, .before = m->refs[0].last - 1};
        assert_int_equal(chain_new(seed, NULL, &reader), BW_OK);
        assert_int_equal(segment_cache_new(65536, &cache), BW_OK);
        chain_resume(reader, &at, cache);
        scarcity_begin(seed, 6);
        bw_status status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++) {
            status = world_walk(&w, reader, CHAIN_OPEN);
            assert_true(status == BW_OK || status == BW_NOMEM);
        }
        scarcity_end();
        assert_int_equal(status, BW_OK);
        assert_int_equal(chain_counted(reader)->resumed, 1);
        assert_int_equal(chain_held(reader)->version, at.version);
        segments_left_out +=
            lookup_step(chain_held(reader), cache, at.step, &found, &needed) == LOOKUP_NEED;
        chain_free(reader);
        segment_cache_free(cache);
        actor_stop(&p);
        world_close(&w);
    }
    assert_in_range(segments_left_out, 1, SEEDS - 1);
}

static void walks_and_sweeps_come_to_the_newest(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        actor p;
        world_open(&w, &(world_options){.block_size = 2, .tail_cap = 256});
        actor_start(&p, &w, "p");
        actor_open(&p);
        chain *reader = world_chain(&w);
        for (uint32_t i = 0; i < 40; i++)
            actor_publish(&p, 2);
        scarcity_begin(seed, 30);
        bw_status status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++) {
            status = world_walk(&w, reader, CHAIN_NEWEST);
            assert_true(status == BW_OK || status == BW_NOMEM);
        }
        assert_int_equal(status, BW_OK);
        assert_int_equal(chain_held(reader)->version, chain_held(p.chain)->version);
        sweep *s;
        const sweep_options options = {.apply = true, .backoff_min_ns = 1, .backoff_max_ns = 1};
        assert_int_equal(sweep_new(reader, &options, &s), BW_OK);
        status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++) {
            sweep_start(s, w.now_ns, TIME_NEVER);
            assert_true(world_run(&w, &sweep_machine, s));
            status = sweep_reported(s)->status;
            assert_true(status == BW_OK || status == BW_NOMEM);
        }
        scarcity_end();
        assert_int_equal(status, BW_OK);
        assert_true(world_has_marker(&w, 0));
        assert_false(world_has_manifest(&w, 1));
        sweep_free(s);
        chain_free(reader);
        assert_int_equal(world_check(&w), 80);
        actor_stop(&p);
        world_close(&w);
    }
}

static void an_init_that_ran_out_of_memory_can_be_finished(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        create *c = NULL;
        const token128 nonce = {{1}};
        world_open(&w, &(world_options){0});
        store_close(w.store);
        mem_space_free(w.space);
        assert_int_equal(mem_space_new(&w.space), BW_OK);
        assert_int_equal(store_mem_open(w.space, &w.store, NULL), BW_OK);
        scarcity_begin(seed, 4);
        bw_status status = BW_NOMEM;
        for (uint32_t tries = 0; status != BW_OK && tries < TRIES_MAX; tries++) {
            scarcity.scarce = true;
            status = create_new(&w.genesis, 1000, &nonce, &c);
            scarcity.scarce = false;
            assert_true(status == BW_OK || status == BW_NOMEM);
            if (status != BW_OK)
                continue;
            create_start(c, w.now_ns, TIME_NEVER);
            assert_true(world_run(&w, &create_machine, c));
            status = create_result(c, NULL);
            assert_true(status == BW_OK || status == BW_NOMEM);
            create_free(c);
        }
        scarcity_end();
        assert_int_equal(status, BW_OK);
        chain_free(world_chain(&w));
        world_close(&w);
    }
}

/* ---- pure functions ---- */

static void makers_say_so(void **state)
{
    (void)state;
    const genesis g = {.dp = 1, .cp = 1, .part_bytes = 4096, .block_size = 2};
    const commit_options options = {.backoff_max_ns = 1};
    const sweep_options sweeping = {.backoff_max_ns = 1};
    const reclaim_options reclaiming = {.backoff_max_ns = 1, .cache_bytes = 1000};
    uint32_t made = 0, refused = 0;
    scarcity_begin(3, 9);
    for (uint32_t i = 0; i < 400; i++) {
        chain *c = NULL;
        commit *m = NULL;
        sweep *s = NULL;
        reclaim *r = NULL;
        stage *t = NULL;
        handout *h = NULL;
        segment_cache *cache = NULL;
        scarcity.scarce = true;
        bw_status status = chain_new(1, NULL, &c);
        if (status == BW_OK)
            status = commit_new(c, &options, &m);
        if (status == BW_OK)
            status = sweep_new(c, &sweeping, &s);
        if (status == BW_OK)
            status = reclaim_new(c, &reclaiming, &r);
        if (status == BW_OK)
            status = stage_new(0, 0, 4, 1000, &t);
        if (status == BW_OK)
            status = handout_new(&g, (position){0, 0}, 1, MODE_SAME_BATCH, &h, NULL);
        if (status == BW_OK)
            status = segment_cache_new(1000, &cache);
        scarcity.scarce = false;
        assert_true(status == BW_OK || status == BW_NOMEM);
        made += status == BW_OK;
        refused += status == BW_NOMEM;
        segment_cache_free(cache);
        handout_free(h);
        stage_free(t);
        reclaim_free(r);
        sweep_free(s);
        commit_free(m);
        chain_free(c);
    }
    scarcity_end();
    assert_true(made > 0);
    assert_true(refused > 50);
}

static void a_batch_is_staged_whole_or_not(void **state)
{
    (void)state;
    stage *s;
    bw_error error;
    uint64_t seq = 0, staged = 0;
    const descriptor d = {.id = view_text("p"),
                          .record = {.epoch = 1},
                          .shape = {.parts = 1, .items = 1, .total_bytes = 10}};
    assert_int_equal(stage_new(0, 0, 64, 1000, &s), BW_OK);
    scarcity_begin(5, 2);
    for (uint32_t i = 0; i < 60; i++) {
        scarcity.scarce = true;
        const bw_status status =
            stage_add(s, &d, staged + 1, view_text("state"), NULL, 0, &seq, &error);
        scarcity.scarce = false;
        assert_true(status == BW_OK || status == BW_NOMEM);
        staged += status == BW_OK;
        assert_int_equal(stage_batches(s), staged);
        assert_int_equal(stage_end_offset(s), staged);
    }
    scarcity_end();
    assert_true(staged > 0 && staged < 60);
    stage_free(s);
}

static void places_of_slices(void **state)
{
    (void)state;
    const genesis g = {.dp = 2, .cp = 1, .part_bytes = 4096, .block_size = 2};
    const uint64_t lengths[2] = {200, 300};
    footer_slice slices[2] = {{.framed_bytes = 200}, {.framed_bytes = 300}};
    tgb_extent extent;
    assert_int_equal(tgb_pack(lengths, 2, g.part_bytes, 100, NULL, &extent), BW_OK);
    const descriptor d = {.record = {.nonce = 3},
                          .shape = {.form = FORM_FOOTER,
                                    .parts = 1,
                                    .items = 1,
                                    .footer_bytes = 100,
                                    .uniform = extent.footer_offset,
                                    .total_bytes = extent.total_bytes}};
    const footer f = {.nonce = 3, .dp = 2, .cp = 1, .items = 1, .slice_count = 2, .slices = slices};
    handout *h;
    uint32_t placed = 0, refused = 0;
    assert_int_equal(handout_new(&g, (position){1, 0}, 2, MODE_SAME_BATCH, &h, NULL), BW_OK);
    scarcity_begin(11, 3);
    for (uint32_t i = 0; i < 60; i++) {
        fetch_plan plan;
        assert_int_equal(handout_plan(h, 0, 0, &d, &plan, NULL), BW_OK);
        scarcity.scarce = true;
        const bw_status status = handout_place(h, &f, &plan, NULL);
        scarcity.scarce = false;
        assert_true(status == BW_OK || status == BW_NOMEM);
        assert_int_equal(plan.needs_footer, status != BW_OK);
        placed += status == BW_OK;
        refused += status == BW_NOMEM;
    }
    scarcity_end();
    assert_true(placed > 10 && refused > 10);
    handout_free(h);
}

/* A cursor is hashed to compare it: without memory it is neither another nor the same. */
static void launches_take_their_start(void **state)
{
    (void)state;
    const cursor c = {.dp = 4, .step = 7};
    group g = {.name = view_text("g"), .launch = view_text("l"), .launch_number = 1, .hold = 7};
    const launch_start starts[] = {LAUNCH_CURSOR, LAUNCH_GROUP};
    uint32_t refused = 0;
    assert_int_equal(launch_hash(&c, LAUNCH_CURSOR, 7, 0, &g.cursor_hash), BW_OK);
    scarcity_begin(13, 6);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t step = 0;
        uint32_t item = 0;
        bw_error error;
        scarcity.scarce = true;
        const bw_status status = launch_take(&g, starts[i % 2], &c, &step, &item, &error);
        scarcity.scarce = false;
        assert_true(status == BW_OK || status == BW_NOMEM);
        assert_true(status != BW_OK || step == 7);
        refused += status == BW_NOMEM;
    }
    scarcity_end();
    assert_true(refused > 10 && refused < 190);
}

static intent_verdict try_scarce(intent *i, const manifest *base, bw_status *status)
{
    manifest draft;
    intent_result result;
    scarcity.scarce = true;
    const intent_verdict verdict = try_intent(i, base, &draft, &result);
    scarcity.scarce = false;
    *status = result.status;
    return verdict;
}

/* A candidate is whole, or refused for want of memory. */
static void intents_are_whole_or_not(void **state)
{
    uint32_t made = 0, refused = 0;
    assert_int_equal(bases_begin(state), 0);
    const cursor c = {.dp = 4};
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1);
    base_publish(&base, &entries[0], 10);
    base.trim = 6;
    swept_producer who = {view_text("m"), 5, 5};
    scarcity_begin(17, 8);
    for (uint32_t k = 0; k < 200; k++) {
        intent launch = {.kind = INTENT_LAUNCH,
                         .launch = {.name = view_text("g"),
                                    .launch = view_text("l"),
                                    .start = LAUNCH_LATEST,
                                    .cursor = &c}};
        intent swept = {
            .kind = INTENT_SWEPT,
            .swept = {.step = 5, .bytes = 1000, .producers = &who, .producer_count = 1}};
        bw_status status;
        intent_scratch *kept = bases_scratch;
        assert_int_equal(intent_scratch_new(&bases_scratch), BW_OK); /* of no capacity yet */
        const intent_verdict verdict = try_scarce(k % 2 == 0 ? &launch : &swept, &base, &status);
        intent_scratch_free(bases_scratch);
        bases_scratch = kept;
        assert_true(verdict == INTENT_CANDIDATE || verdict == INTENT_REFUSED);
        if (verdict == INTENT_REFUSED)
            assert_int_equal(status, BW_NOMEM);
        made += verdict == INTENT_CANDIDATE;
        refused += verdict == INTENT_REFUSED;
    }
    scarcity_end();
    assert_true(made > 50 && refused > 10);
    assert_int_equal(bases_end(state), 0);
}

static void skips_and_cursors(void **state)
{
    (void)state;
    const genesis g = {.dp = 1, .cp = 1, .part_bytes = 4096, .block_size = 2};
    skip_range skips[2] = {{2, 4}, {6, 8}};
    const cursor from = {
        .step = 1, .mode = MODE_SAME_BATCH, .dp = 1, .skip_count = 2, .skips = skips};
    const manifest m = {.version = 9, .next = 20};
    handout *h;
    uint32_t refused = 0;
    assert_int_equal(handout_new(&g, (position){0, 0}, 1, MODE_SAME_BATCH, &h, NULL), BW_OK);
    scarcity_begin(7, 4);
    for (uint32_t i = 0; i < 400; i++) {
        cursor taken = {0}, read = {0};
        buf json;
        buf_init(&json, 1 << 16);
        scarcity.scarce = true;
        bw_status status = handout_resume(h, &m, &from, NULL);
        const bool resumed = status == BW_OK;
        if (status == BW_OK)
            status = handout_cursor(h, m.version, &taken);
        if (status == BW_OK)
            status = cursor_encode(&taken, &json);
        if (status == BW_OK)
            status = cursor_decode(view_of(json.data, json.size), &read, NULL);
        scarcity.scarce = false;
        assert_true(status == BW_OK || status == BW_NOMEM);
        refused += status == BW_NOMEM;
        if (resumed)
            assert_int_equal(handout_step(h), 1);
        if (status == BW_OK)
            assert_true(cursor_equal(&read, &taken));
        cursor_free(&read);
        cursor_free(&taken);
        buf_free(&json);
    }
    scarcity_end();
    assert_true(refused > 100 && refused < 400);
    handout_free(h);
}

/* The members of a version cannot be counted: it goes on with those it knew until the next. */
static void turns_go_on_with_the_members_they_knew(void **state)
{
    (void)state;
    enum { LOOKED, COMMITTED, CAUGHT_UP, LOST, ENDS };
    for (int end = 0; end < ENDS; end++) {
        turn t;
        rng r;
        producer_entry entries[20];
        manifest m = {.version = 50, .turn = view_text("a"), .producers = entries};
        rng_seed(&r, 1);
        for (uint32_t i = 0; i < 20; i++)
            entries[i] = (producer_entry){.id = view_of(&"abcdefghijklmnopqrst"[i], 1),
                                          .last_commit = 50 - i};
        m.producer_count = 3;
        turn_open(&t, view_text("c"), 8192, NS_PER_MS);
        assert_int_equal(turn_caught_up(&t, NS_PER_S, &m, &r), BW_OK);
        assert_true(t.is_member && t.members == 3 && t.before == 1);
        m.version = 51;
        m.producer_count = 20;
        for (uint32_t tries = 0; tries < 2; tries++) {
            const bool scarce = tries == 0;
            bw_status status = BW_BUG;
            scarcity.nth = 1;
            scarcity.ever = true;
            scarcity.scarce = scarce;
            if (end == LOOKED)
                status = turn_looked(&t, 51, NS_PER_S, NS_PER_S, &m, &r);
            else if (end == COMMITTED)
                status = turn_committed(&t, 0, NS_PER_S, &m, &r);
            else if (end == CAUGHT_UP)
                status = turn_caught_up(&t, NS_PER_S, &m, &r);
            else
                status = turn_lost(&t, NS_PER_S, &m, &r);
            scarcity.scarce = false;
            assert_int_equal(status, scarce ? BW_NOMEM : BW_OK);
            assert_true(t.is_member);
            assert_int_equal(t.members, scarce ? 3 : 20);
            assert_int_equal(t.before, 1);
            m.version = 52;
        }
        turn_close(&t);
    }
    scarcity.nth = 0;
    scarcity.ever = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_lose_and_double_nothing),
        cmocka_unit_test(folds_and_merges_of_a_producer_alone),
        cmocka_unit_test(a_witness_without_memory),
        cmocka_unit_test(a_departed_id_comes_back),
        cmocka_unit_test(gaps_are_checked),
        cmocka_unit_test(a_restart_begins_at_its_cursor),
        cmocka_unit_test(walks_and_sweeps_come_to_the_newest),
        cmocka_unit_test(an_init_that_ran_out_of_memory_can_be_finished),
        cmocka_unit_test(makers_say_so),
        cmocka_unit_test(a_batch_is_staged_whole_or_not),
        cmocka_unit_test(places_of_slices),
        cmocka_unit_test(launches_take_their_start),
        cmocka_unit_test(intents_are_whole_or_not),
        cmocka_unit_test(skips_and_cursors),
        cmocka_unit_test(turns_go_on_with_the_members_they_knew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
