// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Sending: the answer as pieces that are never copied, bent and cut as the plan says. */
#include "connection.h"

#include "base/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

/* A piece of a paced answer: a millisecond at 64 MB/s. */
#define PACE_BYTES 65536u

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {201, "Created"},
                   {202, "Accepted"},
                   {204, "No Content"},
                   {206, "Partial Content"},
                   {301, "Moved Permanently"},
                   {307, "Temporary Redirect"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {411, "Length Required"},
                   {412, "Precondition Failed"},
                   {413, "Content Too Large"},
                   {416, "Range Not Satisfiable"},
                   {429, "Too Many Requests"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {502, "Bad Gateway"},
                   {503, "Service Unavailable"},
                   {504, "Gateway Timeout"},
                   {507, "Insufficient Storage"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Other";
}

static void add_piece(connection *c, const void *bytes, uint64_t size)
{
    if (size > 0)
        c->out[c->out_count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = (size_t)size};
}

/** The body, with the byte at `corrupt_at` (or the last) replaced when the plan corrupts. */
static void add_body(connection *c, const uint8_t *bytes, uint64_t size)
{
    const plan *p = &c->exchange.plan;
    if (p->reply != REPLY_CORRUPT || size == 0) {
        add_piece(c, bytes, size);
        return;
    }
    const uint64_t at = (uint64_t)p->corrupt_at < size ? (uint64_t)p->corrupt_at : size - 1;
    c->flipped = bytes[at] ^ 0x20;
    add_piece(c, bytes, at);
    add_piece(c, &c->flipped, 1);
    add_piece(c, bytes + at + 1, size - at - 1);
}

/** How much of the answer leaves before its end, if not all. */
static uint64_t limit_of(const connection *c)
{
    const plan *p = &c->exchange.plan;
    uint64_t limit = UINT64_MAX;
    if (p->end == END_NORMAL)
        return c->send_size;
    if (p->body_bytes >= 0)
        limit =
            p->body_bytes == INT64_MAX ? UINT64_MAX : c->send_head_size + (uint64_t)p->body_bytes;
    else
        limit = p->head_bytes >= 0 ? (uint64_t)p->head_bytes : 0;
    return limit < c->send_size ? limit : c->send_size;
}

void connection_compose(connection *c)
{
    exchange *x = &c->exchange;
    reply *r = &x->reply;
    const outcome *out = &x->outcome;
    const uint64_t size = r->bytes ? out->size : r->body.size;
    buf_reset(&c->head);
    buf_printf(&c->head, "HTTP/1.1 %d %s\r\nDate: %s\r\nServer: batchweave-teststore\r\n",
               r->status, reason(r->status), x->date);
    buf_put(&c->head, r->head.data, r->head.size);
    if (r->status != 204)
        buf_printf(&c->head, "Content-Length: %" PRIu64 "\r\n", size);
    if (!x->request.keep_alive)
        c->closing = true;
    buf_printf(&c->head, "Connection: %s\r\n\r\n", c->closing ? "close" : "keep-alive");
    c->out_count = c->out_at = 0;
    add_piece(c, c->head.data, c->head.size);
    if (!r->bodiless)
        add_body(c, r->bytes ? out->object.bytes->bytes + out->from : r->body.data, size);
    c->send_head_size = c->head.size;
    c->send_size = c->head.size + (r->bodiless ? 0 : size);
    c->send_limit = limit_of(c);
    c->sent = c->credit = 0;
    const verb v = x->operation.verb;
    count(&c->worker->counting->by_status[v][(unsigned)r->status % STATUS_COUNT], 1);
    if (c->send_limit > c->send_head_size)
        count(&c->worker->counting->bytes_out[v], c->send_limit - c->send_head_size);
    c->lost = c->send_limit < c->send_size;
    if (c->lost)
        count(&c->worker->counting->lost[v], 1);
}

/** What may be sent at once; 0: the timer has the rest. */
static uint64_t allowance(connection *c)
{
    faults *f = c->worker->server->faults;
    const uint64_t left = c->send_limit - c->sent;
    if (!faults_paced(f))
        return left;
    if (c->credit == 0) {
        const int64_t now = clock_now(clock_system());
        c->credit = left < PACE_BYTES ? left : PACE_BYTES;
        const int64_t until = faults_pay(f, &c->paid, c->credit, false, now);
        if (until > now && connection_wait(c, until, STATE_SEND))
            return 0;
    }
    return c->credit < left ? c->credit : left;
}

static void advance(connection *c, size_t size)
{
    c->sent += size;
    c->credit -= size < c->credit ? size : c->credit;
    while (size > 0) {
        struct iovec *piece = &c->out[c->out_at];
        const size_t part = size < piece->iov_len ? size : piece->iov_len;
        piece->iov_base = (char *)piece->iov_base + part;
        piece->iov_len -= part;
        size -= part;
        c->out_at += piece->iov_len == 0;
    }
}

/** The client has left in the middle: what it did not get was not sent. */
static void take_back(connection *c)
{
    counting *counts = c->worker->counting;
    const verb v = c->exchange.operation.verb;
    const uint64_t from = c->sent > c->send_head_size ? c->sent : c->send_head_size;
    if (c->send_limit > from)
        uncount(&counts->bytes_out[v], c->send_limit - from);
    if (!c->lost)
        count(&counts->lost[v], 1);
}

progress connection_send(connection *c)
{
    while (c->sent < c->send_limit) {
        if (!c->writable)
            return PROGRESS_BLOCKED;
        const uint64_t most = allowance(c);
        if (most == 0)
            return PROGRESS_BLOCKED;
        /* The pieces again, cut where the allowance ends. */
        struct iovec now[4];
        int count_now = 0;
        uint64_t room = most;
        for (int i = c->out_at; i < c->out_count && room > 0; i++) {
            now[count_now] = c->out[i];
            if (now[count_now].iov_len > room)
                now[count_now].iov_len = (size_t)room;
            room -= now[count_now++].iov_len;
        }
        const struct msghdr message = {.msg_iov = now, .msg_iovlen = (size_t)count_now};
        const ssize_t size = sendmsg(c->socket, &message, MSG_NOSIGNAL);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            c->writable = errno == EINTR;
            continue;
        }
        if (size <= 0) {
            take_back(c);
            c->state = STATE_OVER;
            return PROGRESS_MORE;
        }
        advance(c, (size_t)size);
    }
    return PROGRESS_MORE;
}
