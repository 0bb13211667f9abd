// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/dedupe.h"

#include "base/alloc.h"
#include <string.h>

bw_status dedupe_init(dedupe *d, uint32_t entries)
{
    uint32_t slots = 4;
    while (slots < 2 * entries)
        slots *= 2;
    d->mask = slots - 1;
    d->slots = mem_array(slots, sizeof *d->slots);
    return d->slots != NULL ? BW_OK : BW_NOMEM;
}

void dedupe_free(dedupe *d)
{
    mem_free(d->slots);
    d->slots = NULL;
}

uint32_t dedupe_add(dedupe *d, uint32_t hash, uint32_t index,
                    bool (*equal)(const void *context, uint32_t a, uint32_t b), const void *context)
{
    /* At most half of the slots are ever in use, so the walk ends at a free one. */
    for (uint32_t i = hash & d->mask;; i = (i + 1) & d->mask) {
        const uint64_t slot = d->slots[i];
        if (slot == 0) {
            d->slots[i] = (uint64_t)hash << 32 | (index + 1);
            return index;
        }
        const uint32_t found = (uint32_t)slot - 1;
        if (slot >> 32 == hash && equal(context, found, index))
            return found;
    }
}

uint32_t dedupe_hash(uint32_t previous, const uint8_t *bytes, size_t size)
{
    /* Sums of products with odd constants run side by side in the processor, which a CRC does not.
     * */
    uint64_t sum = (previous + size + 1) * 0x9e3779b97f4a7c15u;
    uint64_t factor = 0xd6e8feb86659fd93u;
    for (; size >= 8; size -= 8, bytes += 8) {
        const uint64_t word = load_u64(bytes);
        sum += (word ^ (word >> 32)) * factor;
        factor = factor * 0x2545f4914f6cdd1du + 2;
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)bytes[i] << (8 * i);
    sum += (rest ^ (rest >> 32)) * factor;
    sum ^= sum >> 29;
    return (uint32_t)((sum * 0xbf58476d1ce4e5b9u) >> 32);
}
