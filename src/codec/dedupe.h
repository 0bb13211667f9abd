// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Finds equal entries of an array while it is filled: an open hash table of indices, sized once.
 */
#ifndef CODEC_DEDUPE_H
#define CODEC_DEDUPE_H

#include "codec/wire.h"

typedef struct dedupe {
    uint64_t *slots; /* hash in the upper half, index + 1 in the lower; 0 = free */
    uint32_t mask;
} dedupe;

/** For at most `entries` ≤ 2^20 entries; BW_OK or BW_NOMEM. */
bw_status dedupe_init(dedupe *d, uint32_t entries);
void dedupe_free(dedupe *d);
/** The index of the entry equal to entry `index`, or `index` itself, which is then remembered.
 * `equal` compares entries. */
uint32_t dedupe_add(dedupe *d, uint32_t hash, uint32_t index,
                    bool (*equal)(const void *context, uint32_t a, uint32_t b),
                    const void *context);
/** Any number of bytes; the same on every machine. */
uint32_t dedupe_hash(uint32_t previous, const uint8_t *bytes, size_t size);

#endif
