// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/listing.h"

#include "base/alloc.h"
#include <string.h>

static bw_status walk_pages(store *s, const char *prefix, bool any, listing_fn each, void *context,
                            bw_error *error)
{
    char after[STORE_KEY_MAX + 1] = "";
    bool more = true;
    bw_status status = BW_OK;
    while (more && status == BW_OK) {
        store_op op;
        store_op_init(&op, STORE_LIST, prefix);
        op.list_any = any;
        memcpy(op.after, after, sizeof after);
        if (store_run(s, &op) != STORE_OK) {
            status = store_op_status(&op);
            error_copy(error, &op.error);
        }
        for (size_t i = 0; i < op.list.count && status == BW_OK; i++)
            status = each(context, &op.list.entries[i], error);
        more = status == BW_OK && op.list.more && op.list.count > 0;
        if (more) {
            const char *last = op.list.entries[op.list.count - 1].key;
            memcpy(after, last, strlen(last) + 1);
        }
        store_op_clear(&op);
    }
    return status;
}

bw_status listing_each(store *s, const char *prefix, listing_fn each, void *context,
                       bw_error *error)
{
    return walk_pages(s, prefix, false, each, context, error);
}

bw_status listing_everything(store *s, const char *prefix, listing_fn each, void *context,
                             bw_error *error)
{
    return walk_pages(s, prefix, true, each, context, error);
}

const char *key_kind_name(key_kind kind)
{
    static const char *const names[] = {
        [KEY_GENESIS] = "genesis", [KEY_HINT] = "hint",       [KEY_MANIFEST] = "manifest",
        [KEY_MARKER] = "marker",   [KEY_SEGMENT] = "segment", [KEY_PAGE] = "page",
        [KEY_PART] = "part",       [KEY_STATE] = "state",     [KEY_PROBE] = "probe",
        [KEY_TMP] = "temporary",   [KEY_FOREIGN] = "foreign",
    };
    return names[kind];
}

/* How an operation that reads ended; `op` is cleared. */
static bw_status conclude(store_op *op, store_outcome outcome, bw_error *error)
{
    bw_status status = BW_OK;
    if (outcome == STORE_NOT_FOUND) {
        status = error_set(error, BW_NOT_FOUND, "there is no such object");
    } else if (outcome != STORE_OK) {
        status = store_op_status(op);
        error_copy(error, &op->error);
    }
    if (status != BW_OK)
        error_set_key(error, op->key);
    store_op_clear(op);
    return status;
}

bw_status listing_get(store *s, const char *key, size_t bytes_max, uint8_t **bytes, size_t *size,
                      bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, bytes_max);
    const store_outcome outcome = store_run(s, &op);
    *bytes = NULL;
    if (outcome == STORE_OK) {
        *bytes = buf_take(&op.out, size);
        if (*bytes == NULL)
            *bytes = mem_alloc(0);
        if (*bytes == NULL) {
            store_op_clear(&op);
            return error_set(error, BW_NOMEM, "out of memory");
        }
    }
    return conclude(&op, outcome, error);
}

bw_status listing_read(store *s, const char *key, uint64_t offset, uint64_t length, void *to,
                       bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_READ, key);
    op.offset = offset;
    op.length = length;
    op.dest = to;
    return conclude(&op, store_run(s, &op), error);
}

bw_status listing_size(store *s, const char *key, uint64_t *bytes, bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_HEAD, key);
    const store_outcome outcome = store_run(s, &op);
    *bytes = op.object_bytes;
    return conclude(&op, outcome, error);
}
