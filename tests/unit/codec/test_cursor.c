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
    tag_range tags[] = {{0, 0}, {2, INT64_MAX - 1}, {INT64_MAX, TAG_ANY}};
    tags[1].last--;
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
                .skips = skips,
                .tag_count = 3,
                .tags = tags,
                .way_count = 2,
                .way = {{.first = 0,
                         .last = INT64_MAX,
                         .hash = {{0xab, 0xcd}},
                         .bytes = OBJECT_EXTRA_BYTES + 1,
                         .level = 1},
                        {.first = 5, .last = 5, .bytes = object_bytes_max(OBJECT_SEGMENT)}}};
    buf text;
    buf_init(&text, 10000);
    assert_int_equal(cursor_encode(&c, &text), BW_OK);
    assert_string_equal(
        buf_text(&text),
        "{\"batchweave\":1,\"namespace\":\"" UUID_TEXT "\",\"step\":9223372036854775807,"
        "\"item\":4294967295,\"mode\":\"scale_batch\",\"dp\":3,\"nonce\":\"0000000000000abc\","
        "\"version\":7,\"skips\":[[5,6],[8,9223372036854775807]],"
        "\"tags\":[[0,0],[2,9223372036854775805],[9223372036854775807,null]],"
        "\"way\":[[0,9223372036854775807,21,\"abcd0000000000000000000000000000\"],"
        "[5,5,16777236,\"00000000000000000000000000000000\"]]}");
    cursor back, copy;
    assert_int_equal(decode(buf_text(&text), &back), BW_OK);
    assert_memory_equal(back.uuid, c.uuid, UUID_BYTES);
    assert_true(cursor_equal(&c, &back));
    assert_true(back.has_nonce && back.nonce == 0xabc && back.version == 7);
    assert_int_equal(back.way_count, 2);
    assert_memory_equal(back.way, c.way, sizeof c.way);
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
    tag_range tags[] = {{7, 8}};
    cursor variants[10];
    for (int i = 0; i < 10; i++)
        variants[i] = base;
    variants[0].step++;
    variants[1].item++;
    variants[2].mode = MODE_SCALE_BATCH;
    variants[3].dp++;
    variants[4].skip_count = 0;
    variants[5].skips = others;
    variants[6].tag_count = 1;
    variants[6].tags = tags;
    /* These three do not count. */
    variants[7].version = 5;
    variants[8].nonce = variants[8].has_nonce = 1;
    variants[9].way_count = 1;
    variants[9].way[0] = (segment_ref){.last = 9, .bytes = 100};
    hash128 hash, other;
    assert_int_equal(cursor_hash(&base, &hash), BW_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cursor_hash(&variants[i], &other), BW_OK);
        assert_true(cursor_equal(&base, &variants[i]) == (i >= 7));
        assert_true(hash_equal(&hash, &other) == (i >= 7));
    }
    variants[5].skips = earlier;
    assert_false(cursor_equal(&base, &variants[5]));
    tag_range longer[] = {{7, 9}}, later[] = {{8, 8}};
    cursor with = variants[6];
    with.tags = longer;
    assert_false(cursor_equal(&with, &variants[6]));
    with.tags = later;
    assert_false(cursor_equal(&with, &variants[6]));
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
#define TAGS(list)                                                                                 \
    HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"version\":0,"    \
         "\"skips\":[],\"tags\":" list "}"
        TAGS("[]"),
        TAGS("null"),
        TAGS("{}"),
        TAGS("[5]"),
        TAGS("[[5]]"),
        TAGS("[[5,6,7]]"),
        TAGS("[[null,6]]"),
        TAGS("[[5,\"6\"]]"),
        TAGS("[[-1,6]]"),
        TAGS("[[6,5]]"),
        TAGS("[[5,9223372036854775808]]"),
        TAGS("[[1,3],[4,5]]"),
        TAGS("[[1,3],[3,5]]"),
        TAGS("[[5,6],[1,2]]"),
        TAGS("[[5,null],[7,8]]"),
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

#define WAY_NAME "\"00112233445566778899aabbccddeeff\""
#define WAY(list)                                                                                  \
    HEAD "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,\"version\":0,"    \
         "\"skips\":[],\"way\":" list "}"
