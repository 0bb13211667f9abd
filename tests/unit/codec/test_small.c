// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/small.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t uuid[UUID_BYTES] = {3, 1, 4, 1, 5};

static bw_status recode_marker(view object, buf *out)
{
    uint8_t id[UUID_BYTES];
    uint64_t number;
    const bw_status status = marker_decode(object, id, &number, NULL);
    if (status == BW_OK)
        assert_int_equal(marker_encode(id, number, out), BW_OK);
    return status;
}

static bw_status recode_hint(view object, buf *out)
{
    uint8_t id[UUID_BYTES];
    uint64_t number;
    const bw_status status = hint_decode(object, id, &number, NULL);
    if (status == BW_OK)
        assert_int_equal(hint_encode(id, number, out), BW_OK);
    return status;
}

static bw_status recode_state(view object, buf *out)
{
    uint8_t id[UUID_BYTES];
    uint32_t epoch;
    uint64_t seq;
    view state;
    const bw_status status = state_decode(object, id, &epoch, &seq, &state, NULL);
    if (status == BW_OK)
        assert_int_equal(state_encode(id, epoch, seq, state, out), BW_OK);
    return status;
}

static void markers_and_hints_come_back(void **state)
{
    (void)state;
    buf marker, hint;
    uint8_t id[UUID_BYTES];
    uint64_t number;
    buf_init(&marker, 100);
    buf_init(&hint, 100);
    assert_int_equal(marker_encode(uuid, UINT64_MAX, &marker), BW_OK);
    assert_int_equal(hint_encode(uuid, 12, &hint), BW_OK);
    assert_true(marker.size <= 64 && hint.size <= 64);
    assert_int_equal(marker_decode(view_of(marker.data, marker.size), id, &number, NULL), BW_OK);
    assert_memory_equal(id, uuid, UUID_BYTES);
    assert_true(number == UINT64_MAX);
    assert_int_equal(hint_decode(view_of(hint.data, hint.size), id, &number, NULL), BW_OK);
    assert_int_equal(number, 12);
    /* One is never taken for the other. */
    assert_int_equal(hint_decode(view_of(marker.data, marker.size), id, &number, NULL), BW_FORMAT);
    check_protected(&marker, recode_marker);
    check_protected(&hint, recode_hint);
    check_mutations(&marker, recode_marker, 71, 2000);
    check_mutations(&hint, recode_hint, 72, 2000);
    buf_free(&marker);
    buf_free(&hint);
}

static void states_come_back(void **state)
{
    (void)state;
    buf object;
    uint8_t id[UUID_BYTES];
    uint32_t epoch;
    uint64_t seq;
    view bytes;
    buf_init(&object, 1000);
    assert_int_equal(state_encode(uuid, 4, 9, view_text("where I was"), &object), BW_OK);
    assert_int_equal(
        state_decode(view_of(object.data, object.size), id, &epoch, &seq, &bytes, NULL), BW_OK);
    assert_true(epoch == 4 && seq == 9 && view_equal(bytes, view_text("where I was")));
    check_protected(&object, recode_state);
    check_mutations(&object, recode_state, 73, 3000);
    buf_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_and_hints_come_back),
        cmocka_unit_test(states_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
