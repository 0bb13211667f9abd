// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"
#include "base/rng.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* RFC 3720, B.4. */
static void known_values(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x46dd794e);
    assert_int_equal(crc32c_portable(0, bytes, sizeof bytes), 0x46dd794e);
}

/* Every length over the borders of both lane lengths, every alignment. */
static void hardware_and_tables_agree(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    rng r;
    rng_seed(&r, 11);
    rng_bytes(&r, bytes, sizeof bytes);
    for (size_t size = 0; size < 1000; size++)
        assert_int_equal(crc32c(5, bytes + size % 8, size),
                         crc32c_portable(5, bytes + size % 8, size));
    for (int i = 0; i < 2000; i++) {
        const size_t from = rng_below(&r, 10000), size = rng_below(&r, 10000);
        const uint32_t previous = (uint32_t)rng_u64(&r);
        assert_int_equal(crc32c(previous, bytes + from, size),
                         crc32c_portable(previous, bytes + from, size));
    }
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[5000];
    rng r;
    rng_seed(&r, 12);
    rng_bytes(&r, bytes, sizeof bytes);
    const uint32_t whole = crc32c(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 41)
        assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof bytes - cut), whole);
}

/* Lengths of all sizes, the empty ones too. */
static void sums_of_pieces_join(void **state)
{
    (void)state;
    static uint8_t bytes[70000];
    rng r;
    rng_seed(&r, 13);
    rng_bytes(&r, bytes, sizeof bytes);
    for (int i = 0; i < 300; i++) {
        const size_t size = i < 3 ? (size_t)i : rng_below(&r, sizeof bytes);
        const size_t cut = i % 3 == 0 ? 0 : i % 3 == 1 ? size : rng_below(&r, size + 1);
        const uint32_t first = crc32c(0, bytes, cut);
        const uint32_t second = crc32c(0, bytes + cut, size - cut);
        assert_int_equal(crc32c_join(first, second, size - cut), crc32c(0, bytes, size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(hardware_and_tables_agree),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(sums_of_pieces_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
