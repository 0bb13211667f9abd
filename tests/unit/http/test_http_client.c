// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a client does with answers, and with their absence: against a server that is scripted. */
#include "http/http_client.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "script_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define OK_TEN "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"

typedef struct stand {
    script_server *server;
    http_client *client;
    char url[64];
    buf body;
    size_t body_max;
} stand;

static stand *start(const script_step *steps, size_t count)
{
    static const http_options options = {
        .connect_timeout_ns = 5 * NS_PER_S, .stall_s = 30, .connections_max = 4};
    stand *t = calloc(1, sizeof *t);
    t->server = script_start(steps, count);
    (void)snprintf(t->url, sizeof t->url, "http://127.0.0.1:%u/a/b?c=d", script_port(t->server));
    assert_int_equal(http_client_new(&options, &t->client, NULL), BW_OK);
    buf_init(&t->body, 65536);
    t->body_max = SIZE_MAX;
    return t;
}

static void stop(stand *t)
{
    http_client_free(t->client);
    script_stop(t->server);
    buf_free(&t->body);
    free(t);
}

static bool sink(http_request *r, const uint8_t *bytes, size_t size)
{
    stand *t = r->owner;
    if (t->body.size + size > t->body_max)
        return false;
    buf_put(&t->body, bytes, size);
    return true;
}

static http_request request(stand *t, http_method method)
{
    buf_reset(&t->body);
    return (http_request){
        .method = method, .url = t->url, .timeout_ns = 10 * NS_PER_S, .sink = sink, .owner = t};
}

static void run_one(stand *t, http_request *r)
{
    http_submit(t->client, r);
    assert_ptr_equal(http_poll(t->client, TIME_NEVER), r);
    assert_null(http_poll(t->client, TIME_NEVER)); /* nothing in flight: no wait */
}

static void test_methods_headers_and_bodies(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {OK_TEN, SCRIPT_KEEP, false},
        {OK_EMPTY, SCRIPT_KEEP, false},
        {OK_EMPTY, SCRIPT_KEEP, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", SCRIPT_KEEP, false},
        {"HTTP/1.1 204 No Content\r\n\r\n", SCRIPT_KEEP, false},
        {OK_EMPTY, SCRIPT_KEEP, false}};
    stand *t = start(steps, 6);
    char ab[] = "ab", c[] = "c";
    const struct iovec pieces[] = {{ab, 2}, {NULL, 0}, {c, 1}, {ab, 2}};
    static const http_method methods[] = {HTTP_GET,  HTTP_PUT,    HTTP_POST,
                                          HTTP_HEAD, HTTP_DELETE, HTTP_PUT};
    static const char *const lines[] = {
        "GET /a/b?c=d HTTP/1.1\r\n",  "PUT /a/b?c=d HTTP/1.1\r\n",    "POST /a/b?c=d HTTP/1.1\r\n",
        "HEAD /a/b?c=d HTTP/1.1\r\n", "DELETE /a/b?c=d HTTP/1.1\r\n", "PUT /a/b?c=d HTTP/1.1\r\n"};
    for (unsigned i = 0; i < 6; i++) {
        http_request r = request(t, methods[i]);
        r.headers[0] = (http_header){"x-one", "1 2"};
        r.headers[1] = (http_header){"Accept", ""};
        r.header_count = 2;
        if (i == 1 || i == 2) {
            r.pieces = pieces;
            r.piece_count = 4;
            r.body_bytes = 5;
        }
        run_one(t, &r);
        assert_int_equal(r.end, HTTP_ANSWERED);
        const char *heard = script_heard(t->server, i);
        assert_memory_equal(heard, lines[i], strlen(lines[i]));
        assert_non_null(strstr(heard, "\r\nx-one: 1 2\r\n"));
        assert_null(strstr(heard, "Accept"));
        assert_null(strstr(heard, "Expect"));
        const bool body = i == 1 || i == 2;
        assert_string_equal(strstr(heard, "\r\n\r\n") + 4, body ? "abcab" : "");
        if (i == 1 || i == 2)
            assert_non_null(strstr(heard, "\r\nContent-Length: 5\r\n"));
        if (i == 5)
            assert_non_null(strstr(heard, "\r\nContent-Length: 0\r\n"));
        assert_int_equal(r.head.status, i == 4 ? 204 : 200);
        assert_int_equal(t->body.size, i == 0 ? 10 : 0);
        if (i == 3)
            assert_int_equal(r.head.length, 10);
    }
    assert_int_equal(script_connections(t->server), 1); /* kept alive */
    stop(t);
}

