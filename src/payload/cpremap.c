// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/cplayout.h"

#include "base/alloc.h"
#include "payload/safetensors.h"

#include <inttypes.h>
#include <string.h>

/** What is needed to build one item from many; all of it freed at the end. */
typedef struct remap {
    cp_layout layout;
    uint32_t old_cp, cp, rank;
    safetensors *from;
    uint32_t opened;
    size_t *twins; /* of the tensor at hand, in each slice */
    tensor *tensors;
    uint64_t *shapes; /* TENSOR_RANK_MAX for each */
    tensor_note *notes;
    size_t note_count;
    buf names, bytes; /* texts of names and notes; tensors that were cut anew */
    bw_error *error;
} remap;

static bw_status disagree(const remap *r, size_t index, const char *what)
{
    const tensor *t = &r->tensors[index];
    const int shown = t->name_bytes < 200 ? (int)t->name_bytes : 200;
    return error_set(r->error, BW_CORRUPT, "context-parallel slices, tensor %.*s: %s", shown,
                     t->name, what);
}

/** Appends the text and a NUL; where it begins. The buffer has room for all of them already. */
static const char *keep_text(buf *out, jsonstring text, size_t *size)
{
    const size_t before = out->size;
    uint8_t c[4];
    size_t n;
    while ((n = jsonstring_next(&text, c)) > 0)
        buf_put(out, c, n);
    *size = out->size - before;
    buf_put_u8(out, 0);
    return (const char *)out->data + before;
}

/** The declared axis of a tensor; -1: none, -2: not a number below its rank. */
static int axis_of(const safetensors *s, size_t index, const tensor *t)
{
    uint32_t at = 0;
    jsonstring key, value;
    while (safetensors_note(s, &at, &key, &value)) {
        uint8_t c[4];
        size_t matched = 0;
        while (matched < sizeof CP_AXIS_KEY - 1 && jsonstring_next(&key, c) == 1 &&
               c[0] == (uint8_t)CP_AXIS_KEY[matched])
            matched++;
        if (matched < sizeof CP_AXIS_KEY - 1 ||
            jsonstring_compare(key, safetensors_name(s, index)) != 0)
            continue;
        jsontext number;
        uint64_t axis;
        jsontext_open(&number, value.raw, value.raw_bytes);
        return jsontext_u64(&number, &axis) && jsontext_done(&number) && axis < t->rank ? (int)axis
                                                                                        : -2;
    }
    return -1;
}

/** Finds the tensors of this name in all slices: of the same type and shape. */
static bw_status find_twins(remap *r, size_t index)
{
    const tensor *t = &r->tensors[index];
    r->twins[0] = index;
    for (uint32_t k = 1; k < r->old_cp; k++) {
        const safetensors *s = &r->from[k];
        uint64_t shape[TENSOR_RANK_MAX];
        if (!safetensors_find(s, t->name, t->name_bytes, &r->twins[k]))
            return disagree(r, index, "not in all of them");
        const tensor_entry *e = &s->tensors[r->twins[k]];
        safetensors_shape(s, r->twins[k], shape);
        if (e->type != t->type || e->rank != t->rank ||
            (t->rank > 0 && memcmp(shape, t->shape, t->rank * sizeof *shape) != 0))
            return disagree(r, index, "of different type or shape");
    }
    return BW_OK;
}

static const uint8_t *twin_bytes(const remap *r, uint32_t rank)
{
    return safetensors_bytes(&r->from[rank], r->twins[rank]);
}

static bw_status copy_shared(const remap *r, size_t index)
{
    const tensor *t = &r->tensors[index];
    for (uint32_t k = 1; k < r->old_cp; k++)
        if (t->size > 0 && memcmp(twin_bytes(r, k), t->bytes, t->size) != 0)
            return disagree(r, index, "declares no sequence axis, and is not the same in all");
    return BW_OK;
}

/** `rows` times the pieces of the sequence, each element `unit` bytes, from the slices' bytes. */
static bw_status gather(remap *r, uint64_t rows, uint64_t old_length, uint64_t unit)
{
    cp_walk whole;
    const uint64_t sequence = old_length * r->old_cp;
    BW_TRY(cp_walk_begin(&whole, r->layout, sequence, r->old_cp, r->cp, r->rank, r->error));
    for (uint64_t row = 0; row < rows; row++) {
        cp_walk w = whole;
        cp_piece piece;
        while (cp_walk_next(&w, &piece))
            buf_put(&r->bytes, twin_bytes(r, piece.rank) + (row * old_length + piece.from) * unit,
                    (size_t)(piece.length * unit));
    }
    return buf_status(&r->bytes) == BW_OK
               ? BW_OK
               : error_set(r->error, buf_status(&r->bytes), "no memory to remap a slice");
}

static bw_status cut_anew(remap *r, size_t index, unsigned axis)
{
    tensor *t = &r->tensors[index];
    uint64_t *shape = r->shapes + index * TENSOR_RANK_MAX;
    const uint64_t old_length = shape[axis];
    uint64_t rows = 1, unit_bits = tensor_type_bits(t->type), sequence;
    for (size_t i = 0; i < t->rank; i++) {
        rows *= i < axis ? shape[i] : 1;
        unit_bits *= i > axis ? shape[i] : 1;
    }
    if (unit_bits % 8 != 0)
        return disagree(r, index, "an element of its sequence is no whole number of bytes");
    if (__builtin_mul_overflow(old_length, r->old_cp, &sequence))
        return disagree(r, index, "too long");
    const size_t at = r->bytes.size;
    if (t->size > 0)
        BW_TRY(gather(r, rows, old_length, unit_bits / 8));
    else if (!cp_layout_fits(r->layout, sequence, r->cp))
        return disagree(r, index, "cannot be cut");
    shape[axis] = sequence / r->cp;
    t->bytes = r->bytes.data + at;
    t->size = r->bytes.size - at;
    return BW_OK;
}

