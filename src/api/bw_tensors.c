// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <batchweave/tensors.h>

#include "api/check.h"
#include "base/alloc.h"
#include "payload/cplayout.h"
#include "payload/safetensors.h"
#include <string.h>

struct bw_tensors {
    tensor *tensors; /* names and shapes are owned */
    tensor_note *notes;
    size_t count, capacity, note_count, note_capacity;
    buf out;
};

bw_tensors *bw_tensors_new(size_t bytes_max)
{
    bw_tensors *t = mem_zalloc(sizeof *t);
    if (t != NULL)
        buf_init(&t->out, bytes_max);
    return t;
}

/* Both lists own texts that the public functions copied. */
static void forget(const void *memory)
{
    union {
        const void *given;
        void *owned;
    } both = {.given = memory};
    mem_free(both.owned);
}

void bw_tensors_reset(bw_tensors *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++) {
        forget(t->tensors[i].name);
        forget(t->tensors[i].shape);
    }
    for (size_t i = 0; i < t->note_count; i++) {
        forget(t->notes[i].key);
        forget(t->notes[i].value);
    }
    t->count = t->note_count = 0;
    buf_reset(&t->out);
}

void bw_tensors_free(bw_tensors *t)
{
    if (t == NULL)
        return;
    bw_tensors_reset(t);
    mem_free(t->tensors);
    mem_free(t->notes);
    buf_free(&t->out);
    mem_free(t);
}

bw_status bw_tensors_add(bw_tensors *t, const char *name, const char *dtype, const uint64_t *shape,
                         size_t rank, const void *bytes, size_t size, bw_error *error)
{
    CHECK_NOT_NULL(t);
    CHECK_NOT_NULL(name);
    CHECK_NOT_NULL(dtype);
    if ((shape == NULL && rank > 0) || (bytes == NULL && size > 0) || rank > TENSOR_RANK_MAX)
        return error_set(error, BW_INVALID,
                         "bw_tensors_add: tensor %s: shape or bytes is NULL, or "
                         "more than %u dimensions",
                         name, TENSOR_RANK_MAX);
    tensor added = {.name_bytes = strlen(name), .rank = rank, .bytes = bytes, .size = size};
    if (!tensor_type_find(dtype, strlen(dtype), &added.type))
        return error_set(error, BW_INVALID, "tensor %s: there is no dtype %s", name, dtype);
    void *list = t->tensors;
    if (mem_grow(&list, &t->capacity, t->count + 1, sizeof *t->tensors) != 0)
        return error_set(error, BW_NOMEM, "no memory for a tensor");
    t->tensors = list;
    added.name = mem_strdup(name);
    uint64_t *copied = mem_array(rank + 1, sizeof *copied);
    if (added.name == NULL || copied == NULL) {
        forget(added.name);
        mem_free(copied);
        return error_set(error, BW_NOMEM, "no memory for a tensor");
    }
    if (rank > 0)
        memcpy(copied, shape, rank * sizeof *copied);
    added.shape = copied;
    t->tensors[t->count++] = added;
    return BW_OK;
}

bw_status bw_tensors_note(bw_tensors *t, const char *key, const char *value, bw_error *error)
{
    CHECK_NOT_NULL(t);
    CHECK_NOT_NULL(key);
    CHECK_NOT_NULL(value);
    void *list = t->notes;
    if (mem_grow(&list, &t->note_capacity, t->note_count + 1, sizeof *t->notes) != 0)
        return error_set(error, BW_NOMEM, "no memory for metadata");
    t->notes = list;
    const tensor_note added = {.key = mem_strdup(key), .value = mem_strdup(value)};
    if (added.key == NULL || added.value == NULL) {
        forget(added.key);
        forget(added.value);
        return error_set(error, BW_NOMEM, "no memory for metadata");
    }
    t->notes[t->note_count++] = added;
    return BW_OK;
}

static bw_status show(const bw_tensors *t, const void **bytes, size_t *size)
{
    *bytes = t->out.data;
    *size = t->out.size;
    return BW_OK;
}

bw_status bw_tensors_view(bw_tensors *t, const void **bytes, size_t *size, bw_error *error)
{
    CHECK_NOT_NULL(t);
    CHECK_NOT_NULL(bytes);
    CHECK_NOT_NULL(size);
    buf_reset(&t->out);
    BW_TRY(safetensors_write(t->tensors, t->count, t->notes, t->note_count, &t->out, error));
    return show(t, bytes, size);
}

/** The name as a text, in memory that is at least as large. */
static size_t text_of(jsonstring name, char *out)
{
    uint8_t c[4];
    size_t size = 0, n;
    while ((n = jsonstring_next(&name, c)) > 0) {
        memcpy(out + size, c, n);
        size += n;
    }
    out[size] = '\0';
    return size;
}

bw_status bw_tensors_read(const void *bytes, size_t size, bw_tensor_fn callback, void *context,
                          bw_error *error)
{
    CHECK_NOT_NULL(callback);
    if (bytes == NULL && size > 0)
        return error_set(error, BW_INVALID, "bw_tensors_read: bytes is NULL");
    safetensors s;
    BW_TRY(safetensors_open(&s, bytes, size, error));
    char *name = mem_alloc(s.header_bytes + 1);
    bw_status status = BW_OK;
    if (name == NULL)
        status = error_set(error, BW_NOMEM, "no memory for the name of a tensor");
    for (size_t i = 0; status == BW_OK && i < s.count; i++) {
        const tensor_entry *e = &s.tensors[i];
        uint64_t shape[TENSOR_RANK_MAX];
        safetensors_shape(&s, i, shape);
        const size_t name_bytes = text_of(safetensors_name(&s, i), name);
        if (callback(context, name, name_bytes, tensor_type_name((tensor_type)e->type), shape,
                     e->rank, safetensors_bytes(&s, i), (size_t)(e->end - e->begin)) != 0)
            status = error_set(error, BW_INTERRUPTED, "the reader stopped");
    }
    mem_free(name);
    safetensors_close(&s);
    return status;
}

bw_status bw_tensors_remap(bw_tensors *t, const char *layout, const void *const *items,
                           const size_t *sizes, uint32_t old_cp, uint32_t cp, uint32_t rank,
                           const void **bytes, size_t *size, bw_error *error)
{
    CHECK_NOT_NULL(t);
    CHECK_NOT_NULL(layout);
    CHECK_NOT_NULL(items);
    CHECK_NOT_NULL(sizes);
    CHECK_NOT_NULL(bytes);
    CHECK_NOT_NULL(size);
    cp_layout known;
    if (!cp_layout_find(layout, &known))
        return error_set(error, BW_INVALID, "layout %s: contiguous or headtail is expected",
                         layout);
    cp_item *list = mem_array((size_t)old_cp + 1, sizeof *list);
    if (list == NULL)
        return error_set(error, BW_NOMEM, "no memory for a list of items");
    for (uint32_t i = 0; i < old_cp; i++)
        list[i] = (cp_item){.bytes = items[i], .size = items[i] != NULL ? sizes[i] : 0};
    buf_reset(&t->out);
    const bw_status status = cp_remap(known, list, old_cp, cp, rank, &t->out, error);
    mem_free(list);
    return status == BW_OK ? show(t, bytes, size) : status;
}
