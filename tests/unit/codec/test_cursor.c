// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "codec/cursor.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UUID_TEXT "00112233445566778899aabbccddeeff"

static bw_status decode(const char *text, cursor *c)
{
    bw_error error;
    error_clear(&error);
    const bw_status status = cursor_decode(view_text(text), c, &error);
    assert_true((status == BW_OK) == (error.message[0] == '\0'));
    if (status != BW_OK)
        assert_null(c->skips);
    return status;
}

static bw_status recode(view text, buf *out)
{
    cursor c, again;
    const bw_status status = cursor_decode(text, &c, NULL);
    if (status != BW_OK)
        return status;
    /* Other spellings of the same cursor are accepted: what comes back is the canonical one of it.
     */
    buf canonical;
    buf_init(&canonical, SIZE_MAX);
    assert_int_equal(cursor_encode(&c, &canonical), BW_OK);
    assert_int_equal(cursor_decode(view_of(canonical.data, canonical.size), &again, NULL), BW_OK);
    assert_true(cursor_equal(&c, &again) && c.version == again.version);
    buf_put(out, text.data, text.size);
    buf_free(&canonical);
    cursor_free(&again);
    cursor_free(&c);
    return BW_OK;
}

static void the_canonical_text_is_exact(void **state)
{
    (void)state;
    skip_range skips[] = {{5, 6}, {8, INT64_MAX}};
    cursor c = {.uuid = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                         0xcc, 0xdd, 0xee, 0xff},
                .step = INT64_MAX,
                .item = UINT32_MAX,
                .mode = MODE_SCALE_BATCH,
                .dp = 3,
                .has_nonce = true,
                .nonce = 0xabc,
                .version = 7,
                .skip_count = 2,
                .skips = skips};
    buf text;
    buf_init(&text, 10000);
    assert_int_equal(cursor_encode(&c, &text), BW_OK);
    assert_string_equal(
        buf_text(&text),
        "{\"batchweave\":1,\"namespace\":\"" UUID_TEXT "\",\"step\":9223372036854775807,"
        "\"item\":4294967295,\"mode\":\"scale_batch\",\"dp\":3,\"nonce\":\"0000000000000abc\","
        "\"version\":7,\"skips\":[[5,6],[8,9223372036854775807]]}");
    cursor back, copy;
    assert_int_equal(decode(buf_text(&text), &back), BW_OK);
    assert_memory_equal(back.uuid, c.uuid, UUID_BYTES);
    assert_true(cursor_equal(&c, &back));
    assert_true(back.has_nonce && back.nonce == 0xabc && back.version == 7);
    assert_int_equal(cursor_copy(&copy, &back), BW_OK);
    cursor_free(&back);
    assert_true(cursor_equal(&c, &copy));
    cursor_free(&copy);
    cursor_free(&copy);
    check_raw_mutations(&text, recode, 81, 6000);
    buf_free(&text);
}

static void equality_and_hash_agree(void **state)
{
    (void)state;
    skip_range skips[] = {{5, 6}}, others[] = {{5, 7}}, earlier[] = {{4, 6}};
    const cursor base = {.step = 9, .item = 2, .dp = 4, .skip_count = 1, .skips = skips};
    cursor variants[8];
    for (int i = 0; i < 8; i++)
        variants[i] = base;
    variants[0].step++;
    variants[1].item++;
    variants[2].mode = MODE_SCALE_BATCH;
    variants[3].dp++;
    variants[4].skip_count = 0;
    variants[5].skips = others;
    /* These two do not count. */
    variants[6].version = 5;
    variants[7].nonce = variants[7].has_nonce = 1;
    hash128 hash, other;
    assert_int_equal(cursor_hash(&base, &hash), BW_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(cursor_hash(&variants[i], &other), BW_OK);
        assert_true(cursor_equal(&base, &variants[i]) == (i >= 6));
        assert_true(hash_equal(&hash, &other) == (i >= 6));
    }
    variants[5].skips = earlier;
    assert_false(cursor_equal(&base, &variants[5]));
}

#define HEAD "{\"batchweave\":1,\"namespace\":\"" UUID_TEXT "\","
#define TAIL "\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"version\":0,\"skips\":[]}"

