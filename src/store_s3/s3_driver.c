// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_s3/s3_internal.h"

#include <string.h>

static s3_store *s3_of(store *s)
{
    return (s3_store *)s;
}

/* ---- calls ---- */

static s3_call *call_take(s3_store *s)
{
    s3_call *call = s->spare;
    if (call != NULL)
        s->spare = call->next;
    else
        call = mem_zalloc(sizeof *call);
    return call;
}

static void call_give(s3_store *s, s3_call *call)
{
    xml_free(call->reader);
    call->reader = NULL;
    s3_page_clear(&call->page);
    if (call->authorization.data != NULL)
        secret_wipe(call->authorization.data, call->authorization.capacity);
    call->op = NULL;
    call->next = s->spare;
    s->spare = call;
}

static void call_free(s3_call *call)
{
    xml_free(call->reader);
    s3_page_clear(&call->page);
    buf_free(&call->path);
    buf_free(&call->query);
    buf_free(&call->url);
    buf_free(&call->authorization);
    buf_free(&call->body);
    buf_free(&call->text);
    mem_free(call);
}

/* ---- the driver ---- */

static void s3_submit(store *base, store_op *op)
{
    s3_store *s = s3_of(base);
    store_op_restart(op);
    if (!store_op_check(op)) {
        op_queue_push(&s->complete, op);
        return;
    }
    if (op->kind == STORE_MAP) {
        store_op_end(op, STORE_FATAL, BW_UNSUPPORTED, "objects of S3 cannot be mapped");
        op_queue_push(&s->complete, op);
        return;
    }
    s3_call *call = call_take(s);
    if (call == NULL) {
        store_op_end(op, STORE_RETRY, BW_NOMEM, "no memory for one more operation");
        op_queue_push(&s->complete, op);
        return;
    }
    call->op = op;
    op->driver = call;
    call->owner = s;
    call->delete_at = 0;
    call->asks_size = false;
    call->page.last[0] = '\0';
    if (s3_request_send(call)) {
        s->flying++;
        return;
    }
    call_give(s, call);
    op_queue_push(&s->complete, op);
}

/* A request is over; its operation may need another one. */
static void land(s3_store *s, s3_call *call)
{
    store_op *op = call->op;
    s->flying--;
    if (!s3_answer_take(call)) {
        store_list_free(&op->list);
        if (s3_request_send(call)) {
            s->flying++;
            return;
        }
    }
    call_give(s, call);
    op_queue_push(&s->complete, op);
}

static size_t s3_poll(store *base, store_op **done, size_t max, int64_t timeout_ns)
{
    s3_store *s = s3_of(base);
    const int64_t deadline_ns = timeout_ns == 0 ? 0 : clock_deadline(clock_system(), timeout_ns);
    while (s->complete.head == NULL && s->flying > 0) {
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
    for (http_request *r = s->flying > 0 ? http_poll(s->client, 0) : NULL; r != NULL;
         r = s->flying > 0 ? http_poll(s->client, 0) : NULL)
        land(s, r->owner);
    return op_queue_drain(&s->complete, done, max);
}

static void s3_close(store *base)
{
    s3_store *s = s3_of(base);
    /* Those in flight are not looked at again, by libcurl neither. */
    http_cancel(s->client);
    for (http_request *r = http_poll(s->client, 0); r != NULL; r = http_poll(s->client, 0))
        call_give(s, r->owner);
    http_client_free(s->client);
    while (s->spare != NULL) {
        s3_call *call = s->spare;
        s->spare = call->next;
        call_free(call);
    }
    sigv4_key_clear(&s->key);
    s3_backend_release(s->backend);
    mem_free(s);
}

static void s3_cancel(store *base)
{
    http_cancel(s3_of(base)->client);
}

static void s3_take_back(store *base, store_op *op)
{
    s3_store *s = s3_of(base);
    if (op_queue_remove(&s->complete, op))
        return;
    s3_call *call = op->driver;
    http_take_back(s->client, &call->http);
    s->flying--;
    call_give(s, call);
}

static void s3_wake(store *base)
{
    http_wake(s3_of(base)->client);
}

static bw_status s3_clone(store *base, store **out, bw_error *error)
{
    return s3_store_new(s3_of(base)->backend, out, error);
}

static const store_driver s3_driver = {
    .name = "s3",
    .submit = s3_submit,
    .poll = s3_poll,
    .clone = s3_clone,
    .close = s3_close,
    .probe = store_probe_by_ops,
    .wake = s3_wake,
    .cancel = s3_cancel,
    .take_back = s3_take_back,
};

bw_status s3_store_new(s3_backend *b, store **out, bw_error *error)
{
    s3_store *s = mem_zalloc(sizeof *s);
    if (s == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    s->base = (store){.driver = &s3_driver,
                      .features = STORE_TAKES_BACK,
                      .inflight_max = b->http.connections_max};
    const bw_status status = http_client_new(&b->http, &s->client, error);
    if (status != BW_OK) {
        mem_free(s);
        return status;
    }
    atomic_fetch_add(&b->references, 1u);
    s->backend = b;
    *out = &s->base;
    return BW_OK;
}
