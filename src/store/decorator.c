// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/decorator.h"

#include "base/alloc.h"

bw_status decorator_new(size_t bytes, const store_driver *driver, store *inner, store **out,
                        bw_error *error)
{
    decorator *d = mem_zalloc(bytes);
    if (d == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    const uint32_t kept = driver->take_back != NULL ? UINT32_MAX : ~(uint32_t)STORE_TAKES_BACK;
    d->base = (store){
        .driver = driver, .features = inner->features & kept, .inflight_max = inner->inflight_max};
    d->inner = inner;
    *out = &d->base;
    return BW_OK;
}

bw_status decorator_cloned(store *inner, bw_status status)
{
    if (status != BW_OK)
        store_close(inner);
    return status;
}

static store *inner_of(store *s)
{
    return ((decorator *)s)->inner;
}

void decorator_close(store *s)
{
    store_close(inner_of(s));
    mem_free(s);
}

void decorator_wake(store *s)
{
    store_wake(inner_of(s));
}

void decorator_cancel(store *s)
{
    store_cancel(inner_of(s));
}

void decorator_take_back(store *s, store_op *op)
{
    store_take_back(inner_of(s), op);
}
