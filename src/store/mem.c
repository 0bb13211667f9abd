// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/mem.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/thread.h"
#include "store/driver.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define LIST_MAX_DEFAULT 1000u
#define MEM_INFLIGHT_MAX 64u

/* Contents of one object; counted, so that a mapping outlives a delete as it does with files. */
typedef struct mem_blob {
    atomic_uint references;
    size_t size;
    uint8_t data[];
} mem_blob;

typedef struct mem_object {
    char *key;
    mem_blob *blob;
} mem_object;

struct mem_space {
    lock lock;
    condition answered; /* something was answered or woken in one of the stores */
    struct {
        mem_object *objects; /* sorted by key */
        size_t count, capacity;
        uint64_t applied[STORE_OP_KINDS];
    } locked;
};

typedef struct mem_store {
    store base;
    mem_space *space;
    struct {
        bool stepped;
        bool woken;
        op_queue sent;     /* stepped: not answered yet */
        op_queue complete; /* not polled yet */
    } locked;              /* by the lock of the space: another thread may do the stepping */
} mem_store;

struct mem_late {
    store_op op;
    struct iovec piece;
    char **keys;
};

static mem_store *mem_of(store *s)
{
    return (mem_store *)s;
}

/* ---- contents ---- */

static mem_blob *blob_new(const struct iovec *pieces, uint32_t count, size_t size)
{
    if (size > SIZE_MAX - sizeof(mem_blob))
        return NULL;
    mem_blob *blob = mem_alloc(sizeof *blob + size);
    if (blob == NULL)
        return NULL;
    atomic_init(&blob->references, 1);
    blob->size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (pieces[i].iov_len != 0)
            memcpy(blob->data + blob->size, pieces[i].iov_base, pieces[i].iov_len);
        blob->size += pieces[i].iov_len;
    }
    return blob;
}

static void blob_release(mem_blob *blob)
{
    if (blob != NULL && atomic_fetch_sub(&blob->references, 1) == 1)
        mem_free(blob);
}

static void mapping_release(store_mapping *mapping)
{
    blob_release(mapping->base);
}

