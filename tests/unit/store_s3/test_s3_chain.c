// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Keys and settings of the environment and of profiles, the order of sources, programs. */
#include "s3_stand.h"

#include "base/alloc.h"
#include "store_s3/s3_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char credentials[] =
    "# comment\n[default]\naws_access_key_id = ID1\r\n"
    "aws_secret_access_key=" PLANTED "1=with/equals+\n\n"
    " [ two ]\naws_access_key_id=ID2\naws_secret_access_key=" PLANTED "2\n"
    "aws_session_token = " PLANTED "-token2\n"
    "[half]\naws_access_key_id=ID3\n[other-half]\naws_secret_access_key=" PLANTED "\n";
static const char config[] =
    "[default]\nregion = eu-central-1\n[profile two]\nregion=us-west-2\n"
    "endpoint_url = https://two.example.org\nca_bundle=/two.pem\ns3 =\n  "
    "addressing_style = path\n  region = nested\n"
    "[profile sso]\nsso_session = s\nregion=eu-north-1\n[half]\nregion = unreachable\n"
    "[profile login]\nlogin_session = s\n[profile bare]\nregion = x\n"
    "[profile keys]\naws_access_key_id=ID4\naws_secret_access_key=" PLANTED "4\n"
    "[profile odd]\naws_access_key_id=ID 4\naws_secret_access_key=" PLANTED "4\n"
    "[profile two-ways]\naws_access_key_id=ID5\naws_secret_access_key=" PLANTED
    "5\nsso_session=s\n";

static void begin(chain_stand *t)
{
    stand_start(t, NULL, 0);
    (void)stand_file(t, ".aws/credentials", credentials);
    (void)stand_file(t, ".aws/config", config);
}

static void test_the_environment(void **state)
{
    (void)state;
    chain_stand t;
    begin(&t);
    stand_set(&t, "AWS_ACCESS_KEY_ID", "ENV");
    stand_set(&t, "AWS_SECRET_ACCESS_KEY", PLANTED "0");
    stand_set(&t, "AWS_SESSION_TOKEN", PLANTED "-token0");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ENV", PLANTED "0", PLANTED "-token0", "the environment");
    assert_int_equal(t.keys.kind, NET_KEYS_FIXED);
    /* A profile that is named goes before keys in the environment, AWS_PROFILE does not. */
    assert_int_equal(stand_find(&t, "two"), BW_OK);
    stand_has(&t, "ID2", PLANTED "2", PLANTED "-token2", "profile two");
    stand_set(&t, "AWS_PROFILE", "two");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ENV", PLANTED "0", PLANTED "-token0", "the environment");
    stand_set(&t, "AWS_SESSION_TOKEN", PLANTED "\r\nHost: elsewhere");
    assert_int_equal(stand_find(&t, ""), BW_INVALID);
    stand_stop(&t);
}

static void test_settings(void **state)
{
    (void)state;
    chain_stand t;
    s3_settings s;
    begin(&t);
    stand_set(&t, "AWS_DEFAULT_REGION", "sa-east-1");
    stand_set(&t, "AWS_ENDPOINT_URL", "https://env.example.org");
    stand_set(&t, "AWS_CA_BUNDLE", "/env.pem");
    net_environment *e = net_environment_copy(t.variables);
    assert_int_equal(s3_settings_find("two", e, &s, t.error), BW_OK);
    assert_string_equal(s.region, "sa-east-1");
    assert_string_equal(s.endpoint, "https://env.example.org");
    assert_string_equal(s.sts_endpoint, "https://env.example.org");
    assert_string_equal(s.ca_file, "/env.pem");
    net_environment_free(e);
    stand_set(&t, "AWS_DEFAULT_REGION", "");
    stand_set(&t, "AWS_ENDPOINT_URL", "");
    stand_set(&t, "AWS_CA_BUNDLE", "");
    stand_set(&t, "AWS_PROFILE", "two");
    stand_set(&t, "AWS_ENDPOINT_URL_STS", "https://sts.example.org");
    e = net_environment_copy(t.variables);
    assert_int_equal(s3_settings_find("", e, &s, t.error), BW_OK);
    assert_string_equal(s.region, "us-west-2");
    assert_string_equal(s.endpoint, "https://two.example.org");
    assert_string_equal(s.sts_endpoint, "https://sts.example.org");
    assert_string_equal(s.ca_file, "/two.pem");
    assert_int_equal(s3_settings_find("absent", e, &s, t.error), BW_INVALID);
    net_environment_free(e);
    stand_stop(&t);
}

