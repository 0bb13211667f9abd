// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/config.h"
#include <string.h>

static bw_config *config_of(const char *const *pairs)
{
    bw_config *config = bw_config_new();
    assert_non_null(config);
    for (size_t i = 0; pairs[i] != NULL; i += 2)
        assert_int_equal(bw_config_set(config, pairs[i], pairs[i + 1], NULL), BW_OK);
    return config;
}

#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL})

static void test_defaults(void **state)
{
    (void)state;
    runtime_options runtime;
    space_options space;
    producer_options producer;
    consumer_options consumer;
    report_options reports;
    config_runtime(NULL, &runtime);
    assert_true(runtime.threads == 4 && runtime.memory_bytes == 256u << 20);
    assert_int_equal(runtime.log, LOG_LEVEL_WARN);
    config_space(NULL, &space);
    assert_true(!space.writable && !space.raw && space.durable);
    assert_int_equal(space.retry_limit_ns, 30 * NS_PER_S);
    assert_int_equal(config_producer(NULL, &producer, NULL), BW_OK);
    assert_true(producer.kind == ITEM_RAW && !producer.reopen && producer.cadence_by_store);
    assert_true(producer.commit_timeout_ns == 60 * NS_PER_S && producer.events_max == 65536);
    assert_true(producer.staged_bytes_max == 256u << 20 && producer.staged_batches_max == 1024);
    assert_string_equal(producer.media_type, "");
    assert_int_equal(producer.zstd_level, 0);
    assert_int_equal(config_consumer(NULL, &consumer, NULL), BW_OK);
    assert_true(!consumer.has_position && !consumer.has_rank && consumer.verify);
    assert_true(consumer.tp == 1 && consumer.pp == 1 && consumer.dp == 0 && consumer.cp == 0);
    assert_true(consumer.start == START_EARLIEST && consumer.prefetch == 0);
    assert_true(!consumer.lend && consumer.clock == NULL);
    config_report(NULL, &reports);
    assert_true(!reports.has_first && !reports.has_last && !reports.deep && !reports.apply);
    assert_null(reports.key);
    assert_string_equal(reports.prefix, "");
    assert_int_equal(reports.timeout_ns, 60 * NS_PER_S);
}

static void test_compress(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int level; /* -1: refused */
    } cases[] = {
        {"none", 0},    {"zstd", 3},     {"zstd:1", 1},   {"zstd:9", 9},  {"zstd:19", 19},
        {"zstd:0", -1}, {"zstd:20", -1}, {"zstd:", -1},   {"zstd:x", -1}, {"zstd:1x", -1},
        {"zstd 3", -1}, {"lz4", -1},     {"zstd:-1", -1}, {"", -1},       {"zstd:119", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bw_config *config = CONFIG("compress", cases[i].text);
        producer_options options;
        const bw_status status = config_producer(config, &options, NULL);
        assert_int_equal(status, cases[i].level < 0 ? BW_INVALID : BW_OK);
        if (status == BW_OK)
            assert_int_equal(options.zstd_level, cases[i].level);
        bw_config_free(config);
    }
}

static void test_runtime_and_space(void **state)
{
    (void)state;
    bw_config *config = CONFIG("threads", "7", "memory", "3MiB", "log", "debug", "mode", "write",
                               "durable", "false", "retry_limit", "250ms");
    runtime_options runtime;
    space_options space;
    config_runtime(config, &runtime);
    assert_true(runtime.threads == 7 && runtime.memory_bytes == 3u << 20);
    assert_int_equal(runtime.log, LOG_LEVEL_DEBUG);
    config_space(config, &space);
    assert_true(space.writable && !space.raw && !space.durable);
    assert_int_equal(space.retry_limit_ns, 250 * NS_PER_MS);
    assert_int_equal(bw_config_set(config, "mode", "raw", NULL), BW_OK);
    config_space(config, &space);
    assert_true(!space.writable && space.raw);
    bw_config_free(config);
}

static void test_genesis(void **state)
{
    (void)state;
    bw_error error;
    genesis g;
    assert_int_equal(config_genesis(NULL, &g, &error), BW_INVALID);
    assert_non_null(strstr(error.message, "dp"));
    bw_config *config = CONFIG("dp", "3");
    assert_int_equal(config_genesis(config, &g, &error), BW_OK);
    assert_true(g.dp == 3 && g.cp == 1 && g.items_default == 1 && g.expected_producers == 0);
    assert_true(
        g.block_size == GENESIS_BLOCK_SIZE_DEFAULT && g.tail_cap == GENESIS_TAIL_CAP_DEFAULT &&
        g.part_bytes == GENESIS_PART_BYTES_DEFAULT && g.page_min == GENESIS_PAGE_MIN_DEFAULT);
    assert_true(!g.has_max_lag && !g.has_max_bytes);
    bw_config_free(config);
    config = CONFIG("dp", "2", "cp", "4", "items", "5", "producers", "6", "block_size", "16",
                    "tail_cap", "1KiB", "part_size", "1MiB", "page_min", "2", "max_lag", "9",
                    "max_bytes", "1GiB", "layout", "headtail", "schema", "text");
    assert_int_equal(config_genesis(config, &g, &error), BW_OK);
    assert_true(g.dp == 2 && g.cp == 4 && g.items_default == 5 && g.expected_producers == 6);
    assert_true(g.block_size == 16 && g.tail_cap == 1024 && g.part_bytes == 1u << 20);
    assert_true(g.page_min == 2 && g.has_max_lag && g.max_lag == 9);
    assert_true(g.has_max_bytes && g.max_bytes == 1u << 30);
    assert_string_equal(g.layout, "headtail");
    assert_true(view_equal(g.schema, view_text("text")));
    assert_int_equal(bw_config_set(config, "layout", "longer than sixteen", NULL), BW_OK);
    assert_int_equal(config_genesis(config, &g, &error), BW_INVALID);
    assert_non_null(strstr(error.message, "layout"));
    bw_config_free(config);
}

