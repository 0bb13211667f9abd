// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Where tokens for Google Cloud Storage come from: files of all types, the metadata service. */
#include "gcs_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rsa_key *key;

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

/* ---- the order ---- */

static void test_the_order(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)), step(stand_token(2, 3600)),
                                 step(stand_token(3, 3600)), step(stand_token(4, 3600)),
                                 step(ANSWER("200 x\r\nMetadata-Flavor: Google", "who@x"))};
    char text[1024];
    char path[512];
    chain_stand t;
    stand_start(&t, steps, 5);
    assert_int_equal(stand_find_token(&t), BW_DENIED);
    stand_says(&t, "no token for Google Cloud Storage. Looked at: GOOGLE_OAUTH_ACCESS_TOKEN is not "
                   "set; GOOGLE_APPLICATION_CREDENTIALS is not set; there is no ");
    stand_says(&t,
               "/.config/gcloud/application_default_credentials.json; NO_GCE_CHECK is true. Run "
               "gcloud auth");
    stand_says(&t, "anonymous=true");
    stand_metadata(&t);
    (void)snprintf(text, sizeof text,
                   "{\"type\":\"authorized_user\",\"client_id\":\"id\",\"client_secret\":\"" PLANTED
                   "\",\"refresh_token\":\"" PLANTED "\",\"token_uri\":\"%s\"}",
                   t.url);
    (void)stand_file(&t, ".config/gcloud/application_default_credentials.json", text);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 1, "/.config/gcloud/application_default_credentials.json");
    (void)snprintf(path, sizeof path, "%s/other", t.home);
    (void)stand_file(&t, "other/application_default_credentials.json", text);
    stand_set(&t, "CLOUDSDK_CONFIG", path);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 2, "/other/application_default_credentials.json");
    stand_service_account(&t, key);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 3, "service account me@p.iam.example.org of ");
    stand_set(&t, "GOOGLE_OAUTH_ACCESS_TOKEN", PLANTED ".token9");
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 9, "GOOGLE_OAUTH_ACCESS_TOKEN");
    assert_int_equal(t.keys.kind, NET_KEYS_FIXED);
    /* Where there is no file, the machine is asked. */
    stand_set(&t, "GOOGLE_OAUTH_ACCESS_TOKEN", "");
    stand_set(&t, "GOOGLE_APPLICATION_CREDENTIALS", "");
    stand_set(&t, "CLOUDSDK_CONFIG", "/nowhere");
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 4, "service account who@x of the machine");
    stand_stop(&t);
}

static void test_variables_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
        bw_status status;
    } rows[] = {
        {"GOOGLE_OAUTH_ACCESS_TOKEN", PLANTED "\r\nx: y", "line ends", BW_INVALID},
        {"GOOGLE_OAUTH_ACCESS_TOKEN", PLANTED " x", "blanks", BW_INVALID},
        {"GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/a.json",
         "there is no /nowhere/a.json, which GOOGLE_APPLICATION_CREDENTIALS names", BW_INVALID},
        {"GOOGLE_APPLICATION_CREDENTIALS", "/dev/null", "is no file of at most", BW_INVALID},
        {"GS_ACCESS_KEY_ID", "GOOG1", "HMAC keys sign the XML API", BW_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        stand_set(&t, rows[i].name, rows[i].value);
        if (stand_find_token(&t) != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        stand_stop(&t);
    }
}

/* ---- service accounts ---- */

/* The assertion of a request, if it is signed with the key. */
static void check_assertion(const chain_stand *t, unsigned request, char *claims, size_t capacity)
{
    char head[1024];
    char token[8192];
    static const char start[] = "\r\n\r\nassertion=";
    const char *from = strstr(script_heard(t->server, request), start);
    assert_non_null(from);
    from += sizeof start - 1;
    (void)snprintf(token, sizeof token, "%.*s", (int)strcspn(from, "&"), from);
    assert_true(rsa_key_signed(key, token, head, claims, capacity < 1024 ? capacity : 1024));
    assert_string_equal(head, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k1\"}");
}

static void test_a_service_account(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3599))};
    char claims[1024];
    char wanted[512];
    long long begin = 0;
    long long end = 0;
    chain_stand t;
    stand_start(&t, steps, 1);
    stand_service_account(&t, key);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 1, "service account me@p.iam.example.org of ");
    assert_int_equal(t.keys.kind, NET_KEYS_LENT);
    stand_lasts(&t, 3599);
    stand_heard(&t, 0, "POST /token HTTP/1.1\r\n");
    stand_heard(&t, 0, "&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer");
    check_assertion(&t, 0, claims, sizeof claims);
    (void)snprintf(wanted, sizeof wanted,
                   "{\"iss\":\"me@p.iam.example.org\",\"scope\":\"https://www.googleapis.com/auth/"
                   "devstorage.read_write\",\"aud\":\"%s/token\",\"iat\":",
                   t.url);
    assert_memory_equal(claims, wanted, strlen(wanted));
    assert_int_equal(sscanf(claims + strlen(wanted), "%lld,\"exp\":%lld}", &begin, &end), 2);
    assert_int_equal(end - begin, 3600);
    assert_true(llabs(begin - clock_wall_ms(clock_system()) / 1000) < 60);
    stand_stop(&t);
}