static void a_wrong_way_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        WAY("[]"),
        WAY("null"),
        WAY("{}"),
        WAY("[5]"),
        WAY("[[0,9,100]]"),
        WAY("[[0,9,100," WAY_NAME ",1]]"),
        WAY("[[-1,9,100," WAY_NAME "]]"),
        WAY("[[0,\"9\",100," WAY_NAME "]]"),
        WAY("[[0,9,-1," WAY_NAME "]]"),
        WAY("[[0,9,100,7]]"),
        WAY("[[0,9,100,\"00\"]]"),
        WAY("[[6,5,100," WAY_NAME "]]"),
        WAY("[[0,9223372036854775808,100," WAY_NAME "]]"),
        WAY("[[0,9,20," WAY_NAME "]]"),
        WAY("[[0,9,16777237," WAY_NAME "]]"),
        WAY("[[1,9,100," WAY_NAME "],[0,9,100," WAY_NAME "]]"),
        WAY("[[0,9,100," WAY_NAME "],[0,10,100," WAY_NAME "]]"),
        WAY("[[0,9,99," WAY_NAME "],[0,9,99," WAY_NAME "],[0,9,99," WAY_NAME "],[0,9,99," WAY_NAME
            "],[0,9,99," WAY_NAME "]]"),
        WAY("[[0,9,100," WAY_NAME "]],\"more\":0"),
    };
    cursor c;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(decode(wrong[i], &c), BW_CURSOR_INVALID);
    assert_int_equal(decode(WAY("[[0,9,21," WAY_NAME "],[0,9,100," WAY_NAME "]]"), &c), BW_OK);
    assert_true(c.way_count == 2 && c.way[0].level == 1 && c.way[1].level == 0);
    cursor_free(&c);
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    cursor c = {.dp = 1, .skip_count = SKIPS_MAX, .tag_count = TAGS_MAX, .way_count = WAY_MAX};
    for (uint32_t i = 0; i < WAY_MAX; i++)
        c.way[i] = (segment_ref){.last = INT64_MAX, .bytes = 100};
    c.skips = mem_array(SKIPS_MAX + 1, sizeof *c.skips);
    c.tags = mem_array(TAGS_MAX + 1, sizeof *c.tags);
    for (uint32_t i = 0; i <= TAGS_MAX; i++)
        c.tags[i] = (tag_range){2 * i, 2 * i};
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
    c.tag_count++;
    assert_int_equal(cursor_encode(&c, &text), BW_CURSOR_INVALID);
    c.tag_count = TAGS_MAX;
    c.way_count++;
    assert_int_equal(cursor_encode(&c, &text), BW_CURSOR_INVALID);
    c.tag_count = c.way_count = 0;
    buf_reset(&text);
    assert_int_equal(cursor_encode(&c, &text), BW_OK);
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
                         {.dp = 1, .skip_count = 1, .skips = skips},
                         {.dp = 1, .way_count = 1}};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        buf text;
        buf_init(&text, 1000);
        assert_int_equal(cursor_encode(&variants[i], &text), BW_CURSOR_INVALID);
        assert_int_equal(text.size, 0);
        buf_free(&text);
    }
}

typedef struct skip_case {
    uint64_t first, end;
    const char *made; /* NULL: refused */
} skip_case;

