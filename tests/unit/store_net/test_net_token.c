// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Services that hand out tokens: what they are asked, and what is made of each answer, wrong ones
 * most of all. */
#include "chain_stand.h"

#include "store_net/net_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK_HEAD "HTTP/1.1 200 x\r\nConnection: close\r\n"

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static const net_sources no_sources = {.what = "token"};

static net_chain *chain_of(const chain_stand *t)
{
    net_chain *c = net_chain_new(sizeof *c, &no_sources, net_environment_copy(t->variables));
    assert_non_null(c);
    return c;
}

/* Asks with a form that has a secret in it; no error has it. */
static bw_status ask_with(chain_stand *t, net_token_ask *ask)
{
    static const char planted[] = PLANTED "-of-the-form+/=";
    secret hidden = {NULL, 0};
    const uri_parameter form[] = {{"assertion", planted}, {"empty", ""}, {"grant_type", "a b:c"}};
    net_chain *c = chain_of(t);
    net_keys_clear(&t->keys);
    assert_int_equal(secret_set(&hidden, planted, sizeof planted - 1), BW_OK);
    ask->what = "the token service";
    if (ask->url == NULL)
        ask->url = t->url;
    ask->form = form;
    ask->form_count = 3;
    ask->hidden[0] = &hidden;
    const bw_status status = net_token_fetch(c, ask, &t->keys, t->error);
    if (status != BW_OK && strstr(bw_error_message(t->error), PLANTED) != NULL)
        fail_msg("a secret is in: %s", bw_error_message(t->error));
    secret_clear(&hidden);
    net_chain_free(c);
    return status;
}

static void test_a_form(void **state)
{
    (void)state;
    const script_step steps[] = {
        step(ANSWER("200 x", "{\"access_token\":\"" PLANTED ".a_b-c\",\"expires_in\":3599,"
                             "\"token_type\":\"Bearer\"}"))};
    chain_stand t;
    net_token_ask ask = {.url = NULL};
    stand_start(&t, steps, 1);
    assert_int_equal(ask_with(&t, &ask), BW_OK);
    assert_string_equal(secret_text(&t.keys.token), "Bearer " PLANTED ".a_b-c");
    stand_lasts(&t, 3599);
    stand_heard(&t, 0, "POST / HTTP/1.1\r\n");
    stand_heard(&t, 0, "\r\ncontent-type: application/x-www-form-urlencoded\r\n");
    stand_heard(&t, 0, "\r\n\r\nassertion=" PLANTED "-of-the-form%2B%2F%3D&grant_type=a%20b%3Ac");
    stand_stop(&t);
}

/* ---- answers ---- */

typedef struct row {
    const char *answer, *says;
    bw_status status;
    unsigned requests;
} row;

