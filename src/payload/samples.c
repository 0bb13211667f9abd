// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/samples.h"

#define COUNT_BYTES 4u
#define FIELDS_BYTES 2u
#define KEY_LENGTH_BYTES 2u
#define VALUE_LENGTH_BYTES 4u

static void fail(samples_builder *b, bw_status status)
{
    if (b->out->failed == BW_OK)
        b->out->failed = status;
}

static void store(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t load(const uint8_t *at, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

void samples_begin(samples_builder *b, buf *out)
{
    *b = (samples_builder){.out = out, .item_at = out->size};
    buf_put_u32(out, 0);
}

void samples_add(samples_builder *b)
{
    if (b->samples == UINT32_MAX) {
        fail(b, BW_TOO_LARGE);
        return;
    }
    b->samples++;
    b->fields = 0;
    b->sample_at = b->out->size;
    buf_put_u16(b->out, 0);
}

void samples_add_field(samples_builder *b, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes)
{
    if (b->samples == 0) {
        fail(b, BW_INVALID);
        return;
    }
    if (b->fields == UINT16_MAX || key_bytes > UINT16_MAX || value_bytes > UINT32_MAX) {
        fail(b, BW_TOO_LARGE);
        return;
    }
    b->fields++;
    buf_put_u16(b->out, (uint16_t)key_bytes);
    buf_put(b->out, key, key_bytes);
    buf_put_u32(b->out, (uint32_t)value_bytes);
    buf_put(b->out, value, value_bytes);
    if (buf_status(b->out) == BW_OK)
        store(b->out->data + b->sample_at, b->fields, FIELDS_BYTES);
}

bw_status samples_end(samples_builder *b)
{
    if (buf_status(b->out) == BW_OK)
        store(b->out->data + b->item_at, b->samples, COUNT_BYTES);
    return buf_status(b->out);
}

/* A length of `length_bytes` and what it measures; false when the bytes end before. */
static bool read_text(samples_reader *r, size_t length_bytes, const uint8_t **text, size_t *bytes)
{
    if ((size_t)(r->end - r->at) < length_bytes)
        return false;
    *bytes = load(r->at, length_bytes);
    if ((size_t)(r->end - r->at) - length_bytes < *bytes)
        return false;
    *text = r->at + length_bytes;
    r->at = *text + *bytes;
    return true;
}

static bool read_field(samples_reader *r, sample_field *field)
{
    return read_text(r, KEY_LENGTH_BYTES, &field->key, &field->key_bytes) &&
           read_text(r, VALUE_LENGTH_BYTES, &field->value, &field->value_bytes);
}

bw_status samples_open(samples_reader *r, const void *bytes, size_t size, bw_error *error)
{
    if (size < COUNT_BYTES)
        return error_set(error, BW_CORRUPT, "samples: %zu bytes hold no item", size);
    const uint8_t *at = bytes;
    samples_reader walk = {.at = at + COUNT_BYTES, .end = at + size};
    walk.samples = walk.samples_left = load(at, COUNT_BYTES);
    *r = walk;
    for (uint32_t i = 0; i < r->samples; i++) {
        if ((size_t)(walk.end - walk.at) < FIELDS_BYTES)
            return error_set(error, BW_CORRUPT, "samples: the item ends before sample %u", i);
        const uint32_t fields = load(walk.at, FIELDS_BYTES);
        walk.at += FIELDS_BYTES;
        sample_field field;
        for (uint32_t k = 0; k < fields; k++) {
            if (!read_field(&walk, &field))
                return error_set(error, BW_CORRUPT, "samples: the item ends in sample %u, field %u",
                                 i, k);
        }
    }
    if (walk.at != walk.end)
        return error_set(error, BW_CORRUPT, "samples: %zu bytes after the last sample",
                         (size_t)(walk.end - walk.at));
    return BW_OK;
}

bool samples_next(samples_reader *r)
{
    sample_field skipped;
    while (samples_next_field(r, &skipped))
        continue;
    if (r->samples_left == 0)
        return false;
    r->samples_left--;
    r->fields_left = (uint16_t)load(r->at, FIELDS_BYTES);
    r->at += FIELDS_BYTES;
    return true;
}

bool samples_next_field(samples_reader *r, sample_field *field)
{
    if (r->fields_left == 0)
        return false;
    r->fields_left--;
    return read_field(r, field);
}