static void skips_grow_together(void **state)
{
    (void)state;
    static const skip_case cases[] = {
        {1, 2, "1-2 10-20 30-40 "},
        {1, 9, "1-9 10-20 30-40 "},
        {1, 10, "1-20 30-40 "},
        {20, 30, "10-40 "},
        {12, 15, "10-20 30-40 "},
        {5, 50, "5-50 "},
        {22, 25, "10-20 22-25 30-40 "},
        {40, 41, "10-20 30-41 "},
        {50, 60, "10-20 30-40 50-60 "},
        {15, 30, "10-40 "},
        {3, 3, NULL},
        {4, 3, NULL},
        {0, INT64_MAX, "0-9223372036854775807 "},
        {0, (uint64_t)INT64_MAX + 1, NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        skip_range skips[] = {{10, 20}, {30, 40}};
        cursor c;
        assert_int_equal(cursor_copy(&c, &(cursor){.dp = 1, .skip_count = 2, .skips = skips}),
                         BW_OK);
        const bw_status status = cursor_skip(&c, cases[k].first, cases[k].end);
        assert_int_equal(status, cases[k].made != NULL ? BW_OK : BW_CURSOR_INVALID);
        char text[128] = "";
        for (uint32_t i = 0; i < c.skip_count; i++)
            (void)snprintf(text + strlen(text), 64, "%llu-%llu ",
                           (unsigned long long)c.skips[i].first,
                           (unsigned long long)c.skips[i].end);
        assert_string_equal(text, cases[k].made != NULL ? cases[k].made : "10-20 30-40 ");
        cursor_free(&c);
    }
}

static void skips_are_bounded(void **state)
{
    (void)state;
    cursor c = {.dp = 1};
    for (uint64_t i = 0; i < SKIPS_MAX; i++)
        assert_int_equal(cursor_skip(&c, 4 * i, 4 * i + 1), BW_OK);
    assert_int_equal(cursor_skip(&c, 2, 3), BW_CURSOR_INVALID);
    assert_int_equal(c.skip_count, SKIPS_MAX);
    assert_int_equal(cursor_skip(&c, 1, 4), BW_OK);
    assert_int_equal(c.skip_count, SKIPS_MAX - 1);
    cursor_free(&c);
}

/* What no reader takes is not written; what is no list of ranges is not read. */
static void tags_are_checked(void **state)
{
    (void)state;
    tag_range beyond[] = {{UINT64_MAX - 1, TAG_ANY}}, long_one[] = {{5, UINT64_MAX - 1}};
    cursor c = {.uuid = {1}, .dp = 4, .tag_count = 1, .tags = beyond};
    buf out;
    buf_init(&out, 1u << 20);
    assert_int_equal(cursor_encode(&c, &out), BW_CURSOR_INVALID);
    c.tags = long_one;
    assert_int_equal(cursor_encode(&c, &out), BW_CURSOR_INVALID);
    buf_free(&out);
    static const char head[] =
        "{\"batchweave\":1,\"namespace\":\"01000000000000000000000000000000\","
        "\"step\":0,\"item\":0,\"mode\":\"same_batch\",\"dp\":4,"
        "\"nonce\":null,\"version\":0,\"skips\":[],\"tags\":";
    static const char *const lists[] = {"[]",          "7",     "[[\"a\",1]]",
                                        "[[1,\"a\"]]", "[[1]]", "[[2,1]]"};
    char text[32768];
    bw_error error;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        (void)snprintf(text, sizeof text, "%s%s}", head, lists[i]);
        assert_int_equal(cursor_decode(view_text(text), &c, &error), BW_CURSOR_INVALID);
    }
    size_t size = (size_t)snprintf(text, sizeof text, "%s[", head);
    for (uint32_t i = 0; i <= TAGS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s[%u,%u]", i > 0 ? "," : "",
                                 2 * i, 2 * i);
    (void)snprintf(text + size, sizeof text - size, "]}");
    assert_int_equal(cursor_decode(view_text(text), &c, &error), BW_CURSOR_INVALID);
    /* Lists, or values, by the thousand: not even parsed. */
    static const char marks[] = "[,";
    for (size_t k = 0; k < 2; k++) {
        memset(text, marks[k], 8192);
        assert_int_equal(cursor_decode(view_of(text, 8192), &c, &error), BW_CURSOR_INVALID);
        assert_non_null(strstr(error.message, "more lists or values"));
    }
}

static void tags_are_parsed(void **state)
{
    (void)state;
    tag_range tags[TAGS_MAX];
    uint32_t count = 7;
    assert_true(tags_parse("all", tags, &count));
    assert_int_equal(count, 0);
    assert_true(tags_parse("0,5-9,12-", tags, &count));
    assert_int_equal(count, 3);
    static const uint64_t wanted[] = {0, 5, 7, 9, 12, 13, INT64_MAX, UINT64_MAX};
    static const uint64_t others[] = {1, 4, 10, 11};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_true(tag_is_wanted(tags, count, wanted[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(tag_is_wanted(tags, count, others[i]));
    assert_true(tag_is_wanted(tags, 0, 77));
    assert_true(tags_parse("9223372036854775807", tags, &count));
    static const char *const wrong[] = {
        "",
        ",",
        "5,",
        ",5",
        "5 ",
        "-5",
        "9-5",
        "5,5",
        "5,6",
        "7,5",
        "5-,9",
        "5--9",
        "a",
        "0x5",
        "5-9-11",
        "5;6",
        "all,5",
        "9223372036854775808",
        "00000000000000000000",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(tags_parse(wrong[i], tags, &count));
    char text[4 * TAGS_MAX + 8] = "";
    for (uint32_t i = 0; i < TAGS_MAX; i++)
        (void)snprintf(text + strlen(text), 8, "%s%u", i > 0 ? "," : "", 100 + 2 * i);
    assert_true(tags_parse(text, tags, &count));
    assert_int_equal(count, TAGS_MAX);
    (void)snprintf(text + strlen(text), 8, ",900");
    assert_false(tags_parse(text, tags, &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_text_is_exact),
        cmocka_unit_test(equality_and_hash_agree),
        cmocka_unit_test(any_spelling_is_read),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(a_wrong_way_is_refused),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(encoding_checks_ranges),
        cmocka_unit_test(skips_grow_together),
        cmocka_unit_test(skips_are_bounded),
        cmocka_unit_test(tags_are_checked),
        cmocka_unit_test(tags_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