/* A clock that is wrong is corrected by what the service says, once. */
static void test_skew(void **state)
{
    (void)state;
    static const char refusal[] = "HTTP/1.1 400 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                  "Connection: close\r\n\r\n{\"error\":\"invalid_grant\"}";
    static const char other[] = "HTTP/1.1 400 x\r\nDate: Sun, 06 Nov 1996 08:49:37 GMT\r\n"
                                "Connection: close\r\n\r\n{\"error\":\"invalid_grant\"}";
    const script_step steps[] = {step(refusal), step(stand_token(1, 3600)), step(refusal),
                                 step(other), step(refusal)};
    char claims[1024];
    chain_stand t;
    stand_start(&t, steps, 5);
    stand_service_account(&t, key);
    assert_int_equal(stand_find_token(&t), BW_OK);
    check_assertion(&t, 1, claims, sizeof claims);
    assert_non_null(strstr(claims, "\"iat\":78411"));
    assert_int_equal(stand_find_token(&t), BW_DENIED);
    stand_says(&t, "answered 400 invalid_grant");
    assert_int_equal(script_requests(t.server), 4);
    stand_stop(&t);
}

/* ---- users ---- */

static void test_a_user(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3599))};
    chain_stand t;
    stand_start(&t, steps, 1);
    stand_user(&t);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 1, "the user of ");
    stand_heard(&t, 0,
                "\r\n\r\nclient_id=id%261&client_secret=" PLANTED
                "-secret&grant_type=refresh_token&refresh_token=" PLANTED "-refresh");
    stand_stop(&t);
}

/* ---- workload identity federation ---- */

static void test_a_subject_of_a_file(void **state)
{
    (void)state;
    static const char *const subjects[] = {
        PLANTED ".subject\n",
        "{\"a\":{\"id_token\":\"no\"},\"id_token\":\"" PLANTED ".subject\"}",
    };
    for (int json = 0; json < 2; json++) {
        const script_step steps[] = {step(stand_token(1, 3599))};
        char source[1024];
        chain_stand t;
        stand_start(&t, steps, 1);
        (void)snprintf(source, sizeof source, "\"file\":\"%s\"%s",
                       stand_file(&t, "the subject", subjects[json]),
                       json == 1 ? ",\"format\":{\"type\":\"json\",\"subject_token_field_name\":"
                                   "\"id_token\"}"
                                 : "");
        stand_external(&t, source, "");
        assert_int_equal(stand_find_token(&t), BW_OK);
        stand_has_token(&t, 1, "the workload identity of ");
        stand_heard(&t, 0, "POST /v1/token HTTP/1.1\r\n");
        stand_heard(&t, 0,
                    "\r\n\r\naudience=%2F%2Fiam.example.org%2Fpool&grant_type=urn%3Aietf%3Aparams"
                    "%3Aoauth%3Agrant-type%3Atoken-exchange&requested_token_type=urn%3Aietf%3A"
                    "params%3Aoauth%3Atoken-type%3Aaccess_token&scope=https%3A%2F%2Fwww.googleapis."
                    "com%2Fauth%2Fdevstorage.read_write&subject_token=" PLANTED
                    ".subject&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt");
        stand_stop(&t);
    }
}

