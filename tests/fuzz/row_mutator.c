// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Objects are tables of rows of fixed size, which single bytes changed at random seldom bring into
 * a new legal order: half of the mutations copy, exchange, double or drop whole rows, or count a
 * field up or down. Only libFuzzer links this. */
#include "fuzz.h"

#include "base/rng.h"
#include <string.h>

#define ROW_BYTES_MAX 64u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Of id ends, item tables, records, shapes and references. */
static size_t row_bytes(rng *r)
{
    static const size_t sizes[] = {1, 4, 8, 16, 40, 56, 64};
    return sizes[rng_below(r, sizeof sizes / sizeof sizes[0])];
}

static void copy_or_exchange(uint8_t *data, size_t size, size_t row, rng *r)
{
    const size_t from = rng_below(r, size - row + 1);
    /* A multiple of the row away, so that it lands on a row when it was one. */
    const size_t phase = from % row;
    const size_t to = phase + row * rng_below(r, (size - row - phase) / row + 1);
    uint8_t kept[ROW_BYTES_MAX];
    memcpy(kept, data + to, row);
    memmove(data + to, data + from, row);
    if (rng_below(r, 2) == 0)
        memcpy(data + from, kept, row);
}

static size_t double_row(uint8_t *data, size_t size, size_t max_size, size_t row, rng *r)
{
    if (size + row > max_size)
        return size;
    const size_t at = rng_below(r, size - row + 1);
    memmove(data + at + row, data + at, size - at);
    return size + row;
}

static size_t drop_row(uint8_t *data, size_t size, size_t row, rng *r)
{
    const size_t at = rng_below(r, size - row + 1);
    memmove(data + at, data + at + row, size - at - row);
    return size - row;
}

static void count(uint8_t *data, size_t size, rng *r)
{
    const size_t at = rng_below(r, size - 3);
    const uint32_t by = rng_below(r, 2) == 0 ? (uint32_t)row_bytes(r) : 1;
    const uint32_t value = load_u32(data + at);
    store_u32(data + at, rng_below(r, 2) == 0 ? value + by : value - by);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    rng r;
    rng_seed(&r, seed);
    if (size <= 2 * ROW_BYTES_MAX || rng_below(&r, 2) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint64_t changes = 1 + rng_below(&r, 4); changes > 0 && size > ROW_BYTES_MAX; changes--) {
        const size_t row = row_bytes(&r);
        switch (rng_below(&r, 6)) {
        case 0:
        case 1:
            copy_or_exchange(data, size, row, &r);
            break;
        case 2:
            size = double_row(data, size, max_size, row, &r);
            break;
        case 3:
            size = drop_row(data, size, row, &r);
            break;
        default:
            count(data, size, &r);
        }
    }
    return size;
}
