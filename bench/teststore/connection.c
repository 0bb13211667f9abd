// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "grab.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Requests of one connection before others have their turn. */
#define IN_A_ROW_MAX 16u
#define PACE_BYTES 65536u
#define BODY_BYTES_MAX (1ull << 30)
#define LINGER_NS (2 * NS_PER_S)
#define HEAD_OUT_MAX 16384u

typedef struct late_job {
    timer timer; /* first */
    worker *worker;
    late_write write;
} late_job;

static void late_fire(timer *t)
{
    late_job *job = (late_job *)(void *)t;
    counting *c = job->worker->counting;
    late_write_apply(job->worker->server->objects, &job->write);
    count(&c->late_applied, 1);
    uncount(&c->late_pending, 1);
    mem_free(job);
}

/** The delayed or second application, counted from now. */
static void schedule_late(connection *c)
{
    late_write write;
    if (!exchange_late(&c->exchange, &write))
        return;
    late_job *job = grab_zeroed(sizeof *job);
    job->timer.fire = late_fire;
    job->worker = c->worker;
    job->write = write;
    count(&c->worker->counting->late_pending, 1);
    timer_arm(&c->worker->timers, &job->timer,
              clock_now(clock_system()) + c->exchange.plan.after_ns);
}

static void run(connection *c);

static void timer_fired(timer *t)
{
    connection *c = (connection *)(void *)t;
    /* Nobody waits: the time to be idle, or to linger, is over. */
    if (!c->waiting)
        c->state = STATE_OVER;
    c->waiting = false;
    run(c);
}

static void set_busy(connection *c, bool busy)
{
    if (c->busy == busy)
        return;
    c->busy = busy;
    (busy ? gauge_up : gauge_down)(&c->worker->server->in_flight);
}

void connection_open(worker *w, int socket)
{
    connection *c = grab(sizeof *c);
    memset(c, 0, offsetof(connection, in));
    memset(&c->exchange, 0, sizeof c->exchange);
    c->timer.fire = timer_fired;
    c->worker = w;
    c->socket = socket;
    c->readable = c->writable = true;
    buf_init(&c->head, HEAD_OUT_MAX);
    exchange_init(&c->exchange);
    c->exchange.settings = &w->server->settings;
    c->exchange.objects = w->server->objects;
    c->exchange.faults = w->server->faults;
    c->exchange.server = w->server;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    count(&w->counting->connections, 1);
    gauge_up(&w->server->open);
    pthread_mutex_lock(&w->lock);
    c->next = w->connections;
    c->link = &w->connections;
    if (c->next != NULL)
        c->next->link = &c->next;
    w->connections = c;
    pthread_mutex_unlock(&w->lock);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    /* From here on the connection is the worker's, who may have freed it before this returns. */
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, socket, &event) != 0)
        connection_close(c);
}

void connection_close(connection *c)
{
    worker *w = c->worker;
    timer_disarm(&w->timers, &c->timer);
    pthread_mutex_lock(&w->lock);
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    pthread_mutex_unlock(&w->lock);
    close(c->socket);
    set_busy(c, false);
    gauge_down(&w->server->open);
    exchange_free(&c->exchange);
    buf_free(&c->head);
    mem_free(c);
}

bool connection_wait(connection *c, int64_t at_ns, connection_state next)
{
    c->state = next;
    if (at_ns <= clock_now(clock_system()))
        return false;
    c->waiting = true;
    timer_arm(&c->worker->timers, &c->timer, at_ns);
    return true;
}

/** recv; >0: bytes, 0: none now, -1: the client has gone. */
static ssize_t take(connection *c, void *bytes, size_t size)
{
    for (;;) {
        const ssize_t got = recv(c->socket, bytes, size, 0);
        if (got > 0) {
            /* Less than there was room for: what comes next is news, and epoll tells it. */
            c->readable = (size_t)got == size || c->gone;
            return got;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN) {
            c->readable = false;
            return 0;
        }
        return -1;
    }
}

/** An answer to what is no request, and the end. */
static progress reject(connection *c, failure f)
{
    exchange *x = &c->exchange;
    if (x->dialect == NULL || x->dialect == &dialect_control)
        x->dialect = &dialect_s3;
    x->outcome.failure = f;
    c->closing = true;
    exchange_reply(x);
    connection_compose(c);
    c->state = STATE_SEND;
    return PROGRESS_MORE;
}