static void test_a_subject_of_a_url_for_a_service_account(void **state)
{
    (void)state;
    const script_step steps[] = {step(ANSWER("200 x", "{\"value\":\"" PLANTED ".subject\"}")),
                                 step(stand_token(1, 3599)),
                                 step(stand_lent_token(2, "2099-01-01T00:00:00Z"))};
    char source[1024];
    char more[512];
    chain_stand t;
    stand_start(&t, steps, 3);
    (void)snprintf(source, sizeof source,
                   "\"url\":\"%s/subject?a=b\",\"headers\":{\"Metadata\":\"True\","
                   "\"Authorization\":\"bearer " PLANTED "-of-the-url\"},\"format\":{\"type\":"
                   "\"json\",\"subject_token_field_name\":\"value\"}",
                   t.url);
    (void)snprintf(more, sizeof more,
                   ",\"service_account_impersonation_url\":\"%s/v1/projects/-/serviceAccounts/"
                   "me@p.example.org:generateAccessToken\",\"service_account_impersonation\":{"
                   "\"token_lifetime_seconds\":2800}",
                   t.url);
    stand_external(&t, source, more);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 2, "service account me@p.example.org by the workload identity of ");
    assert_true(t.keys.expires_ns > 0);
    stand_heard(&t, 0, "GET /subject?a=b HTTP/1.1\r\n");
    stand_heard(&t, 0, "\r\nMetadata: True\r\n");
    stand_heard(&t, 0, "\r\nAuthorization: bearer " PLANTED "-of-the-url\r\n");
    stand_heard(&t, 1, "&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&");
    stand_heard(&t, 1, "&subject_token=" PLANTED ".subject&");
    stand_heard(
        &t, 2, "POST /v1/projects/-/serviceAccounts/me@p.example.org:generateAccessToken HTTP/1.1");
    stand_heard(&t, 2, "\r\nauthorization: Bearer " PLANTED ".token1\r\n");
    stand_heard(&t, 2, "\r\ncontent-type: application/json\r\n");
    stand_heard(&t, 2,
                "\r\n\r\n{\"scope\":[\"https://www.googleapis.com/auth/devstorage.read_write\"],"
                "\"lifetime\":\"2800s\"}");
    stand_stop(&t);
}

static void test_subjects_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *format, *says;
        bw_status status;
        unsigned requests;
    } rows[] = {
        {ANSWER("403 x", PLANTED), "", "the service of the subject's token answered 403", BW_DENIED,
         1},
        {ANSWER("500 x", PLANTED), "", "answered 500", BW_IO, 3},
        {"", "", "did not answer", BW_IO, 3},
        {ANSWER("200 x", " \n"), "", "there is no subject's token", BW_INVALID, 1},
        {ANSWER("200 x", "{\"value\":\"" PLANTED),
         ",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"value\"}",
         "in no JSON object", BW_CORRUPT, 1},
        {ANSWER("200 x", "{\"other\":\"" PLANTED "\"}"),
         ",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"value\"}",
         "there is no subject's token", BW_INVALID, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(rows[i].answer),
                                     step(rows[i].answer)};
        char source[512];
        chain_stand t;
        stand_start(&t, steps, 3);
        (void)snprintf(source, sizeof source, "\"url\":\"%s/\"%s", t.url, rows[i].format);
        stand_external(&t, source, "");
        if (stand_find_token(&t) != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        assert_int_equal(script_requests(t.server), rows[i].requests);
        stand_stop(&t);
    }
}