static void any_spelling_is_read(void **state)
{
    (void)state;
    cursor c;
    assert_int_equal(decode(" { \"skips\" : [ [1,\t2] ], \"version\":3, \"nonce\":null,\n\"dp\":1,"
                            "\"mode\":\"same\\u005fbatch\", \"item\":0,\"step\":0,"
                            "\"namespace\":\"" UUID_TEXT "\", \"batch\\u0077eave\":1 } ",
                            &c),
                     BW_OK);
    assert_true(c.skip_count == 1 && c.version == 3 && !c.has_nonce && c.dp == 1);
    cursor_free(&c);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "",
        "x",
        "[]",
        "null",
        "{}",
        HEAD "\"step\":1,\"item\":0," TAIL "x",
        HEAD "\"step\":1,\"item\":0,\"more\":0," TAIL,
        HEAD "\"step\":1,\"step\":1,\"item\":0," TAIL,
        HEAD "\"item\":0," TAIL,
        HEAD "\"step\":-1,\"item\":0," TAIL,
        HEAD "\"step\":1.0,\"item\":0," TAIL,
        HEAD "\"step\":1e3,\"item\":0," TAIL,
        HEAD "\"step\":\"1\",\"item\":0," TAIL,
        HEAD "\"step\":9223372036854775808,\"item\":0," TAIL,
        HEAD "\"step\":1,\"item\":4294967296," TAIL,
        HEAD "\"step\":1," TAIL,
        "{\"batchweave\":2,\"namespace\":\"" UUID_TEXT "\",\"step\":1,\"item\":0," TAIL,
        "{\"batchweave\":0,\"namespace\":\"" UUID_TEXT "\",\"step\":1,\"item\":0," TAIL,
        "{\"batchweave\":1,\"namespace\":\"00\",\"step\":1,\"item\":0," TAIL,
        "{\"batchweave\":1,\"namespace\":\"0011223344556677889AABBCCDDEEFF\",\"step\":1,\"item\":"
        "0," TAIL,
        "{\"batchweave\":1,\"namespace\":5,\"step\":1,\"item\":0," TAIL,
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same\",\"dp\":1,\"nonce\":null,\"version\":0,"
             "\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":1,\"dp\":1,\"nonce\":null,\"version\":0,\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":0,\"nonce\":null,\"version\":0,"
             "\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":7,\"version\":0,"
             "\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":\"abc\",\"version\":"
             "0,\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"version\":0,\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"skips\":[]}",
        HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"version\":0}",
#define SKIPS(list)                                                                                \
    HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"version\":0,"    \
         "\"skips\":" list "}"
        SKIPS("{}"),
        SKIPS("[1]"),
        SKIPS("[[1]]"),
        SKIPS("[[1,2,3]]"),
        SKIPS("[[1,\"2\"]]"),
        SKIPS("[[\"1\",2]]"),
        SKIPS("[[2,2]]"),
        SKIPS("[[3,2]]"),
        SKIPS("[[1,3],[3,4]]"),
        SKIPS("[[1,3],[2,4]]"),
        SKIPS("[[5,6],[1,2]]"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cursor c;
        assert_int_equal(decode(wrong[i], &c), BW_CURSOR_INVALID);
    }
    cursor c;
    /* One element more than a cursor may have, and few enough characters of structure. */
    static char text[1 << 14];
    size_t size = (size_t)snprintf(text, sizeof text, "%s", SKIPS("[1")) - 1; /* no brace yet */
    for (uint32_t k = 0; k < SKIPS_MAX; k++)
        size += (size_t)snprintf(text + size, sizeof text - size, ",1");
    (void)snprintf(text + size, sizeof text - size, "]}");
    assert_int_equal(decode(text, &c), BW_CURSOR_INVALID);
    assert_int_equal(decode(SKIPS("[[1,3],[4,5]]"), &c), BW_OK);
    cursor_free(&c);
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    cursor c = {.dp = 1, .skip_count = SKIPS_MAX};
    c.skips = mem_array(SKIPS_MAX + 1, sizeof *c.skips);
    for (uint32_t i = 0; i <= SKIPS_MAX; i++)
        c.skips[i] =
            (skip_range){(uint64_t)INT64_MAX - 3000 + 2 * i, (uint64_t)INT64_MAX - 2999 + 2 * i};
    buf text;
    buf_init(&text, SIZE_MAX);
    assert_int_equal(cursor_encode(&c, &text), BW_OK);
    cursor back;
    assert_int_equal(cursor_decode(view_of(text.data, text.size), &back, NULL), BW_OK);
    assert_true(cursor_equal(&c, &back));
    cursor_free(&back);
    c.skip_count++;
    assert_int_equal(cursor_encode(&c, &text), BW_CURSOR_INVALID);
    /* One skip more, written by hand. */
    text.size -= 2;
    buf_put_text(&text, ",[9223372036854775806,9223372036854775807]]}");
    assert_int_equal(cursor_decode(view_of(text.data, text.size), &back, NULL), BW_CURSOR_INVALID);
    buf_reset(&text);
    buf_put_text(&text, HEAD "\"step\":1,\"item\":0," TAIL);
    while (text.size < 1 << 20)
        buf_put_u8(&text, ' ');
    assert_int_equal(cursor_decode(view_of(text.data, text.size), &back, NULL), BW_CURSOR_INVALID);
    buf_free(&text);
    cursor_free(&c);
}

static void encoding_checks_ranges(void **state)
{
    (void)state;
    skip_range skips[] = {{5, 5}};
    cursor variants[] = {{.dp = 0},
                         {.dp = 1, .step = (uint64_t)INT64_MAX + 1},
                         {.dp = 1, .version = (uint64_t)INT64_MAX + 1},
                         {.dp = 1, .mode = (cursor_mode)2},
                         {.dp = 1, .skip_count = 1, .skips = skips}};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        buf text;
        buf_init(&text, 1000);
        assert_int_equal(cursor_encode(&variants[i], &text), BW_CURSOR_INVALID);
        assert_int_equal(text.size, 0);
        buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_text_is_exact), cmocka_unit_test(equality_and_hash_agree),
        cmocka_unit_test(any_spelling_is_read),        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(sizes_are_bounded),           cmocka_unit_test(encoding_checks_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