static const row rows[] = {
    /* Good ones, however they are written. */
    {ANSWER("200 x", "{\"access_token\":\"t\",\"expires_in\":\"86399\",\"expires_on\":\"1\"}"), "",
     BW_OK, 1},
    {ANSWER("200 x", "{\"access_token\":\"t\"}"), "", BW_OK, 1},
    {ANSWER("200 x", "{\"accessToken\":\"t\",\"expireTime\":\"2099-01-01T00:00:00Z\"}"), "", BW_OK,
     1},
    {ANSWER("200 x", "{\"access_token\":\"t\",\"expires_on\":4070908800}"), "", BW_OK, 1},
    {ANSWER("200 x", "{\"access_token\":\"t\",\"expires_in\":9999999999}"), "", BW_OK, 1},
    /* Cut, missing, odd. */
    {ANSWER("200 x", "{\"access_token\":\"t\",\"expires_in\":3599"),
     "the answer is no JSON object: the text ends too early", BW_CORRUPT, 1},
    {ANSWER("200 x", ""), "the answer is no JSON object", BW_CORRUPT, 1},
    {ANSWER("200 x", "<html>" PLANTED "</html>"), "the answer is no JSON object: not JSON",
     BW_CORRUPT, 1},
    {ANSWER("200 x", "{\"expires_in\":3599}"), "the answer has no token", BW_CORRUPT, 1},
    {ANSWER("200 x", "{\"access_token\":\"\"}"), "the answer has no token", BW_CORRUPT, 1},
    {ANSWER("200 x", "{\"access_token\":{\"a\":1}}"), "the answer has no token", BW_CORRUPT, 1},
    {ANSWER("200 x", "{\"access_token\":\"" PLANTED "\\r\\nHost: x\"}"), "the token is none",
     BW_CORRUPT, 1},
    {ANSWER("200 x", "{\"access_token\":\"" PLANTED "\",\"expires_in\":0}"), "expired already",
     BW_DENIED, 1},
    {ANSWER("200 x", "{\"access_token\":\"" PLANTED "\",\"expires_on\":\"1000\"}"),
     "expired already", BW_DENIED, 1},
    /* Refusals, with a reason or without. */
    {ANSWER("400 x", "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT "
                     "Signature.\\r\\nTrace: " PLANTED "\"}"),
     "the token service answered 400 invalid_grant: Invalid JWT Signature.", BW_DENIED, 1},
    {ANSWER("403 x", "{\"error\":{\"code\":403,\"message\":\"no access\",\"status\":"
                     "\"PERMISSION_DENIED\"}}"),
     "answered 403 PERMISSION_DENIED: no access", BW_DENIED, 1},
    {ANSWER("400 x",
            "{\"error\":\"x\",\"error_description\":\"you sent " PLANTED "-of-the-form+/=\"}"),
     "answered 400 x", BW_DENIED, 1},
    {ANSWER("400 x", "{\"error\":\"x\",\"error_description\":\"you sent " PLANTED "-of-t\"}"),
     "answered 400 x", BW_DENIED, 1},
    {ANSWER("401 x", "{\"error\":\"cut\",\"error_des"), "answered 401 cut", BW_DENIED, 1},
    {ANSWER("404 x", ""), "answered 404", BW_DENIED, 1},
    {ANSWER("302 x", ""), "answered 302", BW_DENIED, 1},
    /* What may pass is asked three times. */
    {ANSWER("503 x", "{\"error\":\"busy\"}"), "answered 503 busy", BW_IO, 3},
    {ANSWER("429 x", ""), "answered 429", BW_IO, 3},
    {"", "did not answer", BW_IO, 3},
    {"HTTP/1.1 200 x\r\nContent-Length: 50\r\n\r\n{\"access_token\":", "did not answer", BW_IO, 3},
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(rows[i].answer),
                                     step(rows[i].answer)};
        chain_stand t;
        net_token_ask ask = {.url = NULL};
        stand_start(&t, steps, 3);
        const bw_status status = ask_with(&t, &ask);
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        if (status != BW_OK)
            stand_says(&t, rows[i].says);
        assert_true((status == BW_OK) == secret_is_set(&t.keys.token));
        assert_int_equal(script_requests(t.server), rows[i].requests);
        stand_stop(&t);
    }
}

static void test_a_huge_answer(void **state)
{
    (void)state;
    char *answer = calloc(1, HTTP_ANSWER_BYTES_MAX + 256);
    (void)snprintf(answer, 128, OK_HEAD "\r\n{\"access_token\":\"" PLANTED "\",\"x\":\"");
    memset(answer + strlen(answer), 'x', HTTP_ANSWER_BYTES_MAX);
    const script_step steps[] = {step(answer), step(answer)};
    chain_stand t;
    net_token_ask ask = {.url = NULL};
    stand_start(&t, steps, 2);
    assert_int_equal(ask_with(&t, &ask), BW_TOO_LARGE);
    stand_says(&t, "the token service: the answer has more than 65536 bytes");
    assert_int_equal(script_requests(t.server), 1);
    stand_stop(&t);
    free(answer);
}

/* Nothing moves: ended by whoever closes, long before the time is over. */
static void test_a_slow_answer(void **state)
{
    (void)state;
    const script_step steps[] = {{OK_HEAD "\r\n{\"acc", SCRIPT_HANG, false}};
    chain_stand t;
    stand_start(&t, steps, 1);
    net_token_ask ask = {.what = "the token service", .url = t.url};
    const atomic_bool stop = true;
    net_chain *c = chain_of(&t);
    c->stop = &stop;
    const int64_t start_ns = clock_now(clock_system());
    assert_int_equal(net_token_fetch(c, &ask, &t.keys, t.error), BW_INTERRUPTED);
    assert_true(clock_now(clock_system()) - start_ns < 10 * NS_PER_S);
    assert_false(ask.absent);
    net_chain_free(c);
    stand_stop(&t);
}

