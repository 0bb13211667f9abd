// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/decorator.h"
#include "store/decorators.h"

typedef struct meter_store {
    decorator over;
    store_meter *meter;
} meter_store;

static meter_store *meter_of(store *s)
{
    return (meter_store *)s;
}

static void meter_submit(store *s, store_op *op)
{
    meter_store *m = meter_of(s);
    atomic_fetch_add_explicit(&m->meter->ops[op->kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->meter->bytes_written, store_op_bytes(op), memory_order_relaxed);
    store_submit(m->over.inner, op);
}

static uint64_t bytes_read(const store_op *op)
{
    if (op->outcome != STORE_OK)
        return 0;
    switch (op->kind) {
    case STORE_GET:
        return op->out.size;
    case STORE_READ:
    case STORE_MAP:
        return op->length;
    default:
        return 0;
    }
}

static size_t meter_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    meter_store *m = meter_of(s);
    const size_t count = store_poll(m->over.inner, done, max, timeout_ns);
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add_explicit(&m->meter->outcomes[done[i]->outcome], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&m->meter->bytes_read, bytes_read(done[i]), memory_order_relaxed);
        if (done[i]->throttled)
            atomic_fetch_add_explicit(&m->meter->throttled, 1, memory_order_relaxed);
    }
    return count;
}

static bw_status meter_clone(store *s, store **out, bw_error *error)
{
    meter_store *m = meter_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(m->over.inner, &inner, error));
    return decorator_cloned(inner, store_meter_wrap(inner, m->meter, out, error));
}

static const store_driver meter_driver = {
    .name = "meter",
    .submit = meter_submit,
    .poll = meter_poll,
    .clone = meter_clone,
    .close = decorator_close,
    .probe = store_probe_by_ops,
    .wake = decorator_wake,
    .cancel = decorator_cancel,
    .take_back = decorator_take_back,
};

bw_status store_meter_wrap(store *inner, store_meter *meter, store **out, bw_error *error)
{
    BW_TRY(decorator_new(sizeof(meter_store), &meter_driver, inner, out, error));
    meter_of(*out)->meter = meter;
    return BW_OK;
}
