// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_net/net_store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)
#define STALL_S 20u
/* Of one handle; each executor thread has its own. */
#define CONNECTIONS_MAX 16u
#define TEXT_BYTES_MAX 4096u
/* What an attempt gets beyond its time limit: a body at this rate. */
#define SLOW_BYTES_A_SECOND (256u << 10)

static net_store *net_of(store *s)
{
    return (net_store *)s;
}

/* ---- backends ---- */

void net_backend_init(net_backend *b, const net_dialect *dialect, int64_t request_timeout_ns,
                      bool plain_http)
{
    atomic_init(&b->references, 1u);
    atomic_init(&b->skew_ms, 0);
    atomic_init(&b->no_batch, false);
    b->dialect = dialect;
    b->request_timeout_ns = request_timeout_ns;
    b->key_bytes_max = STORE_KEY_MAX;
    b->http = (http_options){.connect_timeout_ns = CONNECT_TIMEOUT_NS,
                             .stall_s = STALL_S,
                             .connections_max = CONNECTIONS_MAX,
                             .plain_http = plain_http};
}

void net_backend_release(net_backend *b)
{
    if (b == NULL || atomic_fetch_sub(&b->references, 1u) != 1u)
        return;
    net_keyring_free(b->keyring);
    mem_free(b->name);
    mem_free(b->ca_file);
    b->dialect->free_backend(b);
}

char *net_text(bw_status *status, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = size >= 0 && (size_t)size < sizeof text ? mem_strdup(text) : NULL;
    if (copy == NULL)
        *status = BW_NOMEM;
    return copy;
}

void net_copy_printable(char *to, size_t capacity, const char *from)
{
    size_t size = 0;
    for (; *from != '\0' && size + 1 < capacity; from++)
        to[size++] = (char)(*from >= ' ' && *from < 127 ? *from : ' ');
    to[size] = '\0';
}

/* ---- calls ---- */

const char *net_call_key(const net_call *call)
{
    return call->op->kind == STORE_DELETE ? call->op->keys[call->delete_at] : call->op->key;
}

static net_call *call_take(net_store *s)
{
    net_call *call = s->spare;
    if (call != NULL) {
        s->spare = call->next;
        return call;
    }
    call = mem_zalloc(s->backend->dialect->call_bytes);
    if (call != NULL) {
        call->owner = s;
        buf_init(&call->text, NET_ERROR_BYTES_MAX);
    }
    return call;
}

static void drop_keys(net_call *call)
{
    net_keyset_give(call->keys);
    call->keys = NULL;
}

static void call_give(net_store *s, net_call *call)
{
    s->backend->dialect->clear(call, false);
    drop_keys(call);
    call->op = NULL;
    call->next = s->spare;
    s->spare = call;
}

static void call_free(net_store *s, net_call *call)
{
    s->backend->dialect->clear(call, true);
    buf_free(&call->text);
    mem_free(call);
}

/** Builds and sends the next request of the operation; when there is none, or it cannot be built,
 * the operation is over: false. */
static bool call_send(net_call *call)
{
    store_op *op = call->op;
    const net_backend *b = call->owner->backend;
    if (op->kind == STORE_DELETE && call->delete_at == op->key_count) {
        op->outcome = STORE_OK;
        return false;
    }
    if (op->kind != STORE_LIST && strlen(net_call_key(call)) > b->key_bytes_max) {
        store_op_end(op, STORE_FATAL, BW_INVALID,
                     "%s: with the prefix of the namespace the key is longer than the store allows",
                     store_op_name(op->kind));
        return false;
    }
    b->dialect->clear(call, false);
    buf_reset(&call->text);
    call->got = 0;
    call->crc = 0;
    call->parsed = BW_OK;
    call->is_batch = false;
    call->http =
        (http_request){.once = op->kind == STORE_CREATE, .sink = net_answer_sink, .owner = call};
    drop_keys(call);
    call->keys = b->keyring != NULL ? net_keyring_take(b->keyring) : NULL;
    const bw_status status = b->dialect->build(call);
    if (status != BW_OK) {
        /* Nothing was sent. */
        store_op_end(op, status == BW_NOMEM ? STORE_RETRY : STORE_FATAL, status,
                     "%s: the request cannot be built: %s", store_op_name(op->kind),
                     bw_status_text(status));
        return false;
    }
    const uint64_t bytes = op->kind == STORE_READ ? op->length : call->http.body_bytes;
    call->http.method = call->method;
    call->http.timeout_ns =
        b->request_timeout_ns + (int64_t)(bytes / SLOW_BYTES_A_SECOND) * NS_PER_S;
    call->requests++;
    http_submit(call->owner->client, &call->http);
    return true;
}

/* ---- the driver ---- */

