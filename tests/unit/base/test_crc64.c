// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc64.h"
#include "base/rng.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The check value of the NVM Express specification, and bytes enough for the instruction, worked
 * out bit by bit. */
static void known_values(void **state)
{
    (void)state;
    uint8_t bytes[300];
    assert_true(crc64(0, "123456789", 9) == 0xae8b14860a799888u);
    assert_true(crc64(0, "", 0) == 0);
    uint64_t crc = ~(uint64_t)0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7);
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x9a6c9329ac4bc9b5u : 0);
    }
    assert_true(crc64(0, bytes, sizeof bytes) == ~crc);
    assert_true(crc64_portable(0, bytes, sizeof bytes) == ~crc);
}

/* Every length over the borders of the lanes, every alignment. */
static void hardware_and_tables_agree(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    rng r;
    rng_seed(&r, 11);
    rng_bytes(&r, bytes, sizeof bytes);
    for (size_t size = 0; size < 1000; size++)
        assert_true(crc64(5, bytes + size % 16, size) ==
                    crc64_portable(5, bytes + size % 16, size));
    for (int i = 0; i < 2000; i++) {
        const size_t from = rng_below(&r, 10000), size = rng_below(&r, 10000);
        const uint64_t previous = rng_u64(&r);
        assert_true(crc64(previous, bytes + from, size) ==
                    crc64_portable(previous, bytes + from, size));
    }
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[5000];
    rng r;
    rng_seed(&r, 12);
    rng_bytes(&r, bytes, sizeof bytes);
    const uint64_t whole = crc64(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 41)
        assert_true(crc64(crc64(0, bytes, cut), bytes + cut, sizeof bytes - cut) == whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(hardware_and_tables_agree),
        cmocka_unit_test(pieces_make_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
