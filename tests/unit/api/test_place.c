// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* URLs of buckets, as the library's users give them. Nothing here needs a network. */
#include "api/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_what_opens(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "s3://bucket",
        "S3://bucket/",
        "s3://bucket/run7",
        "s3://bucket/team/run7/",
        "s3://bucket/a%20b%2fc+d%25",
        "s3://bucket/run?endpoint=http://127.0.0.1:9000&region=eu-west-1&style=path",
        "s3://bucket/run?endpoint=https%3A%2F%2Fexample.org",
        "s3://bucket?anonymous=true&sign_body=never&request_timeout=5s&profile=",
        "s3://bucket?endpoint=http://example.org&plain_http=true",
        "s3://bucket?",
        "gs://bucket?anonymous=true&http=2",
        "s3://bucket?kms_key=alias/k&storage_class=STANDARD_IA&bucket_owner=123456789012",
        "s3://bucket?requester_pays=true&condition=oss",
        "gs://bucket/run?anonymous=true",
        "az://account/container",
        "AZ://account/container/team/run7/?anonymous=true",
        "az://account/container/run?endpoint=http://127.0.0.1:10000",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        bw_error *error = bw_error_new();
        store *s = NULL;
        if (place_open(urls[i], NULL, true, &s, error) != BW_OK)
            fail_msg("%s: %s", urls[i], bw_error_message(error));
        store_close(s);
        bw_error_free(error);
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bw_status status;
        const char *says;
    } rows[] = {
        {"s3://", BW_INVALID, "name of a bucket"},
        {"s3:///run", BW_INVALID, "name of a bucket"},
        {"s3://bucket/a//b", BW_INVALID, "prefix"},
        {"s3://bucket/%", BW_INVALID, "two hex digits"},
        {"s3://bucket/%00", BW_INVALID, "two hex digits"},
        {"s3://bucket/a#b", BW_INVALID, "fragment"},
        {"s3://bucket/a?region", BW_INVALID, "name=value"},
        {"s3://bucket/a?regio=x", BW_INVALID, "no setting for a URL"},
        {"s3://arn:aws:s3:eu-west-1:1:accesspoint/x", BW_UNSUPPORTED, "alias"},
        {"s3://name--euw1-az1--x-s3/run", BW_UNSUPPORTED, "directory buckets"},
        {"s3://bucket/a?storage_class=GLACIER", BW_UNSUPPORTED, "restored"},
        {"s3://bucket/a?bucket_owner=me", BW_INVALID, "twelve digits"},
        {"s3://bucket/a?condition=cos", BW_INVALID, "auto"},
        {"gs://bucket/a?http=3", BW_INVALID, "1.1"},
        {"gs://bucket/a?kms_key=k", BW_UNSUPPORTED, "s3:// alone"},
        {"az://account/container/a?requester_pays=true", BW_UNSUPPORTED, "s3:// alone"},
        {"s3://bucket/a?threads=4", BW_INVALID, "no setting for a URL"},
        {"s3://bucket/a?style=sideways", BW_INVALID, "auto|path|virtual"},
        {"s3://bucket/a?region=%g0", BW_INVALID, "two hex digits"},
        {"s3://bucket/a?endpoint=http://example.org", BW_INVALID, "plain_http"},
        {"s3://AKID:planted-secret@bucket/a", BW_INVALID, "has no keys"},
        {"s3://planted-secret@bucket", BW_INVALID, "has no keys"},
        {"s3://bucket:9000/a", BW_INVALID, "has no keys"},
        {"s3://arn:aws:s3:::x/a", BW_UNSUPPORTED, "alias"},
        {"s3://name--euw1-az1--x-s3/a", BW_UNSUPPORTED, "directory buckets"},
        {"az://account", BW_INVALID, "name of a container"},
        {"az://account/", BW_INVALID, "name of a container"},
        {"az:///container", BW_INVALID, "name of a storage account"},
        {"az://Account/container", BW_INVALID, "name of a storage account"},
        {"az://account/container/a//b", BW_INVALID, "prefix"},
        {"az://planted-secret@account/container", BW_INVALID, "has no keys"},
        {"gs://Bucket/run", BW_INVALID, "name of a bucket"},
        {"gs://bucket/run", BW_DENIED, "GOOGLE_OAUTH_ACCESS_TOKEN"},
        {"oss://bucket/run", BW_UNSUPPORTED, "no store for the scheme 'oss'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bw_error *error = bw_error_new();
        store *s = NULL;
        assert_int_equal(place_open(rows[i].url, NULL, true, &s, error), rows[i].status);
        if (strstr(bw_error_message(error), rows[i].says) == NULL)
            fail_msg("%s: '%s'", rows[i].url, bw_error_message(error));
        assert_null(strstr(bw_error_message(error), "planted"));
        bw_error_free(error);
    }
    char *url = calloc(1, 8192);
    memset(url, 'a', 8191);
    memcpy(url, "s3://bucket/", 12);
    store *s = NULL;
    assert_int_equal(place_open(url, NULL, true, &s, NULL), BW_INVALID);
    free(url);
}

