// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/manifest.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bw_status decode(view object, manifest **m, bw_error *error)
{
    uint8_t *copy = mem_dup(object.data, object.size);
    const bw_status status = manifest_decode(copy, object.size, SLICES, m, error);
    if (status != BW_OK) {
        assert_null(*m);
        mem_free(copy);
    }
    return status;
}

static bw_status recode(view object, buf *out)
{
    manifest *m;
    const bw_status status = decode(object, &m, NULL);
    if (status == BW_OK)
        assert_int_equal(manifest_encode(m, out), BW_OK);
    manifest_unref(m);
    return status;
}

static void start(draft *d, uint32_t records, uint32_t producers)
{
    rng r;
    rng_seed(&r, records + 100 * producers);
    draft_init(d, &r, records, producers);
}

static void encode(const draft *d, buf *object)
{
    buf_init(object, 20 << 20);
    assert_int_equal(manifest_encode(&d->m, object), BW_OK);
}

static void fields_come_back(void **state)
{
    (void)state;
    draft d;
    buf object;
    manifest *m;
    start(&d, 20, 12);
    encode(&d, &object);
    const view whole = view_of(object.data, object.size);
    assert_int_equal(decode(whole, &m, NULL), BW_OK);
    hash128 hash;
    assert_int_equal(hash_bytes(object.data, object.size, &hash), BW_OK);
    assert_true(hash_equal(&m->hash, &hash));
    assert_int_equal(m->object_bytes, object.size);
    assert_true(m->version == 77 && m->next == 1020 && m->trim == 140 && m->swept == 120);
    assert_int_equal(manifest_tail_first(m), 1000);
    assert_true(m->sealed && m->has_page && m->page.entries == 3);
    assert_true(view_equal(m->committer, view_text("p000")));
    assert_true(view_equal(m->turn, view_text("p001")));
    assert_int_equal(m->ref_count, 3);
    assert_true(hash_equal(&m->refs[1].sum_before, &d.refs[1].sum_before));
    assert_int_equal(m->tail.records, 20);
    assert_int_equal(m->producer_count, 12);
    assert_int_equal(m->group_count, 2);
    const producer_entry *e = manifest_producer(m, view_text("p007"));
    assert_non_null(e);
    assert_true(e->seq == 107 && e->slot_ms == d.producers[7].slot_ms);
    assert_true(token_equal(&e->token, &d.producers[7].token));
    assert_null(manifest_producer(m, view_text("p0075")));
    assert_null(manifest_producer(m, view_text("")));
    const group *g = manifest_group(m, view_text("a-train"));
    assert_non_null(g);
    assert_true(g->launch_number == 4 && g->pin_count == 3);
    assert_true(g->pinned && g->hold == 152);
    assert_true(view_equal(g->pins[1].id, view_text("ckpt-10")) && g->pins[1].step == 151);
    g = manifest_group(m, view_text("b.eval"));
    assert_true(g != NULL && !g->pinned && g->hold == 170 && g->pins[0].step == 153);
    assert_null(manifest_group(m, view_text("c")));
    assert_int_equal(manifest_w(m), 150);
    buf_free(&object);
    draft_free(&d);
    manifest_unref(m);
}

static void w_is_the_least_of_holds_and_pins(void **state)
{
    (void)state;
    draft d;
    start(&d, 0, 0);
    d.m.group_count = 0;
    assert_int_equal(manifest_w(&d.m), d.m.trim);
    d.m.group_count = 2;
    d.groups[1].hold = 145;
    assert_int_equal(manifest_w(&d.m), 145);
    d.pins[3].step = 141;
    assert_int_equal(manifest_w(&d.m), 141);
    draft_free(&d);
}

static void references_share_one_manifest(void **state)
{
    (void)state;
    draft d;
    buf object;
    manifest *m;
    start(&d, 3, 2);
    encode(&d, &object);
    assert_int_equal(decode(view_of(object.data, object.size), &m, NULL), BW_OK);
    assert_ptr_equal(manifest_ref(m), m);
    manifest_unref(m);
    assert_int_equal(m->version, 77);
    manifest_unref(m);
    manifest_unref(NULL);
    buf_free(&object);
    draft_free(&d);
}

static void every_byte_is_covered(void **state)
{
    (void)state;
    draft d;
    buf object;
    start(&d, 4, 5);
    encode(&d, &object);
    check_protected(&object, recode);
    buf_free(&object);
    draft_free(&d);
}

