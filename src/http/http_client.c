// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_client.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "http/secret.h"
#include "http/uri.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SPARE_HANDLES_MAX 64u
#define LINE_BYTES_MAX 131072u
/* Servers close idle connections after some tens of seconds, proxies earlier; one that is closed in
 * the moment it is used costs a try. */
#define IDLE_S 15L
#define RECEIVE_BUFFER_BYTES (256L * 1024)
#define SEND_BUFFER_BYTES (256L * 1024)

_Static_assert(HTTP_WHY_MAX >= CURL_ERROR_SIZE, "libcurl writes that much");

struct http_client {
    CURLM *multi;
    http_options options;
    http_request *flying; /* linked by next */
    http_request *over, **over_last;
    CURL *spare[SPARE_HANDLES_MAX];
    size_t spares;
    buf line;     /* a header's, while it is made; else zero */
    bool secured; /* there has been TLS */
    atomic_bool woken;
};

static pthread_once_t once_global = PTHREAD_ONCE_INIT;
static bool global_works;

/* libcurl's own state, once for the process: there is no moment at which a library may undo it. */
static void set_up_global(void)
{
    global_works = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/*
 * Whoever calls may not have blocked SIGPIPE, and TLS writes to sockets by plain write. A signal
 * that was raised in between is taken away again, unless it was pending before.
 */
typedef struct pipe_guard {
    sigset_t pipe, before;
    bool pending, needed;
} pipe_guard;

static void guard_enter(const http_client *c, pipe_guard *g)
{
    sigset_t pending;
    g->needed = c->secured; /* libcurl's own writes ask for no signal */
    if (!g->needed)
        return;
    sigemptyset(&g->pipe);
    sigaddset(&g->pipe, SIGPIPE);
    sigpending(&pending);
    g->pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &g->pipe, &g->before);
}

static void guard_leave(const pipe_guard *g)
{
    static const struct timespec at_once = {0, 0};
    if (!g->needed)
        return;
    if (!g->pending)
        (void)sigtimedwait(&g->pipe, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &g->before, NULL);
}

/* ---- libcurl calls back ---- */

static size_t on_line(char *line, size_t size, size_t count, void *context)
{
    http_request *r = context;
    return http_head_line(&r->head, line, size * count) ? size * count : 0;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    http_request *r = context;
    if (r->sink == NULL || r->sink(r, (const uint8_t *)bytes, size * count))
        return size * count;
    r->end = HTTP_STOPPED;
    return 0;
}

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
    http_request *r = context;
    size_t done = 0;
    const size_t capacity = size * count;
    while (done < capacity && r->piece < r->piece_count) {
        const struct iovec *piece = &r->pieces[r->piece];
        size_t part = piece->iov_len - r->piece_at;
        part = part < capacity - done ? part : capacity - done;
        if (part > 0)
            memcpy(to + done, (const uint8_t *)piece->iov_base + r->piece_at, part);
        done += part;
        r->piece_at += part;
        if (r->piece_at == piece->iov_len) {
            r->piece++;
            r->piece_at = 0;
        }
    }
    return done;
}

