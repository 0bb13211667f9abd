// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "client/producer.h"
#include <string.h>

#define DP 2u
#define CP 2u
#define ITEMS 3u
#define PART 4096u
#define NONCE 0x1234u

/* All that a batch sees of its producer: the namespace's genesis and the options. */
typedef struct fixture {
    genesis genesis;
    bw_space space;
    bw_producer producer;
    bw_batch *batch;
    bw_error error;
} fixture;

static int set_up(void **state)
{
    fixture *f = mem_zalloc(sizeof *f);
    assert_non_null(f);
    f->genesis = (genesis){.dp = DP, .cp = CP, .part_bytes = PART};
    f->space.genesis = &f->genesis;
    f->producer.space = &f->space;
    f->producer.options.kind = ITEM_RAW;
    memcpy(f->producer.options.media_type, "text/plain", sizeof "text/plain");
    assert_int_equal(batch_new(&f->producer, ITEMS, &f->batch, &f->error), BW_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    batch_free(f->batch);
    mem_free(f);
    return 0;
}

static bw_status set(fixture *f, uint32_t d, uint32_t c, uint32_t item, size_t bytes)
{
    static char content[2 * PART];
    const struct iovec piece = {content, bytes};
    return batch_set_item(f->batch, d, c, item, &piece, 1, &f->error);
}

/* Every item; those of slice (1, 1) are `last` bytes each. */
static void fill(fixture *f, size_t last)
{
    for (uint32_t slice = 0; slice < DP * CP; slice++)
        for (uint32_t item = 0; item < ITEMS; item++)
            assert_int_equal(set(f, slice / CP, slice % CP, item, slice == 3 ? last : 100), BW_OK);
}

static void test_items_per_slice(void **state)
{
    fixture *f = *state;
    bw_batch *b = NULL;
    assert_int_equal(batch_new(&f->producer, 0, &b, &f->error), BW_INVALID);
    assert_int_equal(batch_new(&f->producer, ITEMS_MAX + 1, &b, &f->error), BW_INVALID);
    assert_null(b);
}

static void test_what_is_set_where(void **state)
{
    fixture *f = *state;
    assert_int_equal(set(f, DP, 0, 0, 1), BW_INVALID);
    assert_non_null(strstr(f->error.message, "(2, 0)"));
    assert_int_equal(set(f, 0, CP, 0, 1), BW_INVALID);
    assert_int_equal(set(f, 0, 0, ITEMS, 1), BW_INVALID);
    assert_int_equal(set(f, 0, 1, 2, 1), BW_OK);
    assert_int_equal(set(f, 0, 1, 2, 1), BW_INVALID);
    assert_non_null(strstr(f->error.message, "set before"));
    assert_int_equal(batch_set_pad(f->batch, 0, 1, 2, &f->error), BW_INVALID);
    assert_int_equal(batch_set_pad(f->batch, 1, 0, 0, &f->error), BW_OK);
    assert_int_equal(set(f, 1, 0, 0, 1), BW_INVALID);
}

static void test_pieces(void **state)
{
    fixture *f = *state;
    char bytes[] = "abc";
    const struct iovec good[2] = {{bytes, 3}, {bytes, 2}};
    const struct iovec null_piece = {NULL, 1}, empty = {NULL, 0};
    const struct iovec huge[2] = {{bytes, UINT32_MAX}, {bytes, 1}};
    assert_int_equal(batch_set_item(f->batch, 0, 0, 0, good, -1, &f->error), BW_INVALID);
    assert_int_equal(batch_set_item(f->batch, 0, 0, 0, NULL, 1, &f->error), BW_INVALID);
    assert_int_equal(batch_set_item(f->batch, 0, 0, 0, &null_piece, 1, &f->error), BW_INVALID);
    assert_int_equal(batch_set_item(f->batch, 0, 0, 0, huge, 2, &f->error), BW_TOO_LARGE);
    assert_int_equal(batch_set_item(f->batch, 0, 0, 0, good, 2, &f->error), BW_OK);
    assert_int_equal(batch_set_item(f->batch, 0, 0, 1, &empty, 1, &f->error), BW_OK);
    assert_int_equal(batch_set_pad(f->batch, 0, 0, 2, &f->error), BW_OK);
    frame_item rows[ITEMS];
    batch_frame_items(f->batch, 0, rows);
    assert_int_equal(rows[0].stored_bytes, 5);
    assert_int_equal(rows[0].plain_bytes, 5);
    assert_false(rows[0].pad);
    assert_int_equal(rows[1].stored_bytes, 0);
    assert_false(rows[1].pad); /* empty is not absent */
    assert_true(rows[2].pad);
}

static void test_unset_item_is_named(void **state)
{
    fixture *f = *state;
    for (uint32_t slice = 0; slice < DP * CP; slice++)
        for (uint32_t item = 0; item < ITEMS; item++)
            if (slice != 2 || item != 1)
                assert_int_equal(set(f, slice / CP, slice % CP, item, 10), BW_OK);
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_UNSET_ITEM);
    assert_non_null(strstr(f->error.message, "item 1 of slice (1, 0)"));
    assert_int_equal(batch_set_pad(f->batch, 1, 0, 1, &f->error), BW_OK);
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
}

