// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/safetensors.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>

#define LENGTH_BYTES 8u
#define METADATA "__metadata__"

/**
 * One walk through the header. The first only checks and counts; the second, once there is memory
 * for so many, keeps what it reads.
 */
typedef struct walk {
    safetensors *s;
    jsontext text;
    size_t count;
    bool keep;
    bool notes; /* `__metadata__` was seen */
} walk;

static uint32_t place(const walk *w, const uint8_t *at)
{
    return (uint32_t)(at - w->s->header);
}

static bool read_type(walk *w, tensor_entry *e)
{
    jsonstring name;
    tensor_type type;
    if (!jsontext_string(&w->text, &name))
        return false;
    if (!tensor_type_find(name.raw, name.raw_bytes, &type))
        return jsontext_fail(&w->text, "an unknown dtype");
    e->type = (uint8_t)type;
    return true;
}

/** A list of at most `max` numbers; `out` may be NULL. */
static bool read_numbers(jsontext *t, uint64_t *out, size_t max, size_t *count)
{
    *count = 0;
    if (!jsontext_take(t, '['))
        return false;
    if (jsontext_peek(t) == ']')
        return jsontext_take(t, ']');
    for (;;) {
        uint64_t value;
        if (!jsontext_u64(t, &value))
            return false;
        if (*count == max)
            return jsontext_fail(t, "too many numbers");
        out[(*count)++] = value;
        if (jsontext_peek(t) != ',')
            return jsontext_take(t, ']');
        t->at++;
    }
}

static bool read_offsets(walk *w, tensor_entry *e)
{
    uint64_t ends[2];
    size_t count;
    if (!read_numbers(&w->text, ends, 2, &count))
        return false;
    if (count != 2 || ends[0] > ends[1] || ends[1] > w->s->data_bytes)
        return jsontext_fail(&w->text, "data_offsets that lie outside the data");
    e->begin = ends[0];
    e->end = ends[1];
    return true;
}

/** dtype, shape and data_offsets, each once, in any order. */
static bool read_tensor(walk *w, tensor_entry *e)
{
    enum { TYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    jsontext *t = &w->text;
    unsigned seen = 0;
    uint64_t shape[TENSOR_RANK_MAX];
    size_t rank = 0;
    if (!jsontext_take(t, '{'))
        return false;
    do {
        jsonstring key;
        if (!jsontext_string(t, &key) || !jsontext_take(t, ':'))
            return false;
        const unsigned field = jsonstring_is(key, "dtype", 5)           ? TYPE
                               : jsonstring_is(key, "shape", 5)         ? SHAPE
                               : jsonstring_is(key, "data_offsets", 12) ? OFFSETS
                                                                        : 0;
        if (field == 0 || (seen & field) != 0)
            return jsontext_fail(t, field == 0 ? "a field of no tensor" : "a field given twice");
        seen |= field;
        jsontext_peek(t);
        if (field == SHAPE)
            e->shape_at = place(w, t->at);
        const bool read = field == TYPE      ? read_type(w, e)
                          : field == OFFSETS ? read_offsets(w, e)
                                             : read_numbers(t, shape, TENSOR_RANK_MAX, &rank);
        if (!read)
            return false;
    } while (jsontext_peek(t) == ',' && jsontext_take(t, ','));
    if (!jsontext_take(t, '}'))
        return false;
    if (seen != ALL)
        return jsontext_fail(t, "a tensor without dtype, shape or data_offsets");
    uint64_t size;
    if (!tensor_size((tensor_type)e->type, shape, rank, &size) || size != e->end - e->begin)
        return jsontext_fail(t, "a tensor whose bytes are not those of its shape");
    e->rank = (uint8_t)rank;
    return true;
}

/** `{"key":"value",…}`; that no key stands twice is checked at the second walk. */
static bool read_notes(walk *w)
{
    jsontext *t = &w->text;
    if (w->notes)
        return jsontext_fail(t, "__metadata__ given twice");
    w->notes = true;
    jsontext_peek(t);
    w->s->notes_at = place(w, t->at);
    if (!jsontext_take(t, '{'))
        return false;
    if (jsontext_peek(t) == '}')
        return jsontext_take(t, '}');
    do {
        jsonstring key, value;
        if (!jsontext_string(t, &key) || !jsontext_take(t, ':') || !jsontext_string(t, &value))
            return false;
    } while (jsontext_peek(t) == ',' && jsontext_take(t, ','));
    return jsontext_take(t, '}');
}

static bool read_member(walk *w)
{
    jsonstring name;
    if (!jsontext_string(&w->text, &name) || !jsontext_take(&w->text, ':'))
        return false;
    if (jsonstring_is(name, METADATA, sizeof METADATA - 1))
        return read_notes(w);
    tensor_entry e = {.name_at = place(w, name.raw), .name_bytes = (uint32_t)name.raw_bytes};
    if (!read_tensor(w, &e))
        return false;
    if (w->keep)
        w->s->tensors[w->count] = e;
    w->count++;
    return true;
}

static bool read_header(walk *w)
{
    jsontext *t = &w->text;
    jsontext_open(t, w->s->header, w->s->header_bytes);
    /* The format has no space before the object, and nothing but spaces behind it. */
    if (t->at == t->end || *t->at != '{')
        return jsontext_fail(t, "the header does not begin with {");
    t->at++;
    if (jsontext_peek(t) != '}') {
        do {
            if (!read_member(w))
                return false;
        } while (jsontext_peek(t) == ',' && jsontext_take(t, ','));
    }
    if (!jsontext_take(t, '}'))
        return false;
    for (; t->at < t->end; t->at++)
        if (*t->at != ' ')
            return jsontext_fail(t, "something stands behind the header");
    return true;
}

typedef bool (*before_fn)(const safetensors *s, size_t a, size_t b);
typedef void (*swap_fn)(safetensors *s, size_t a, size_t b);

/** Heapsort: no memory of its own, n log n whatever the order. */
static void sift_down(safetensors *s, size_t root, size_t count, before_fn before, swap_fn swap)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && before(s, child, child + 1))
            child++;
        if (!before(s, root, child))
            return;
        swap(s, root, child);
        root = child;
    }
}