static void mutations_are_survived(void **state)
{
    (void)state;
    draft d;
    buf object;
    start(&d, 4, 5);
    encode(&d, &object);
    check_mutations(&object, recode, 61, 25000);
    buf_free(&object);
    draft_free(&d);
}

static void random_manifests_come_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        draft d;
        buf object, out;
        start(&d, i * 3, i);
        if (i % 3 == 0)
            d.m.has_page = false;
        if (i % 5 == 0) {
            d.m.ref_count = 0;
            d.m.swept = d.m.trim = d.m.next - d.m.tail.records;
            d.m.group_count = 0;
        }
        encode(&d, &object);
        assert_int_equal(recode_copy(view_of(object.data, object.size), recode, &out), BW_OK);
        assert_int_equal(out.size, object.size);
        assert_memory_equal(out.data, object.data, out.size);
        buf_free(&out);
        buf_free(&object);
        draft_free(&d);
    }
}

#define BREAKS(name, change)                                                                       \
    static void name(draft *d)                                                                     \
    {                                                                                              \
        change;                                                                                    \
    }
BREAKS(version, d->m.version = 0)
BREAKS(trim_high, d->m.trim = d->m.next + 1)
BREAKS(swept_high, d->m.swept = d->m.trim + 1)
BREAKS(swept_bytes, d->m.swept_bytes = d->m.committed_bytes + 1)
BREAKS(committer, d->m.committer = view_text("No"))
BREAKS(turn, d->m.turn = view_text("a..b"))
BREAKS(page_version, d->m.page.version = d->m.version + 1)
BREAKS(page_zero, d->m.page.version = 0)
BREAKS(page_entries, d->m.page.entries = 0)
BREAKS(ref_order, d->refs[1].last = d->refs[1].first - 1)
BREAKS(ref_gap, d->refs[1].first++)
BREAKS(ref_overlap, d->refs[2].first--)
BREAKS(ref_level, d->refs[2].level = 1)
BREAKS(ref_level_high, d->refs[0].level = SEGMENT_LEVELS_MAX)
BREAKS(ref_bytes, d->refs[0].bytes = OBJECT_EXTRA_BYTES)
BREAKS(first_ref_high, d->refs[0].first = d->m.swept + 1)
BREAKS(first_ref_low,
       (d->m.refs++, d->m.ref_count--, d->m.swept = 799, d->m.trim = 799, d->m.group_count = 0))
BREAKS(first_ref_old, (d->m.swept = d->m.trim = 800, d->m.group_count = 0))
BREAKS(tail_gap, d->m.next++)
BREAKS(tail_overlap, d->m.next--)
BREAKS(no_refs, d->m.ref_count = 0)
BREAKS(tail_long,
       (d->m.ref_count = 0, d->m.group_count = 0, d->m.next = d->m.swept = d->m.trim = 1))
BREAKS(finished_few, d->m.finished_producers--)
BREAKS(finished_many, d->m.finished_producers += d->m.page.entries + 1)
BREAKS(finished_alone, (d->m.has_page = false, d->m.finished_producers++))
BREAKS(producer_order, d->producers[2].id = view_text("p000"))
BREAKS(producer_epoch, d->producers[2].epoch = 0)
BREAKS(group_order, d->groups[0].name = view_text("c"))
BREAKS(group_twice, d->groups[0].name = d->groups[1].name)
BREAKS(group_name, d->groups[0].name = view_text(""))
BREAKS(launch_empty, d->groups[0].launch.size = 0)
BREAKS(launch_long, d->groups[0].launch = view_of(d->ids, LAUNCH_MAX + 1))
BREAKS(launch_number, d->groups[0].launch_number = 0)
BREAKS(hold_low, d->groups[1].hold = d->m.trim - 1)
BREAKS(hold_high, d->groups[1].hold = d->m.next + 1)
BREAKS(pin_order, d->pins[1].id = view_text("a"))
BREAKS(pin_twice, d->pins[1].id = d->pins[0].id)
BREAKS(pin_empty, d->pins[0].id.size = 0)
BREAKS(pin_long, d->pins[3].id = view_of(d->ids, PIN_ID_MAX + 1))
BREAKS(pin_low, d->pins[3].step = d->m.trim - 1)
BREAKS(pin_high, d->pins[3].step = d->m.next + 1)
BREAKS(no_tail, d->m.tail.bytes.size = 0)
BREAKS(tail_cut, d->m.tail.bytes.size--)