static void test_many_in_flight_on_few_connections(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    script_step steps[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        steps[i] = (script_step){OK_TEN, SCRIPT_KEEP, false};
    stand *t = start(steps, COUNT);
    http_request r[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        r[i] = request(t, HTTP_GET);
        http_submit(t->client, &r[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const http_request *one = http_poll(t->client, TIME_NEVER);
        assert_non_null(one);
        assert_int_equal(one->end, HTTP_ANSWERED);
    }
    assert_int_equal(t->body.size, 10 * COUNT);
    assert_in_range(script_connections(t->server), 1, 4);
    stop(t);
}

/* What the answer's absence means: whether the request may have arrived. */
static void test_ends(void **state)
{
    (void)state;
    static const struct {
        script_step step;
        http_end end;
        int status;
    } rows[] = {
        {{"", SCRIPT_CLOSE, false}, HTTP_CUT, 0},
        {{"", SCRIPT_RESET, false}, HTTP_CUT, 0},
        {{"HTTP/1.1 2", SCRIPT_CLOSE, false}, HTTP_CUT, 0},
        {{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234", SCRIPT_CLOSE, false},
         HTTP_CUT,
         200},
        {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n", SCRIPT_CLOSE,
          false},
         HTTP_CUT,
         200},
        {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", SCRIPT_CLOSE, false},
         HTTP_CUT,
         200},
        {{"HTTP/1.1 503 Slow Down\r\nContent-Length: 10\r\n\r\n01", SCRIPT_RESET, false},
         HTTP_CUT,
         503},
        {{"no HTTP at all\r\n\r\n", SCRIPT_CLOSE, false}, HTTP_CUT, 0},
        {{"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
          SCRIPT_KEEP, false},
         HTTP_ANSWERED,
         301},
        {{"HTTP/1.1 307 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n", SCRIPT_KEEP,
          false},
         HTTP_ANSWERED,
         307},
        {{"HTTP/1.1 100 Continue\r\n\r\n" OK_EMPTY, SCRIPT_KEEP, false}, HTTP_ANSWERED, 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int method = HTTP_GET; method <= HTTP_PUT; method += HTTP_PUT - HTTP_GET) {
            stand *t = start(&rows[i].step, 1);
            http_request r = request(t, (http_method)method);
            r.once = true;
            run_one(t, &r);
            if (r.end != rows[i].end || r.head.status != rows[i].status)
                fail_msg("row %zu: end %d, status %d, %s", i, (int)r.end, r.head.status, r.why);
            assert_int_equal(script_requests(t->server), 1);
            assert_int_equal(r.why[0] == '\0', r.end == HTTP_ANSWERED);
            stop(t);
        }
    }
}

/* A connection that was kept is closed in the moment it is used again: libcurl would send a request
 * once more by itself, and may for all that can be repeated. */
static void test_once_means_once(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {OK_EMPTY, SCRIPT_KEEP, false}, {"", SCRIPT_CLOSE, false}, {OK_EMPTY, SCRIPT_KEEP, false}};
    for (int row = 0; row < 4; row++) {
        const int once = row % 2;
        const bool empty = row / 2 != 0; /* of a body, the position is asked for first */
        stand *t = start(steps, 3);
        char text[] = "body";
        const struct iovec piece = {text, 4};
        http_request first = request(t, HTTP_GET);
        run_one(t, &first);
        http_request r = request(t, HTTP_PUT);
        r.once = once != 0;
        r.pieces = &piece;
        r.piece_count = empty ? 0 : 1;
        r.body_bytes = empty ? 0 : 4;
        run_one(t, &r);
        assert_int_equal(r.end, once ? HTTP_CUT : HTTP_ANSWERED);
        assert_int_equal(script_requests(t->server), once ? 2 : 3);
        stop(t);
    }
}

/* A loser's body is not wanted: the answer comes before it was sent, and the connection closes. */
static void test_an_early_refusal_is_heard(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
         SCRIPT_KEEP, true}};
    stand *t = start(steps, 1);
    const size_t size = 8u << 20;
    struct iovec piece = {calloc(1, size), size};
    http_request r = request(t, HTTP_PUT);
    r.once = true;
    r.pieces = &piece;
    r.piece_count = 1;
    r.body_bytes = size;
    run_one(t, &r);
    assert_int_equal(r.head.status, 412);
    assert_true(r.end == HTTP_ANSWERED || r.end == HTTP_CUT);
    free(piece.iov_base);
    stop(t);
}