static int on_seek(void *context, curl_off_t offset, int origin)
{
    http_request *r = context;
    if (r->once || offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    r->piece = r->piece_at = 0;
    return CURL_SEEKFUNC_OK;
}

/* Right before the request is sent, each time that it is: libcurl by itself sends it again when a
 * connection that was kept had been closed by the other side. */
static int on_send(void *context, char *local, char *remote, int local_port, int remote_port)
{
    http_request *r = context;
    (void)local;
    (void)remote;
    (void)local_port;
    (void)remote_port;
    if (r->once && r->sends > 0)
        return CURL_PREREQFUNC_ABORT;
    r->sends++;
    return CURL_PREREQFUNC_OK;
}

/* ---- requests ---- */

static CURL *take_handle(http_client *c)
{
    if (c->spares == 0)
        return curl_easy_init();
    return c->spare[--c->spares];
}

/* One whose transfer failed is not used again: when it ended before there was a connection, libcurl
 * 7.88 leaves it a buffer, and takes no size for one from then on. */
static void drop_handle(http_client *c, http_request *r, bool is_good)
{
    if (r->easy == NULL)
        return;
    /* Tokens are among them. */
    for (struct curl_slist *line = r->lines; line != NULL; line = line->next)
        secret_wipe(line->data, strlen(line->data));
    curl_slist_free_all(r->lines);
    r->lines = NULL;
    if (is_good && c->spares < SPARE_HANDLES_MAX) {
        curl_easy_reset(r->easy);
        c->spare[c->spares++] = r->easy;
    } else {
        curl_easy_cleanup(r->easy);
    }
    r->easy = NULL;
}

static void finish(http_client *c, http_request *r)
{
    r->next = NULL;
    *c->over_last = r;
    c->over_last = &r->next;
}

static void refuse(http_client *c, http_request *r, http_end end, const char *why)
{
    const size_t size = strnlen(why, sizeof r->why - 1);
    memcpy(r->why, why, size);
    r->why[size] = '\0';
    r->end = end;
    finish(c, r);
}

static bool add_line(http_client *c, struct curl_slist **lines, const char *name, const char *value)
{
    buf_reset(&c->line);
    /* There are tokens among them: at its full size at once, since what grows may leave a copy. */
    (void)buf_reserve(&c->line, strlen(name) + strlen(": ") + strlen(value) + 1);
    buf_put_text(&c->line, name);
    /* Without a value, what libcurl would send by itself is not sent. */
    buf_put_text(&c->line, value[0] != '\0' ? ": " : ":");
    buf_put_text(&c->line, value);
    const char *line = buf_text(&c->line);
    struct curl_slist *longer =
        buf_status(&c->line) == BW_OK ? curl_slist_append(*lines, line) : NULL;
    if (c->line.data != NULL)
        secret_wipe(c->line.data, c->line.size);
    if (longer == NULL)
        return false;
    *lines = longer;
    return true;
}

static bool set_headers(http_client *c, http_request *r)
{
    struct curl_slist *lines = NULL;
    bool good = true;
    for (size_t i = 0; i < r->header_count && good; i++)
        good = add_line(c, &lines, r->headers[i].name, r->headers[i].value);
    if (r->method == HTTP_PUT || r->method == HTTP_POST)
        good = good && add_line(c, &lines, "Expect", "");
    r->lines = lines;
    return good && (lines == NULL || curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, lines) == 0);
}

static CURLcode set_method(http_request *r)
{
    CURLcode code = CURLE_OK;
    const curl_off_t bytes = (curl_off_t)r->body_bytes;
    switch (r->method) {
    case HTTP_GET:
        return curl_easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
    case HTTP_HEAD:
        return curl_easy_setopt(r->easy, CURLOPT_NOBODY, 1L);
    case HTTP_DELETE:
        return curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    case HTTP_PUT:
        code = curl_easy_setopt(r->easy, CURLOPT_UPLOAD, 1L);
        code |= curl_easy_setopt(r->easy, CURLOPT_INFILESIZE_LARGE, bytes);
        break;
    case HTTP_POST:
        code = curl_easy_setopt(r->easy, CURLOPT_POST, 1L);
        code |= curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, bytes);
        break;
    }
    code |= curl_easy_setopt(r->easy, CURLOPT_READFUNCTION, on_read);
    code |= curl_easy_setopt(r->easy, CURLOPT_READDATA, r);
    code |= curl_easy_setopt(r->easy, CURLOPT_SEEKFUNCTION, on_seek);
    code |= curl_easy_setopt(r->easy, CURLOPT_SEEKDATA, r);
    if (r->body_bytes > (uint64_t)SEND_BUFFER_BYTES)
        code |= curl_easy_setopt(r->easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
    return code;
}

static CURLcode set_safety(const http_client *c, http_request *r, const uri_origin *origin)
{
    CURL *e = r->easy;
    CURLcode code = curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    code |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    code |=
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                         (long)(c->options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    /* Rather wait for a connection that may take many than open one each. */
    code |= curl_easy_setopt(e, CURLOPT_PIPEWAIT, (long)c->options.http2);
    code |= curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    code |= curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
    code |= curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    if (c->options.ca_file != NULL)
        code |= curl_easy_setopt(e, CURLOPT_CAINFO, c->options.ca_file);
    /* A proxy cannot reach what is on this machine, and must not see what metadata services say. */
    if (origin->loopback || r->no_proxy)
        code |= curl_easy_setopt(e, CURLOPT_PROXY, "");
    code |= curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    code |= curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    code |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    return code;
}

static CURLcode set_times(const http_client *c, http_request *r)
{
    CURL *e = r->easy;
    CURLcode code = curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                                     (long)(c->options.connect_timeout_ns / NS_PER_MS));
    code |= curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)(r->timeout_ns / NS_PER_MS));
    code |= curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
    code |= curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)c->options.stall_s);
    code |= curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, IDLE_S);
    return code;
}

