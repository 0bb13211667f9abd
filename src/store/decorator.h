// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What stores over another one have in common. Nothing here is for users of a store. */
#ifndef STORE_DECORATOR_H
#define STORE_DECORATOR_H

#include "store/driver.h"

/** Each decorator's struct begins with this. */
typedef struct decorator {
    store base;
    store *inner;
} decorator;

/** Zeroed memory of so many bytes over `inner`, and with its features: but for giving operations
 * back, where the driver cannot. */
bw_status decorator_new(size_t bytes, const store_driver *driver, store *inner, store **out,
                        bw_error *error);
/** Of a clone of `inner` that was to be wrapped: it is closed where that failed. */
bw_status decorator_cloned(store *inner, bw_status status);

/* For drivers that pass it on, and do nothing else. */
void decorator_close(store *s);
void decorator_wake(store *s);
void decorator_cancel(store *s);
void decorator_take_back(store *s, store_op *op);

#endif
