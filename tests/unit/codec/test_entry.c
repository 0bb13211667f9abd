// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/parts.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bw_status recode(view object, buf *out)
{
    page p;
    const bw_status status = page_decode(object, &p, NULL);
    if (status == BW_OK)
        assert_int_equal(page_encode(&p, out), BW_OK);
    page_free(&p);
    return status;
}

/* Three departed producers: p001 finished, p002 forgotten, p005 finished. */
static void make_page(draft *d, page *p)
{
    rng r;
    rng_seed(&r, 51);
    draft_init(d, &r, 2, 8);
    *p = (page){.uuid = {5}, .version = 70, .count = 3, .entries = d->producers + 20};
    p->entries[0] = d->producers[1];
    p->entries[1] = d->producers[2];
    p->entries[2] = d->producers[5];
}

static void a_page_comes_back(void **state)
{
    (void)state;
    draft d;
    page p, back;
    buf object;
    make_page(&d, &p);
    buf_init(&object, 10000);
    assert_int_equal(page_encode(&p, &object), BW_OK);
    assert_int_equal(page_decode(view_of(object.data, object.size), &back, NULL), BW_OK);
    assert_true(back.version == 70 && back.count == 3);
    const producer_entry *e = page_producer(&back, view_text("p002"));
    assert_non_null(e);
    assert_true(e->forgotten && !e->finished && e->seq == 102);
    assert_true(token_equal(&e->token, &p.entries[1].token));
    assert_null(page_producer(&back, view_text("p003")));
    e = page_producer(&back, view_text("p001"));
    assert_non_null(e);
    assert_true(e->state_is_object && e->state_ref.nonce == p.entries[0].state_ref.nonce);
    page_free(&back);
    check_protected(&object, recode);
    check_mutations(&object, recode, 52, 10000);
    buf_free(&object);
    draft_free(&d);
}

#define BREAKS(name, change)                                                                       \
    static void name(page *p)                                                                      \
    {                                                                                              \
        producer_entry *e = p->entries;                                                            \
        change;                                                                                    \
    }
BREAKS(empty, p->count = 0; (void)e)
BREAKS(active, e[1].forgotten = false)
BREAKS(unsorted, e[1].id = view_text("p000"))
BREAKS(twice, e[1].id = e[0].id)
BREAKS(no_name, e[0].id = view_text("-"))
BREAKS(no_id, e[0].id.size = 0)
BREAKS(epoch, e[0].epoch = 0)
BREAKS(swept_seq, e[0].swept_seq = e[0].seq + 1)
BREAKS(swept_offset, e[0].swept_offset = e[0].offset + 1)
BREAKS(offset, (e[0].seq = e[0].swept_seq = 0, e[0].last_publish = 0))
BREAKS(never, e[0].last_publish = 0)
BREAKS(too_early, (e[0].seq = e[0].swept_seq = e[0].offset = e[0].swept_offset = 0))
BREAKS(long_state, (e[1].state_is_object = false, e[1].state = view_of("", STATE_INLINE_MAX + 1)))

static void each_rule_is_checked(void **state)
{
    (void)state;
    static uint8_t zeros[STATE_INLINE_MAX + 1];
    void (*const rules[])(page *) = {empty, active,    unsorted,  twice,        no_name,
                                     no_id, epoch,     swept_seq, swept_offset, offset,
                                     never, too_early, long_state};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        draft d;
        page p;
        buf object, out;
        make_page(&d, &p);
        rules[i](&p);
        if (p.entries[1].state.size > STATE_INLINE_MAX)
            p.entries[1].state.data = zeros;
        buf_init(&object, 10000);
        assert_int_equal(page_encode(&p, &object), BW_OK);
        assert_int_equal(recode_copy(view_of(object.data, object.size), recode, &out), BW_CORRUPT);
        buf_free(&out);
        buf_free(&object);
        draft_free(&d);
    }
}

static void flags_and_counts_are_checked(void **state)
{
    (void)state;
    draft d;
    page p;
    buf object;
    make_page(&d, &p);
    buf_init(&object, 10000);
    assert_int_equal(page_encode(&p, &object), BW_OK);
    /* Body: uuid 0, version 16, entries 24, then id "p001" 28, epoch 33, flags 37. */
    const uint8_t flags = 8 | 1 | 4, four = 4;
    check_patched(&object, 37, &flags, 1, recode, BW_CORRUPT);
    check_patched(&object, 24, &four, 1, recode, BW_CORRUPT);
    const uint8_t huge[4] = {0xff, 0xff, 0xff, 0xff};
    check_patched(&object, 24, huge, 4, recode, BW_CORRUPT);
    buf_free(&object);
    draft_free(&d);
}

static void a_producer_that_never_published(void **state)
{
    (void)state;
    producer_entry e = {.id = view_text("new"), .epoch = 1, .last_commit = 3}, back;
    buf bytes;
    wire_reader r;
    buf_init(&bytes, 1000);
    producer_entry_encode(&e, &bytes);
    assert_int_equal(bytes.size, ENTRY_BYTES_MIN + 2);
    wire_open(&r, view_of(bytes.data, bytes.size));
    producer_entry_read(&r, &back);
    assert_true(wire_done(&r));
    assert_true(back.seq == 0 && back.last_commit == 3 && back.epoch == 1);
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_comes_back),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(flags_and_counts_are_checked),
        cmocka_unit_test(a_producer_that_never_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