/** Index of the first object whose key is not below `key`. */
static size_t find_locked(const mem_space *space, const char *key)
{
    size_t low = 0;
    size_t high = space->locked.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(space->locked.objects[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static mem_object *object_locked(const mem_space *space, const char *key)
{
    const size_t at = find_locked(space, key);
    if (at == space->locked.count || strcmp(space->locked.objects[at].key, key) != 0)
        return NULL;
    return &space->locked.objects[at];
}

/** Takes over `blob`, in failure too. */
static bw_status set_locked(mem_space *space, const char *key, mem_blob *blob)
{
    mem_object *there = object_locked(space, key);
    if (blob == NULL)
        return BW_NOMEM;
    if (there != NULL) {
        blob_release(there->blob);
        there->blob = blob;
        return BW_OK;
    }
    void *objects = space->locked.objects;
    char *copy = mem_strdup(key);
    if (copy == NULL || mem_grow(&objects, &space->locked.capacity, space->locked.count + 1,
                                 sizeof(mem_object)) != 0) {
        mem_free(copy);
        blob_release(blob);
        return BW_NOMEM;
    }
    space->locked.objects = objects;
    const size_t at = find_locked(space, key);
    memmove(&space->locked.objects[at + 1], &space->locked.objects[at],
            (space->locked.count - at) * sizeof(mem_object));
    space->locked.objects[at] = (mem_object){.key = copy, .blob = blob};
    space->locked.count++;
    return BW_OK;
}

static bool remove_locked(mem_space *space, const char *key)
{
    mem_object *object = object_locked(space, key);
    if (object == NULL)
        return false;
    mem_free(object->key);
    blob_release(object->blob);
    const size_t at = (size_t)(object - space->locked.objects);
    memmove(object, object + 1, (space->locked.count - at - 1) * sizeof *object);
    space->locked.count--;
    return true;
}

/* ---- applying one operation ---- */

static void apply_get(const mem_blob *blob, store_op *op)
{
    op->object_bytes = blob->size;
    if (blob->size > op->out.max) {
        store_op_end(op, STORE_FATAL, BW_TOO_LARGE, "object of %zu bytes; at most %zu expected",
                     blob->size, op->out.max);
        return;
    }
    buf_put(&op->out, blob->data, blob->size);
    if (buf_status(&op->out) == BW_OK)
        op->outcome = STORE_OK;
    else
        store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for %zu bytes", blob->size);
}

static void apply_range(mem_blob *blob, store_op *op)
{
    op->object_bytes = blob->size;
    if (op->offset + op->length > blob->size) {
        store_op_end(op, STORE_FATAL, BW_CORRUPT,
                     "object has %zu bytes; %" PRIu64 " at offset %" PRIu64 " were asked for",
                     blob->size, op->length, op->offset);
        return;
    }
    if (op->kind == STORE_READ) {
        memcpy(op->dest, blob->data + op->offset, op->length);
    } else {
        atomic_fetch_add(&blob->references, 1);
        op->mapping = (store_mapping){.data = blob->data + op->offset,
                                      .size = op->length,
                                      .base = blob,
                                      .base_bytes = blob->size,
                                      .release = mapping_release};
    }
    op->outcome = STORE_OK;
}

static void apply_existing_locked(mem_space *space, store_op *op)
{
    mem_object *object = object_locked(space, op->key);
    if (object == NULL) {
        op->outcome = STORE_NOT_FOUND;
    } else if (op->kind == STORE_GET) {
        apply_get(object->blob, op);
    } else if (op->kind == STORE_HEAD) {
        op->object_bytes = object->blob->size;
        op->outcome = STORE_OK;
    } else {
        apply_range(object->blob, op);
    }
}

static void apply_write_locked(mem_space *space, store_op *op)
{
    const bool create = op->kind == STORE_CREATE;
    if (create && object_locked(space, op->key) != NULL) {
        op->outcome = STORE_EXISTS;
        return;
    }
    mem_blob *blob = blob_new(op->pieces, op->piece_count, store_op_bytes(op));
    if (blob != NULL && op->has_crc && op->crc != crc32c(0, blob->data, blob->size)) {
        blob_release(blob);
        store_op_end(op, STORE_FATAL, BW_CORRUPT, "the bytes are not those of their checksum");
        return;
    }
    if (set_locked(space, op->key, blob) == BW_OK)
        op->outcome = create ? STORE_CREATED : STORE_OK;
    else
        store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for the object");
}

static void apply_list_locked(mem_space *space, store_op *op)
{
    const size_t max = op->list_max == 0 ? LIST_MAX_DEFAULT : op->list_max;
    const bool resumes = strcmp(op->after, op->key) >= 0;
    size_t at = find_locked(space, resumes ? op->after : op->key);
    for (; at < space->locked.count; at++) {
        const mem_object *object = &space->locked.objects[at];
        if (resumes && strcmp(object->key, op->after) == 0 && op->after[0] != '\0')
            continue;
        if (!store_has_prefix(object->key, op->key))
            break;
        if (op->list.count == max) {
            op->list.more = true;
            break;
        }
        if (store_list_add(&op->list, object->key, object->blob->size, 0) != BW_OK) {
            store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for the list");
            return;
        }
    }
    op->outcome = STORE_OK;
}

static void apply_locked(mem_space *space, store_op *op)
{
    store_op_restart(op);
    if (!store_op_check(op))
        return;
    space->locked.applied[op->kind]++;
    switch (op->kind) {
    case STORE_PUT:
    case STORE_CREATE:
        apply_write_locked(space, op);
        break;
    case STORE_LIST:
        apply_list_locked(space, op);
        break;
    case STORE_DELETE:
        for (uint32_t i = 0; i < op->key_count; i++)
            (void)remove_locked(space, op->keys[i]);
        op->outcome = STORE_OK;
        break;
    default:
        apply_existing_locked(space, op);
    }
}

/* ---- the driver ---- */

static void mem_submit(store *s, store_op *op)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    if (m->locked.stepped) {
        op_queue_push(&m->locked.sent, op);
    } else {
        apply_locked(m->space, op);
        op_queue_push(&m->locked.complete, op);
    }
    lock_release(&m->space->lock);
}

static size_t mem_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    if (timeout_ns > 0) {
        const int64_t deadline = clock_deadline(clock_system(), timeout_ns);
        bool in_time = true;
        /* With nothing sent there is nothing to wait for. */
        while (in_time && m->locked.complete.count == 0 && m->locked.sent.count != 0 &&
               !m->locked.woken)
            in_time = condition_wait_until(&m->space->answered, &m->space->lock, deadline);
    }
    m->locked.woken = false;
    const size_t count = op_queue_drain(&m->locked.complete, done, max);
    lock_release(&m->space->lock);
    return count;
}

static const store_driver mem_driver;

static bw_status mem_open(mem_space *space, bool stepped, store **out, bw_error *error)
{
    mem_store *m = mem_zalloc(sizeof *m);
    if (m == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    m->base = (store){.driver = &mem_driver,
                      .features = STORE_CAN_MAP | STORE_IS_LOCAL,
                      .inflight_max = MEM_INFLIGHT_MAX};
    m->space = space;
    m->locked.stepped = stepped;
    *out = &m->base;
    return BW_OK;
}

static bw_status mem_clone(store *s, store **out, bw_error *error)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    const bool stepped = m->locked.stepped;
    lock_release(&m->space->lock);
    return mem_open(m->space, stepped, out, error);
}

static void mem_close(store *s)
{
    mem_free(s);
}

static void mem_wake(store *s)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    m->locked.woken = true;
    condition_broadcast(&m->space->answered);
    lock_release(&m->space->lock);
}

