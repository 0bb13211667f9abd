// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include "arena.h"
#include <stdlib.h>
#include <string.h>

typedef struct line {
    uint64_t words[LINE_BYTES / 8];
} line;

static struct {
    line *rows; /* 0: zeros */
    uint32_t count, capacity;
    uint32_t *index; /* 0: free */
    uint64_t slots;
} all;

static uint32_t *slot_of(const line *l)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < LINE_BYTES / 8; i++) {
        hash = (hash ^ l->words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    hash &= all.slots - 1;
    while (all.index[hash] != 0 && memcmp(&all.rows[all.index[hash]], l, sizeof *l) != 0)
        hash = (hash + 1) & (all.slots - 1);
    return &all.index[hash];
}

static void grow(void)
{
    if (all.count < all.capacity)
        return;
    all.capacity = all.capacity > 0 ? 2 * all.capacity : 1024;
    all.rows = realloc(all.rows, all.capacity * sizeof *all.rows);
    if (all.rows == NULL)
        scope_defect("no memory");
    if (all.count == 0)
        all.rows[all.count++] = (line){{0}};
    free(all.index);
    all.slots = 2 * (uint64_t)all.capacity;
    all.index = scope_alloc(all.slots * sizeof *all.index);
    for (uint32_t i = 1; i < all.count; i++)
        *slot_of(&all.rows[i]) = i;
}

uint32_t lines_put(const uint8_t *bytes)
{
    line l;
    memcpy(&l, bytes, sizeof l);
    grow();
    if (memcmp(&l, &all.rows[0], sizeof l) == 0)
        return 0;
    uint32_t *slot = slot_of(&l);
    if (*slot == 0) {
        all.rows[all.count] = l;
        *slot = all.count++;
    }
    return *slot;
}

const uint8_t *lines_at(uint32_t number)
{
    return (const uint8_t *)all.rows[number].words;
}

uint64_t lines_bytes(void)
{
    return all.count * sizeof *all.rows;
}