static void net_submit(store *base, store_op *op)
{
    net_store *s = net_of(base);
    net_call *call = NULL;
    store_op_restart(op);
    if (!store_op_check(op))
        goto over;
    if (op->kind == STORE_MAP) {
        store_op_end(op, STORE_FATAL, BW_UNSUPPORTED, "objects of %s cannot be mapped",
                     s->backend->name);
        goto over;
    }
    call = call_take(s);
    if (call == NULL) {
        store_op_end(op, STORE_RETRY, BW_NOMEM, "no memory for one more operation");
        goto over;
    }
    call->op = op;
    op->driver = call;
    call->requests = 0;
    call->delete_at = 0;
    call->asks_size = call->asks_absence = false;
    memcpy(call->after, op->after, sizeof call->after);
    if (call_send(call)) {
        s->flying++;
        return;
    }
    call_give(s, call);
over:
    op_queue_push(&s->complete, op);
}

/* A request is over; its operation may need another one. */
static void land(net_store *s, net_call *call)
{
    store_op *op = call->op;
    s->flying--;
    s->date_ms = call->http.head.date_ms;
    if (!net_answer_take(call)) {
        store_list_free(&op->list);
        if (call_send(call)) {
            s->flying++;
            return;
        }
    }
    call_give(s, call);
    op_queue_push(&s->complete, op);
}

static size_t net_poll(store *base, store_op **done, size_t max, int64_t timeout_ns)
{
    net_store *s = net_of(base);
    const int64_t deadline_ns = timeout_ns == 0 ? 0 : clock_deadline(clock_system(), timeout_ns);
    while (s->complete.head == NULL) {
        const int64_t left_ns = timeout_ns == 0 ? 0
                                : deadline_ns == TIME_NEVER
                                    ? TIME_NEVER
                                    : deadline_ns - clock_now(clock_system());
        http_request *r = http_poll(s->client, left_ns > 0 ? left_ns : 0);
        if (r == NULL)
            break;
        land(s, r->owner);
    }
    /* Whatever else is over by now. */
    for (http_request *r = http_poll(s->client, 0); r != NULL; r = http_poll(s->client, 0))
        land(s, r->owner);
    return op_queue_drain(&s->complete, done, max);
}

static void net_close(store *base)
{
    net_store *s = net_of(base);
    /* Those in flight are not looked at again, by libcurl neither. */
    http_cancel(s->client);
    for (http_request *r = http_poll(s->client, 0); r != NULL; r = http_poll(s->client, 0))
        call_give(s, r->owner);
    http_client_free(s->client);
    while (s->spare != NULL) {
        net_call *call = s->spare;
        s->spare = call->next;
        call_free(s, call);
    }
    net_backend_release(s->backend);
    mem_free(s);
}

static void net_cancel(store *base)
{
    http_cancel(net_of(base)->client);
}

static void net_take_back(store *base, store_op *op)
{
    net_store *s = net_of(base);
    if (op_queue_remove(&s->complete, op))
        return;
    net_call *call = op->driver;
    http_take_back(s->client, &call->http);
    s->flying--;
    call_give(s, call);
}

static void net_wake(store *base)
{
    http_wake(net_of(base)->client);
}

void net_store_source(store *base, char *out, size_t capacity)
{
    net_keyring *ring = net_of(base)->backend->keyring;
    net_keyset *keys = ring != NULL ? net_keyring_take(ring) : NULL;
    (void)snprintf(out, capacity, "%s", keys != NULL ? keys->keys.source : "");
    net_keyset_give(keys);
}

static bw_status net_clone(store *base, store **out, bw_error *error)
{
    return net_store_new(net_of(base)->backend, out, error);
}

static bool net_about(store *base, store_facts *out)
{
    net_store *s = net_of(base);
    (void)snprintf(out->name, sizeof out->name, "%s", s->backend->name);
    s->backend->dialect->about(s->backend, out);
    net_store_source(base, out->keys, sizeof out->keys);
    out->has_clock = s->date_ms != 0;
    out->skew_ms = out->has_clock ? s->date_ms - clock_wall_ms(clock_system()) : 0;
    return true;
}

static void net_bucket(store *base, store_bucket *out)
{
    const net_dialect *dialect = net_of(base)->backend->dialect;
    if (dialect->bucket != NULL)
        dialect->bucket(base, out);
    else
        (void)snprintf(out->why, sizeof out->why, "this store does not tell what it is set to");
}

static const store_driver net_driver = {
    .name = "net",
    .submit = net_submit,
    .poll = net_poll,
    .clone = net_clone,
    .close = net_close,
    .probe = store_probe_by_ops,
    .wake = net_wake,
    .cancel = net_cancel,
    .take_back = net_take_back,
    .about = net_about,
    .bucket = net_bucket,
};

bw_status net_store_new(net_backend *b, store **out, bw_error *error)
{
    net_store *s = mem_zalloc(sizeof *s);
    if (s == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    http_options options = b->http;
    options.ca_file = b->ca_file;
    s->base = (store){.driver = &net_driver,
                      .features =
                          STORE_TAKES_BACK | (b->dialect->bucket != NULL ? STORE_TELLS_BUCKET : 0u),
                      .inflight_max = options.connections_max};
    const bw_status status = http_client_new(&options, &s->client, error);
    if (status != BW_OK) {
        mem_free(s);
        return status;
    }
    atomic_fetch_add(&b->references, 1u);
    s->backend = b;
    *out = &s->base;
    return BW_OK;
}
