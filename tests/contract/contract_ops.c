// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "contract_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static store_outcome write_bytes(store *s, store_op_kind kind, const char *key, const void *bytes,
                                 size_t size)
{
    union {
        const void *from;
        void *base;
    } place = {.from = bytes}; /* an iovec is not const, but writes do not change it */
    const struct iovec piece = {.iov_base = place.base, .iov_len = size};
    store_op op;
    store_op_init(&op, kind, key);
    op.pieces = &piece;
    op.piece_count = 1;
    return store_run(s, &op);
}

store_outcome do_create(store *s, const char *key, const char *content)
{
    return write_bytes(s, STORE_CREATE, key, content, strlen(content));
}

store_outcome do_put(store *s, const char *key, const char *content)
{
    return write_bytes(s, STORE_PUT, key, content, strlen(content));
}

store_outcome do_put_bytes(store *s, const char *key, const void *bytes, size_t size)
{
    return write_bytes(s, STORE_PUT, key, bytes, size);
}

store_outcome do_get(store *s, const char *key, char *content, size_t max)
{
    store_op op;
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, max);
    const store_outcome outcome = store_run(s, &op);
    if (outcome == STORE_OK && content != NULL) {
        if (op.out.size != 0)
            memcpy(content, op.out.data, op.out.size);
        content[op.out.size] = '\0';
    }
    store_op_clear(&op);
    return outcome;
}

store_outcome do_read(store *s, const char *key, uint64_t offset, uint64_t length, void *dest)
{
    store_op op;
    store_op_init(&op, STORE_READ, key);
    op.offset = offset;
    op.length = length;
    op.dest = dest;
    return store_run(s, &op);
}

store_outcome do_delete(store *s, const char *key)
{
    const char *const keys[] = {key};
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = 1;
    return store_run(s, &op);
}

uint64_t head_bytes(store *s, const char *key)
{
    store_op op;
    store_op_init(&op, STORE_HEAD, key);
    return store_run(s, &op) == STORE_OK ? op.object_bytes : UINT64_MAX;
}

size_t list_count(store *s, const char *prefix)
{
    size_t count = 0;
    char after[STORE_KEY_MAX + 1] = "";
    for (bool more = true; more;) {
        store_op op;
        store_op_init(&op, STORE_LIST, prefix);
        memcpy(op.after, after, strlen(after) + 1);
        assert_int_equal(store_run(s, &op), STORE_OK);
        more = op.list.more;
        count += op.list.count;
        if (op.list.count != 0) {
            const char *last = op.list.entries[op.list.count - 1].key;
            memcpy(after, last, strlen(last) + 1);
        }
        store_op_clear(&op);
    }
    return count;
}

bool is_listed(store *s, const char *key)
{
    store_op op;
    store_op_init(&op, STORE_LIST, key);
    op.list_max = 1;
    assert_int_equal(store_run(s, &op), STORE_OK);
    const bool listed = op.list.count == 1 && strcmp(op.list.entries[0].key, key) == 0;
    store_op_clear(&op);
    return listed;
}

void assert_content(store *s, const char *key, const char *content)
{
    char there[4096];
    assert_int_equal(do_get(s, key, there, sizeof there - 1), STORE_OK);
    assert_string_equal(there, content);
}
