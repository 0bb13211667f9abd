// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The real client replays what the bare machines did (sim/replay.h): the same requests in the same
 * order, with the same answers, whatever its threads do. BW_REPLAY_FROM and BW_REPLAY_COUNT choose
 * the traces.
 */
#include "client/consumer.h"
#include "client/producer.h"
#include "replay.h"
#include "store/decorators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE (60 * NS_PER_S)
#define COUNT_DEFAULT 1000u

typedef struct recorder {
    lock lock;
    replay_log log;
} recorder;

static void note(void *context, const store_op *op)
{
    recorder *r = context;
    lock_acquire(&r->lock);
    replay_note(&r->log, op);
    lock_release(&r->lock);
}

/* The decorators repeat nothing: the machines themselves must see every RETRY. */
static const space_options impatient = {.writable = true};

static bw_status open_space(bw_runtime *runtime, mem_space *contents, const char *rules,
                            recorder *r, bw_space **out)
{
    store *plain, *faulty, *traced;
    assert_int_equal(store_mem_open(contents, &plain, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(plain, rules, &faulty, NULL), BW_OK);
    assert_int_equal(store_trace_wrap(faulty, note, r, &traced, NULL), BW_OK);
    return space_open_on(runtime, traced, "mem", &impatient, PATIENCE, out, NULL);
}

static void put(bw_producer *p, uint64_t end)
{
    bw_error error;
    bw_batch *b = NULL;
    static const char text[] = "the same each time";
    const struct iovec piece = {(void *)(uintptr_t)text, sizeof text};
    assert_int_equal(batch_new(p, 1, &b, &error), BW_OK);
    assert_int_equal(batch_set_item(b, 0, 0, 0, &piece, 1, &error), BW_OK);
    assert_int_equal(producer_put(p, b, end, view_text("at"), end, PATIENCE, &error), BW_OK);
}

static void produce(const replay_plan *plan, bw_space *space)
{
    bw_error error;
    producer_options options = {.kind = ITEM_RAW,
                                .commit_timeout_ns = PATIENCE,
                                .staged_bytes_max = 1u << 20,
                                .staged_batches_max = 64};
    bw_producer *p = NULL;
    assert_int_equal(cadence_parse("naive", &options.cadence, &error), BW_OK);
    if (producer_open(space, "p", &options, PATIENCE, &p, &error) != BW_OK)
        return;
    bw_status status = BW_OK;
    for (uint64_t end = 1; status == BW_OK && end <= plan->batches; end++) {
        put(p, end);
        status = producer_flush(p, true, PATIENCE, &error);
    }
    if (status == BW_OK)
        (void)producer_finish(p, PATIENCE, &error);
    (void)producer_close(p, PATIENCE, &error);
}

static void replay_client(const replay_plan *plan, bw_runtime *runtime, mem_space *contents,
                          recorder *r)
{
    bw_space *space = NULL;
    r->log.count = 0;
    if (open_space(runtime, contents, plan->rules, r, &space) == BW_OK) {
        produce(plan, space);
        space_close(space);
    }
    if (open_space(runtime, contents, plan->open_rules, r, &space) == BW_OK)
        space_close(space);
}

static mem_space *found(const replay_plan *plan, bw_runtime *runtime)
{
    mem_space *contents;
    store *plain;
    assert_int_equal(mem_space_new(&contents), BW_OK);
    assert_int_equal(store_mem_open(contents, &plain, NULL), BW_OK);
    assert_int_equal(space_init_on(runtime, plain, &impatient, &plan->genesis, NULL), BW_OK);
    return contents;
}

static void compare(uint64_t seed, const replay_plan *plan, const replay_log *expected,
                    const replay_log *got)
{
    uint32_t i = 0;
    while (i < expected->count && i < got->count && strcmp(expected->lines[i], got->lines[i]) == 0)
        i++;
    if (i == expected->count && i == got->count)
        return;
    for (uint32_t k = i > 8 ? i - 8 : 0; k < i; k++)
        print_error("%4u both:    %s\n", k, expected->lines[k]);
    for (uint32_t k = i; k < i + 4; k++)
        print_error("%4u machine: %-70s client: %s\n", k,
                    k < expected->count ? expected->lines[k] : "-",
                    k < got->count ? got->lines[k] : "-");
    fail_msg("trace %llu, rules \"%s\", then \"%s\", of a reader \"%s\": request %u differs",
             (unsigned long long)seed, plan->rules, plan->open_rules, plan->read_rules, i);
}

/* A namespace with batches, finished and so sealed. */
static void fill(const replay_plan *plan, bw_runtime *runtime, mem_space *contents)
{
    static recorder nobody;
    static const replay_plan calm = {.batches = 0};
    replay_plan quiet = calm;
    bw_space *space = NULL;
    quiet.batches = plan->batches;
    nobody.log.count = 0;
    assert_int_equal(open_space(runtime, contents, "", &nobody, &space), BW_OK);
    produce(&quiet, space);
    space_close(space);
}

/* To the end; what is reported as damaged is asked for again. */
static uint32_t read_all(const replay_plan *plan, bw_runtime *runtime, mem_space *contents,
                         recorder *r)
{
    static const consumer_options options = {.has_position = true,
                                             .tp = 1,
                                             .pp = 1,
                                             .start = START_EARLIEST,
                                             .prefetch = 1,
                                             .verify = true};
    bw_error error;
    bw_space *space = NULL;
    bw_consumer *c = NULL;
    bw_item *item = NULL;
    uint32_t reports = 0;
    bw_status status;
    r->log.count = 0;
    assert_int_equal(open_space(runtime, contents, plan->read_rules, r, &space), BW_OK);
    assert_int_equal(consumer_open(space, &options, NULL, PATIENCE, &c, &error), BW_OK);
    while ((status = consumer_next(c, PATIENCE, &item, &error)) != BW_END) {
        if (status == BW_OK) {
            item_release(item);
            continue;
        }
        assert_int_equal(status, BW_CORRUPT);
        reports++;
    }
    consumer_close(c);
    space_close(space);
    return reports;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void the_client_asks_what_the_machines_ask(void **state)
{
    (void)state;
    static replay_log expected;
    static recorder r;
    bw_error error;
    bw_runtime *runtime = NULL;
    const runtime_options options = {
        .threads = 2, .memory_bytes = 64u << 20, .log = LOG_LEVEL_ERROR};
    const uint64_t from = number("BW_REPLAY_FROM", 1);
    const uint64_t count = number("BW_REPLAY_COUNT", COUNT_DEFAULT);
    uint64_t requests = 0;
    assert_int_equal(lock_init(&r.lock), BW_OK);
    assert_int_equal(runtime_open(&options, &runtime, &error), BW_OK);
    for (uint64_t seed = from; seed < from + count; seed++) {
        replay_plan plan;
        replay_draw(seed, &plan);
        mem_space *mine = found(&plan, runtime), *theirs = found(&plan, runtime);
        replay_play(&plan, seed, mine, &expected);
        replay_client(&plan, runtime, theirs, &r);
        compare(seed, &plan, &expected, &r.log);
        requests += expected.count;
        mem_space_free(mine);
        mem_space_free(theirs);
    }
    runtime_close(runtime);
    lock_destroy(&r.lock);
    print_message("%llu traces, %llu requests\n", (unsigned long long)count,
                  (unsigned long long)requests);
    assert_true(requests > count * 20);
}

static void a_reader_asks_what_the_machines_ask(void **state)
{
    (void)state;
    static replay_log expected = {.parts = true};
    static recorder r = {.log = {.parts = true}};
    bw_error error;
    bw_runtime *runtime = NULL;
    const runtime_options options = {
        .threads = 2, .memory_bytes = 64u << 20, .log = LOG_LEVEL_ERROR};
    const uint64_t from = number("BW_REPLAY_FROM", 1);
    const uint64_t count = number("BW_REPLAY_COUNT", COUNT_DEFAULT);
    uint64_t requests = 0, reports = 0;
    assert_int_equal(lock_init(&r.lock), BW_OK);
    assert_int_equal(runtime_open(&options, &runtime, &error), BW_OK);
    for (uint64_t seed = from; seed < from + count; seed++) {
        replay_plan plan;
        replay_draw(seed, &plan);
        plan.genesis.expected_producers = 1;
        mem_space *contents = found(&plan, runtime);
        fill(&plan, runtime, contents);
        const uint32_t told = replay_read(&plan, seed, contents, &expected);
        const uint32_t got = read_all(&plan, runtime, contents, &r);
        compare(seed, &plan, &expected, &r.log);
        assert_int_equal(told, got);
        requests += expected.count;
        reports += told;
        mem_space_free(contents);
    }
    runtime_close(runtime);
    lock_destroy(&r.lock);
    print_message("%llu readers, %llu requests, damage reported %llu times\n",
                  (unsigned long long)count, (unsigned long long)requests,
                  (unsigned long long)reports);
    assert_true(requests > count * 10 && reports > count / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_asks_what_the_machines_ask),
        cmocka_unit_test(a_reader_asks_what_the_machines_ask),
    };
    return cmocka_run_group_tests_name("sim_replay", tests, NULL, NULL);
}
