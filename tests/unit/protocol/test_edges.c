// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What machines do at their edges: answers that nobody waits for, failures without a message, names
 * that are no manifest's, deadlines that pass, nothing to free. */
#include "world.h"

#include "codec/small.h"
#include <string.h>

static void answers_that_nobody_waits_for(void **state)
{
    (void)state;
    world w;
    actor p;
    create *c;
    const token128 nonce = {{3}};
    machine_reply stray = {.id = 77, .outcome = STORE_OK};
    world_open(&w, &(world_options){0});
    actor_start(&p, &w, "p");
    actor_open(&p);
    chain *reader = world_chain(&w);
    chain_start(reader, CHAIN_POLL, w.now_ns);
    chain_machine.reply(reader, w.now_ns, &stray);
    assert_true(chain_machine.running(reader));
    assert_true(world_run(&w, &chain_machine, reader));
    assert_int_equal(chain_result(reader, NULL), BW_OK);
    actor_begin_publish(&p, 1, false);
    stray.id = 77 | 0x40000000u;
    commit_machine.reply(p.commit, w.now_ns, &stray);
    assert_true(actor_drive(&p));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    actor_settle(&p);
    assert_int_equal(create_new(NULL, 1, &nonce, &c), BW_OK);
    create_start(c, w.now_ns, TIME_NEVER);
    stray.id = 77;
    create_machine.reply(c, w.now_ns, &stray);
    assert_true(world_run(&w, &create_machine, c));
    assert_int_equal(create_result(c, NULL), BW_OK);
    create_free(c);
    assert_int_equal(world_check(&w), 1);
    chain_free(reader);
    actor_stop(&p);
    world_close(&w);
}

static void nothing_is_freed(void **state)
{
    (void)state;
    chain *c;
    chain_free(NULL);
    commit_free(NULL);
    sweep_free(NULL);
    create_free(NULL);
    assert_int_equal(chain_new(1, NULL, &c), BW_OK);
    assert_null(chain_genesis(c));
    assert_null(chain_genesis_hash(c));
    assert_null(chain_held(c));
    chain_free(c);
}

/* A store that says no more than that it failed. */
static void failures_without_a_message(void **state)
{
    (void)state;
    static const store_outcome outcomes[] = {STORE_FATAL, STORE_DENIED, STORE_RETRY};
    world w;
    const token128 nonce = {{3}};
    world_open(&w, &(world_options){0});
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        machine_request request;
        bw_error error;
        create *m;
        chain *c;
        assert_int_equal(create_new(NULL, 1, &nonce, &m), BW_OK);
        create_start(m, 0, 1);
        assert_true(create_machine.next(m, &request));
        machine_reply reply = {.id = request.id, .outcome = outcomes[i]};
        if (i == 2)
            reply.code = BW_IO;
        create_machine.reply(m, 10, &reply);
        assert_false(create_machine.running(m));
        assert_int_equal(create_result(m, &error), i == 1 ? BW_DENIED : BW_IO);
        assert_int_not_equal(error.message[0], '\0');
        create_free(m);
        assert_int_equal(chain_new(1, NULL, &c), BW_OK);
        chain_start(c, CHAIN_OPEN, 0);
        assert_true(chain_machine.next(c, &request));
        reply = (machine_reply){.id = request.id, .outcome = outcomes[i]};
        chain_machine.reply(c, 10, &reply);
        if (outcomes[i] == STORE_RETRY) {
            assert_true(chain_machine.running(c)); /* it is asked again */
        } else {
            assert_int_equal(chain_result(c, &error), i == 1 ? BW_DENIED : BW_IO);
            assert_int_not_equal(error.message[0], '\0');
        }
        chain_free(c);
    }
    world_close(&w);
}

