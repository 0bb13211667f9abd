// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/driver.h"

#include "base/crc32c.h"
#include "codec/key.h"

#include <string.h>
#include <time.h>

#define PROBE_WAIT_MS 10
#define PROBE_WAIT_MS_MAX 1280

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/** Length of the segment at `text`; 0 when it is no segment of a key. */
static size_t segment_size(const char *text)
{
    size_t size = 0;
    while (is_key_byte(text[size]))
        size++;
    const bool dots = size <= 2 && memcmp(text, "..", size) == 0;
    return dots || size > STORE_SEGMENT_MAX ? 0 : size;
}

bool store_key_is_valid(const char *key)
{
    if (strnlen(key, STORE_KEY_MAX + 1) > STORE_KEY_MAX)
        return false;
    for (;;) {
        const size_t size = segment_size(key);
        if (size == 0 || (key[size] != '\0' && key[size] != '/'))
            return false;
        if (key[size] == '\0')
            return true;
        key += size + 1;
    }
}

bool store_prefix_is_valid(const char *prefix)
{
    if (strnlen(prefix, STORE_KEY_MAX + 1) > STORE_KEY_MAX)
        return false;
    /* Whole segments as in a key; the last may be unfinished, and then be anything a segment starts
     * with. */
    for (const char *slash = strchr(prefix, '/'); slash != NULL; slash = strchr(prefix, '/')) {
        if (segment_size(prefix) != (size_t)(slash - prefix) || slash == prefix)
            return false;
        prefix = slash + 1;
    }
    size_t size = 0;
    while (is_key_byte(prefix[size]))
        size++;
    return size <= STORE_SEGMENT_MAX && prefix[size] == '\0';
}

bool store_has_prefix(const char *key, const char *prefix)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

void store_op_restart(store_op *op)
{
    op->outcome = STORE_PENDING;
    op->attempts++;
    op->object_bytes = 0;
    op->modified_ms = 0;
    op->lost = false;
    op->throttled = false;
    op->retry_after_ns = 0;
    error_clear(&op->error);
    if (op->kind == STORE_GET)
        buf_reset(&op->out);
    store_list_free(&op->list);
    store_mapping_release(&op->mapping);
}

static bool delete_is_valid(const store_op *op)
{
    if (op->key_count > STORE_DELETE_MAX)
        return false;
    for (uint32_t i = 0; i < op->key_count; i++) {
        if (!store_key_is_valid(op->keys[i]))
            return false;
    }
    return true;
}

bool store_op_check(store_op *op)
{
    bool valid;
    switch (op->kind) {
    case STORE_LIST:
        valid =
            store_prefix_is_valid(op->key) && (op->list_any || store_prefix_is_valid(op->after));
        break;
    case STORE_DELETE:
        valid = delete_is_valid(op);
        break;
    case STORE_READ:
    case STORE_MAP:
        valid = store_key_is_valid(op->key) && op->length >= 1 &&
                op->offset <= INT64_MAX - op->length && op->length <= INT64_MAX;
        break;
    default:
        valid = (unsigned)op->kind < STORE_OP_KINDS && store_key_is_valid(op->key);
    }
    if (op->key[0] == '\0' && op->kind != STORE_LIST && op->kind != STORE_DELETE)
        store_op_end(op, STORE_FATAL, BW_NOMEM, "%s: no memory to make the name of the object",
                     store_op_name(op->kind)); /* codec/key.h */
    else if (!valid)
        store_op_end(op, STORE_FATAL, BW_INVALID, "%s: not a valid key, prefix or range",
                     store_op_name(op->kind));
    return valid;
}

uint64_t store_op_bytes(const store_op *op)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->piece_count; i++)
        bytes += op->pieces[i].iov_len;
    return bytes;
}

uint32_t store_op_crc(const store_op *op)
{
    uint32_t crc = 0;
    for (uint32_t i = 0; i < op->piece_count && !op->has_crc; i++)
        crc = crc32c(crc, op->pieces[i].iov_base, op->pieces[i].iov_len);
    return op->has_crc ? op->crc : crc;
}