/** Whether the client waits for a word before it sends the body, and should have it. */
static void encourage(connection *c)
{
    static const char word[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (c->exchange.request.expects_continue && c->in_begin == c->in_end)
        (void)!send(c->socket, word, sizeof word - 1, MSG_NOSIGNAL);
}

static progress begin_body(connection *c)
{
    exchange *x = &c->exchange;
    const request *r = &x->request;
    c->body_got = 0;
    c->body_want = r->length;
    if (r->chunked)
        return reject(c, FAILURE_NEEDS_LENGTH);
    if (r->length > BODY_BYTES_MAX)
        return reject(c, FAILURE_TOO_LARGE);
    if (r->length > 0)
        x->body = blob_new((size_t)r->length);
    if (x->plan.read_bytes >= 0 && (uint64_t)x->plan.read_bytes < r->length)
        c->body_want = (uint64_t)x->plan.read_bytes;
    if (c->body_want > 0)
        encourage(c);
    c->state = STATE_BODY;
    return PROGRESS_MORE;
}

/** What came is no request, or its head has no end. */
static progress no_request(connection *c)
{
    exchange *x = &c->exchange;
    x->request = (request){0};
    x->operation = (operation){.verb = VERB_OTHER, .container = "", .key = ""};
    http_date(clock_wall_ms(clock_system()), x->date);
    plan_plain(&x->plan);
    return reject(c, FAILURE_BAD_REQUEST);
}

static progress on_head(connection *c)
{
    exchange *x = &c->exchange;
    const size_t size = request_head_size(c->in + c->in_begin, c->in_end - c->in_begin);
    if (size > 0) {
        timer_disarm(&c->worker->timers, &c->timer);
        x->id = 1 + atomic_fetch_add(&c->worker->server->requests, 1);
        if (!request_parse(&x->request, c->in + c->in_begin, size, c->decoded))
            return no_request(c);
        c->in_begin += size;
        exchange_begin(x);
        set_busy(c, x->operation.verb != VERB_CONTROL);
        return begin_body(c);
    }
    if (c->in_begin > 0) { /* what has come of the next head goes to the front */
        memmove(c->in, c->in + c->in_begin, c->in_end - c->in_begin);
        c->in_end -= c->in_begin;
        c->in_begin = 0;
    }
    if (c->in_end == sizeof c->in)
        return no_request(c);
    const int64_t idle_ns = faults_idle_ns(c->worker->server->faults);
    if (!c->readable) {
        if (idle_ns > 0 && c->in_end == 0 && c->timer.place == 0)
            timer_arm(&c->worker->timers, &c->timer, clock_now(clock_system()) + idle_ns);
        return PROGRESS_BLOCKED;
    }
    const ssize_t got = take(c, c->in + c->in_end, sizeof c->in - c->in_end);
    if (got < 0)
        c->state = STATE_OVER;
    else
        c->in_end += (size_t)got;
    return PROGRESS_MORE;
}

static void body_complete(connection *c)
{
    exchange *x = &c->exchange;
    count(&c->worker->counting->bytes_in[x->operation.verb], c->body_got);
    if (c->body_got < x->request.length) {
        /* Cut off by the plan: nothing to check, nothing to apply. */
        c->closing = true;
    } else {
        exchange_body(x);
    }
    c->latency = faults_latency(c->worker->server->faults, x->operation.verb, &c->worker->random);
    connection_wait(c, clock_now(clock_system()) + c->latency.before_ns + x->plan.delay_ns,
                    STATE_BEFORE);
}

static progress on_body(connection *c)
{
    exchange *x = &c->exchange;
    faults *f = c->worker->server->faults;
    if (c->body_got == c->body_want) {
        body_complete(c);
        return c->waiting ? PROGRESS_BLOCKED : PROGRESS_MORE;
    }
    uint8_t *to = x->body->bytes + c->body_got;
    uint64_t want = c->body_want - c->body_got;
    const bool paced = faults_paced(f);
    if (paced && want > PACE_BYTES)
        want = PACE_BYTES;
    ssize_t got = 0;
    const size_t here = c->in_end - c->in_begin;
    if (here > 0) {
        got = (ssize_t)(here < want ? here : want);
        memcpy(to, c->in + c->in_begin, (size_t)got);
        c->in_begin += (size_t)got;
    } else {
        got = c->readable ? take(c, to, (size_t)want) : 0;
        if (got == 0)
            return PROGRESS_BLOCKED;
    }
    if (got < 0) { /* cut by the client: nothing is stored */
        count(&c->worker->counting->lost[x->operation.verb], 1);
        c->state = STATE_OVER;
        return PROGRESS_MORE;
    }
    c->body_got += (uint64_t)got;
    if (paced) {
        const int64_t now = clock_now(clock_system());
        const int64_t until = faults_pay(f, &c->paid, (uint64_t)got, true, now);
        if (until > now && connection_wait(c, until, STATE_BODY))
            return PROGRESS_BLOCKED;
    }
    return PROGRESS_MORE;
}

static progress apply(connection *c, bool second_half)
{
    exchange *x = &c->exchange;
    const int64_t now = clock_now(clock_system());
    if (exchange_apply(x, second_half)) {
        connection_wait(c, now + x->plan.window_ns, STATE_RACE);
        return c->waiting ? PROGRESS_BLOCKED : PROGRESS_MORE;
    }
    connection_wait(c, now + c->latency.after_ns + x->plan.reply_delay_ns, STATE_AFTER);
    return c->waiting ? PROGRESS_BLOCKED : PROGRESS_MORE;
}

static progress answer(connection *c)
{
    schedule_late(c);
    exchange_reply(&c->exchange);
    connection_compose(c);
    c->state = STATE_SEND;
    return PROGRESS_MORE;
}

/** The answer has left, or as much of it as the plan allows. */
static progress sent(connection *c)
{
    const exchange *x = &c->exchange;
    const end_mode end = x->plan.end;
    if (end == END_RESET) {
        const struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        c->state = STATE_OVER;
    } else if (end == END_CLOSE) {
        c->state = STATE_OVER;
    } else if (end == END_HANG) {
        c->state = STATE_HANG;
    } else if (c->closing) {
        shutdown(c->socket, SHUT_WR);
        connection_wait(c, clock_now(clock_system()) + LINGER_NS, STATE_LINGER);
        c->waiting = false;
    } else {
        exchange_clear(&c->exchange);
        set_busy(c, false);
        c->state = STATE_HEAD;
        if (++c->in_a_row >= IN_A_ROW_MAX) {
            c->in_a_row = 0;
            c->waiting = true;
            timer_arm(&c->worker->timers, &c->timer, clock_now(clock_system()));
            return PROGRESS_BLOCKED;
        }
    }
    return PROGRESS_MORE;
}

/** Reads what nobody wants, until the client goes. */
static progress discard(connection *c)
{
    char waste[4096];
    if (!c->readable)
        return PROGRESS_BLOCKED;
    if (take(c, waste, sizeof waste) < 0)
        c->state = STATE_OVER;
    return PROGRESS_MORE;
}

static progress step(connection *c)
{
    switch (c->state) {
    case STATE_HEAD:
        return on_head(c);
    case STATE_BODY:
        return on_body(c);
    case STATE_BEFORE:
        return apply(c, false);
    case STATE_RACE:
        return apply(c, true);
    case STATE_AFTER:
        return answer(c);
    case STATE_SEND:
        if (connection_send(c) == PROGRESS_BLOCKED)
            return PROGRESS_BLOCKED;
        return c->state == STATE_OVER ? PROGRESS_MORE : sent(c);
    case STATE_HANG:
    case STATE_LINGER:
        return discard(c);
    case STATE_OVER:
        break;
    }
    return PROGRESS_BLOCKED;
}

static void run(connection *c)
{
    while (c->state != STATE_OVER && !c->waiting && step(c) == PROGRESS_MORE)
        ;
    if (c->state == STATE_OVER)
        connection_close(c);
}

void connection_event(connection *c, uint32_t events)
{
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        c->readable = true;
    c->gone |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
        c->writable = true;
    if (!c->waiting)
        run(c);
}
