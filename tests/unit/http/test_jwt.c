// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/jwt.h"

#include "rsa_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static rsa_key *key;

static secret pem_of(const char *password)
{
    secret pem = {NULL, 0};
    const char *text = rsa_key_pem(key, password);
    assert_int_equal(secret_set(&pem, text, strlen(text)), BW_OK);
    return pem;
}

static void test_a_token(void **state)
{
    (void)state;
    char head[1024];
    char claims[1024];
    secret pem = pem_of(NULL);
    secret token = {NULL, 0};
    assert_int_equal(jwt_sign(&pem, "k-1", "{\"iss\":\"me?>~\"}", &token, NULL), BW_OK);
    assert_true(rsa_key_signed(key, secret_text(&token), head, claims, sizeof head));
    assert_string_equal(head, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k-1\"}");
    assert_string_equal(claims, "{\"iss\":\"me?>~\"}");
    assert_null(strpbrk(secret_text(&token), "+/="));
    assert_int_equal(jwt_sign(&pem, "", "{}", &token, NULL), BW_OK);
    assert_true(rsa_key_signed(key, secret_text(&token), head, claims, sizeof head));
    assert_string_equal(head, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
    /* Whoever changes a claim has no signature. */
    token.text[strcspn(token.text, ".") + 2] ^= 1;
    assert_false(rsa_key_signed(key, secret_text(&token), head, claims, sizeof head));
    secret_clear(&token);
    secret_clear(&pem);
}

/* A P-256 key, of nobody. */
static const char other_kind[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAA\n"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAGhRANCAARrF9Hy4SxCR/i85uVjpEDydwN9gS3r\n"
    "M6D0oTlF2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1\n"
    "-----END PRIVATE KEY-----\n";

static void test_keys_that_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "no PEM", "-----BEGIN PRIVATE KEY-----\nAAAA\n",
                                        other_kind};
    char long_id[600];
    secret token = {NULL, 0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        secret pem = {NULL, 0};
        bw_error error = {.code = BW_OK};
        assert_int_equal(secret_set(&pem, texts[i], strlen(texts[i])), BW_OK);
        assert_int_equal(jwt_sign(&pem, "", "{}", &token, &error), BW_INVALID);
        assert_false(secret_is_set(&token));
        assert_non_null(strstr(error.message, "private key is none"));
        secret_clear(&pem);
    }
    /* It is not asked for at the terminal. */
    secret locked = pem_of("password");
    assert_int_equal(jwt_sign(&locked, "", "{}", &token, NULL), BW_INVALID);
    secret_clear(&locked);
    secret pem = pem_of(NULL);
    memset(long_id, 'a', sizeof long_id);
    long_id[sizeof long_id - 1] = '\0';
    assert_int_equal(jwt_sign(&pem, long_id, "{}", &token, NULL), BW_INVALID);
    secret_clear(&pem);
}

static int make_key(void **state)
{
    (void)state;
    key = rsa_key_new();
    return 0;
}

static int free_key(void **state)
{
    (void)state;
    rsa_key_free(key);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token),
        cmocka_unit_test(test_keys_that_are_none),
    };
    return cmocka_run_group_tests(tests, make_key, free_key);
}