static void test_a_slow_metadata_service(void **state)
{
    (void)state;
    const script_step steps[] = {{"", SCRIPT_HANG, false},
                                 step(ANSWER("200 x", "{\"access_token\":\"t\"}"))};
    chain_stand t;
    net_token_ask ask = {.metadata = true};
    stand_start(&t, steps, 2);
    assert_int_equal(ask_with(&t, &ask), BW_OK); /* the second time */
    assert_int_equal(script_requests(t.server), 2);
    stand_stop(&t);
}

/* ---- places ---- */

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *says;
        bool metadata;
        bw_status status;
    } places[] = {
        {"http://token.example.org/x", "do not travel over plain http", false, BW_INVALID},
        {"http://127.0.0.1.example.org/", "do not travel over plain http", false, BW_INVALID},
        {"ftp://127.0.0.1/", "endpoint", false, BW_INVALID},
        {"https://a/b c", "no URL", false, BW_INVALID},
        {"https://a/b#c", "no URL", false, BW_INVALID},
        {"https://user:" PLANTED "@a/", "an endpoint is", false, BW_INVALID},
        {"nonsense", "endpoint", false, BW_INVALID},
        {"http://127.0.0.1:1/", "cannot be reached", false, BW_IO},
        {"http://127.0.0.1:1/", "cannot be reached", true, BW_IO},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        chain_stand t;
        net_token_ask ask = {.url = places[i].url, .metadata = places[i].metadata};
        stand_start(&t, NULL, 0);
        if (ask_with(&t, &ask) != places[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, places[i].says);
        stand_says(&t, "the token service: ");
        assert_true(ask.absent == (places[i].status == BW_IO));
        stand_stop(&t);
    }
}

/* A clock that is off by more than a minute is corrected, and lasting counts from the answer. */
static void test_clocks(void **state)
{
    (void)state;
    const script_step steps[] = {
        step(OK_HEAD "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n{\"access_token\":\"t\","
                     "\"expires_on\":784115377}")};
    http_head head = {.status = 400, .date_ms = 784111777000};
    chain_stand t;
    net_token_ask ask = {.url = NULL};
    stand_start(&t, steps, 1);
    assert_int_equal(ask_with(&t, &ask), BW_OK);
    stand_lasts(&t, 3600);
    net_chain *c = chain_of(&t);
    assert_true(net_learn_skew(c, &head));
    assert_true(llabs(net_chain_time(c) - head.date_ms) < 60000);
    assert_false(net_learn_skew(c, &head)); /* it is known by now */
    head = (http_head){.status = 200, .date_ms = 1};
    assert_false(net_learn_skew(c, &head));
    head = (http_head){.status = 400};
    assert_false(net_learn_skew(c, &head));
    net_chain_free(c);
    stand_stop(&t);
}

static void test_files(void **state)
{
    (void)state;
    chain_stand t;
    secret s = {NULL, 0};
    stand_start(&t, NULL, 0);
    assert_int_equal(net_file_secret(stand_file(&t, "a", PLANTED " x \r\n\n"), &s, t.error), BW_OK);
    assert_string_equal(secret_text(&s), PLANTED " x");
    assert_int_equal(net_file_secret(stand_file(&t, "a", " \n"), &s, t.error), BW_INVALID);
    stand_says(&t, "is empty");
    assert_int_equal(net_file_secret("/nowhere/file", &s, t.error), BW_INVALID);
    stand_says(&t, "there is no /nowhere/file");
    assert_int_equal(net_file_secret(t.home, &s, t.error), BW_INVALID);
    stand_says(&t, "is no file of at most");
    char *text = calloc(1, SECRET_BYTES_MAX + 2);
    memset(text, 'x', SECRET_BYTES_MAX + 1);
    assert_int_equal(net_file_secret(stand_file(&t, "a", text), &s, t.error), BW_TOO_LARGE);
    free(text);
    secret_clear(&s);
    stand_stop(&t);
}

static void test_addresses_of_the_link(void **state)
{
    (void)state;
    static const struct {
        const char *origin;
        bool is;
    } hosts[] = {{"http://169.254.169.254", true},
                 {"http://169.254.130.7:8081", true},
                 {"http://169.254.169.254.example.org", false},
                 {"http://169.25.4.1", false},
                 {"http://10.169.254.1", false}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        uri_origin origin;
        assert_int_equal(net_url_origin(hosts[i].origin, &origin, NULL), BW_OK);
        assert_true(net_is_link_local(&origin) == hosts[i].is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_form),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_a_huge_answer),
        cmocka_unit_test(test_a_slow_answer),
        cmocka_unit_test(test_a_slow_metadata_service),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_addresses_of_the_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