static void sort(safetensors *s, before_fn before, swap_fn swap)
{
    for (size_t i = s->count / 2; i-- > 0;)
        sift_down(s, i, s->count, before, swap);
    for (size_t n = s->count; n > 1; n--) {
        swap(s, 0, n - 1);
        sift_down(s, 0, n - 1, before, swap);
    }
}

/** Tensors without bytes come before the one that begins where they stand. */
static bool bytes_before(const safetensors *s, size_t a, size_t b)
{
    const tensor_entry *x = &s->tensors[a], *y = &s->tensors[b];
    return x->begin != y->begin ? x->begin < y->begin : x->end < y->end;
}

static void swap_entries(safetensors *s, size_t a, size_t b)
{
    const tensor_entry kept = s->tensors[a];
    s->tensors[a] = s->tensors[b];
    s->tensors[b] = kept;
}

static int compare_names(const safetensors *s, size_t a, size_t b)
{
    return jsonstring_compare(safetensors_name(s, s->by_name[a]),
                              safetensors_name(s, s->by_name[b]));
}

static bool name_before(const safetensors *s, size_t a, size_t b)
{
    return compare_names(s, a, b) < 0;
}

static void swap_names(safetensors *s, size_t a, size_t b)
{
    const uint32_t kept = s->by_name[a];
    s->by_name[a] = s->by_name[b];
    s->by_name[b] = kept;
}

/** Each byte of the data is owned by one tensor, each name by one. */
static const char *check_whole(safetensors *s)
{
    sort(s, bytes_before, swap_entries);
    uint64_t end = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->tensors[i].begin != end)
            return s->tensors[i].begin < end ? "two tensors share bytes"
                                             : "bytes between tensors are of none";
        end = s->tensors[i].end;
    }
    if (end != s->data_bytes)
        return "bytes behind the last tensor";
    for (size_t i = 0; i < s->count; i++)
        s->by_name[i] = (uint32_t)i;
    sort(s, name_before, swap_names);
    for (size_t i = 1; i < s->count; i++)
        if (compare_names(s, i - 1, i) == 0)
            return "two tensors of one name";
    return NULL;
}

/** Notes are few; a hostile header with very many of them must not take the square of their number.
 */
#define NOTES_MAX 1024u