static const store_driver mem_driver = {
    .name = "mem",
    .submit = mem_submit,
    .poll = mem_poll,
    .clone = mem_clone,
    .close = mem_close,
    .probe = store_probe_by_ops,
    .wake = mem_wake,
};

bw_status store_mem_open(mem_space *space, store **out, bw_error *error)
{
    return mem_open(space, false, out, error);
}

/* ---- the space ---- */

bw_status mem_space_new(mem_space **out)
{
    mem_space *space = mem_zalloc(sizeof *space);
    if (space == NULL)
        return BW_NOMEM;
    if (lock_init(&space->lock) != BW_OK)
        goto no_lock;
    if (condition_init(&space->answered) != BW_OK)
        goto no_condition;
    *out = space;
    return BW_OK;

no_condition:
    lock_destroy(&space->lock);
no_lock:
    mem_free(space);
    return BW_NOMEM;
}

void mem_space_free(mem_space *space)
{
    if (space == NULL)
        return;
    for (size_t i = 0; i < space->locked.count; i++) {
        mem_free(space->locked.objects[i].key);
        blob_release(space->locked.objects[i].blob);
    }
    mem_free(space->locked.objects);
    condition_destroy(&space->answered);
    lock_destroy(&space->lock);
    mem_free(space);
}

bool mem_space_get(mem_space *space, const char *key, const uint8_t **bytes, size_t *size)
{
    lock_acquire(&space->lock);
    const mem_object *object = object_locked(space, key);
    if (object != NULL) {
        *bytes = object->blob->data;
        *size = object->blob->size;
    }
    lock_release(&space->lock);
    return object != NULL;
}

bw_status mem_space_set(mem_space *space, const char *key, const void *bytes, size_t size)
{
    mem_blob *blob = blob_new(NULL, 0, size);
    if (blob != NULL && size != 0)
        memcpy(blob->data, bytes, size);
    if (blob != NULL)
        blob->size = size;
    lock_acquire(&space->lock);
    const bw_status status = set_locked(space, key, blob);
    lock_release(&space->lock);
    return status;
}

bool mem_space_remove(mem_space *space, const char *key)
{
    lock_acquire(&space->lock);
    const bool removed = remove_locked(space, key);
    lock_release(&space->lock);
    return removed;
}

int mem_space_each(mem_space *space, const char *prefix,
                   int (*each)(void *, const char *key, const uint8_t *bytes, size_t size),
                   void *context)
{
    int result = 0;
    lock_acquire(&space->lock);
    for (size_t i = find_locked(space, prefix); result == 0 && i < space->locked.count; i++) {
        const mem_object *object = &space->locked.objects[i];
        if (!store_has_prefix(object->key, prefix))
            break;
        result = each(context, object->key, object->blob->data, object->blob->size);
    }
    lock_release(&space->lock);
    return result;
}

