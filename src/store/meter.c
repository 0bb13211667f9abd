// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store/decorators.h"
#include "store/driver.h"

typedef struct meter_store {
    store base;
    store *inner;
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
    store_submit(m->inner, op);
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
    const size_t count = store_poll(m->inner, done, max, timeout_ns);
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
    BW_TRY(store_clone(m->inner, &inner, error));
    const bw_status status = store_meter_wrap(inner, m->meter, out, error);
    if (status != BW_OK)
        store_close(inner);
    return status;
}

static void meter_close(store *s)
{
    store_close(meter_of(s)->inner);
    mem_free(s);
}

static void meter_wake(store *s)
{
    store_wake(meter_of(s)->inner);
}

static void meter_cancel(store *s)
{
    store_cancel(meter_of(s)->inner);
}

static void meter_take_back(store *s, store_op *op)
{
    store_take_back(meter_of(s)->inner, op);
}

static const store_driver meter_driver = {
    .name = "meter",
    .submit = meter_submit,
    .poll = meter_poll,
    .clone = meter_clone,
    .close = meter_close,
    .probe = store_probe_by_ops,
    .wake = meter_wake,
    .cancel = meter_cancel,
    .take_back = meter_take_back,
};

bw_status store_meter_wrap(store *inner, store_meter *meter, store **out, bw_error *error)
{
    meter_store *m = mem_zalloc(sizeof *m);
    if (m == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    m->base = (store){
        .driver = &meter_driver, .features = inner->features, .inflight_max = inner->inflight_max};
    m->inner = inner;
    m->meter = meter;
    *out = &m->base;
    return BW_OK;
}