/* The prefix of manifests holds nothing else; what somebody put there is left alone. */
static void foreign_names_are_left_alone(void **state)
{
    (void)state;
    world w;
    actor p;
    char longest[1024 + 1];
    world_open(&w, &(world_options){.block_size = 2});
    actor_start(&p, &w, "p");
    actor_open(&p);
    for (uint32_t i = 0; i < 20; i++)
        actor_publish(&p, 1);
    memset(longest, 'z', sizeof longest);
    memcpy(longest, "manifest/", 9);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(mem_space_set(w.space, "manifest/readme", "hi", 2), BW_OK);
    assert_int_equal(mem_space_set(w.space, longest, "hi", 2), BW_OK);
    const sweep_report first = world_sweep(&w);
    assert_true(first.blocks_retired > 5);
    assert_true(world_has(&w, "manifest/readme"));
    assert_true(world_has(&w, longest));
    assert_false(world_has_manifest(&w, 1));
    /* A dry pass with a limit says what a real one would do. */
    for (uint32_t i = 0; i < 20; i++)
        actor_publish(&p, 1);
    for (uint32_t most = 0; most <= 100; most += 50) {
        chain *c = world_chain(&w);
        sweep *s;
        const sweep_options dry = {.blocks_max = most == 50 ? 3 : most, .backoff_max_ns = 1};
        assert_int_equal(sweep_new(c, &dry, &s), BW_OK);
        sweep_start(s, w.now_ns, TIME_NEVER);
        assert_true(world_run(&w, &sweep_machine, s));
        assert_int_equal(sweep_reported(s)->status, BW_OK);
        assert_int_equal(sweep_reported(s)->blocks_retired, most == 50 ? 3 : 10);
        sweep_free(s);
        chain_free(c);
    }
    assert_int_equal(world_check(&w), 40);
    actor_stop(&p);
    world_close(&w);
}

/* Blocks of more names than one delete takes. */
static void blocks_larger_than_a_delete(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 300});
    actor_start(&p, &w, "p");
    actor_open(&p);
    for (uint32_t i = 0; i < 1000; i++)
        actor_publish(&p, 1);
    const sweep_report report = world_sweep(&w);
    assert_int_equal(report.blocks_retired, 2);
    assert_int_equal(report.manifests_deleted, 599);
    assert_false(world_has_manifest(&w, 599));
    assert_true(world_has_manifest(&w, 600));
    assert_int_equal(world_check(&w), 1000);
    actor_stop(&p);
    world_close(&w);
}

/* A walk that opens again lands beside what was held, or further on; one that polls from nothing
 * opens. */
static void walks_from_anywhere(void **state)
{
    (void)state;
    world w;
    actor p;
    chain *fresh;
    world_open(&w, &(world_options){.block_size = 4});
    actor_start(&p, &w, "p");
    actor_open(&p);
    chain *reader = world_chain(&w);
    for (uint32_t ahead = 0; ahead < 4; ahead++) {
        for (uint32_t i = 0; i < ahead; i++)
            actor_publish(&p, 1);
        assert_int_equal(world_walk(&w, reader, CHAIN_OPEN), BW_OK);
        assert_true(chain_is_newest(reader));
        assert_int_equal(chain_held(reader)->version, chain_held(p.chain)->version);
    }
    assert_int_equal(chain_new(9, NULL, &fresh), BW_OK);
    assert_int_equal(world_walk(&w, fresh, CHAIN_POLL), BW_OK);
    assert_int_equal(chain_held(fresh)->version, chain_held(p.chain)->version);
    chain_free(fresh);
    chain_free(reader);
    actor_stop(&p);
    world_close(&w);
}

/* A store on which every marker is there, for ever: the walk ends and says so. */
static void markers_that_cannot_be(void **state)
{
    (void)state;
    world w;
    bw_error error;
    world_open(&w, &(world_options){0});
    chain *c = world_chain(&w);
    world_fault(&w, FAULT_SAY, STORE_GET, "retired/", 0, 100000, STORE_OK);
    chain_start(c, CHAIN_NEWEST, w.now_ns);
    assert_true(world_run(&w, &chain_machine, c));
    assert_int_equal(chain_result(c, &error), BW_IO);
    world_calm(&w);
    world_fault(&w, FAULT_SAY, STORE_HEAD, "retired/", 0, 100000, STORE_OK);
    chain_start(c, CHAIN_REOPEN, w.now_ns);
    assert_true(world_run(&w, &chain_machine, c));
    assert_int_equal(chain_result(c, &error), BW_CORRUPT);
    world_calm(&w);
    assert_int_equal(world_walk(&w, c, CHAIN_NEWEST), BW_OK);
    chain_free(c);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_nobody_waits_for),
        cmocka_unit_test(nothing_is_freed),
        cmocka_unit_test(walks_from_anywhere),
        cmocka_unit_test(markers_that_cannot_be),
        cmocka_unit_test(failures_without_a_message),
        cmocka_unit_test(foreign_names_are_left_alone),
        cmocka_unit_test(blocks_larger_than_a_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
