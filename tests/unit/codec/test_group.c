// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/parts.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRIM 100u

/* Two groups that keep every rule; each test breaks one of them. */
typedef struct fixture {
    pin pins[3];
    group groups[2];
} fixture;

static void good(fixture *f)
{
    *f = (fixture){
        .pins =
            {
                {.id = view_text("a"), .nonce = 1, .step = TRIM, .item = 3},
                {.id = view_text("b"), .nonce = 2, .step = 150, .cursor_hash = {{9}}},
                {.id = view_text("a"), .nonce = 3, .step = 120},
            },
        .groups =
            {
                {.name = view_text("eval"),
                 .launch = view_text("job 1"),
                 .launch_number = 2,
                 .hold = 150,
                 .pinned = true,
                 .last_version = 7,
                 .last_clock_ms = 8,
                 .pin_count = 2},
                {.name = view_text("train"),
                 .launch = view_text("job 2"),
                 .launch_number = 1,
                 .hold = TRIM,
                 .cursor_hash = {{5}},
                 .pin_count = 1},
            },
    };
    f->groups[0].pins = f->pins;
    f->groups[1].pins = f->pins + 2;
}

static void encode(const fixture *f, uint32_t count, buf *out)
{
    buf_init(out, 1u << 20);
    buf_put_u32(out, count);
    for (uint32_t i = 0; i < 2; i++)
        group_encode(&f->groups[i], out);
    assert_int_equal(buf_status(out), BW_OK);
}

/* Reads from a copy of exactly that size; `m` has what manifest_unref would free. */
static bw_status decode(const uint8_t *bytes, size_t size, manifest *m, uint8_t **copy)
{
    wire_reader r;
    bw_error error;
    *m = (manifest){.trim = TRIM, .next = 1000};
    *copy = mem_dup(bytes, size);
    assert_non_null(*copy);
    wire_open(&r, view_of(*copy, size));
    const bw_status status = groups_read(&r, m, &error);
    if (status == BW_OK)
        return wire_done(&r) ? BW_OK : BW_CORRUPT;
    assert_int_equal(error.code, status);
    return status;
}

static void release(manifest *m, uint8_t *copy)
{
    mem_free(m->groups);
    mem_free(m->pin_storage);
    mem_free(copy);
}

static bw_status status_of(const uint8_t *bytes, size_t size)
{
    manifest m;
    uint8_t *copy = NULL;
    const bw_status status = decode(bytes, size, &m, &copy);
    release(&m, copy);
    return status;
}

static void refused(const fixture *f)
{
    buf out;
    encode(f, 2, &out);
    assert_int_equal(status_of(out.data, out.size), BW_CORRUPT);
    buf_free(&out);
}

static void groups_come_back(void **state)
{
    (void)state;
    fixture f;
    buf out;
    manifest m;
    uint8_t *copy = NULL;
    good(&f);
    encode(&f, 2, &out);
    assert_int_equal(decode(out.data, out.size, &m, &copy), BW_OK);
    assert_int_equal(m.group_count, 2);
    const group *eval = &m.groups[0], *train = &m.groups[1];
    assert_true(view_equal(eval->name, view_text("eval")));
    assert_true(view_equal(eval->launch, view_text("job 1")));
    assert_true(eval->launch_number == 2 && eval->last_version == 7 && eval->last_clock_ms == 8);
    assert_true(eval->pinned && eval->hold == 150);
    assert_int_equal(eval->pin_count, 2);
    assert_true(eval->pins[0].nonce == 1 && eval->pins[0].step == TRIM && eval->pins[0].item == 3);
    assert_true(view_equal(eval->pins[1].id, view_text("b")));
    assert_int_equal(eval->pins[1].cursor_hash.bytes[0], 9);
    assert_true(!train->pinned && train->hold == TRIM && train->cursor_hash.bytes[0] == 5);
    assert_true(train->pin_count == 1 && train->pins[0].step == 120);
    release(&m, copy);
    buf_free(&out);
}

static void none_is_fine(void **state)
{
    (void)state;
    static const uint8_t zero[4] = {0};
    assert_int_equal(status_of(zero, sizeof zero), BW_OK);
}

