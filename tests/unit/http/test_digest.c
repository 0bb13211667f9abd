// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/digest.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_hex(const uint8_t *bytes, size_t size, const char *expected)
{
    char hex[2 * DIGEST_SHA256_BYTES + 1];
    hex_encode(bytes, size, hex);
    assert_string_equal(hex, expected);
}

/* FIPS 180-2, and in pieces. */
static void test_sha256(void **state)
{
    (void)state;
    uint8_t out[DIGEST_SHA256_BYTES];
    char a[] = "a", bc[] = "bc";
    const struct iovec pieces[] = {{a, 1}, {NULL, 0}, {bc, 2}};
    assert_int_equal(digest_sha256(pieces, 3, out), BW_OK);
    assert_hex(out, sizeof out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(digest_sha256(NULL, 0, out), BW_OK);
    assert_hex(out, sizeof out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 1321. */
static void test_md5(void **state)
{
    (void)state;
    uint8_t out[DIGEST_MD5_BYTES];
    char a[] = "message", b[] = " digest";
    const struct iovec pieces[] = {{a, 7}, {b, 7}};
    assert_int_equal(digest_md5(pieces, 2, out), BW_OK);
    assert_hex(out, sizeof out, "f96b697d7cb7938d525a2f31aaf161d0");
}

/* RFC 4231, cases 1, 2 and 6: a key of a block and longer. */
static void test_hmac(void **state)
{
    (void)state;
    uint8_t out[DIGEST_SHA256_BYTES];
    uint8_t key[131];
    memset(key, 0x0b, sizeof key);
    assert_int_equal(digest_hmac(key, 20, "Hi There", 8, out), BW_OK);
    assert_hex(out, sizeof out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_int_equal(digest_hmac("Jefe", 4, "what do ya want for nothing?", 28, out), BW_OK);
    assert_hex(out, sizeof out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    assert_int_equal(digest_hmac(key, sizeof key, text, sizeof text - 1, out), BW_OK);
    assert_hex(out, sizeof out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* RFC 4648. */
static void test_base64(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xfb\xff\xfe", "+//+"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char out[DIGEST_BASE64_BYTES(6)];
        digest_base64(pairs[i][0], strlen(pairs[i][0]), out);
        assert_string_equal(out, pairs[i][1]);
        uint8_t back[8];
        size_t count = 0;
        assert_true(digest_base64_decode(out, strlen(out), back, &count));
        assert_int_equal(count, strlen(pairs[i][0]));
        assert_memory_equal(back, pairs[i][0], count);
    }
}

static void test_base64_of_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text, *out;
    } rows[] = {{"", ""},        {"f", "Zg"},     {"fo", "Zm8"},      {"foo", "Zm9v"},
                {"a>?", "YT4_"}, {"~~>", "fn4-"}, {"\xfb\xff", "-_8"}};
    char out[DIGEST_BASE64_BYTES(8)];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        digest_base64url(rows[i].text, strlen(rows[i].text), out);
        assert_string_equal(out, rows[i].out);
    }
}

static void test_what_is_no_base64(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Z", "Zg", "Zg=", "Z===", "====", "Zm9v=", "Zm9v====", "Zm9*", "Zm 9", "Zg==Zg==", "=Zm9"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint8_t back[16];
        size_t count = 0;
        if (digest_base64_decode(texts[i], strlen(texts[i]), back, &count))
            fail_msg("%s is taken", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_md5),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_of_tokens),
        cmocka_unit_test(test_what_is_no_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