/* ---- files that cannot be ---- */

#define EXTERNAL(source, more)                                                                     \
    "{\"type\":\"external_account\",\"audience\":\"a\",\"subject_token_type\":\"s\",\"token_"      \
    "url\":"                                                                                       \
    "\"https://127.0.0.1:1/\",\"credential_source\":{" source "}" more "}"

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        bw_status status;
    } rows[] = {
        {"", "no JSON object of credentials", BW_CORRUPT},
        {"{\"type\":\"service_account\",\"private_key\":\"" PLANTED, "no JSON", BW_CORRUPT},
        {"[]", "no JSON object", BW_CORRUPT},
        {"{}", "of type \"\" are not supported", BW_UNSUPPORTED},
        {"{\"type\":\"impersonated_service_account\"}",
         "of type \"impersonated_service_account\" are not supported; service_account",
         BW_UNSUPPORTED},
        {"{\"type\":\"service_account\",\"universe_domain\":\"example.org\"}",
         "universe_domain example.org", BW_UNSUPPORTED},
        {"{\"type\":\"service_account\",\"client_email\":\"a@b\"}", "private_key is not there",
         BW_INVALID},
        {"{\"type\":\"service_account\",\"private_key\":\"" PLANTED "\"}", "client_email or",
         BW_INVALID},
        {"{\"type\":\"service_account\",\"client_email\":\"a@b\",\"private_key\":\"" PLANTED "\"}",
         "the private key is none", BW_INVALID},
        {"{\"type\":\"service_account\",\"client_email\":\"a\\\"b\",\"private_key\":\"x\"}",
         "a value is none", BW_CORRUPT},
        {"{\"type\":\"authorized_user\",\"client_id\":\"a\",\"client_secret\":\"" PLANTED "\"}",
         "refresh_token is not there", BW_INVALID},
        {"{\"type\":\"authorized_user\",\"client_id\":\"a\",\"client_secret\":\"" PLANTED
         "\",\"refresh_token\":\"" PLANTED "\",\"token_uri\":\"http://example.org/\"}",
         "do not travel over plain http", BW_INVALID},
        {EXTERNAL("\"environment_id\":\"aws1\"", ""), "signed by AWS", BW_UNSUPPORTED},
        {EXTERNAL("\"executable\":{\"command\":\"/a b\"}", ""), "a program", BW_UNSUPPORTED},
        {EXTERNAL("\"file\":\"/nowhere/subject\"", ""), "there is no /nowhere/subject", BW_INVALID},
        {EXTERNAL("", ""), "neither file nor url, or both", BW_INVALID},
        {EXTERNAL("\"file\":\"/a\",\"url\":\"https://a\"", ""), "or both", BW_INVALID},
        {EXTERNAL("\"file\":\"/a\",\"format\":{\"type\":\"xml\"}", ""), "the format of",
         BW_INVALID},
        {EXTERNAL("\"file\":\"/a\",\"format\":{\"type\":\"json\"}", ""), "the format", BW_INVALID},
        {EXTERNAL("\"url\":\"http://example.org/\"", ""), "do not travel over plain", BW_INVALID},
        {EXTERNAL("\"url\":\"http://169.254.169.254@example.org/\"", ""), "an endpoint is",
         BW_INVALID},
        {EXTERNAL("\"url\":\"https://a/\",\"headers\":{\"a b\":\"" PLANTED "\"}", ""),
         "a value is none", BW_CORRUPT},
        {EXTERNAL("\"url\":\"https://a/\",\"headers\":{\"a\":\"" PLANTED "\\r\\nb: c\"}", ""),
         "a value is none", BW_CORRUPT},
        {EXTERNAL("\"url\":\"https://a/\",\"headers\":{\"a\":\"1\",\"b\":\"1\",\"c\":\"1\",\"d\":"
                  "\"1\",\"e\":\"1\"}",
                  ""),
         "a value is none", BW_CORRUPT},
        {EXTERNAL("\"file\":\"/a\"", ",\"workforce_pool_user_project\":\"p\""), "workforce pools",
         BW_UNSUPPORTED},
        {EXTERNAL("\"file\":\"/a\"", ",\"client_id\":\"p\",\"client_secret\":\"" PLANTED "\""),
         "clients with a secret", BW_UNSUPPORTED},
        {EXTERNAL("\"file\":\"/a\"",
                  ",\"service_account_impersonation\":{\"token_lifetime_seconds\":\"1h\"}"),
         "no number", BW_INVALID},
        {"{\"type\":\"external_account\",\"audience\":\"a\",\"credential_source\":{\"file\":\"/"
         "\"}}",
         "token_url is not there", BW_INVALID},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        stand_credentials(&t, rows[i].text);
        if (stand_find_token(&t) != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        stand_says(&t, "credentials of ");
        stand_stop(&t);
    }
}