static void test_nothing_was_sent(void **state)
{
    (void)state;
    stand *t = start(NULL, 0);
    script_stop(t->server);
    static const script_step none[] = {{"", SCRIPT_CLOSE, false}};
    http_request r = request(t, HTTP_PUT);
    run_one(t, &r); /* nobody listens there any more */
    assert_int_equal(r.end, HTTP_NOT_SENT);
    assert_int_equal(r.head.status, 0);
    static const char *const refused[] = {"http://192.0.2.1/", "http://example.org:80/x", "nothing",
                                          "file:///etc/passwd", "ftp://127.0.0.1/"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        r = request(t, HTTP_GET);
        r.url = refused[i];
        run_one(t, &r);
        assert_int_equal(r.end, HTTP_REFUSED);
        assert_string_not_equal(r.why, "");
    }
    t->server = script_start(none, 1);
    stop(t);
}

/* The value may be a token: what is told of it is not a byte of it. */
/* After a name that was not found every request of the client failed for want of memory. A label of
 * more than 63 letters is found by nobody, and nobody is asked for it. */
static void test_a_name_that_is_not_found(void **state)
{
    (void)state;
    static const script_step steps[] = {{OK_EMPTY, SCRIPT_KEEP, false}};
    stand *t = start(steps, 1);
    for (int i = 0; i < 3; i++) {
        http_request r = request(t, HTTP_GET);
        r.url = "https://a234567890123456789012345678901234567890123456789012345678901234/";
        run_one(t, &r);
        assert_int_equal(r.end, HTTP_NOT_SENT);
        assert_false(r.starved);
        assert_non_null(strstr(r.why, "resolve"));
    }
    http_request r = request(t, HTTP_GET);
    run_one(t, &r);
    assert_int_equal(r.end, HTTP_ANSWERED);
    stop(t);
}

static void test_a_header_is_one_line(void **state)
{
    (void)state;
    static const script_step steps[] = {{OK_EMPTY, SCRIPT_KEEP, false}};
    static const http_header bad[] = {
        {"authorization", "Bearer zebra\r\nx-evil: 1"}, {"x-one", "zebra\n"}, {"x-one\r", "1"}};
    stand *t = start(steps, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_request r = request(t, HTTP_PUT);
        r.headers[0] = (http_header){"x-good", "1"};
        r.headers[1] = bad[i];
        r.header_count = 2;
        run_one(t, &r);
        assert_int_equal(r.end, HTTP_REFUSED);
        assert_string_not_equal(r.why, "");
        assert_null(strstr(r.why, "zebra"));
    }
    assert_int_equal(script_connections(t->server), 0);
    http_request r = request(t, HTTP_PUT);
    run_one(t, &r);
    assert_int_equal(r.head.status, 200);
    stop(t);
}

/* ---- what is left in memory ---- */

static const char token[] = "wJalrXUtnFEMI/K7MDENG";

/* The memory that submitting took last, by wrapping what buffers grow by. */
static _Thread_local struct watched {
    bool on;
    void *memory;
    size_t bytes;
    unsigned grown, left;
} watched;

static bool holds_token(void)
{
    return watched.memory != NULL &&
           memmem(watched.memory, watched.bytes, token, sizeof token - 1) != NULL;
}

void *__real_mem_realloc(void *memory, size_t bytes);
void *__wrap_mem_realloc(void *memory, size_t bytes);
void *__wrap_mem_realloc(void *memory, size_t bytes)
{
    if (!watched.on)
        return __real_mem_realloc(memory, bytes);
    if (memory != NULL && memory == watched.memory)
        watched.left += holds_token();
    watched.memory = NULL;
    void *grown = __real_mem_realloc(memory, bytes);
    if (grown != NULL) {
        const size_t had = memory != NULL ? watched.bytes : 0;
        memset((char *)grown + had, 0, bytes - had); /* what it was before is none of ours */
        watched.memory = grown;
        watched.bytes = bytes;
        watched.grown++;
    }
    return grown;
}

static void test_no_token_is_left_behind(void **state)
{
    (void)state;
    static const script_step steps[] = {{OK_EMPTY, SCRIPT_KEEP, false}};
    char value[4][600];
    stand *t = start(steps, 1);
    http_request r = request(t, HTTP_GET);
    for (unsigned i = 0; i < 4; i++) {
        memset(value[i], 'x', sizeof value[i]);
        memcpy(value[i] + 30u * i * i, token, sizeof token - 1);
        value[i][120u * (i + 1)] = '\0';
        r.headers[i] = (http_header){"authorization", value[i]};
    }
    r.header_count = 4;
    watched = (struct watched){.on = true};
    http_submit(t->client, &r);
    watched.on = false;
    assert_true(watched.grown >= 2);
    assert_int_equal(watched.left, 0);
    assert_false(holds_token());
    assert_ptr_equal(http_poll(t->client, TIME_NEVER), &r);
    assert_int_equal(r.end, HTTP_ANSWERED);
    assert_non_null(strstr(script_heard(t->server, 0), token)); /* it was sent */
    stop(t);
}