static CURLcode set_up(const http_client *c, http_request *r, const uri_origin *origin)
{
    CURL *e = r->easy;
    CURLcode code = set_safety(c, r, origin);
    code |= set_times(c, r);
    code |= set_method(r);
    code |= curl_easy_setopt(e, CURLOPT_URL, r->url);
    code |= curl_easy_setopt(e, CURLOPT_USERAGENT, "batchweave/" BATCHWEAVE_VERSION);
    code |= curl_easy_setopt(e, CURLOPT_PRIVATE, r);
    code |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, r->why);
    code |= curl_easy_setopt(e, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_BYTES);
    code |= curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_line);
    code |= curl_easy_setopt(e, CURLOPT_HEADERDATA, r);
    code |= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_bytes);
    code |= curl_easy_setopt(e, CURLOPT_WRITEDATA, r);
    code |= curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_send);
    code |= curl_easy_setopt(e, CURLOPT_PREREQDATA, r);
    return code;
}

/* scheme://host:port of a URL. */
static bool origin_of(const char *url, uri_origin *out)
{
    char text[URI_HOST_MAX + 32];
    const char *host = strstr(url, "://");
    const size_t size =
        host == NULL ? sizeof text : (size_t)(host - url) + 3 + strcspn(host + 3, "/?#");
    if (size >= sizeof text)
        return false;
    memcpy(text, url, size);
    text[size] = '\0';
    return uri_parse_origin(text, out, NULL) == BW_OK;
}

/** Whether each is one line: what follows a line break would be a header of its own, or a request.
 */
static bool headers_are_lines(const http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strpbrk(r->headers[i].name, "\r\n") != NULL ||
            strpbrk(r->headers[i].value, "\r\n") != NULL)
            return false;
    return true;
}

void http_submit(http_client *c, http_request *r)
{
    uri_origin origin;
    http_head_init(&r->head);
    r->end = HTTP_ANSWERED;
    r->why[0] = '\0';
    r->starved = false;
    r->piece = r->piece_at = 0;
    r->sends = 0;
    r->lines = NULL;
    r->easy = NULL;
    if (!origin_of(r->url, &origin)) {
        refuse(c, r, HTTP_REFUSED, "the URL names no host");
        return;
    }
    if (!origin.tls && !origin.loopback && !c->options.plain_http) {
        refuse(c, r, HTTP_REFUSED,
               "plain http to another machine is refused: write https, or allow it by plain_http");
        return;
    }
    if (!headers_are_lines(r)) {
        refuse(c, r, HTTP_REFUSED,
               "a header has a line break in it: look at keys, tokens and settings");
        return;
    }
    c->secured = c->secured || origin.tls;
    r->easy = take_handle(c);
    if (r->easy == NULL || !set_headers(c, r) || set_up(c, r, &origin) != CURLE_OK ||
        curl_multi_add_handle(c->multi, r->easy) != CURLM_OK) {
        drop_handle(c, r, false);
        r->starved = true;
        refuse(c, r, HTTP_NOT_SENT, "no memory for a request");
        return;
    }
    r->next = c->flying;
    c->flying = r;
}

static http_end end_of(const http_request *r, CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return HTTP_ANSWERED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return r->sends == 0 ? HTTP_REFUSED : HTTP_CUT;
    default:
        return r->sends == 0 ? HTTP_NOT_SENT : HTTP_CUT;
    }
}

static void unlink_flying(http_client *c, const http_request *r)
{
    http_request **at = &c->flying;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
}

/* libcurl says that it could not connect, the system why. */
static void tell_errno(http_request *r)
{
    long number = 0;
    char text[64];
    const size_t size = strlen(r->why);
    if (curl_easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number != 0)
        (void)snprintf(r->why + size, sizeof r->why - size, ": %s",
                       strerror_r((int)number, text, sizeof text));
}