static void test_profiles(void **state)
{
    (void)state;
    chain_stand t;
    begin(&t);
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ID1", PLANTED "1=with/equals+", "", "profile default");
    assert_int_equal(t.keys.kind, NET_KEYS_STORED);
    assert_int_equal(t.keys.expires_ns, 0);
    stand_set(&t, "AWS_PROFILE", "two");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ID2", PLANTED "2", PLANTED "-token2", ".aws/credentials");
    assert_int_equal(stand_find(&t, "keys"), BW_OK);
    stand_has(&t, "ID4", PLANTED "4", "", ".aws/config");
    assert_int_equal(stand_find(&t, "two-ways"), BW_OK); /* what is there is used */
    stand_has(&t, "ID5", PLANTED "5", "", ".aws/config");
    stand_stop(&t);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value; /* a variable */
        const char *profile;
        bw_status status;
        const char *says;
    } rows[] = {
        {"A", "", "sso", BW_UNSUPPORTED, "sso_session, which is not supported: run aws configure"},
        {"A", "", "login", BW_UNSUPPORTED, "login_session"},
        {"A", "", "half", BW_INVALID, "has no aws_secret_access_key"},
        {"A", "", "other-half", BW_INVALID, "has no aws_access_key_id"},
        {"A", "", "odd", BW_INVALID, "profile odd of"},
        {"A", "", "absent", BW_INVALID, "no profile absent"},
        {"AWS_PROFILE", "absent", "", BW_INVALID, "no profile absent"},
        {"AWS_ACCESS_KEY_ID", "x", "", BW_INVALID, "belong together"},
        {"AWS_SECRET_ACCESS_KEY", PLANTED, "", BW_INVALID, "belong together"},
        {"AWS_SHARED_CREDENTIALS_FILE", "/", "", BW_INVALID, "no file"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE", "/x", "", BW_INVALID, "AWS_ROLE_ARN is not"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://a:" PLANTED "@x", "bare", BW_INVALID,
         "AWS_CONTAINER_CREDENTIALS_FULL_URI"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        begin(&t);
        stand_set(&t, rows[i].name, rows[i].value);
        assert_int_equal(stand_find(&t, rows[i].profile), rows[i].status);
        stand_says(&t, rows[i].says);
        stand_stop(&t);
    }
}

/* Each source that was looked at, why it gave nothing, and what to do. */
static void test_no_keys_anywhere(void **state)
{
    (void)state;
    static const char *const says[] = {
        "AWS_ACCESS_KEY_ID is not set", "profile bare has no keys", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "_FULL_URI are not set",        "METADATA_DISABLED",        "anonymous=true"};
    chain_stand t;
    begin(&t);
    stand_set(&t, "AWS_PROFILE", "bare");
    assert_int_equal(stand_find(&t, ""), BW_DENIED);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        stand_says(&t, says[i]);
    stand_set(&t, "HOME", "");
    stand_set(&t, "AWS_PROFILE", "");
    assert_int_equal(stand_find(&t, ""), BW_DENIED);
    stand_says(&t, "there is no profile default");
    stand_stop(&t);
}

/* ---- programs ---- */

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words[5]; /* NULL first: refused */
    } rows[] = {
        {"a", {"a"}},
        {"  a\tbc  ", {"a", "bc"}},
        {"a \"b c\" 'd e'f", {"a", "b c", "d ef"}},
        {"a b\\ c \\\"", {"a", "b c", "\""}},
        {"a \"b\\\"\\c\\\\\" 'd\\'", {"a", "b\"\\c\\", "d\\"}},
        {"a '' \"\"", {"a", "", ""}},
        {"$HOME ~ ; |", {"$HOME", "~", ";", "|"}},
        {"a\\", {"a\\"}},
        {"", {NULL}},
        {"  ", {NULL}},
        {"a \"b", {NULL}},
        {"a 'b", {NULL}},
        {"a b c d e", {NULL}}, /* more than fit */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        char *words[5];
        (void)snprintf(text, sizeof text, "%s", rows[i].text);
        const bool good = s3_words(text, words, 5);
        if (good != (rows[i].words[0] != NULL))
            fail_msg("row %zu", i);
        for (size_t j = 0; good && j < 5; j++) {
            if (rows[i].words[j] == NULL) {
                assert_null(words[j]);
                break;
            }
            assert_string_equal(words[j], rows[i].words[j]);
        }
    }
}

static void set_process(chain_stand *t, const char *command)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "[default]\ncredential_process = %s\n", command);
    (void)stand_file(t, ".aws/config", text);
}

static void test_a_program(void **state)
{
    (void)state;
    chain_stand t;
    char command[600];
    stand_start(&t, NULL, 0);
    const char *path = stand_file(&t, "the keys", stand_json("SessionToken", 7, 3600));
    (void)snprintf(command, sizeof command, "cat \"%s\"", path);
    set_process(&t, command);
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ASIA7", PLANTED "+key7", PLANTED "-token7",
              "credential_process of profile default");
    assert_int_equal(t.keys.kind, NET_KEYS_LENT);
    const int64_t left_ns = t.keys.expires_ns - clock_now(clock_system());
    assert_true(left_ns > 3500 * NS_PER_S && left_ns <= 3600 * NS_PER_S);
    /* Keys in the credentials file go before the program, those of the config file behind it. */
    (void)stand_file(&t, ".aws/credentials",
                     "[default]\naws_access_key_id=ID\naws_secret_access_key=" PLANTED "\n");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ID", PLANTED, "", "profile default of");
    stand_stop(&t);
}

