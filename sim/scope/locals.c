// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "locals.h"

#include "arena.h"
#include "lines.h"
#include <stdlib.h>
#include <string.h>

typedef struct local {
    hash128 hash;
    snapshot kept;
    actor_face *face;
} local;

typedef struct way {
    uint64_t key; /* 0: free */
    uint32_t from, to;
    uint32_t told_at, told_count;
} way;

static struct {
    local *rows; /* from 1 */
    uint32_t count, capacity;
    uint32_t *index;
    uint64_t index_slots;
    way *ways;
    uint64_t way_slots, way_count;
    told *tales;
    uint32_t tale_count, tale_capacity;
    uint64_t bytes;
} all;

/* An answer in 40 bits. */
static uint64_t key_of(const answer *a)
{
    return 1u + (uint64_t)a->kind + ((uint64_t)a->errand << 8) + ((uint64_t)a->value << 16);
}

static void *grown(void *rows, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return rows;
    *capacity = *capacity > 0 ? 2 * *capacity : 4096;
    rows = realloc(rows, *capacity * size);
    if (rows == NULL)
        scope_defect("no memory");
    return rows;
}

static uint32_t *index_slot(const hash128 *hash)
{
    uint64_t at;
    memcpy(&at, hash->bytes, sizeof at);
    at &= all.index_slots - 1;
    while (all.index[at] != 0 && !hash_equal(&all.rows[all.index[at] - 1].hash, hash))
        at = (at + 1) & (all.index_slots - 1);
    return &all.index[at];
}

static void grow_index(void)
{
    if (2 * (uint64_t)(all.count + 1) < all.index_slots)
        return;
    free(all.index);
    all.index_slots = all.index_slots > 0 ? 2 * all.index_slots : 1u << 14;
    all.index = scope_alloc(all.index_slots * sizeof *all.index);
    for (uint32_t i = 0; i < all.count; i++)
        *index_slot(&all.rows[i].hash) = i + 1;
}

uint32_t locals_put(void)
{
    actor_face face;
    hash128 hash;
    actor_look(&face);
    const snapshot packed = arena_pack(&hash);
    grow_index();
    uint32_t *slot = index_slot(&hash);
    if (*slot != 0)
        return *slot;
    all.rows = grown(all.rows, &all.capacity, all.count, sizeof *all.rows);
    local *l = &all.rows[all.count++];
    const size_t bytes = packed.count * sizeof packed.lines[0];
    *l = (local){.hash = hash, .kept = {scope_alloc(bytes), packed.count}};
    memcpy(l->kept.lines, packed.lines, bytes);
    const size_t face_bytes =
        offsetof(actor_face, errands) + face.errand_count * sizeof face.errands[0];
    l->face = scope_alloc(face_bytes);
    memcpy(l->face, &face, face_bytes);
    all.bytes += bytes + face_bytes + sizeof *l;
    *slot = all.count;
    return all.count;
}

const actor_face *locals_face(uint32_t at)
{
    return all.rows[at - 1].face;
}

static way *find_way(uint32_t from, uint64_t key)
{
    uint64_t at = arena_mix(key * 0x9e3779b97f4a7c15u ^ from) & (all.way_slots - 1);
    while (all.ways[at].key != 0 && (all.ways[at].key != key || all.ways[at].from != from))
        at = (at + 1) & (all.way_slots - 1);
    return &all.ways[at];
}

static void grow_ways(void)
{
    if (2 * (all.way_count + 1) < all.way_slots)
        return;
    way *old = all.ways;
    const uint64_t slots = all.way_slots;
    all.way_slots = slots > 0 ? 2 * slots : 1u << 16;
    all.ways = scope_alloc(all.way_slots * sizeof *all.ways);
    for (uint64_t i = 0; i < slots; i++)
        if (old[i].key != 0)
            *find_way(old[i].from, old[i].key) = old[i];
    free(old);
}

static void run(uint32_t from, uint64_t key, const answer *a)
{
    told heard[TOLD_MAX];
    arena_unpack(&all.rows[from - 1].kept);
    actor_answer(a);
    const uint32_t count = actor_told(heard);
    const uint32_t to = locals_put();
    const uint32_t at = all.tale_count;
    for (uint32_t i = 0; i < count; i++) {
        all.tales = grown(all.tales, &all.tale_capacity, all.tale_count, sizeof *all.tales);
        all.tales[all.tale_count++] = heard[i];
    }
    grow_ways();
    way *w = find_way(from, key);
    *w = (way){.key = key, .from = from, .to = to, .told_at = at, .told_count = count};
    all.way_count++;
    all.bytes += sizeof *w;
}

uint32_t locals_answer(uint32_t from, const answer *a, const told **heard, uint32_t *count)
{
    const uint64_t key = key_of(a);
    const way *w = all.way_slots > 0 ? find_way(from, key) : NULL;
    if (w == NULL || w->key == 0) {
        run(from, key, a);
        w = find_way(from, key);
    }
    *heard = all.tales + w->told_at;
    *count = w->told_count;
    return w->to;
}

uint32_t locals_count(void)
{
    return all.count;
}

uint64_t locals_runs(void)
{
    return all.way_count;
}

uint64_t locals_bytes(void)
{
    return all.bytes + lines_bytes();
}
