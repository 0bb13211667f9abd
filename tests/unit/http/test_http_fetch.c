// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_fetch.h"

#include "base/clock.h"
#include "script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ANSWER(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body

static const http_options options = {
    .connect_timeout_ns = 5 * NS_PER_S, .stall_s = 5, .connections_max = 1};

/* One fetch of one answer. */
static bw_status fetch(const script_step *step, const atomic_bool *stop, http_request *request,
                       buf *answer, bw_error *error)
{
    char url[64];
    script_server *server = script_start(step, step != NULL ? 1 : 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/planted", script_port(server));
    if (step == NULL)
        script_stop(server); /* nobody is there any more */
    *request = (http_request){.method = HTTP_GET, .url = url, .timeout_ns = 20 * NS_PER_S};
    const bw_status status = http_fetch(&options, request, stop, answer, error);
    if (step != NULL)
        script_stop(server);
    request->url = NULL;
    return status;
}

static void test_answers(void **state)
{
    (void)state;
    static const script_step good = {ANSWER("200 x", "body"), SCRIPT_CLOSE, false};
    static const script_step bad = {ANSWER("404 x", "no"), SCRIPT_CLOSE, false};
    static const script_step none = {"", SCRIPT_CLOSE, false};
    http_request r;
    buf answer;
    bw_error *error = bw_error_new();
    assert_int_equal(http_answer_init(&answer), BW_OK);
    const uint8_t *room = answer.data;
    assert_int_equal(fetch(&good, NULL, &r, &answer, error), BW_OK);
    assert_int_equal(r.head.status, 200);
    assert_string_equal(buf_text(&answer), "body");
    assert_int_equal(fetch(&bad, NULL, &r, &answer, error), BW_OK);
    assert_int_equal(r.head.status, 404);
    assert_string_equal(buf_text(&answer), "no");
    assert_memory_equal(room + 2, "\0\0", 2); /* of the answer before */
    assert_int_equal(fetch(&none, NULL, &r, &answer, error), BW_IO);
    assert_non_null(strstr(bw_error_message(error), "did not answer"));
    assert_null(strstr(bw_error_message(error), "planted"));
    assert_int_equal(fetch(NULL, NULL, &r, &answer, error), BW_IO);
    assert_non_null(strstr(bw_error_message(error), "cannot be reached"));
    assert_ptr_equal(answer.data, room); /* it never grew */
    http_answer_free(&answer);
    bw_error_free(error);
}

static void test_too_much(void **state)
{
    (void)state;
    static char text[HTTP_ANSWER_BYTES_MAX + 200];
    http_request r;
    buf answer;
    const size_t head = (size_t)snprintf(text, sizeof text, "%s", ANSWER("200 x", ""));
    memset(text + head, 'x', HTTP_ANSWER_BYTES_MAX + 1);
    const script_step step = {text, SCRIPT_CLOSE, false};
    assert_int_equal(http_answer_init(&answer), BW_OK);
    assert_int_equal(fetch(&step, NULL, &r, &answer, NULL), BW_TOO_LARGE);
    text[head + HTTP_ANSWER_BYTES_MAX] = '\0';
    assert_int_equal(fetch(&step, NULL, &r, &answer, NULL), BW_OK);
    assert_int_equal(answer.size, HTTP_ANSWER_BYTES_MAX);
    http_answer_free(&answer);
}

static void test_stop(void **state)
{
    (void)state;
    static const script_step hang = {"", SCRIPT_HANG, false};
    const atomic_bool stop = true;
    http_request r;
    buf answer;
    assert_int_equal(http_answer_init(&answer), BW_OK);
    const int64_t start_ns = clock_now(clock_system());
    assert_int_equal(fetch(&hang, &stop, &r, &answer, NULL), BW_INTERRUPTED);
    assert_true(clock_now(clock_system()) - start_ns < 15 * NS_PER_S);
    http_answer_free(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
