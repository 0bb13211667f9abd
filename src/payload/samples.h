// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Items of kind `samples` (docs/format.md 5.3): a list of samples, each a list of ⟨key, value⟩
 * fields.
 *
 *     samples_begin(&b, out);
 *     samples_add(&b);                                    once per sample
 *     samples_add_field(&b, "text", 4, text, text_bytes); once per field of it
 *     status = samples_end(&b);
 *
 *     status = samples_open(&r, bytes, size, error);
 *     while (samples_next(&r))
 *         while (samples_next_field(&r, &field))
 *             ...
 */
#ifndef PAYLOAD_SAMPLES_H
#define PAYLOAD_SAMPLES_H

#include "base/buf.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Appends one item to `out`, which stays the caller's. */
typedef struct samples_builder {
    buf *out;
    size_t item_at;   /* of the item in `out` */
    size_t sample_at; /* of the sample that is open */
    uint32_t samples;
    uint16_t fields; /* of the sample that is open */
} samples_builder;

void samples_begin(samples_builder *b, buf *out);
/** Starts the next sample. */
void samples_add(samples_builder *b);
/** Adds a field to it. BW_TOO_LARGE (at the end) for a key above 65,535 bytes, a value above 2^32 −
 * 1 or more than 65,535  fields; BW_INVALID before the first samples_add. */
void samples_add_field(samples_builder *b, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes);
/** What went wrong since samples_begin, or BW_OK: the item is complete. */
bw_status samples_end(samples_builder *b);

typedef struct sample_field {
    const uint8_t *key, *value; /* inside the item */
    size_t key_bytes, value_bytes;
} sample_field;

typedef struct samples_reader {
    const uint8_t *at, *end;
    uint32_t samples; /* in the item */
    uint32_t samples_left;
    uint16_t fields_left; /* of the current sample */
} samples_reader;

/** Checks the whole item, so that reading cannot fail. BW_CORRUPT otherwise. The bytes must outlive
 * the reader. */
bw_status samples_open(samples_reader *r, const void *bytes, size_t size, bw_error *error);
/** On to the next sample, whatever is left of this one; false after the last. */
bool samples_next(samples_reader *r);
/** The next field of this sample; false after its last. */
bool samples_next_field(samples_reader *r, sample_field *field);

#endif