static const char *check_notes(const safetensors *s)
{
    uint32_t at = 0, count = 0;
    jsonstring key, other, value;
    while (safetensors_note(s, &at, &key, &value)) {
        if (++count > NOTES_MAX)
            return "too many pairs of metadata";
        uint32_t behind = at;
        while (safetensors_note(s, &behind, &other, &value))
            if (jsonstring_compare(key, other) == 0)
                return "a key of metadata given twice";
    }
    return NULL;
}

static bw_status corrupt(bw_error *error, const char *what)
{
    return error_set(error, BW_CORRUPT, "safetensors: %s", what);
}

bw_status safetensors_open(safetensors *s, const void *bytes, size_t size, bw_error *error)
{
    const uint8_t *at = bytes;
    *s = (safetensors){0};
    if (size < LENGTH_BYTES)
        return corrupt(error, "the item ends within its length");
    uint64_t length = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)at[i] << 8 * i;
    if (length > SAFETENSORS_HEADER_BYTES_MAX)
        return corrupt(error, "the header is longer than 100,000,000 bytes");
    if (length > size - LENGTH_BYTES)
        return corrupt(error, "the item ends within its header");
    s->header = at + LENGTH_BYTES;
    s->header_bytes = (size_t)length;
    s->data = s->header + length;
    s->data_bytes = size - LENGTH_BYTES - (size_t)length;
    walk first = {.s = s};
    if (!read_header(&first))
        return error_set(error, BW_CORRUPT, "safetensors: byte %zu: %s",
                         (size_t)(first.text.at - at), first.text.bad);
    s->count = first.count;
    if (s->count > 0) {
        s->tensors = mem_array(s->count, sizeof *s->tensors + sizeof *s->by_name);
        if (s->tensors == NULL)
            return error_set(error, BW_NOMEM, "no memory for a list of %zu tensors", s->count);
        s->by_name = (uint32_t *)(void *)(s->tensors + s->count);
    }
    walk second = {.s = s, .keep = true};
    (void)read_header(&second);
    const char *wrong = check_whole(s);
    if (wrong == NULL)
        wrong = check_notes(s);
    if (wrong == NULL)
        return BW_OK;
    safetensors_close(s);
    return corrupt(error, wrong);
}

void safetensors_close(safetensors *s)
{
    mem_free(s->tensors);
    *s = (safetensors){0};
}

bool safetensors_find(const safetensors *s, const void *name, size_t size, size_t *index)
{
    /* The names are sorted as texts; this one is compared with them character by character. */
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        jsonstring text = safetensors_name(s, s->by_name[middle]);
        const uint8_t *at = name;
        size_t left = size, n;
        uint8_t c[4];
        int order = 0;
        while (order == 0 && (n = jsonstring_next(&text, c)) > 0) {
            const size_t common = n < left ? n : left;
            order = common > 0 ? memcmp(c, at, common) : 0;
            if (order == 0 && common < n)
                order = 1;
            at += common;
            left -= common;
        }
        if (order == 0 && left == 0) {
            *index = s->by_name[middle];
            return true;
        }
        if (order > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

jsonstring safetensors_name(const safetensors *s, size_t index)
{
    const tensor_entry *e = &s->tensors[index];
    return (jsonstring){.raw = s->header + e->name_at, .raw_bytes = e->name_bytes};
}

void safetensors_shape(const safetensors *s, size_t index, uint64_t *shape)
{
    const uint32_t at = s->tensors[index].shape_at;
    jsontext t;
    size_t rank;
    jsontext_open(&t, s->header + at, s->header_bytes - at);
    (void)read_numbers(&t, shape, s->tensors[index].rank, &rank);
}

const uint8_t *safetensors_bytes(const safetensors *s, size_t index)
{
    return s->data + s->tensors[index].begin;
}

bool safetensors_note(const safetensors *s, uint32_t *at, jsonstring *key, jsonstring *value)
{
    if (s->notes_at == 0)
        return false;
    const uint32_t from = *at != 0 ? *at : s->notes_at + 1; /* behind { or the pair before */
    jsontext t;
    jsontext_open(&t, s->header + from, s->header_bytes - from);
    if (jsontext_peek(&t) == ',')
        t.at++;
    if (jsontext_peek(&t) == '}')
        return false;
    if (!jsontext_string(&t, key) || !jsontext_take(&t, ':') || !jsontext_string(&t, value))
        return false;
    *at = (uint32_t)(t.at - s->header);
    return true;
}