/* What the URL says goes before the configuration, which goes before the defaults. */
static void test_the_url_goes_before_the_configuration(void **state)
{
    (void)state;
    bw_config *config = bw_config_new();
    bw_error *error = bw_error_new();
    store *s = NULL;
    assert_int_equal(bw_config_set(config, "endpoint", "http://example.org", NULL), BW_OK);
    assert_int_equal(place_open("s3://bucket/a", config, true, &s, error), BW_INVALID);
    assert_non_null(strstr(bw_error_message(error), "http://example.org"));
    assert_int_equal(
        place_open("s3://bucket/a?endpoint=http://127.0.0.1:1", config, true, &s, error), BW_OK);
    store_close(s);
    assert_int_equal(bw_config_set(config, "plain_http", "true", NULL), BW_OK);
    assert_int_equal(place_open("s3://bucket/a", config, true, &s, error), BW_OK);
    store_close(s);
    assert_int_equal(place_open("s3://bucket/a?plain_http=false", config, true, &s, error),
                     BW_INVALID);
    bw_error_free(error);
    bw_config_free(config);
}

static void test_pacing(void **state)
{
    (void)state;
    bw_config *config = bw_config_new();
    bw_error *error = bw_error_new();
    store *s = NULL;
    assert_int_equal(place_open("s3://bucket/a", config, true, &s, error), BW_OK);
    assert_int_equal(s->pacing.requests_max, 128);
    assert_int_equal(s->pacing.retry_percent, 10);
    assert_true(s->pacing.hedge);
    store_close(s);
    assert_int_equal(bw_config_set(config, "requests", "7", NULL), BW_OK);
    assert_int_equal(bw_config_set(config, "retry_budget", "20", NULL), BW_OK);
    assert_int_equal(
        place_open("s3://bucket/a?hedge=false&retry_budget=0", config, true, &s, error), BW_OK);
    assert_int_equal(s->pacing.requests_max, 7);
    assert_int_equal(s->pacing.retry_percent, 0);
    assert_false(s->pacing.hedge);
    store_close(s);
    assert_int_equal(place_open("s3://bucket/a?requests=0", config, true, &s, error), BW_INVALID);
    bw_error_free(error);
    bw_config_free(config);
}

static void test_without_keys(void **state)
{
    (void)state;
    bw_error *error = bw_error_new();
    store *s = NULL;
    assert_int_equal(unsetenv("AWS_SECRET_ACCESS_KEY") | unsetenv("AWS_ACCESS_KEY_ID"), 0);
    assert_int_equal(place_open("s3://bucket/a", NULL, false, &s, error), BW_DENIED);
    assert_non_null(strstr(bw_error_message(error), "AWS_ACCESS_KEY_ID"));
    assert_int_equal(place_open("s3://bucket/a?anonymous=true", NULL, false, &s, error), BW_OK);
    store_close(s);
    bw_error_free(error);
}

static int set_environment(void **state)
{
    (void)state;
    static const char *const off[] = {
        "AWS_PROFILE", "AWS_ENDPOINT_URL",         "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE",
        "HOME",        "GOOGLE_OAUTH_ACCESS_TOKEN"};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        (void)unsetenv(off[i]);
    return setenv("AWS_EC2_METADATA_DISABLED", "true", 1) |
           setenv("AZURE_STORAGE_KEY", "cGxhbnRlZA==", 1) |
           setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1) |
           setenv("AWS_SECRET_ACCESS_KEY", "planted-secret", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_opens),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_url_goes_before_the_configuration),
        cmocka_unit_test(test_pacing),
        cmocka_unit_test(test_without_keys),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
