// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/safetensors.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8u
#define METADATA "__metadata__"

static int compare_texts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const size_t common = a_bytes < b_bytes ? a_bytes : b_bytes;
    const int order = common > 0 ? memcmp(a, b, common) : 0;
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/** Large elements first, so that each tensor is aligned for its type; then by name. */
static int in_data_order(const void *a, const void *b)
{
    const tensor *x = *(const tensor *const *)a, *y = *(const tensor *const *)b;
    const unsigned x_bits = tensor_type_bits(x->type), y_bits = tensor_type_bits(y->type);
    if (x_bits != y_bits)
        return x_bits > y_bits ? -1 : 1;
    return compare_texts(x->name, x->name_bytes, y->name, y->name_bytes);
}

static int by_name(const void *a, const void *b)
{
    const tensor *x = *(const tensor *const *)a, *y = *(const tensor *const *)b;
    return compare_texts(x->name, x->name_bytes, y->name, y->name_bytes);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const tensor_note *const *)a)->key, (*(const tensor_note *const *)b)->key);
}

static bw_status bad(bw_error *error, const tensor *t, const char *what)
{
    const int shown = t->name_bytes < 200 ? (int)t->name_bytes : 200;
    return error_set(error, BW_INVALID, "tensor %.*s: %s", shown, t->name, what);
}

static bw_status check_tensor(const tensor *t, bw_error *error)
{
    uint64_t size;
    if ((unsigned)t->type >= TENSOR_TYPES)
        return bad(error, t, "an unknown dtype");
    if (!utf8_is_valid(t->name, t->name_bytes))
        return error_set(error, BW_INVALID, "the name of a tensor is not UTF-8");
    if (compare_texts(t->name, t->name_bytes, METADATA, sizeof METADATA - 1) == 0)
        return bad(error, t, "the format keeps this name for itself");
    if (t->rank > TENSOR_RANK_MAX)
        return bad(error, t, "too many dimensions");
    if (!tensor_size(t->type, t->shape, t->rank, &size) || size != t->size)
        return bad(error, t, "its bytes are not those of its shape");
    return BW_OK;
}

static void put_string(buf *out, const char *text, size_t size)
{
    buf_put_u8(out, '"');
    for (size_t i = 0; i < size; i++) {
        const uint8_t c = (uint8_t)text[i];
        if (c == '"' || c == '\\') {
            buf_put_u8(out, '\\');
            buf_put_u8(out, c);
        } else if (c < 0x20) {
            buf_printf(out, "\\u%04x", c);
        } else {
            buf_put_u8(out, c);
        }
    }
    buf_put_u8(out, '"');
}

static void put_entry(buf *out, const tensor *t, uint64_t begin)
{
    put_string(out, t->name, t->name_bytes);
    buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", tensor_type_name(t->type));
    for (size_t i = 0; i < t->rank; i++)
        buf_printf(out, "%s%" PRIu64, i > 0 ? "," : "", t->shape[i]);
    buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + t->size);
}

static bw_status put_notes(buf *out, const tensor_note *notes, const tensor_note **sorted,
                           size_t count, bw_error *error)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = &notes[i];
    qsort(sorted, count, sizeof(void *), by_key);
    buf_put_text(out, "\"" METADATA "\":{");
    for (size_t i = 0; i < count; i++) {
        const char *key = sorted[i]->key, *value = sorted[i]->value;
        if (!utf8_is_valid(key, strlen(key)) || !utf8_is_valid(value, strlen(value)))
            return error_set(error, BW_INVALID, "metadata that is not UTF-8");
        if (i > 0 && strcmp(sorted[i - 1]->key, key) == 0)
            return error_set(error, BW_INVALID, "metadata %s is given twice", key);
        if (i > 0)
            buf_put_u8(out, ',');
        put_string(out, key, strlen(key));
        buf_put_u8(out, ':');
        put_string(out, value, strlen(value));
    }
    buf_put_u8(out, '}');
    return BW_OK;
}

/** Header and bytes of checked tensors, in the order of the list. */
static bw_status put_all(const tensor *const *order, size_t count, bool comma, size_t item_at,
                         buf *out)
{
    uint64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        if (comma || i > 0)
            buf_put_u8(out, ',');
        put_entry(out, order[i], begin);
        begin += order[i]->size;
    }
    buf_put_u8(out, '}');
    if (buf_status(out) != BW_OK)
        return buf_status(out);
    const size_t over = (out->size - item_at) % SAFETENSORS_ALIGNMENT;
    for (size_t i = over; i > 0 && i < SAFETENSORS_ALIGNMENT; i++)
        buf_put_u8(out, ' ');
    const size_t header = out->size - item_at - LENGTH_BYTES;
    if (header > SAFETENSORS_HEADER_BYTES_MAX)
        return BW_TOO_LARGE;
    for (size_t i = 0; i < count; i++)
        buf_put(out, order[i]->bytes, order[i]->size);
    if (buf_status(out) != BW_OK)
        return buf_status(out);
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        out->data[item_at + i] = (uint8_t)((uint64_t)header >> 8 * i);
    return BW_OK;
}

static bw_status write_sorted(const tensor *tensors, size_t count, const tensor_note *notes,
                              size_t note_count, const void **order, buf *out, bw_error *error)
{
    const tensor **sorted = (const tensor **)order;
    for (size_t i = 0; i < count; i++) {
        BW_TRY(check_tensor(&tensors[i], error));
        sorted[i] = &tensors[i];
    }
    qsort(sorted, count, sizeof(void *), by_name);
    for (size_t i = 1; i < count; i++)
        if (by_name(&sorted[i - 1], &sorted[i]) == 0)
            return bad(error, sorted[i], "the name is given twice");
    const size_t item_at = out->size;
    buf_put_u64(out, 0);
    buf_put_u8(out, '{');
    if (note_count > 0)
        BW_TRY(put_notes(out, notes, (const tensor_note **)order + count, note_count, error));
    qsort(sorted, count, sizeof(void *), in_data_order);
    const bw_status status = put_all(sorted, count, note_count > 0, item_at, out);
    return status == BW_OK ? BW_OK
                           : error_set(error, status, "the item of %zu tensors: %s", count,
                                       bw_status_text(status));
}

bw_status safetensors_write(const tensor *tensors, size_t count, const tensor_note *notes,
                            size_t note_count, buf *out, bw_error *error)
{
    if (buf_status(out) != BW_OK)
        return error_set(error, buf_status(out), "the buffer of the item failed before");
    const size_t before = out->size;
    const void **order = mem_array(count + note_count + 1, sizeof *order);
    if (order == NULL)
        return error_set(error, BW_NOMEM, "no memory for a list of %zu tensors", count);
    const bw_status status = write_sorted(tensors, count, notes, note_count, order, out, error);
    mem_free(order);
    if (status != BW_OK) {
        out->size = before;
        out->failed = BW_OK;
    }
    return status;
}
