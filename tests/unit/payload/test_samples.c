// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/rng.h"
#include "payload/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two samples: ⟨"a", "xyz"⟩ ⟨"", ""⟩, and one without fields. */
static const uint8_t item[] = {2, 0,   0,   0,   2, 0, 1, 0, 'a', 3, 0, 0,
                               0, 'x', 'y', 'z', 0, 0, 0, 0, 0,   0, 0, 0};

static bw_status open_copy(const uint8_t *bytes, size_t size)
{
    /* Exactly as large as it says, so that a read beyond is noticed; all fields are walked. */
    uint8_t *copy = mem_dup(bytes, size);
    samples_reader r;
    bw_error error;
    error_clear(&error);
    const bw_status status = samples_open(&r, copy, size, &error);
    assert_true((status == BW_OK) == (error.message[0] == '\0'));
    if (status == BW_OK) {
        sample_field field;
        size_t walked = 4;
        uint32_t samples = 0;
        while (samples_next(&r)) {
            samples++;
            walked += 2;
            while (samples_next_field(&r, &field))
                walked += 2 + field.key_bytes + 4 + field.value_bytes;
        }
        assert_int_equal(walked, size);
        assert_int_equal(samples, r.samples);
    }
    mem_free(copy);
    return status;
}

static void the_builder_writes_the_bytes_of_the_page(void **state)
{
    (void)state;
    buf out;
    samples_builder b;
    buf_init(&out, 1000);
    buf_put_text(&out, "before");
    samples_begin(&b, &out);
    samples_add(&b);
    samples_add_field(&b, "a", 1, "xyz", 3);
    samples_add_field(&b, NULL, 0, NULL, 0);
    samples_add(&b);
    assert_int_equal(samples_end(&b), BW_OK);
    assert_int_equal(out.size, 6 + sizeof item);
    assert_memory_equal(out.data + 6, item, sizeof item);
    buf_free(&out);
}

static void the_reader_gives_them_back(void **state)
{
    (void)state;
    samples_reader r;
    sample_field field;
    assert_int_equal(samples_open(&r, item, sizeof item, NULL), BW_OK);
    assert_int_equal(r.samples, 2);
    assert_false(samples_next_field(&r, &field));
    assert_true(samples_next(&r));
    assert_true(samples_next_field(&r, &field));
    assert_true(field.key_bytes == 1 && field.key[0] == 'a' && field.value_bytes == 3);
    assert_memory_equal(field.value, "xyz", 3);
    /* On to the next one though a field is left. */
    assert_true(samples_next(&r));
    assert_false(samples_next_field(&r, &field));
    assert_false(samples_next(&r));
    assert_false(samples_next(&r));
}

static void an_item_without_samples_is_valid(void **state)
{
    (void)state;
    const uint8_t empty[4] = {0};
    assert_int_equal(open_copy(empty, 4), BW_OK);
    assert_int_equal(open_copy(empty, 3), BW_CORRUPT);
    assert_int_equal(open_copy(empty, 0), BW_CORRUPT);
    const uint8_t longer[5] = {0};
    assert_int_equal(open_copy(longer, 5), BW_CORRUPT);
}

static void cuts_and_mutations_are_survived(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof item; size++)
        assert_int_equal(open_copy(item, size), BW_CORRUPT);
    rng r;
    rng_seed(&r, 1);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        uint8_t changed[sizeof item];
        memcpy(changed, item, sizeof item);
        changed[rng_below(&r, sizeof item)] = (uint8_t)rng_below(&r, i % 2 == 0 ? 5 : 256);
        if (open_copy(changed, sizeof item) == BW_OK)
            accepted++;
        else
            refused++;
    }
    assert_true(accepted > 100 && refused > 100);
    /* Four thousand million samples in few bytes are noticed at once. */
    const uint8_t many[] = {0xff, 0xff, 0xff, 0xff, 0, 0};
    assert_int_equal(open_copy(many, sizeof many), BW_CORRUPT);
}

static void limits_are_kept(void **state)
{
    (void)state;
    static const uint8_t zeros[70000];
    buf out;
    samples_builder b;
    buf_init(&out, 1 << 20);
    samples_begin(&b, &out);
    samples_add_field(&b, "a", 1, "b", 1);
    assert_int_equal(samples_end(&b), BW_INVALID);
    buf_reset(&out);
    samples_begin(&b, &out);
    samples_add(&b);
    samples_add_field(&b, zeros, 65535, zeros, sizeof zeros);
    assert_int_equal(samples_end(&b), BW_OK);
    assert_int_equal(open_copy(out.data, out.size), BW_OK);
    samples_add_field(&b, zeros, 65536, NULL, 0);
    assert_int_equal(samples_end(&b), BW_TOO_LARGE);
    buf_reset(&out);
    samples_begin(&b, &out);
    samples_add(&b);
    samples_add_field(&b, NULL, 0, zeros, (size_t)UINT32_MAX + 1);
    assert_int_equal(samples_end(&b), BW_TOO_LARGE);
    buf_reset(&out);
    samples_begin(&b, &out);
    samples_add(&b);
    for (int i = 0; i < 65535; i++)
        samples_add_field(&b, NULL, 0, NULL, 0);
    assert_int_equal(samples_end(&b), BW_OK);
    samples_add_field(&b, NULL, 0, NULL, 0);
    assert_int_equal(samples_end(&b), BW_TOO_LARGE);
    buf_reset(&out);
    samples_begin(&b, &out);
    b.samples = UINT32_MAX;
    samples_add(&b);
    assert_int_equal(samples_end(&b), BW_TOO_LARGE);
    buf_free(&out);
    /* A full buffer is reported as such. */
    buf_init(&out, 5);
    samples_begin(&b, &out);
    samples_add(&b);
    samples_add_field(&b, "a", 1, "b", 1);
    assert_int_equal(samples_end(&b), BW_TOO_LARGE);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_builder_writes_the_bytes_of_the_page),
        cmocka_unit_test(the_reader_gives_them_back),
        cmocka_unit_test(an_item_without_samples_is_valid),
        cmocka_unit_test(cuts_and_mutations_are_survived),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
