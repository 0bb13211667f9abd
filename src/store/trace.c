// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store/decorators.h"
#include "store/driver.h"

typedef struct trace_store {
    store base;
    store *inner;
    store_trace_fn trace;
    void *context;
} trace_store;

static trace_store *trace_of(store *s)
{
    return (trace_store *)s;
}

static void trace_submit(store *s, store_op *op)
{
    trace_store *t = trace_of(s);
    t->trace(t->context, op);
    store_submit(t->inner, op);
}

static size_t trace_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    trace_store *t = trace_of(s);
    const size_t count = store_poll(t->inner, done, max, timeout_ns);
    for (size_t i = 0; i < count; i++)
        t->trace(t->context, done[i]);
    return count;
}

static bw_status trace_clone(store *s, store **out, bw_error *error)
{
    trace_store *t = trace_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(t->inner, &inner, error));
    const bw_status status = store_trace_wrap(inner, t->trace, t->context, out, error);
    if (status != BW_OK)
        store_close(inner);
    return status;
}

static void trace_close(store *s)
{
    store_close(trace_of(s)->inner);
    mem_free(s);
}

static void trace_wake(store *s)
{
    store_wake(trace_of(s)->inner);
}

static void trace_cancel(store *s)
{
    store_cancel(trace_of(s)->inner);
}

static const store_driver trace_driver = {
    .name = "trace",
    .submit = trace_submit,
    .poll = trace_poll,
    .clone = trace_clone,
    .close = trace_close,
    .probe = store_probe_by_ops,
    .wake = trace_wake,
    .cancel = trace_cancel,
};

bw_status store_trace_wrap(store *inner, store_trace_fn trace, void *context, store **out,
                           bw_error *error)
{
    trace_store *t = mem_zalloc(sizeof *t);
    if (t == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    t->base = (store){.driver = &trace_driver,
                      .features = inner->features & ~(uint32_t)STORE_TAKES_BACK,
                      .inflight_max = inner->inflight_max};
    t->inner = inner;
    t->trace = trace;
    t->context = context;
    *out = &t->base;
    return BW_OK;
}