static int count_one(void *context, const char *key, const uint8_t *bytes, size_t size)
{
    (void)key;
    (void)bytes;
    (void)size;
    ++*(size_t *)context;
    return 0;
}

size_t mem_space_count(mem_space *space, const char *prefix)
{
    size_t count = 0;
    (void)mem_space_each(space, prefix, count_one, &count);
    return count;
}

uint64_t mem_space_applied(mem_space *space, store_op_kind kind)
{
    lock_acquire(&space->lock);
    const uint64_t applied = space->locked.applied[kind];
    lock_release(&space->lock);
    return applied;
}

/* ---- stepped mode ---- */

void store_mem_set_stepped(store *s, bool stepped)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    m->locked.stepped = stepped;
    lock_release(&m->space->lock);
}

size_t store_mem_sent(store *s, store_op **ops, size_t max)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    size_t count = 0;
    for (store_op *op = m->locked.sent.head; op != NULL && count < max; op = op->next)
        ops[count++] = op;
    lock_release(&m->space->lock);
    return count;
}

store_outcome store_mem_apply(store *s, store_op *op)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    apply_locked(m->space, op);
    const store_outcome outcome = op->outcome;
    lock_release(&m->space->lock);
    return outcome;
}

static void answer_with(store_op *op, store_outcome as)
{
    error_clear(&op->error);
    op->outcome = as;
    const bw_status code = store_op_status(op);
    if (code != BW_OK && code != BW_NOT_FOUND)
        store_op_end(op, as, code, "answered %s by the test", store_outcome_name(as));
}

void store_mem_answer(store *s, store_op *op, store_outcome as)
{
    mem_store *m = mem_of(s);
    lock_acquire(&m->space->lock);
    if (op_queue_remove(&m->locked.sent, op)) {
        if (as == STORE_PENDING && op->outcome == STORE_PENDING)
            as = STORE_RETRY; /* never applied: nothing landed */
        if (as != STORE_PENDING)
            answer_with(op, as);
        op_queue_push(&m->locked.complete, op);
        condition_broadcast(&m->space->answered);
    }
    lock_release(&m->space->lock);
}

static bool late_copy(mem_late *late, const store_op *op)
{
    store_op_init(&late->op, op->kind, op->key);
    const uint64_t bytes = store_op_bytes(op);
    late->piece = (struct iovec){.iov_base = mem_alloc(bytes + 1), .iov_len = 0};
    late->keys = mem_array((size_t)op->key_count + 1, sizeof *late->keys);
    if (late->piece.iov_base == NULL || late->keys == NULL)
        return false;
    uint8_t *to = late->piece.iov_base;
    for (uint32_t i = 0; i < op->piece_count; i++) {
        if (op->pieces[i].iov_len != 0)
            memcpy(to + late->piece.iov_len, op->pieces[i].iov_base, op->pieces[i].iov_len);
        late->piece.iov_len += op->pieces[i].iov_len;
    }
    late->op.pieces = &late->piece;
    late->op.piece_count = 1;
    for (uint32_t i = 0; i < op->key_count; i++) {
        late->keys[i] = mem_strdup(op->keys[i]);
        if (late->keys[i] == NULL)
            return false;
        late->op.key_count++;
    }
    late->op.keys = (const char *const *)late->keys;
    return true;
}

mem_late *store_mem_keep(store *s, const store_op *op)
{
    (void)s;
    mem_late *late = mem_zalloc(sizeof *late);
    if (late == NULL || late_copy(late, op))
        return late;
    store_mem_drop(late);
    return NULL;
}

store_outcome store_mem_apply_late(store *s, mem_late *late)
{
    return store_mem_apply(s, &late->op);
}

void store_mem_drop(mem_late *late)
{
    if (late == NULL)
        return;
    for (uint32_t i = 0; i < late->op.key_count; i++)
        mem_free(late->keys[i]);
    mem_free(late->keys);
    mem_free(late->piece.iov_base);
    mem_free(late);
}