static void test_equal_slices_are_uniform(void **state)
{
    fixture *f = *state;
    fill(f, 100);
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
    /* A table of 112 bytes, padded, two items of 100, padded, and the last one. */
    assert_int_equal(f->batch->shape.form, FORM_UNIFORM);
    assert_int_equal(f->batch->shape.uniform, 128 + 2 * 128 + 100);
    for (uint32_t i = 0; i < DP * CP; i++) {
        assert_int_equal(f->batch->places[i].part, 0);
        assert_int_equal(f->batch->places[i].offset, 512 * i);
        assert_int_equal(f->batch->places[i].bytes, 128 + 2 * 128 + 100);
    }
    assert_int_equal(f->batch->shape.parts, 1);
    assert_int_equal(f->batch->shape.total_bytes, 4 * 512 + f->batch->footer.size);
}

static void test_uneven_slices_take_parts(void **state)
{
    fixture *f = *state;
    fill(f, 2 * PART);
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
    const place *last = &f->batch->places[3];
    assert_int_equal(f->batch->shape.form, FORM_INLINE);
    assert_int_equal(last->part, 1); /* larger than a part: one of its own */
    assert_int_equal(last->offset, 0);
    assert_int_equal(last->bytes, 128 + 3 * 2 * PART);
    assert_int_equal(f->batch->places[2].part, 0);
    /* What a consumer computes from the descriptor is what the producer wrote. */
    for (uint32_t i = 0; i < DP * CP; i++) {
        place read;
        shape s = f->batch->shape;
        assert_int_equal(shape_place(&s, DP * CP, PART, i, &read), BW_OK);
        assert_int_equal(read.part, f->batch->places[i].part);
        assert_int_equal(read.offset, f->batch->places[i].offset);
        assert_int_equal(read.bytes, f->batch->places[i].bytes);
    }
}

static int join(void *context, view id)
{
    char *text = context;
    const size_t size = strlen(text);
    assert_true(size + id.size < 64);
    memcpy(text + size, id.data, id.size);
    text[size + id.size] = '\0';
    return 0;
}

