// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_known_values(void **state)
{
    (void)state;
    sha256 hash;
    char hex[SHA256_HEX_BYTES], again[SHA256_HEX_BYTES];
    sha256_begin(&hash);
    assert_int_equal(sha256_end_hex(&hash, hex), BW_OK);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_begin(&hash);
    sha256_add(&hash, "a", 1);
    sha256_add(&hash, "", 0);
    sha256_add(&hash, "bc", 2);
    assert_int_equal(sha256_end_hex(&hash, hex), BW_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_begin(&hash);
    sha256_add_text(&hash, "a");
    sha256_add_text(&hash, "b");
    assert_int_equal(sha256_end_hex(&hash, hex), BW_OK);
    sha256_begin(&hash);
    sha256_add(&hash, "a\0b\0", 4);
    assert_int_equal(sha256_end_hex(&hash, again), BW_OK);
    assert_string_equal(hex, again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