void op_queue_push(op_queue *queue, store_op *op)
{
    op->next = NULL;
    if (queue->head == NULL)
        queue->head = op;
    else
        queue->tail->next = op;
    queue->tail = op;
    queue->count++;
}

store_op *op_queue_pop(op_queue *queue)
{
    store_op *op = queue->head;
    if (op == NULL)
        return NULL;
    queue->head = op->next;
    op->next = NULL;
    queue->count--;
    return op;
}

bool op_queue_remove(op_queue *queue, store_op *op)
{
    store_op *before = NULL;
    for (store_op *at = queue->head; at != NULL; before = at, at = at->next) {
        if (at != op)
            continue;
        if (before == NULL)
            queue->head = op->next;
        else
            before->next = op->next;
        if (queue->tail == op)
            queue->tail = before;
        op->next = NULL;
        queue->count--;
        return true;
    }
    return false;
}

size_t op_queue_drain(op_queue *queue, store_op **done, size_t max)
{
    size_t count = 0;
    while (count < max && queue->head != NULL)
        done[count++] = op_queue_pop(queue);
    return count;
}

/** The error of a failed operation of the probe, with what was being proved. */
static bw_status probe_failed(const store_op *op, const char *what, bw_error *error)
{
    if (op->error.code == BW_OK)
        return error_set(error, BW_STORE_UNSAFE, "%s answered %s", what,
                         store_outcome_name(op->outcome));
    error_copy(error, &op->error);
    error_prefix(error, "%s", what);
    return store_op_status(op);
}

static void pause_ms(int64_t ms)
{
    const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS};
    (void)nanosleep(&wait, NULL);
}

static bw_status probe_create(store *s, const char *key, const char *text, store_outcome expected,
                              const char *what, bw_error *error)
{
    char bytes[8];
    const size_t size = strnlen(text, sizeof bytes);
    memcpy(bytes, text, size);
    const struct iovec piece = {.iov_base = bytes, .iov_len = size};
    store_op op;
    store_op_init(&op, STORE_CREATE, key);
    op.pieces = &piece;
    op.piece_count = 1;
    store_outcome outcome = store_run(s, &op);
    bool in_doubt = false;
    /* No decorator repeats a create. The same bytes again are no second one: after an answer that
     * was lost EXISTS may be our own. */
    for (int64_t wait_ms = PROBE_WAIT_MS;
         (outcome == STORE_RETRY || outcome == STORE_UNKNOWN) && wait_ms <= PROBE_WAIT_MS_MAX;
         wait_ms *= 2) {
        in_doubt = in_doubt || outcome == STORE_UNKNOWN;
        pause_ms(wait_ms);
        outcome = store_run(s, &op);
    }
    if (outcome == expected || (in_doubt && outcome == STORE_EXISTS))
        return BW_OK;
    if (outcome == STORE_CREATED) /* the one that must not have been */
        return error_set(
            error, BW_STORE_UNSAFE,
            "the store overwrites an object that it was told to create only if absent");
    return probe_failed(&op, what, error);
}

static bw_status probe_read_back(store *s, const char *key, const char *text, bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_GET, key);
    buf_init(&op.out, 64);
    bw_status status = BW_OK;
    if (store_run(s, &op) != STORE_OK)
        status = probe_failed(&op, "reading back an object just created", error);
    else if (op.out.size != strlen(text) || memcmp(op.out.data, text, op.out.size) != 0)
        status =
            error_set(error, BW_STORE_UNSAFE, "an object just created reads back with other bytes");
    store_op_clear(&op);
    return status;
}

bw_status store_probe_by_ops(store *s, uint64_t nonce, bw_error *error)
{
    object_key key;
    key_probe(&key, nonce);
    bw_status status =
        probe_create(s, key.text, "first", STORE_CREATED, "creating a probe object", error);
    if (status != BW_OK)
        return status;
    status =
        probe_create(s, key.text, "second", STORE_EXISTS, "creating the probe object again", error);
    if (status == BW_OK)
        status = probe_read_back(s, key.text, "first", error);

    /* Best effort: who may publish may lack the right to delete. */
    const char *const keys[] = {key.text};
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = 1;
    (void)store_run(s, &op);
    return status;
}
