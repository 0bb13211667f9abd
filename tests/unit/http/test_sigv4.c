// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Signatures that AWS published: those of its test suite, and the examples of the S3 API reference
 * ("Authenticating Requests: Using the Authorization Header"). */
#include "http/sigv4.h"

#include "base/hash.h"
#include "http/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define WELCOME "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define ODD "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define TOKEN                                                                                      \
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSP" \
    "fIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT" \
    "7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlz" \
    "m8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
#define SUITE_HOST                                                                                 \
    {                                                                                              \
        "host", "example.amazonaws.com"                                                            \
    }
#define SUITE_DATE                                                                                 \
    {                                                                                              \
        "x-amz-date", "20150830T123600Z"                                                           \
    }
#define S3_HOST                                                                                    \
    {                                                                                              \
        "host", "examplebucket.s3.amazonaws.com"                                                   \
    }
#define S3_DATE                                                                                    \
    {                                                                                              \
        "x-amz-date", "20130524T000000Z"                                                           \
    }

typedef struct vector {
    const char *name, *method, *path; /* plain */
    uri_parameter parameters[2];
    size_t parameter_count;
    sigv4_header headers[5];
    size_t header_count;
    const char *payload, *signature;
} vector;

static const vector suite[] = {
    {"get-vanilla",
     "GET",
     "/",
     {{0}},
     0,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"post-vanilla",
     "POST",
     "/",
     {{0}},
     0,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"get-vanilla-query-order-key-case",
     "GET",
     "/",
     {{"Param2", "value2"}, {"Param1", "value1"}},
     2,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-unreserved",
     "GET",
     "/",
     {{ODD, ODD}},
     1,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query",
     "GET",
     "/",
     {{"\xe1\x88\xb4", "bar"}},
     1,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-utf8",
     "GET",
     "/\xe1\x88\xb4",
     {{0}},
     0,
     {SUITE_HOST, SUITE_DATE},
     2,
     EMPTY,
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-header-value-trim",
     "GET",
     "/",
     {{0}},
     0,
     {SUITE_HOST, {"my-header1", " value1"}, {"my-header2", " \"a   b   c\" "}, SUITE_DATE},
     4,
     EMPTY,
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"post-sts-header-before",
     "POST",
     "/",
     {{0}},
     0,
     {SUITE_HOST, SUITE_DATE, {"x-amz-security-token", TOKEN}},
     3,
     EMPTY,
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
};

static const vector reference[] = {
    {"GET object",
     "GET",
     "/test.txt",
     {{0}},
     0,
     {S3_HOST, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, S3_DATE},
     4,
     EMPTY,
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT object",
     "PUT",
     "/test$file.text",
     {{0}},
     0,
     {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
      S3_HOST,
      {"x-amz-content-sha256", WELCOME},
      S3_DATE,
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
     5,
     WELCOME,
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET bucket lifecycle",
     "GET",
     "/",
     {{"lifecycle", ""}},
     1,
     {S3_HOST, {"x-amz-content-sha256", EMPTY}, S3_DATE},
     3,
     EMPTY,
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"list objects",
     "GET",
     "/",
     {{"prefix", "J"}, {"max-keys", "2"}},
     2,
     {S3_HOST, {"x-amz-content-sha256", EMPTY}, S3_DATE},
     3,
     EMPTY,
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

typedef struct signer {
    const char *key_id, *secret_text, *time, *service;
    sigv4_key key;
} signer;

static void assert_signs(signer *s, const vector *v)
{
    buf path, query, out;
    secret hidden = {NULL, 0};
    buf_init(&path, 4096);
    buf_init(&query, 4096);
    buf_init(&out, 4096);
    uri_encode(&path, v->path, strlen(v->path), true);
    uri_query(&query, v->parameters, v->parameter_count);
    const sigv4_request request = {.method = v->method,
                                   .path = buf_text(&path),
                                   .query = buf_text(&query),
                                   .headers = v->headers,
                                   .header_count = v->header_count,
                                   .payload = v->payload,
                                   .time = s->time,
                                   .region = "us-east-1",
                                   .service = s->service};
    assert_int_equal(secret_set(&hidden, s->secret_text, strlen(s->secret_text)), BW_OK);
    assert_int_equal(sigv4_sign(&request, s->key_id, &hidden, &s->key, &out), BW_OK);
    const char *signature = strstr(buf_text(&out), "Signature=");
    assert_non_null(signature);
    if (strcmp(signature + 10, v->signature) != 0)
        fail_msg("%s: %s, not %s", v->name, signature + 10, v->signature);
    secret_clear(&hidden);
    buf_free(&path);
    buf_free(&query);
    buf_free(&out);
}

static void test_published_vectors(void **state)
{
    (void)state;
    signer s = {"AKIDEXAMPLE",
                "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                "20150830T123600Z",
                "service",
                {{0}, {0}}};
    for (size_t i = 0; i < sizeof suite / sizeof suite[0]; i++)
        assert_signs(&s, &suite[i]);
    s = (signer){"AKIAIOSFODNN7EXAMPLE",
                 "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                 "20130524T000000Z",
                 "s3",
                 {{0}, {0}}};
    for (size_t i = 0; i < sizeof reference / sizeof reference[0]; i++)
        assert_signs(&s, &reference[i]);
}

static void test_the_whole_header(void **state)
{
    (void)state;
    secret hidden = {NULL, 0};
    sigv4_key key = {{0}, {0}};
    buf out;
    buf_init(&out, 4096);
    static const char text[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    assert_int_equal(secret_set(&hidden, text, sizeof text - 1), BW_OK);
    const sigv4_request request = {.method = "GET",
                                   .path = "/test.txt",
                                   .query = "",
                                   .headers = reference[0].headers,
                                   .header_count = 4,
                                   .payload = EMPTY,
                                   .time = "20130524T000000Z",
                                   .region = "us-east-1",
                                   .service = "s3"};
    assert_int_equal(sigv4_sign(&request, "AKIAIOSFODNN7EXAMPLE", &hidden, &key, &out), BW_OK);
    assert_string_equal(
        buf_text(&out),
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    buf_reset(&out);
    sigv4_canonical(&request, &out);
    assert_null(strstr(buf_text(&out), text));
    buf_free(&out);
    secret_clear(&hidden);
    sigv4_key_clear(&key);
    assert_string_equal(key.scope, "");
}

/* The key of a day serves that day, region and service only. */
static void test_the_kept_key_is_for_one_scope(void **state)
{
    (void)state;
    signer s = {"AKIAIOSFODNN7EXAMPLE",
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "20130525T000000Z",
                "s3",
                {{0}, {0}}};
    vector other = reference[0];
    other.signature = "";
    buf out;
    buf_init(&out, 4096);
    secret hidden = {NULL, 0};
    assert_int_equal(secret_set(&hidden, s.secret_text, strlen(s.secret_text)), BW_OK);
    sigv4_request request = {.method = "GET",
                             .path = "/test.txt",
                             .query = "",
                             .headers = other.headers,
                             .header_count = 4,
                             .payload = EMPTY,
                             .time = "20130525T000000Z",
                             .region = "us-east-1",
                             .service = "s3"};
    assert_int_equal(sigv4_sign(&request, s.key_id, &hidden, &s.key, &out), BW_OK);
    assert_null(strstr(buf_text(&out), reference[0].signature));
    s.time = "20130524T000000Z";
    assert_signs(&s, &reference[0]);
    request.region = "a-region-whose-name-is-longer-than-any-that-there-is-0123456789-0123456789-"
                     "0123456789-0123456789-0123456789";
    assert_int_equal(sigv4_sign(&request, s.key_id, &hidden, &s.key, &out), BW_INVALID);
    buf_free(&out);
    secret_clear(&hidden);
}

static void test_time(void **state)
{
    (void)state;
    char text[SIGV4_TIME_BYTES];
    sigv4_time(1369353600000, text);
    assert_string_equal(text, "20130524T000000Z");
    sigv4_time(1440938160999, text);
    assert_string_equal(text, "20150830T123600Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_the_whole_header),
        cmocka_unit_test(test_the_kept_key_is_for_one_scope),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