static void each_rule_is_checked(void **state)
{
    (void)state;
    void (*const rules[])(draft *) = {
        version,        trim_high,      swept_high,    swept_bytes,    committer,
        turn,           page_version,   page_zero,     page_entries,   ref_order,
        ref_gap,        ref_overlap,    ref_level,     ref_level_high, ref_bytes,
        first_ref_high, first_ref_low,  first_ref_old, tail_gap,       tail_overlap,
        no_refs,        tail_long,      finished_few,  finished_many,  finished_alone,
        producer_order, producer_epoch, group_order,   group_twice,    group_name,
        launch_empty,   launch_long,    launch_number, hold_low,       hold_high,
        pin_order,      pin_twice,      pin_empty,     pin_long,       pin_low,
        pin_high,       no_tail,        tail_cut,
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        draft d;
        buf object;
        manifest *m;
        bw_error error;
        error_clear(&error);
        start(&d, 4, 6);
        rules[i](&d);
        encode(&d, &object);
        assert_int_equal(decode(view_of(object.data, object.size), &m, &error), BW_CORRUPT);
        assert_true(error.message[0] != '\0');
        buf_free(&object);
        draft_free(&d);
    }
}

static void flags_and_trailing_bytes_are_checked(void **state)
{
    (void)state;
    draft d;
    buf object, out;
    start(&d, 4, 6);
    encode(&d, &object);
    /* Body: uuid 0, version 16, nonce 24, previous 40, clock 56, next 64, trim 72, swept 80,
     * flags 88. */
    const uint8_t flags = 7, page_bit = 1;
    check_patched(&object, 88, &flags, 1, recode, BW_CORRUPT);
    check_patched(&object, 88, &page_bit, 1, recode, BW_CORRUPT);
    buf_put_zero(&object, 1);
    reseal(&object);
    assert_int_equal(recode_copy(view_of(object.data, object.size), recode, &out), BW_CORRUPT);
    buf_free(&out);
    buf_free(&object);
    draft_free(&d);
}

static void groups_and_pins_have_caps(void **state)
{
    (void)state;
    static pin pins[PINS_MAX + 1];
    static group groups[GROUPS_MAX + 1];
    static char names[GROUPS_MAX + 1][4];
    for (uint8_t i = 0; i <= PINS_MAX; i++) {
        names[i][0] = (char)('a' + i / 26);
        names[i][1] = (char)('a' + i % 26);
        pins[i] = (pin){.id = view_text(names[i]), .step = 200};
        groups[i] = (group){.name = view_text(names[i]),
                            .launch = view_text("l"),
                            .launch_number = 1,
                            .hold = 200,
                            .pin_count = PINS_MAX,
                            .pins = pins};
    }
    draft d;
    buf object;
    manifest *m;
    start(&d, 1, 1);
    d.m.groups = groups;
    d.m.group_count = GROUPS_MAX;
    encode(&d, &object);
    assert_int_equal(decode(view_of(object.data, object.size), &m, NULL), BW_OK);
    assert_int_equal(m->groups[GROUPS_MAX - 1].pin_count, PINS_MAX);
    assert_true(view_equal(m->groups[GROUPS_MAX - 1].pins[PINS_MAX - 1].id, pins[PINS_MAX - 1].id));
    manifest_unref(m);
    buf_free(&object);
    d.m.group_count++;
    encode(&d, &object);
    assert_int_equal(decode(view_of(object.data, object.size), &m, NULL), BW_CORRUPT);
    buf_free(&object);
    /* One pin more does not fit what is written; in the bytes it is refused. */
    groups[0].pin_count++;
    d.m.group_count = 1;
    buf_init(&object, 1 << 20);
    assert_int_equal(manifest_encode(&d.m, &object), BW_MANIFEST_FULL);
    buf_free(&object);
    draft_free(&d);
}

static void above_the_cap_it_is_full(void **state)
{
    (void)state;
    draft d;
    buf object;
    start(&d, 1, 1);
    buf big;
    buf_init(&big, 20 << 20);
    buf_put_zero(&big, 16 << 20);
    d.m.tail.bytes = view_of(big.data, big.size);
    buf_init(&object, 20 << 20);
    assert_int_equal(manifest_encode(&d.m, &object), BW_MANIFEST_FULL);
    buf_free(&object);
    buf_free(&big);
    draft_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(w_is_the_least_of_holds_and_pins),
        cmocka_unit_test(references_share_one_manifest),
        cmocka_unit_test(every_byte_is_covered),
        cmocka_unit_test(mutations_are_survived),
        cmocka_unit_test(random_manifests_come_back),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(flags_and_trailing_bytes_are_checked),
        cmocka_unit_test(groups_and_pins_have_caps),
        cmocka_unit_test(above_the_cap_it_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