static void land(http_client *c, http_request *r, CURLcode code)
{
    unlink_flying(c, r);
    (void)curl_multi_remove_handle(c->multi, r->easy);
    if (r->end != HTTP_STOPPED)
        r->end = end_of(r, code);
    if (code == CURLE_OK || r->end == HTTP_STOPPED) {
        r->why[0] = '\0';
    } else if (r->why[0] == '\0') {
        const char *text = curl_easy_strerror(code);
        const size_t size = strnlen(text, sizeof r->why - 1);
        memcpy(r->why, text, size);
        r->why[size] = '\0';
    }
    if (code == CURLE_COULDNT_CONNECT)
        tell_errno(r);
    drop_handle(c, r, code == CURLE_OK);
    finish(c, r);
}

static void move_on(http_client *c)
{
    pipe_guard guard;
    int running = 0;
    int left = 0;
    guard_enter(c, &guard);
    (void)curl_multi_perform(c->multi, &running);
    for (CURLMsg *m = curl_multi_info_read(c->multi, &left); m != NULL;
         m = curl_multi_info_read(c->multi, &left)) {
        http_request *r = NULL;
        const CURLcode code = m->data.result;
        if (m->msg == CURLMSG_DONE &&
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &r) == CURLE_OK)
            land(c, r, code);
    }
    guard_leave(&guard);
}

static http_request *take_over(http_client *c)
{
    http_request *r = c->over;
    if (r == NULL)
        return NULL;
    c->over = r->next;
    if (c->over == NULL)
        c->over_last = &c->over;
    r->next = NULL;
    return r;
}

http_request *http_poll(http_client *c, int64_t timeout_ns)
{
    http_request *r = take_over(c);
    if (r != NULL)
        return r;
    const int64_t deadline_ns = timeout_ns == 0 ? 0 : clock_deadline(clock_system(), timeout_ns);
    while (c->flying != NULL) {
        move_on(c);
        r = take_over(c);
        if (r != NULL || timeout_ns == 0)
            return r;
        if (atomic_exchange(&c->woken, false))
            return NULL;
        const int64_t left_ns = deadline_ns - clock_now(clock_system());
        if (left_ns <= 0)
            return NULL;
        const int64_t left_ms = (left_ns + NS_PER_MS - 1) / NS_PER_MS;
        (void)curl_multi_poll(c->multi, NULL, 0, left_ms < 1000 ? (int)left_ms : 1000, NULL);
    }
    return NULL;
}

void http_cancel(http_client *c)
{
    pipe_guard guard;
    guard_enter(c, &guard);
    while (c->flying != NULL)
        land(c, c->flying, CURLE_ABORTED_BY_CALLBACK);
    guard_leave(&guard);
}

void http_take_back(http_client *c, http_request *r)
{
    if (r->easy != NULL) {
        pipe_guard guard;
        guard_enter(c, &guard);
        land(c, r, CURLE_ABORTED_BY_CALLBACK);
        guard_leave(&guard);
    }
    http_request *before = NULL;
    for (http_request *at = c->over; at != r; at = at->next)
        before = at;
    if (before == NULL)
        c->over = r->next;
    else
        before->next = r->next;
    if (r->next == NULL)
        c->over_last = before == NULL ? &c->over : &before->next;
}

void http_wake(http_client *c)
{
    atomic_store(&c->woken, true);
    (void)curl_multi_wakeup(c->multi);
}

bw_status http_client_new(const http_options *options, http_client **out, bw_error *error)
{
    (void)pthread_once(&once_global, set_up_global);
    http_client *c = global_works ? mem_zalloc(sizeof *c) : NULL;
    if (c != NULL)
        c->multi = curl_multi_init();
    if (c == NULL || c->multi == NULL) {
        mem_free(c);
        return error_set(error, BW_NOMEM, "no memory for an HTTP client");
    }
    c->options = *options;
    c->over_last = &c->over;
    buf_init(&c->line, LINE_BYTES_MAX);
    atomic_init(&c->woken, false);
    (void)curl_multi_setopt(c->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                            (long)options->connections_max);
    (void)curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)options->connections_max);
    (void)curl_multi_setopt(c->multi, CURLMOPT_PIPELINING,
                            (long)(options->http2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING));
    *out = c;
    return BW_OK;
}

void http_client_free(http_client *c)
{
    if (c == NULL)
        return;
    http_cancel(c);
    pipe_guard guard;
    guard_enter(c, &guard);
    while (c->spares > 0)
        curl_easy_cleanup(c->spare[--c->spares]);
    (void)curl_multi_cleanup(c->multi);
    guard_leave(&guard);
    buf_free(&c->line);
    mem_free(c);
}
