// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include "lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (1u << 20)
#define STACK_BYTES (24u << 10)
/* In a snapshot: so many lines of zeros. */
#define ZEROS (1u << 31)

#define WRAPPED(result, name, ...)                                                                 \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

struct rng;
WRAPPED(void *, malloc, size_t bytes);
WRAPPED(void *, calloc, size_t count, size_t bytes);
WRAPPED(void *, realloc, void *memory, size_t bytes);
WRAPPED(void, free, void *memory);
WRAPPED(uint64_t, rng_below, struct rng *r, uint64_t bound);
WRAPPED(void, rng_bytes, struct rng *r, void *bytes, size_t size);

/* Cells follow each other up to `top`; the lowest free one that is large enough is taken, and freed
 * memory is zeroed and joined with free neighbours: the same blocks lie at the same places whatever
 * came and went between. */
typedef struct cell {
    uint64_t bytes;
    uint64_t used;
} cell;

static struct {
    bool open;
    size_t top;
    uint64_t nonce;
    _Alignas(LINE_BYTES) uint8_t memory[ARENA_BYTES];
    uint32_t packed[ARENA_BYTES / LINE_BYTES + 1];
} arena;

void scope_defect(const char *what)
{
    (void)fprintf(stderr, "scope: %s\n", what);
    exit(3);
}

void *scope_alloc(size_t bytes)
{
    void *memory = __real_calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        scope_defect("no memory");
    return memory;
}

static cell *cell_at(size_t at)
{
    return (cell *)(void *)(arena.memory + at);
}

static size_t after(size_t at)
{
    return at + sizeof(cell) + (size_t)cell_at(at)->bytes;
}

static bool inside(const void *memory)
{
    const uint8_t *at = memory;
    return at >= arena.memory && at < arena.memory + ARENA_BYTES;
}

static void *take(size_t bytes)
{
    const size_t need = (bytes + 15) / 16 * 16;
    size_t at = 0;
    while (at < arena.top && (cell_at(at)->used != 0 || cell_at(at)->bytes < need))
        at = after(at);
    if (at >= arena.top) {
        if (at + sizeof(cell) + need > ARENA_BYTES)
            scope_defect("a process has outgrown the arena");
        *cell_at(at) = (cell){need, 1};
        arena.top = after(at);
    } else {
        const size_t left = (size_t)cell_at(at)->bytes - need;
        if (left >= 2 * sizeof(cell)) {
            cell_at(at)->bytes = need;
            *cell_at(after(at)) = (cell){left - sizeof(cell), 0};
        }
        cell_at(at)->used = 1;
    }
    return arena.memory + at + sizeof(cell);
}

static void join(void)
{
    size_t last = 0;
    for (size_t at = 0; at < arena.top;) {
        const size_t next = after(at);
        if (cell_at(at)->used == 0 && next < arena.top && cell_at(next)->used == 0) {
            cell_at(at)->bytes += sizeof(cell) + cell_at(next)->bytes;
            memset(cell_at(next), 0, sizeof(cell));
            continue;
        }
        last = at;
        at = next;
    }
    if (arena.top > 0 && cell_at(last)->used == 0) {
        memset(cell_at(last), 0, sizeof(cell));
        arena.top = last;
    }
}

static void give(void *memory)
{
    cell *c = (cell *)(void *)((uint8_t *)memory - sizeof(cell));
    memset(memory, 0, (size_t)c->bytes);
    c->used = 0;
    join();
}

void *__wrap_malloc(size_t bytes)
{
    return arena.open ? take(bytes) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return arena.open ? take(count * bytes) : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (memory == NULL)
        return __wrap_malloc(bytes);
    if (!inside(memory))
        return __real_realloc(memory, bytes);
    const cell *c = (const cell *)(void *)((uint8_t *)memory - sizeof(cell));
    const size_t old = (size_t)c->bytes;
    void *grown = take(bytes);
    memcpy(grown, memory, old < bytes ? old : bytes);
    give(memory);
    return grown;
}

void __wrap_free(void *memory)
{
    if (memory != NULL && inside(memory))
        give(memory);
    else
        __real_free(memory);
}

/* The shortest of all rests. */
uint64_t __wrap_rng_below(struct rng *r, uint64_t bound)
{
    (void)r;
    (void)bound;
    return 0;
}

void __wrap_rng_bytes(struct rng *r, void *bytes, size_t size)
{
    (void)r;
    uint8_t *out = bytes;
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0)
            arena.nonce = arena_mix(arena.nonce + 1);
        out[i] = (uint8_t)(arena.nonce >> (8 * (i % 8)));
    }
}

uint64_t arena_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void arena_nonce_seed(uint64_t seed)
{
    arena.nonce = arena_mix(seed);
}

void arena_clear(void)
{
    memset(arena.memory, 0, arena.top);
    arena.top = 0;
}

void arena_open(bool open)
{
    arena.open = open;
}

void *arena_root(void)
{
    return arena.memory + sizeof(cell);
}

/* The size, and the number of each line. */
snapshot arena_pack(hash128 *hash)
{
    uint32_t count = 0, zeros = 0;
    arena.packed[count++] = (uint32_t)arena.top;
    for (size_t at = 0; at < arena.top; at += LINE_BYTES) {
        const uint32_t line = lines_put(arena.memory + at);
        if (line >= ZEROS)
            scope_defect("too many lines");
        if (line != 0)
            zeros = 0;
        else if (zeros++ > 0)
            count--;
        arena.packed[count++] = line != 0 ? line : ZEROS | zeros;
    }
    if (hash_bytes(arena.packed, count * sizeof arena.packed[0], hash) != BW_OK)
        scope_defect("no memory for a hash");
    return (snapshot){arena.packed, count};
}

void arena_unpack(const snapshot *s)
{
    uint8_t *at = arena.memory;
    arena_clear();
    arena.top = s->lines[0];
    for (uint32_t i = 1; i < s->count; i++) {
        if ((s->lines[i] & ZEROS) != 0) {
            at += (size_t)(s->lines[i] & ~ZEROS) * LINE_BYTES;
            continue;
        }
        memcpy(at, lines_at(s->lines[i]), LINE_BYTES);
        at += LINE_BYTES;
    }
}

__attribute__((noinline)) void arena_scrub_stack(void)
{
    volatile uint64_t stack[STACK_BYTES / 8];
    for (size_t i = 0; i < sizeof stack / sizeof stack[0]; i++)
        stack[i] = 0;
}