static void test_a_program_sees_the_environment_of_the_start(void **state)
{
    (void)state;
    chain_stand t;
    stand_start(&t, NULL, 0);
    set_process(&t, "sh -c 'echo \"{\\\"AccessKeyId\\\":\\\"$NAME\\\","
                    "\\\"SecretAccessKey\\\":\\\"" PLANTED "\\\"}\"'");
    stand_set(&t, "NAME", "OF-THE-START");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "OF-THE-START", PLANTED, "", "credential_process");
    assert_int_equal(t.keys.expires_ns, 0);
    stand_stop(&t);
}

static void test_programs_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *command, *says;
        bw_status status;
    } rows[] = {
        {"no-such-program " PLANTED, "no program no-such-program", BW_INVALID},
        {"/nowhere/"
         "x " PLANTED,
         "/nowhere/x cannot be run", BW_INVALID},
        {"echo '" PLANTED, "quote", BW_INVALID},
        {"echo " PLANTED, "no JSON object", BW_CORRUPT},
        {"true", "no JSON object", BW_CORRUPT},
        {"false " PLANTED, "exited with status 1", BW_CHILD_FAILED},
        {"sh -c 'kill -9 $$'", "signal 9", BW_CHILD_FAILED},
        {"yes " PLANTED, "more than 65536", BW_TOO_LARGE},
        {"sh -c 'yes " PLANTED " | head -c 70000; sleep 1000'", "more than 65536", BW_TOO_LARGE},
        {"echo '{\"AccessKeyId\": \"" PLANTED "\"}'", "no AccessKeyId and", BW_CORRUPT},
        {"echo '{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" PLANTED
         "\",\"Expiration\":\"soon\"}'",
         "Expiration", BW_CORRUPT},
        {"echo '{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" PLANTED
         "\",\"Expiration\":\"2001-01-01T00:00:00Z\"}'",
         "expired already", BW_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        set_process(&t, rows[i].command);
        const int64_t start_ns = clock_now(clock_system());
        const bw_status status = stand_find(&t, "");
        assert_true(clock_now(clock_system()) - start_ns < 30 * NS_PER_S);
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, "credential_process of profile default");
        stand_says(&t, rows[i].says);
        stand_stop(&t);
    }
}

/* One that does not end is ended with all that it started, as soon as it is told to stop. */
static void test_a_program_is_stopped(void **state)
{
    (void)state;
    chain_stand t;
    stand_start(&t, NULL, 0);
    set_process(&t, "sh -c 'sleep 1000 & sleep 1000'");
    const atomic_bool stop = true;
    s3_chain *chain = stand_chain(&t, "");
    chain->net.stop = &stop;
    const int64_t start_ns = clock_now(clock_system());
    assert_int_equal(stand_ask(&t, &chain->net), BW_INTERRUPTED);
    assert_true(clock_now(clock_system()) - start_ns < 30 * NS_PER_S);
    stand_stop(&t);
}

/* … and does not complain of its pipe on the way. */
static void test_a_program_that_is_stopped_is_quiet(void **state)
{
    (void)state;
    chain_stand t;
    char command[700];
    char *text = NULL;
    size_t size = 0;
    stand_start(&t, NULL, 0);
    const char *path = stand_file(&t, "complaint", "");
    (void)snprintf(command, sizeof command,
                   "sh -c 'trap \"\" PIPE; while echo x; do sleep 0.01; done 2>/dev/null; "
                   "echo complains > %s'",
                   path);
    set_process(&t, command);
    const atomic_bool stop = true;
    for (int i = 0; i < 20; i++) {
        s3_chain *chain = stand_chain(&t, "");
        chain->net.stop = &stop;
        assert_int_equal(stand_ask(&t, &chain->net), BW_INTERRUPTED);
    }
    (void)snprintf(command, sizeof command, "%s/complaint", t.home);
    assert_int_equal(net_file_read(command, &text, &size, t.error), BW_OK);
    assert_int_equal(size, 0);
    net_file_free(text, size);
    stand_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_environment),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_keys_anywhere),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_a_program),
        cmocka_unit_test(test_a_program_sees_the_environment_of_the_start),
        cmocka_unit_test(test_programs_that_fail),
        cmocka_unit_test(test_a_program_is_stopped),
        cmocka_unit_test(test_a_program_that_is_stopped_is_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
