// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/decorator.h"
#include "store/decorators.h"

typedef struct trace_store {
    decorator over;
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
    store_submit(t->over.inner, op);
}

static size_t trace_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    trace_store *t = trace_of(s);
    const size_t count = store_poll(t->over.inner, done, max, timeout_ns);
    for (size_t i = 0; i < count; i++)
        t->trace(t->context, done[i]);
    return count;
}

static bw_status trace_clone(store *s, store **out, bw_error *error)
{
    trace_store *t = trace_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(t->over.inner, &inner, error));
    return decorator_cloned(inner, store_trace_wrap(inner, t->trace, t->context, out, error));
}

static const store_driver trace_driver = {
    .name = "trace",
    .submit = trace_submit,
    .poll = trace_poll,
    .clone = trace_clone,
    .close = decorator_close,
    .probe = store_probe_by_ops,
    .wake = decorator_wake,
    .cancel = decorator_cancel,
};

bw_status store_trace_wrap(store *inner, store_trace_fn trace, void *context, store **out,
                           bw_error *error)
{
    BW_TRY(decorator_new(sizeof(trace_store), &trace_driver, inner, out, error));
    trace_of(*out)->trace = trace;
    trace_of(*out)->context = context;
    return BW_OK;
}
