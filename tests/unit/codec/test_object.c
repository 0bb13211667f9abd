// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void make(buf *out, object_kind kind, size_t body_bytes)
{
    buf_init(out, (size_t)32 << 20);
    const size_t at = object_begin(out, kind);
    buf_put_zero(out, body_bytes);
    object_finish(out, at);
}

static bw_status open_it(const buf *object, object_kind kind)
{
    view body;
    bw_error error;
    error_clear(&error);
    const bw_status status = object_open(view_of(object->data, object->size), kind, &body, &error);
    /* A failure says what it is about. */
    assert_true((status == BW_OK) == (error.message[0] == '\0'));
    return status;
}

static void every_kind_opens_as_itself_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < OBJECT_KINDS; kind++) {
        buf object;
        make(&object, (object_kind)kind, 24);
        assert_int_equal(buf_status(&object), BW_OK);
        assert_int_equal(object.size, 24 + OBJECT_EXTRA_BYTES);
        for (int other = 0; other < OBJECT_KINDS; other++)
            assert_int_equal(open_it(&object, (object_kind)other),
                             kind == other ? BW_OK : BW_FORMAT);
        assert_true(strlen(object_kind_name((object_kind)kind)) > 0);
        buf_free(&object);
    }
    assert_string_equal(object_kind_name(OBJECT_KINDS), "unknown object");
    assert_int_equal(object_bytes_max(OBJECT_KINDS), 0);
}

static void each_field_of_the_head_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        bw_status expected;
    } cases[] = {
        {0, 'X', BW_FORMAT}, {4, 2, BW_FORMAT},    {5, 1, BW_FORMAT},
        {6, 1, BW_FORMAT},   {7, 0x80, BW_FORMAT},
    };
    buf object;
    make(&object, OBJECT_PAGE, 30);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t before = object.data[cases[i].at];
        object.data[cases[i].at] = cases[i].value;
        /* Damage first: without a fitting CRC no field is believed. */
        assert_int_equal(open_it(&object, OBJECT_PAGE), BW_CORRUPT);
        reseal(&object);
        assert_int_equal(open_it(&object, OBJECT_PAGE), cases[i].expected);
        object.data[cases[i].at] = before;
        reseal(&object);
        assert_int_equal(open_it(&object, OBJECT_PAGE), BW_OK);
    }
    buf_free(&object);
}

static void the_length_must_be_exact(void **state)
{
    (void)state;
    const uint64_t lengths[] = {0, 23, 25, 24 | (uint64_t)1 << 63};
    buf object;
    make(&object, OBJECT_HINT, 24);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        store_u64(object.data + 8, lengths[i]);
        store_u32(object.data + object.size - 4, crc32c(0, object.data, object.size - 4));
        assert_int_equal(open_it(&object, OBJECT_HINT), BW_CORRUPT);
    }
    buf_free(&object);
}

static void caps_hold_both_ways(void **state)
{
    (void)state;
    const object_kind kinds[] = {OBJECT_MARKER, OBJECT_GENESIS};
    for (size_t i = 0; i < 2; i++) {
        const size_t most = object_bytes_max(kinds[i]) - OBJECT_EXTRA_BYTES;
        buf object;
        make(&object, kinds[i], most);
        assert_int_equal(buf_status(&object), BW_OK);
        assert_int_equal(open_it(&object, kinds[i]), BW_OK);
        buf_put_zero(&object, 1);
        reseal(&object);
        assert_int_equal(open_it(&object, kinds[i]), BW_CORRUPT);
        buf_free(&object);
        make(&object, kinds[i], most + 1);
        assert_int_equal(buf_status(&object), BW_TOO_LARGE);
        buf_free(&object);
    }
}

static void too_short_is_corrupt(void **state)
{
    (void)state;
    buf object;
    make(&object, OBJECT_HINT, 0);
    assert_int_equal(object.size, OBJECT_EXTRA_BYTES);
    assert_int_equal(open_it(&object, OBJECT_HINT), BW_OK);
    for (object.size = 0; object.size < OBJECT_EXTRA_BYTES; object.size++)
        assert_int_equal(open_it(&object, OBJECT_HINT), BW_CORRUPT);
    buf_free(&object);
}

static void a_failed_buffer_stays_failed(void **state)
{
    (void)state;
    buf out;
    buf_init(&out, 10);
    const size_t at = object_begin(&out, OBJECT_HINT);
    object_finish(&out, at);
    assert_int_equal(buf_status(&out), BW_TOO_LARGE);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_opens_as_itself_only),
        cmocka_unit_test(each_field_of_the_head_is_checked),
        cmocka_unit_test(the_length_must_be_exact),
        cmocka_unit_test(caps_hold_both_ways),
        cmocka_unit_test(too_short_is_corrupt),
        cmocka_unit_test(a_failed_buffer_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