/* ---- answers that are wrong, to each kind of credentials ---- */

static void set_service_account(chain_stand *t)
{
    stand_service_account(t, key);
}

static void set_external(chain_stand *t)
{
    char source[1024];
    (void)snprintf(source, sizeof source, "\"file\":\"%s\"",
                   stand_file(t, "subject", PLANTED ".subject"));
    stand_external(t, source, "");
}

static void set_impersonation(chain_stand *t)
{
    char source[1024];
    char more[256];
    (void)snprintf(source, sizeof source, "\"file\":\"%s\"",
                   stand_file(t, "subject", PLANTED ".subject"));
    (void)snprintf(more, sizeof more, ",\"service_account_impersonation_url\":\"%s/x\"", t->url);
    stand_external(t, source, more);
}

static void test_wrong_answers(void **state)
{
    (void)state;
    static const struct {
        void (*set)(chain_stand *t);
        bool lent; /* a good answer goes before */
    } kinds[] = {{set_service_account, false},
                 {stand_user, false},
                 {set_external, false},
                 {set_impersonation, true},
                 {stand_metadata, false}};
    char *huge = calloc(1, HTTP_ANSWER_BYTES_MAX + 256);
    (void)snprintf(huge, 128, "HTTP/1.1 200 x\r\nMetadata-Flavor: Google\r\n\r\n{\"x\":\"");
    memset(huge + strlen(huge), 'x', HTTP_ANSWER_BYTES_MAX);
#define GOOGLE "\r\nMetadata-Flavor: Google"
    const struct {
        const char *answer, *says;
        bw_status status;
    } rows[] = {
        {ANSWER("200 x" GOOGLE, "{\"access_token\":\"" PLANTED "\",\"accessToken\":\"" PLANTED),
         "the answer is no JSON object", BW_CORRUPT},
        {ANSWER("200 x" GOOGLE, "{\"expires_in\":1}"), "the answer has no token", BW_CORRUPT},
        {ANSWER("403 x" GOOGLE, "{\"error\":\"no_luck\",\"error_description\":\"why not\"}"),
         "answered 403 no_luck: why not", BW_DENIED},
        {ANSWER("502 x" GOOGLE, "<html>" PLANTED), "answered 502", BW_IO},
        {"HTTP/1.1 200 x\r\nMetadata-Flavor: Google\r\nContent-Length: 9\r\n\r\n{",
         "did not answer", BW_IO},
        {huge, "more than 65536 bytes", BW_TOO_LARGE},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const script_step bad = step(rows[i].answer);
            const script_step steps[] = {kinds[k].lent ? step(stand_token(1, 3600)) : bad, bad, bad,
                                         bad};
            chain_stand t;
            stand_start(&t, steps, 4);
            kinds[k].set(&t);
            if (stand_find_token(&t) != rows[i].status)
                fail_msg("kind %zu, row %zu: %s", k, i, bw_error_message(t.error));
            stand_says(&t, rows[i].says);
            stand_stop(&t);
        }
    }
    free(huge);
}

