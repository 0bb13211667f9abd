// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Blocks, segments and indexes that say something impossible, with every check sum right. */
#include "rows.h"

#include <string.h>

/* Of the block of steps 16 … 19. */
#define SHAPE(i) (32u + SHAPE_BYTES * (i))
#define RECORD(k) (32u + 2 * SHAPE_BYTES + RECORD_BYTES * (k))
#define SIDE (RECORD(4))
/* Of an index object. */
#define CHILD(i) (56u + REFERENCE_BYTES * (i))

typedef struct row {
    const char *name;
    bw_status expected;
    void (*block)(buf *o);
    void (*leaf)(buf *o);
    void (*index)(buf *o);
    void (*named)(buf *o, segment_ref *r);
} row;

/* Makes the side block this long. */
static void side(buf *o, uint32_t bytes)
{
    if (bytes > 4)
        grow(o, o->size, bytes - 4);
    else
        o->size -= 4 - bytes;
    put32(o, 16, bytes);
}

static void many_records(buf *o)
{
    const uint32_t more = BLOCK_RECORDS_MAX + 1 - 4;
    grow(o, SIDE, (size_t)more * RECORD_BYTES);
    for (uint32_t k = 4; k <= BLOCK_RECORDS_MAX; k++)
        memcpy(o->data + RECORD(k), o->data + RECORD(0), RECORD_BYTES);
    put32(o, 8, BLOCK_RECORDS_MAX + 1);
}

static void no_ids(buf *o)
{
    cut(o, 20, 12);
    put32(o, 0, 0);
    put32(o, 12, 0);
}

static void more_ids(buf *o)
{
    grow(o, 28, 12);
    put32(o, 0, 5);
}

static void more_shapes(buf *o)
{
    grow(o, SHAPE(2), 3 * SHAPE_BYTES);
    put32(o, 4, 5);
}

/* The reference follows the bytes: only what is asked for is wrong. */
static void rename_leaf(buf *o, segment_ref *r)
{
    reseal(o);
    must(hash_bytes(o->data, o->size, &r->hash) == BW_OK, "hash_bytes");
}

#define ON_BYTES(prefix, ...)                                                                      \
    static void ROW_NAME(prefix, __LINE__)(buf * o)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define ROW(name, ...) ON_BYTES(block_row_, __VA_ARGS__)
#include "block.def"
#undef ROW
#define LEAF(name, status, ...) ON_BYTES(leaf_row_, __VA_ARGS__)
#define INDEX(name, status, ...) ON_BYTES(index_row_, __VA_ARGS__)
#define NAMED(name, status, ...)                                                                   \
    static void ROW_NAME(named_row_, __LINE__)(buf * o, segment_ref * r)                           \
    {                                                                                              \
        (void)o, (void)r;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "segment.def"
#undef LEAF
#undef INDEX
#undef NAMED

static const row rows[] = {
#define ROW(name, ...) {name, BW_CORRUPT, ROW_NAME(block_row_, __LINE__), NULL, NULL, NULL},
#include "block.def"
#undef ROW
#define LEAF(name, status, ...)                                                                    \
    {name, BW_##status, NULL, ROW_NAME(leaf_row_, __LINE__), NULL, NULL},
#define INDEX(name, status, ...)                                                                   \
    {name, BW_##status, NULL, NULL, ROW_NAME(index_row_, __LINE__), NULL},
#define NAMED(name, status, ...)                                                                   \
    {name, BW_##status, NULL, NULL, NULL, ROW_NAME(named_row_, __LINE__)},
#include "segment.def"
};

typedef struct trial {
    smith smith;
    buf bytes;
    segment_ref ref;
} trial;

static bw_status try_block(void *context, bw_error *error)
{
    trial *t = context;
    block b;
    return block_decode(view_of(t->bytes.data, t->bytes.size), t->smith.genesis.dp, &b, error);
}

static bw_status try_segment(void *context, bw_error *error)
{
    trial *t = context;
    segment s;
    return segment_decode(view_of(t->bytes.data, t->bytes.size), t->smith.genesis.dp, &s, error);
}

static bw_status try_named(void *context, bw_error *error)
{
    trial *t = context;
    segment s;
    return segment_open(view_of(t->bytes.data, t->bytes.size), &t->ref, t->smith.genesis.uuid,
                        t->smith.genesis.dp, &s, error);
}

static void take_segment(trial *t, const segment_ref *ref)
{
    object_key key;
    segment_ref_key(ref, &key);
    const buf *stored = smith_object_at(&t->smith, key.text);
    buf_put(&t->bytes, stored->data, stored->size);
    t->ref = *ref;
}

static attempt_fn prepare(trial *t, const row *r)
{
    if (r->block != NULL) {
        must(block_encode(NULL, 0, t->smith.steps + 16, 4, &t->bytes) == BW_OK, "block_encode");
        must(t->bytes.size == SIDE + 4, "another layout of the block than the rows expect");
        return try_block;
    }
    take_segment(t, &t->smith.refs[r->index != NULL ? 0 : 1]);
    return r->named != NULL ? try_named : try_segment;
}

static void test_row(void **state)
{
    const row *r = *state;
    trial t;
    smith_init(&t.smith, 2);
    buf_init(&t.bytes, (size_t)32 << 20);
    const attempt_fn attempt = prepare(&t, r);
    (void)expect_success(attempt, &t);
    if (r->block != NULL)
        r->block(&t.bytes);
    else if (r->leaf != NULL)
        r->leaf(&t.bytes);
    else if (r->index != NULL)
        r->index(&t.bytes);
    else
        r->named(&t.bytes, &t.ref);
    if (r->block == NULL)
        reseal(&t.bytes);
    expect_refusal(attempt, &t, r->expected, 0);
    buf_free(&t.bytes);
    smith_free(&t.smith);
}

int main(void)
{
    return run_rows("hostile_block", rows, COUNT(rows), sizeof rows[0], test_row);
}