static void test_producer(void **state)
{
    (void)state;
    bw_error error;
    producer_options options;
    char media_type[MEDIA_TYPE_MAX + 2];
    bw_config *config =
        CONFIG("kind", "samples", "reopen", "true", "commit_timeout", "2s", "staged_bytes", "1KiB",
               "staged_batches", "3", "events", "0", "policy", "naive");
    memset(media_type, 'm', sizeof media_type);
    media_type[MEDIA_TYPE_MAX] = '\0';
    assert_int_equal(bw_config_set(config, "media_type", media_type, NULL), BW_OK);
    assert_int_equal(config_producer(config, &options, &error), BW_OK);
    assert_true(options.kind == ITEM_SAMPLES && options.reopen && options.events_max == 0);
    assert_true(options.commit_timeout_ns == 2 * NS_PER_S && options.staged_bytes_max == 1024);
    assert_int_equal(options.staged_batches_max, 3);
    assert_false(options.cadence_by_store);
    assert_string_equal(cadence_name(&options.cadence), "naive");
    assert_string_equal(options.media_type, media_type);
    media_type[MEDIA_TYPE_MAX] = 'm';
    media_type[MEDIA_TYPE_MAX + 1] = '\0';
    assert_int_equal(bw_config_set(config, "media_type", media_type, NULL), BW_OK);
    assert_int_equal(config_producer(config, &options, &error), BW_INVALID);
    assert_int_equal(bw_config_set(config, "media_type", "", NULL), BW_OK);
    assert_int_equal(bw_config_set(config, "policy", "sometimes", NULL), BW_OK);
    assert_int_equal(config_producer(config, &options, &error), BW_INVALID);
    assert_non_null(strstr(error.message, "sometimes"));
    bw_config_free(config);
}

static void test_where_a_consumer_stands(void **state)
{
    (void)state;
    bw_error error;
    consumer_options options;
    static const struct {
        const char *pairs[9];
        const char *complaint; /* NULL: fine */
    } cases[] = {
        {{"d", "1", "c", "2"}, NULL},
        {{"d", "1"}, NULL},
        {{"rank", "3", "world", "8", "tp", "2", "pp", "4"}, NULL},
        {{"c", "2"}, "c is set"},
        {{"rank", "3"}, "world is not set"},
        {{"world", "8"}, "rank is not set"},
        {{"d", "1", "rank", "3", "world", "8"}, "not both"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bw_config *config = config_of(cases[i].pairs);
        const bw_status status = config_consumer(config, &options, &error);
        assert_int_equal(status, cases[i].complaint == NULL ? BW_OK : BW_INVALID);
        if (cases[i].complaint != NULL)
            assert_non_null(strstr(error.message, cases[i].complaint));
        if (i == 0)
            assert_true(options.has_position && options.d == 1 && options.c == 2);
        if (i == 2) {
            assert_true(options.has_rank && options.rank == 3 && options.world == 8);
            assert_true(options.tp == 2 && options.pp == 4);
        }
        bw_config_free(config);
    }
}

static void test_where_a_consumer_starts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bw_status status;
        start_kind start;
        uint64_t step;
    } cases[] = {
        {"earliest", BW_OK, START_EARLIEST, 0},
        {"latest", BW_OK, START_LATEST, 0},
        {"0", BW_OK, START_STEP, 0},
        {"18", BW_OK, START_STEP, 18},
        {"922337203685477579", BW_OK, START_STEP, 922337203685477579u},
        {"99999999999999999999999", BW_INVALID, START_STEP, 0},
        {"", BW_INVALID, START_STEP, 0},
        {"-1", BW_INVALID, START_STEP, 0},
        {"1 ", BW_INVALID, START_STEP, 0},
        {"Latest", BW_INVALID, START_STEP, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bw_config *config = CONFIG("start", cases[i].text);
        consumer_options options;
        assert_int_equal(config_consumer(config, &options, NULL), cases[i].status);
        if (cases[i].status == BW_OK) {
            assert_int_equal(options.start, cases[i].start);
            assert_int_equal(options.start_step, cases[i].step);
        }
        bw_config_free(config);
    }
}

static void test_report(void **state)
{
    (void)state;
    report_options options;
    bw_config *config =
        CONFIG("first", "0", "last", "9", "key", "k", "prefix", "p", "deep", "true", "apply",
               "true", "progress", "true", "blocks_max", "4", "report_timeout", "1s");
    config_report(config, &options);
    assert_true(options.has_first && options.first == 0 && options.has_last && options.last == 9);
    assert_string_equal(options.key, "k");
    assert_string_equal(options.prefix, "p");
    assert_true(options.deep && options.apply && options.progress && options.blocks_max == 4);
    assert_int_equal(options.timeout_ns, NS_PER_S);
    bw_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compress),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_runtime_and_space),
        cmocka_unit_test(test_genesis),
        cmocka_unit_test(test_producer),
        cmocka_unit_test(test_where_a_consumer_stands),
        cmocka_unit_test(test_where_a_consumer_starts),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
