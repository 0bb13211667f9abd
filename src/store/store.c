// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include "base/alloc.h"
#include "store/driver.h"

#include <string.h>

/* How soon an operation in flight notices that its handle is stopped. */
#define STOP_LOOK_NS (20 * NS_PER_MS)

void store_submit(store *s, store_op *op)
{
    op->outcome = STORE_PENDING;
    s->driver->submit(s, op);
}

size_t store_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    return s->driver->poll(s, done, max, timeout_ns);
}

bw_status store_clone(store *s, store **out, bw_error *error)
{
    return s->driver->clone(s, out, error);
}

void store_close(store *s)
{
    if (s != NULL)
        s->driver->close(s);
}

bw_status store_probe(store *s, uint64_t nonce, bw_error *error)
{
    return s->driver->probe == NULL ? BW_OK : s->driver->probe(s, nonce, error);
}

void store_wake(store *s)
{
    if (s->driver->wake != NULL)
        s->driver->wake(s);
}

void store_cancel(store *s)
{
    if (s->driver->cancel != NULL)
        s->driver->cancel(s);
}

void store_take_back(store *s, store_op *op)
{
    s->driver->take_back(s, op);
}

bool store_stopped(const store *s)
{
    return s->stop != NULL && atomic_load(s->stop) != 0;
}

size_t store_await(store *s, store_op **done, size_t max)
{
    for (;;) {
        const size_t count = store_poll(s, done, max, s->stop != NULL ? STOP_LOOK_NS : TIME_NEVER);
        if (count > 0)
            return count;
        if (store_stopped(s))
            store_cancel(s);
    }
}

store_outcome store_run(store *s, store_op *op)
{
    if (store_stopped(s)) {
        store_op_end(op, STORE_FATAL, BW_INTERRUPTED, "interrupted");
        return op->outcome;
    }
    store_submit(s, op);
    store_op *done[1] = {NULL};
    while (store_await(s, done, 1) == 0 || done[0] != op)
        continue;
    return op->outcome;
}

bool store_failing(store *s, bw_error *why)
{
    return s->driver->failing != NULL && s->driver->failing(s, why);
}

void store_op_init(store_op *op, store_op_kind kind, const char *key)
{
    memset(op, 0, sizeof *op);
    op->kind = kind;
    /* A key that is too long is made an invalid one, so that the driver refuses it. */
    const size_t size = strnlen(key, STORE_KEY_MAX);
    memcpy(op->key, key, size);
    if (key[size] != '\0')
        op->key[0] = '/';
}

void store_op_clear(store_op *op)
{
    buf_free(&op->out);
    store_list_free(&op->list);
    store_mapping_release(&op->mapping);
}

void store_list_free(store_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->entries[i].key);
    mem_free(list->entries);
    memset(list, 0, sizeof *list);
}

bw_status store_list_add(store_list *list, const char *key, uint64_t bytes, int64_t modified_ms)
{
    void *entries = list->entries;
    if (mem_grow(&entries, &list->capacity, list->count + 1, sizeof *list->entries) != 0)
        return BW_NOMEM;
    list->entries = entries;
    char *copy = mem_strdup(key);
    if (copy == NULL)
        return BW_NOMEM;
    list->entries[list->count++] =
        (store_entry){.key = copy, .bytes = bytes, .modified_ms = modified_ms};
    return BW_OK;
}

void store_mapping_release(store_mapping *mapping)
{
    if (mapping->release != NULL)
        mapping->release(mapping);
    memset(mapping, 0, sizeof *mapping);
}

const char *store_op_name(store_op_kind kind)
{
    static const char *const names[STORE_OP_KINDS] = {
        [STORE_GET] = "get",   [STORE_READ] = "read",     [STORE_MAP] = "map",
        [STORE_PUT] = "put",   [STORE_CREATE] = "create", [STORE_HEAD] = "head",
        [STORE_LIST] = "list", [STORE_DELETE] = "delete",
    };
    return (unsigned)kind < STORE_OP_KINDS ? names[kind] : "?";
}

const char *store_outcome_name(store_outcome outcome)
{
    static const char *const names[STORE_OUTCOMES] = {
        [STORE_PENDING] = "PENDING",     [STORE_OK] = "OK",
        [STORE_NOT_FOUND] = "NOT_FOUND", [STORE_RETRY] = "RETRY",
        [STORE_DENIED] = "DENIED",       [STORE_FATAL] = "FATAL",
        [STORE_CREATED] = "CREATED",     [STORE_EXISTS] = "EXISTS",
        [STORE_UNKNOWN] = "UNKNOWN",     [STORE_UNSUPPORTED] = "UNSUPPORTED",
    };
    return (unsigned)outcome < STORE_OUTCOMES ? names[outcome] : "?";
}

bw_status store_op_status(const store_op *op)
{
    switch (op->outcome) {
    case STORE_OK:
    case STORE_CREATED:
    case STORE_EXISTS:
        return BW_OK;
    case STORE_NOT_FOUND:
        return BW_NOT_FOUND;
    case STORE_PENDING:
    case STORE_OUTCOMES:
        return BW_BUG;
    default:
        break;
    }
    if (op->error.code != BW_OK)
        return op->error.code;
    switch (op->outcome) {
    case STORE_DENIED:
        return BW_DENIED;
    case STORE_UNKNOWN:
        return BW_UNKNOWN;
    case STORE_UNSUPPORTED:
        return BW_UNSUPPORTED;
    default:
        return BW_IO;
    }
}

void store_op_end(store_op *op, store_outcome outcome, bw_status code, const char *format, ...)
{
    op->outcome = outcome;
    va_list args;
    va_start(args, format);
    error_vset(&op->error, code, format, args);
    va_end(args);
    error_set_key(&op->error, op->key);
    error_set_attempts(&op->error, op->attempts);
}
