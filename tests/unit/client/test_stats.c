// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/stats.h"
#include "store/mem.h"
#include <inttypes.h>
#include <stdio.h>

static void test_durations_in_microseconds(void **state)
{
    (void)state;
    hist h;
    buf out;
    buf_init(&out, 4096);
    hist_reset(&h);
    json_put_object(&out, NULL);
    json_put_hist(&out, "none", &h);
    for (int i = 0; i < 98; i++)
        hist_add(&h, 10 * NS_PER_MS);
    hist_add(&h, 200 * NS_PER_MS);
    hist_add(&h, 900 * NS_PER_MS);
    json_put_object_end(&out);
    assert_string_equal(buf_text(&out),
                        "{\"none\":{\"count\":0,\"p50_us\":0,\"p99_us\":0,\"max_us\":0}}");
    buf_reset(&out);
    json_put_hist(&out, NULL, &h);
    uint64_t count = 0, p50 = 0, p99 = 0, most = 0;
    assert_int_equal(sscanf(buf_text(&out),
                            "{\"count\":%" SCNu64 ",\"p50_us\":%" SCNu64 ",\"p99_us\":%" SCNu64
                            ",\"max_us\":%" SCNu64 "}",
                            &count, &p50, &p99, &most),
                     4);
    assert_int_equal(count, 100);
    assert_in_range(p50, 9600, 10400); /* a bucket is 3.2 % wide */
    assert_in_range(p99, 190000, 210000);
    assert_int_equal(most, 900000);
    buf_free(&out);
}

static void test_what_a_store_was_asked(void **state)
{
    (void)state;
    mem_space *contents = NULL;
    store *plain = NULL, *faulty = NULL, *metered = NULL;
    store_meter meter = {.bytes_read = 0};
    char bytes[] = "12345";
    const struct iovec piece = {bytes, 5};
    assert_int_equal(mem_space_new(&contents), BW_OK);
    assert_int_equal(store_mem_open(contents, &plain, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(plain,
                                      "slow-down:get:k:2;denied:get:k:3;fatal:get:k:4;"
                                      "unknown-before:create:k:3",
                                      &faulty, NULL),
                     BW_OK);
    assert_int_equal(store_meter_wrap(faulty, &meter, &metered, NULL), BW_OK);
    for (int i = 0; i < 3; i++) { /* created, exists, unknown */
        store_op op;
        store_op_init(&op, STORE_CREATE, "k");
        op.pieces = &piece;
        op.piece_count = 1;
        (void)store_run(metered, &op);
        store_op_clear(&op);
    }
    for (int i = 0; i < 5; i++) { /* read, retry, denied, fatal, read */
        store_op op;
        store_op_init(&op, STORE_GET, "k");
        buf_init(&op.out, 64);
        (void)store_run(metered, &op);
        store_op_clear(&op);
    }
    buf out;
    buf_init(&out, 4096);
    json_put_meter(&out, NULL, &meter);
    assert_string_equal(buf_text(&out),
                        "{\"get\":5,\"read\":0,\"map\":0,\"put\":0,\"create\":3,\"head\":0,"
                        "\"list\":0,\"delete\":0,\"retry\":1,\"unknown\":1,\"exists\":1,"
                        "\"failed\":2,\"bytes_read\":10,\"bytes_written\":15,"
                        "\"throttled\":1,\"waits\":0,\"hedges\":0,\"hedges_won\":0}");
    buf_free(&out);
    store_close(metered);
    mem_space_free(contents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations_in_microseconds),
        cmocka_unit_test(test_what_a_store_was_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
