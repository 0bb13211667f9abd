// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/block.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void encode(const block *base, uint32_t from, const descriptor *more, uint32_t count,
                   buf *out)
{
    buf_init(out, 16 << 20);
    assert_int_equal(block_encode(base, from, more, count, out), BW_OK);
}

static void decode(const buf *bytes, block *b)
{
    assert_int_equal(block_decode(view_of(bytes->data, bytes->size), SLICES, b, NULL), BW_OK);
}

/* Whatever the way there, the bytes depend on the descriptors alone. */
static void all_ways_give_the_same_bytes(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 21);
    for (int round = 0; round < 60; round++) {
        const uint32_t count = 1 + (uint32_t)rng_below(&r, 60);
        const uint32_t from = (uint32_t)rng_below(&r, count + 1);
        const uint32_t cut = from + (uint32_t)rng_below(&r, count - from + 1);
        many m;
        many_init(&m, &r, count, 1 + (uint32_t)rng_below(&r, 9));
        buf whole, first, grown, direct;
        block b;
        encode(NULL, 0, m.all + from, count - from, &direct);
        /* All at once, then without the first `from`. */
        encode(NULL, 0, m.all, count, &whole);
        decode(&whole, &b);
        encode(&b, from, NULL, 0, &grown);
        assert_int_equal(grown.size, direct.size);
        assert_memory_equal(grown.data, direct.data, direct.size);
        buf_free(&grown);
        /* The first `cut`, then the rest on top, without the first `from`. */
        encode(NULL, 0, m.all, cut, &first);
        decode(&first, &b);
        encode(&b, from, m.all + cut, count - cut, &grown);
        assert_int_equal(grown.size, direct.size);
        assert_memory_equal(grown.data, direct.data, direct.size);
        size_t most = 20;
        for (uint32_t i = from; i < count; i++)
            most += descriptor_bytes_max(&m.all[i]);
        assert_true(grown.size <= most);
        buf_free(&whole);
        buf_free(&first);
        buf_free(&grown);
        buf_free(&direct);
        many_free(&m);
    }
}

static void one_descriptor_takes_what_is_said(void **state)
{
    (void)state;
    rng r;
    many m;
    buf bytes;
    rng_seed(&r, 3);
    many_init(&m, &r, 1, 2);
    encode(NULL, 0, m.all, 1, &bytes);
    assert_int_equal(bytes.size, 20 + descriptor_bytes_max(&m.all[0]));
    buf_free(&bytes);
    many_free(&m);
}

static void from_beyond_the_end_leaves_nothing(void **state)
{
    (void)state;
    rng r;
    many m;
    buf bytes, empty;
    block b;
    rng_seed(&r, 4);
    many_init(&m, &r, 5, 2);
    encode(NULL, 0, m.all, 5, &bytes);
    decode(&bytes, &b);
    encode(&b, 7, NULL, 0, &empty);
    assert_int_equal(empty.size, 20);
    buf_free(&bytes);
    buf_free(&empty);
    many_free(&m);
}

/* As many as a block may hold, each with an id and a shape of its own: dedupe must not be
 * quadratic, and one more is refused. */
static void the_largest_block_works(void **state)
{
    (void)state;
    descriptor *all = mem_array(BLOCK_RECORDS_MAX + 1, sizeof *all);
    char(*ids)[8] = mem_array(BLOCK_RECORDS_MAX + 1, sizeof *ids);
    for (uint32_t i = 0; i <= BLOCK_RECORDS_MAX; i++) {
        snprintf(ids[i], sizeof ids[i], "p%u", i);
        all[i] = (descriptor){.id = view_text(ids[i]),
                              .record = {.nonce = i, .end = 1, .seq = 1, .epoch = 1},
                              .shape = {.parts = 1,
                                        .items = 1,
                                        .footer_bytes = 100,
                                        .uniform = 200,
                                        .total_bytes = 1000,
                                        .tokens = i}};
    }
    buf bytes, again;
    block b;
    encode(NULL, 0, all, BLOCK_RECORDS_MAX, &bytes);
    decode(&bytes, &b);
    assert_int_equal(b.records, BLOCK_RECORDS_MAX);
    assert_int_equal(b.ids, BLOCK_RECORDS_MAX);
    assert_int_equal(b.shapes, BLOCK_RECORDS_MAX);
    descriptor last;
    block_descriptor(&b, BLOCK_RECORDS_MAX - 1, &last);
    assert_true(last.record.nonce == BLOCK_RECORDS_MAX - 1);
    assert_true(view_equal(last.id, view_text(ids[BLOCK_RECORDS_MAX - 1])));
    buf_init(&again, 16 << 20);
    assert_int_equal(block_encode(&b, 0, all, 1, &again), BW_TOO_LARGE);
    assert_int_equal(block_encode(NULL, 0, all, BLOCK_RECORDS_MAX + 1, &again), BW_TOO_LARGE);
    assert_int_equal(block_encode(NULL, 0, all, UINT32_MAX, &again), BW_TOO_LARGE);
    assert_int_equal(block_encode(&b, 1, all + BLOCK_RECORDS_MAX, 1, &again), BW_OK);
    decode(&again, &b);
    assert_int_equal(b.records, BLOCK_RECORDS_MAX);
    buf_free(&bytes);
    buf_free(&again);
    mem_free(all);
    mem_free(ids);
}

#define BREAKS(name, change)                                                                       \
    static void name(descriptor *d)                                                                \
    {                                                                                              \
        change;                                                                                    \
    }
BREAKS(bad_id, d->id = view_text("A"))
BREAKS(no_id, d->id.size = 0)
BREAKS(range, d->record.start = d->record.end + 1)
BREAKS(seq, d->record.seq = 0)
BREAKS(epoch, d->record.epoch = 0)
BREAKS(parts, d->shape.parts = 0)
BREAKS(side, d->shape.side = view_text("x"))
BREAKS(no_side, (d->shape.form = FORM_INLINE, d->shape.uniform = 0))
BREAKS(long_side, (no_side(d), d->shape.side = view_of("", INLINE_BYTES_MAX + 1)))

static void bad_descriptors_are_refused(void **state)
{
    (void)state;
    void (*const rules[])(descriptor *) = {bad_id, no_id, range,   seq,      epoch,
                                           parts,  side,  no_side, long_side};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        descriptor d = {
            .id = view_text("a"),
            .record = {.end = 1, .seq = 1, .epoch = 1},
            .shape = {.parts = 1, .items = 1, .footer_bytes = 100, .uniform = 200},
        };
        buf out;
        buf_init(&out, 1000);
        assert_int_equal(block_encode(NULL, 0, &d, 1, &out), BW_OK);
        buf_reset(&out);
        rules[i](&d);
        assert_int_equal(block_encode(NULL, 0, &d, 1, &out), BW_INVALID);
        assert_int_equal(out.size, 0);
        buf_free(&out);
    }
}

static void a_full_buffer_is_reported(void **state)
{
    (void)state;
    rng r;
    many m;
    buf out;
    rng_seed(&r, 4);
    many_init(&m, &r, 5, 2);
    buf_init(&out, 100);
    assert_int_equal(block_encode(NULL, 0, m.all, 5, &out), BW_TOO_LARGE);
    buf_free(&out);
    many_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_give_the_same_bytes),
        cmocka_unit_test(one_descriptor_takes_what_is_said),
        cmocka_unit_test(from_beyond_the_end_leaves_nothing),
        cmocka_unit_test(the_largest_block_works),
        cmocka_unit_test(bad_descriptors_are_refused),
        cmocka_unit_test(a_full_buffer_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