/* ---- metadata ---- */

static void test_the_metadata_service(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)),
                                 step(ANSWER("200 x", "me@p.example.org\n")),
                                 step(stand_token(2, 3600)), step(ANSWER("404 x", PLANTED))};
    chain_stand t;
    stand_start(&t, steps, 4);
    stand_metadata(&t);
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_heard(&t, 0, "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1");
    stand_heard(&t, 0, "\r\nmetadata-flavor: Google\r\n");
    stand_heard(&t, 1, "GET /computeMetadata/v1/instance/service-accounts/default/email HTTP/1.1");
    stand_heard(&t, 1, "\r\nmetadata-flavor: Google\r\n");
    assert_int_equal(stand_find_token(&t), BW_OK);
    stand_has_token(&t, 2, "service account (default) of the machine");
    stand_stop(&t);
}

/* Whoever else is at that address: its answer is none, a token neither. */
static void test_machines_that_have_none(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *says;
    } rows[] = {
        {ANSWER("200 x", "{\"access_token\":\"" PLANTED "\",\"expires_in\":3600}"),
         "is not Google's metadata service"},
        {ANSWER("404 x", ""), "is not Google's metadata service"},
        {ANSWER("404 x" GOOGLE, ""), "the machine has no service account"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(rows[i].answer)};
        chain_stand t;
        stand_start(&t, steps, 2);
        stand_metadata(&t);
        assert_int_equal(stand_find_token(&t), BW_DENIED);
        stand_says(&t, rows[i].says);
        stand_says(&t, "no token for Google Cloud Storage");
        assert_int_equal(script_requests(t.server), 1);
        stand_stop(&t);
    }
    chain_stand t;
    stand_start(&t, NULL, 0);
    stand_metadata(&t);
    stand_set(&t, "GCE_METADATA_HOST", "127.0.0.1:1");
    assert_int_equal(stand_find_token(&t), BW_DENIED);
    stand_says(&t, "the metadata service: cannot be reached");
    stand_set(&t, "GCE_METADATA_HOST", "a@b/c");
    assert_int_equal(stand_find_token(&t), BW_INVALID);
    stand_says(&t, "GCE_METADATA_HOST is no host");
    stand_stop(&t);
}

/* A proxy would answer for another machine, and see what is said. Nobody is at these addresses. */
static void test_never_by_a_proxy(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)), step(stand_token(1, 3600))};
    chain_stand t;
    stand_start(&t, steps, 2);
    assert_int_equal(setenv("http_proxy", t.url, 1) | setenv("all_proxy", t.url, 1), 0);
    stand_metadata(&t);
    stand_set(&t, "GCE_METADATA_HOST", "192.0.2.1");
    assert_int_equal(stand_find_token(&t), BW_DENIED);
    stand_says(&t, "cannot be reached");
    stand_external(&t, "\"url\":\"http://169.254.0.1/\"", "");
    (void)stand_find_token(&t);
    assert_int_equal(script_requests(t.server), 0);
    assert_int_equal(unsetenv("http_proxy") | unsetenv("all_proxy"), 0);
    stand_stop(&t);
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
        cmocka_unit_test(test_the_order),
        cmocka_unit_test(test_variables_that_are_wrong),
        cmocka_unit_test(test_a_service_account),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_a_user),
        cmocka_unit_test(test_a_subject_of_a_file),
        cmocka_unit_test(test_a_subject_of_a_url_for_a_service_account),
        cmocka_unit_test(test_subjects_that_are_none),
        cmocka_unit_test(test_files_that_cannot_be),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_the_metadata_service),
        cmocka_unit_test(test_machines_that_have_none),
        cmocka_unit_test(test_never_by_a_proxy),
    };
    return cmocka_run_group_tests(tests, make_key, free_key);
}