static void test_limits_of_time(void **state)
{
    (void)state;
    static const script_step steps[] = {{"", SCRIPT_HANG, false}, {"", SCRIPT_HANG, false}};
    stand *t = start(steps, 2);
    http_request r = request(t, HTTP_GET);
    r.timeout_ns = 600 * NS_PER_S;
    http_submit(t->client, &r);
    assert_null(http_poll(t->client, 0));
    assert_null(http_poll(t->client, 20 * NS_PER_MS)); /* the poll's */
    http_cancel(t->client);
    assert_ptr_equal(http_poll(t->client, 0), &r);
    r = request(t, HTTP_GET);
    r.timeout_ns = 200 * NS_PER_MS;
    http_submit(t->client, &r);
    assert_ptr_equal(http_poll(t->client, TIME_NEVER), &r); /* the request's */
    assert_int_equal(r.head.status, 0);
    assert_true(r.end == HTTP_CUT || r.end == HTTP_NOT_SENT);
    stop(t);
}

static void test_a_sink_may_have_enough(void **state)
{
    (void)state;
    static const script_step steps[] = {{OK_TEN, SCRIPT_KEEP, false}, {OK_TEN, SCRIPT_KEEP, false}};
    stand *t = start(steps, 2);
    t->body_max = 9;
    http_request r = request(t, HTTP_GET);
    run_one(t, &r);
    assert_int_equal(r.end, HTTP_STOPPED);
    t->body_max = 10;
    r = request(t, HTTP_GET);
    run_one(t, &r);
    assert_int_equal(r.end, HTTP_ANSWERED);
    stop(t);
}

static void test_cancel_and_close(void **state)
{
    (void)state;
    static const script_step steps[] = {{"", SCRIPT_HANG, false}, {"", SCRIPT_HANG, false}};
    stand *t = start(steps, 2);
    http_request r = request(t, HTTP_GET);
    http_submit(t->client, &r);
    assert_null(http_poll(t->client, 50 * NS_PER_MS));
    http_cancel(t->client);
    assert_ptr_equal(http_poll(t->client, 0), &r);
    assert_int_equal(r.end, HTTP_CUT);
    r = request(t, HTTP_GET);
    http_submit(t->client, &r);
    assert_null(http_poll(t->client, 50 * NS_PER_MS));
    stop(t); /* with one in flight */
}

static void *wake_soon(void *context)
{
    (void)usleep(100000);
    http_wake(context);
    return NULL;
}

static void test_wake(void **state)
{
    (void)state;
    static const script_step steps[] = {{"", SCRIPT_HANG, false}};
    stand *t = start(steps, 1);
    pthread_t thread;
    http_request r = request(t, HTTP_GET);
    http_submit(t->client, &r);
    assert_int_equal(pthread_create(&thread, NULL, wake_soon, t->client), 0);
    assert_null(http_poll(t->client, TIME_NEVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    stop(t);
}

/* Many writes into connections that are gone; the signal would end this process. */
static void test_no_signal_of_broken_pipes(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    script_step steps[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        steps[i] = (script_step){"", SCRIPT_RESET, true};
    stand *t = start(steps, COUNT);
    const size_t size = 4u << 20;
    struct iovec piece = {calloc(1, size), size};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    assert_int_equal(sigaction(SIGPIPE, &usual, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        http_request r = request(t, HTTP_PUT);
        r.once = true;
        r.pieces = &piece;
        r.piece_count = 1;
        r.body_bytes = size;
        run_one(t, &r);
        assert_int_equal(r.end, HTTP_CUT);
    }
    sigset_t pending;
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    free(piece.iov_base);
    stop(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_headers_and_bodies),
        cmocka_unit_test(test_many_in_flight_on_few_connections),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_once_means_once),
        cmocka_unit_test(test_an_early_refusal_is_heard),
        cmocka_unit_test(test_nothing_was_sent),
        cmocka_unit_test(test_a_name_that_is_not_found),
        cmocka_unit_test(test_a_header_is_one_line),
        cmocka_unit_test(test_no_token_is_left_behind),
        cmocka_unit_test(test_limits_of_time),
        cmocka_unit_test(test_a_sink_may_have_enough),
        cmocka_unit_test(test_cancel_and_close),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_no_signal_of_broken_pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