static void cut_short(void **state)
{
    (void)state;
    fixture f;
    buf out;
    good(&f);
    encode(&f, 2, &out);
    assert_int_equal(status_of(out.data, out.size), BW_OK);
    for (size_t size = 0; size < out.size; size++)
        assert_int_equal(status_of(out.data, size), BW_CORRUPT);
    buf_free(&out);
    /* More groups than the bytes can hold: no memory is asked for. */
    encode(&f, GROUPS_MAX, &out);
    assert_int_equal(status_of(out.data, out.size), BW_CORRUPT);
    buf_free(&out);
    encode(&f, UINT32_MAX, &out);
    assert_int_equal(status_of(out.data, out.size), BW_CORRUPT);
    buf_free(&out);
}

static void rules_of_a_group(void **state)
{
    (void)state;
    fixture f;
    char long_launch[LAUNCH_MAX + 1];
    memset(long_launch, 'x', sizeof long_launch);
    good(&f);
    f.groups[0].name = view_text("Eval");
    refused(&f);
    good(&f);
    f.groups[0].launch = view_text("");
    refused(&f);
    good(&f);
    f.groups[0].launch = view_of(long_launch, sizeof long_launch);
    refused(&f);
    good(&f);
    f.groups[0].launch_number = 0;
    refused(&f);
    good(&f);
    f.groups[0].hold = 1001; /* beyond the next step */
    refused(&f);
    good(&f);
    f.groups[1].hold = TRIM - 1;
    refused(&f);
    good(&f);
    f.groups[0].name = f.groups[1].name;
    refused(&f);
    good(&f);
    f.groups[0].name = view_text("z");
    refused(&f);
}

static void rules_of_a_pin(void **state)
{
    (void)state;
    fixture f;
    char long_id[PIN_ID_MAX + 1];
    memset(long_id, 'x', sizeof long_id);
    good(&f);
    f.pins[0].step = TRIM - 1;
    refused(&f);
    good(&f);
    f.pins[0].id = view_text("");
    refused(&f);
    good(&f);
    f.pins[1].id = view_of(long_id, sizeof long_id);
    refused(&f);
    good(&f);
    f.pins[1].id = f.pins[0].id;
    refused(&f);
    good(&f);
    f.pins[0].id = view_text("c");
    refused(&f);
}

static void unknown_flags(void **state)
{
    (void)state;
    fixture f;
    buf out;
    good(&f);
    encode(&f, 2, &out);
    /* The count, "eval", "job 1", the launch's number; then the flags. */
    const size_t flags_at = 4 + 5 + 6 + 8;
    assert_int_equal(out.data[flags_at], 1);
    out.data[flags_at] = 2;
    assert_int_equal(status_of(out.data, out.size), BW_CORRUPT);
    buf_free(&out);
}

static void too_many_pins(void **state)
{
    (void)state;
    pin pins[PINS_MAX + 1];
    char ids[PINS_MAX + 1][2];
    group g = {.name = view_text("g"),
               .launch = view_text("l"),
               .launch_number = 1,
               .hold = TRIM,
               .pins = pins};
    for (uint32_t i = 0; i <= PINS_MAX; i++) {
        ids[i][0] = (char)('0' + i / 10);
        ids[i][1] = (char)('0' + i % 10);
        pins[i] = (pin){.id = view_of(ids[i], 2), .step = TRIM};
    }
    for (uint32_t count = PINS_MAX; count <= PINS_MAX + 1; count++) {
        buf out;
        buf_init(&out, 1u << 20);
        buf_put_u32(&out, 1);
        g.pin_count = count;
        group_encode(&g, &out);
        if (count > PINS_MAX) {
            assert_int_equal(buf_status(&out), BW_TOO_LARGE);
            out.failed = BW_NOMEM; /* what failed first is what is told */
            group_encode(&g, &out);
            assert_int_equal(buf_status(&out), BW_NOMEM);
        } else {
            assert_int_equal(status_of(out.data, out.size), BW_OK);
        }
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_come_back), cmocka_unit_test(none_is_fine),
        cmocka_unit_test(cut_short),        cmocka_unit_test(rules_of_a_group),
        cmocka_unit_test(rules_of_a_pin),   cmocka_unit_test(unknown_flags),
        cmocka_unit_test(too_many_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