static bw_status build(remap *r)
{
    const safetensors *first = &r->from[0];
    for (size_t i = 0; i < first->count; i++) {
        const tensor_entry *e = &first->tensors[i];
        uint64_t *shape = r->shapes + i * TENSOR_RANK_MAX;
        size_t name_bytes;
        const char *name = keep_text(&r->names, safetensors_name(first, i), &name_bytes);
        safetensors_shape(first, i, shape);
        r->tensors[i] = (tensor){.name = name,
                                 .name_bytes = name_bytes,
                                 .type = (tensor_type)e->type,
                                 .shape = shape,
                                 .rank = e->rank,
                                 .bytes = safetensors_bytes(first, i),
                                 .size = (size_t)(e->end - e->begin)};
        BW_TRY(find_twins(r, i));
        const int axis = axis_of(first, i, &r->tensors[i]);
        if (axis < -1)
            return disagree(r, i, "its declared sequence axis is none of its dimensions");
        BW_TRY(axis < 0 ? copy_shared(r, i) : cut_anew(r, i, (unsigned)axis));
    }
    for (uint32_t k = 1; k < r->old_cp; k++)
        if (r->from[k].count != first->count)
            return error_set(r->error, BW_CORRUPT,
                             "context-parallel slices have %zu and %zu tensors", first->count,
                             r->from[k].count);
    uint32_t at = 0;
    jsonstring key, value;
    for (size_t i = 0; safetensors_note(first, &at, &key, &value); i++) {
        size_t key_bytes, value_bytes;
        r->notes[i].key = keep_text(&r->names, key, &key_bytes);
        r->notes[i].value = keep_text(&r->names, value, &value_bytes);
        if (strlen(r->notes[i].key) != key_bytes || strlen(r->notes[i].value) != value_bytes)
            return error_set(r->error, BW_CORRUPT,
                             "context-parallel slices: a NUL in the metadata");
        r->note_count = i + 1;
    }
    return BW_OK;
}

/** Memory for everything: lists by count, buffers that must not move by their largest size. */
static bw_status prepare(remap *r, const cp_item *items)
{
    size_t bytes_max = 0, notes = 0;
    r->from = mem_array(r->old_cp, sizeof *r->from);
    r->twins = mem_array(r->old_cp, sizeof *r->twins);
    if (r->from == NULL || r->twins == NULL)
        return error_set(r->error, BW_NOMEM, "no memory to remap a slice");
    for (; r->opened < r->old_cp; r->opened++) {
        const cp_item *item = &items[r->opened];
        BW_TRY(safetensors_open(&r->from[r->opened], item->bytes, item->size, r->error));
        if (__builtin_add_overflow(bytes_max, item->size, &bytes_max))
            return error_set(r->error, BW_TOO_LARGE, "the slices are too large to remap");
    }
    uint32_t at = 0;
    jsonstring key, value;
    while (safetensors_note(&r->from[0], &at, &key, &value))
        notes++;
    const size_t count = r->from[0].count;
    r->tensors = mem_array(count + 1, sizeof *r->tensors);
    r->shapes = mem_array(count + 1, TENSOR_RANK_MAX * sizeof *r->shapes);
    r->notes = mem_array(notes + 1, sizeof *r->notes);
    /* No text is longer than it is written, and each has two quotes for its NUL. */
    const size_t names_max = r->from[0].header_bytes + 1;
    buf_init(&r->names, names_max);
    buf_init(&r->bytes, bytes_max);
    if (r->tensors == NULL || r->shapes == NULL || r->notes == NULL ||
        buf_reserve(&r->names, names_max) != BW_OK || buf_reserve(&r->bytes, bytes_max) != BW_OK)
        return error_set(r->error, BW_NOMEM, "no memory to remap a slice");
    return BW_OK;
}

bw_status cp_remap(cp_layout layout, const cp_item *items, uint32_t old_cp, uint32_t cp,
                   uint32_t rank, buf *out, bw_error *error)
{
    if (old_cp == 0 || cp == 0 || rank >= cp)
        return error_set(error, BW_INVALID, "position %" PRIu32 " of %" PRIu32 " from %" PRIu32,
                         rank, cp, old_cp);
    remap r = {.layout = layout, .old_cp = old_cp, .cp = cp, .rank = rank, .error = error};
    bw_status status = prepare(&r, items);
    if (status == BW_OK)
        status = build(&r);
    if (status == BW_OK)
        status = safetensors_write(r.tensors, r.from[0].count, r.notes, r.note_count, out, error);
    for (uint32_t k = 0; k < r.opened; k++)
        safetensors_close(&r.from[k]);
    mem_free(r.from);
    mem_free(r.twins);
    mem_free(r.tensors);
    mem_free(r.shapes);
    mem_free(r.notes);
    buf_free(&r.names);
    buf_free(&r.bytes);
    return status;
}