static void test_footer_says_what_was_given(void **state)
{
    fixture *f = *state;
    static const char *const first[] = {"a,", "b,"}, *const second[] = {"c,"};
    fill(f, 100);
    assert_int_equal(batch_add_samples(f->batch, 1, 0, first, 2, 30, &f->error), BW_OK);
    assert_int_equal(batch_add_samples(f->batch, 0, 1, second, 1, 5, &f->error), BW_OK);
    assert_int_equal(batch_add_samples(f->batch, 1, 0, second, 1, 7, &f->error), BW_OK);
    assert_int_equal(batch_set_meta(f->batch, 1, "{\"old\":1}", 9, &f->error), BW_OK);
    assert_int_equal(batch_set_meta(f->batch, 77, "{}", 2, &f->error), BW_OK);
    for (int round = 0; round < 2; round++) /* a put that timed out lays it out again */
        assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
    assert_int_equal(f->batch->shape.samples, 4);
    assert_int_equal(f->batch->shape.tokens, 42);
    assert_int_equal(f->batch->shape.tag, 77);
    assert_int_equal(f->batch->shape.footer_bytes, f->batch->footer.size);

    footer read;
    assert_int_equal(
        footer_decode(view_of(f->batch->footer.data, f->batch->footer.size), &read, &f->error),
        BW_OK);
    assert_int_equal(read.nonce, NONCE);
    assert_int_equal(read.items, ITEMS);
    assert_true(view_equal(read.media_type, view_text("text/plain")));
    assert_true(view_equal(read.metadata, view_text("{}")));
    char ids[64] = "";
    assert_int_equal(footer_samples(&read, 2, join, ids), 0);
    assert_string_equal(ids, "a,b,c,");
    ids[0] = '\0';
    assert_int_equal(footer_samples(&read, 1, join, ids), 0);
    assert_string_equal(ids, "c,");
    assert_int_equal(read.slices[0].sample_count, 0);
    assert_int_equal(read.slices[0].items_set, ITEMS);
    footer_free(&read);
}

static void test_limits_leave_the_batch_as_it_was(void **state)
{
    fixture *f = *state;
    enum { LONG = 65535 };
    char *text = mem_alloc(LONG + 2);
    const char *ids[257];
    memset(text, 'x', LONG + 1);
    text[LONG + 1] = '\0';
    for (size_t i = 0; i < 257; i++)
        ids[i] = text;
    assert_int_equal(batch_add_samples(f->batch, 0, 0, ids, 1, 0, &f->error), BW_INVALID);
    text[LONG] = '\0';
    assert_int_equal(batch_add_samples(f->batch, 0, 0, ids, 257, 9, &f->error), BW_TOO_LARGE);
    assert_int_equal(f->batch->sample_count, 0);
    assert_int_equal(f->batch->tokens, 0);
    assert_int_equal(batch_add_samples(f->batch, 0, 0, ids, 1, UINT64_MAX, &f->error), BW_OK);
    assert_int_equal(batch_add_samples(f->batch, 0, 0, ids, 1, 1, &f->error), BW_INVALID);
    assert_int_equal(f->batch->sample_count, 1);
    ids[1] = NULL;
    assert_int_equal(batch_add_samples(f->batch, 0, 0, ids, 2, 0, &f->error), BW_INVALID);
    mem_free(text);

    uint8_t *meta = mem_zalloc(METADATA_BYTES_MAX + 1);
    assert_int_equal(batch_set_meta(f->batch, 1, meta, METADATA_BYTES_MAX + 1, &f->error),
                     BW_TOO_LARGE);
    assert_int_equal(batch_set_meta(f->batch, 1, NULL, 1, &f->error), BW_INVALID);
    assert_int_equal(batch_set_meta(f->batch, 1, meta, METADATA_BYTES_MAX, &f->error), BW_OK);
    mem_free(meta);
}

static void test_larger_than_the_namespace(void **state)
{
    fixture *f = *state;
    fill(f, 100);
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
    f->genesis.has_max_bytes = true;
    f->genesis.max_bytes = f->batch->extent.total_bytes;
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_OK);
    f->genesis.max_bytes--;
    assert_int_equal(batch_layout(f->batch, NONCE, &f->error), BW_TOO_LARGE);
    assert_non_null(strstr(f->error.message, "max_bytes"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_items_per_slice),
        TEST(test_what_is_set_where),
        TEST(test_pieces),
        TEST(test_unset_item_is_named),
        TEST(test_equal_slices_are_uniform),
        TEST(test_uneven_slices_take_parts),
        TEST(test_footer_says_what_was_given),
        TEST(test_limits_leave_the_batch_as_it_was),
        TEST(test_larger_than_the_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
