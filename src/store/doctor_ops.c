// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor.h"

#include "base/alloc.h"

#include <string.h>
#include <time.h>

#define PAUSE_NS (20 * NS_PER_MS)
#define PAUSES_MAX 8u /* each twice the one before: five seconds in all */

static void pause_for(int64_t ns)
{
    const struct timespec wait = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    (void)nanosleep(&wait, NULL);
}

store_outcome doctor_run(store *s, store_op *op)
{
    store_outcome outcome = store_run(s, op);
    for (uint32_t k = 0; outcome == STORE_RETRY && k < PAUSES_MAX; k++) {
        pause_for(PAUSE_NS << k);
        outcome = store_run(s, op);
    }
    return outcome;
}

static store_outcome end(store_op *op, bw_error *error)
{
    const store_outcome outcome = op->outcome;
    if (error != NULL)
        error_copy(error, &op->error);
    store_op_clear(op);
    return outcome;
}

store_outcome doctor_put(store *s, const char *key, const void *bytes, size_t size, bw_error *error)
{
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    store_op op;
    store_op_init(&op, STORE_PUT, key);
    op.pieces = &piece;
    op.piece_count = 1;
    (void)doctor_run(s, &op);
    return end(&op, error);
}

store_outcome doctor_get(store *s, const char *key, void *bytes, size_t *size, bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, *size);
    if (doctor_run(s, &op) == STORE_OK) {
        *size = op.out.size;
        if (op.out.size > 0)
            memcpy(bytes, op.out.data, op.out.size);
    }
    return end(&op, error);
}

static bool holds(store *s, const char *key, const void *bytes, size_t size)
{
    size_t there = size;
    uint8_t *content = mem_alloc(size);
    const bool same = content != NULL && doctor_get(s, key, content, &there, NULL) == STORE_OK &&
                      there == size && memcmp(content, bytes, size) == 0;
    mem_free(content);
    return same;
}

/* Who is in doubt asks again, as the commit protocol does: what is there then may be its own. */
store_outcome doctor_create(store *s, const char *key, const void *bytes, size_t size,
                            bw_error *error)
{
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    bool in_doubt = false;
    store_op op;
    store_op_init(&op, STORE_CREATE, key);
    op.pieces = &piece;
    op.piece_count = 1;
    store_outcome outcome = store_run(s, &op);
    for (uint32_t k = 0; (outcome == STORE_RETRY || outcome == STORE_UNKNOWN) && k < PAUSES_MAX;
         k++) {
        in_doubt |= outcome == STORE_UNKNOWN;
        pause_for(PAUSE_NS << k);
        outcome = store_run(s, &op);
    }
    (void)end(&op, error);
    if (outcome == STORE_EXISTS && in_doubt && holds(s, key, bytes, size))
        return STORE_CREATED;
    return outcome;
}

store_outcome doctor_head(store *s, const char *key)
{
    store_op op;
    store_op_init(&op, STORE_HEAD, key);
    (void)doctor_run(s, &op);
    return end(&op, NULL);
}

store_outcome doctor_delete(store *s, const char *const *keys, uint32_t count, bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = count;
    (void)doctor_run(s, &op);
    return end(&op, error);
}
