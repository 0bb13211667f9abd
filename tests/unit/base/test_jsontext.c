// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/jsontext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/** Whether the bytes, in memory of exactly their size, are one JSON value; the place of the fault.
 */
static bool is_json(const void *bytes, size_t size, size_t *place)
{
    uint8_t *copy = mem_dup(size > 0 ? bytes : "x", size);
    jsontext t;
    jsontext_open(&t, copy, size);
    const bool valid = jsontext_value(&t) && jsontext_done(&t);
    assert_int_equal(valid, t.bad == NULL);
    *place = (size_t)(t.at - t.begin);
    assert_true(*place <= size);
    mem_free(copy);
    return valid;
}

static void valid_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "10",
        "-1.5e+10",
        "1E5",
        "0.0",
        "\"\"",
        "\"\\u00e4\\n\\\\\\/\\ud83d\\ude00\xc3\xa4\"",
        "[]",
        "[ ]",
        "{}",
        "[1,[2,{\"a\":[]}],3]",
        "{\"a\":{\"b\":[1,2]},\"a\":\"twice is JSON\"}",
        "\r\n[\t1 , 2 ]\n",
        "\"\x7f\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t place;
        if (!is_json(texts[i], strlen(texts[i]), &place))
            fail_msg("%s: refused at %zu", texts[i], place);
        /* No text but a number is whole when its last byte is gone. */
        const size_t size = strlen(texts[i]);
        const char last = texts[i][size - 1];
        if (last == '}' || last == ']' || last == '"' || last == 'e' || last == 'l')
            for (size_t cut = 0; cut < size; cut++)
                assert_false(is_json(texts[i], cut, &place));
    }
}

static void invalid_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t place;
    } rows[] = {
        {"", 0},
        {" ", 1},
        {"nul", 0},
        {"True", 0},
        {"01", 0},
        {"-", 1},
        {"1.", 2},
        {".5", 0},
        {"1e", 2},
        {"+1", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"[1,]", 3},
        {"[1 2]", 3},
        {"[,1]", 1},
        {"{\"a\"}", 4},
        {"{a:1}", 1},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"1 2", 2},
        {"\"a", 2},
        {"\"\\x\"", 1},
        {"\"\\u12g4\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\\udc00\"", 1},
        {"\"\\ud800\\u0041\"", 1},
        {"\"\n\"", 1},
        {"\"\xff\"", 1},
        {"\"\xc3\"", 1},
        {"'a'", 0},
        {"\xef\xbb\xbf{}", 0},
        {"{} x", 3},
        {"\"\\ud83d\\u\"", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t place;
        if (is_json(rows[i].text, strlen(rows[i].text), &place))
            fail_msg("%s: accepted", rows[i].text);
        if (place != rows[i].place)
            fail_msg("%s: refused at %zu", rows[i].text, place);
    }
    size_t place;
    assert_false(is_json("{\"a\0\":1}", 8, &place));
    assert_false(is_json("[\0]", 3, &place));
    assert_false(is_json("\0", 1, &place));
    assert_false(is_json("1\0", 2, &place));
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[4 * JSONTEXT_DEPTH_MAX + 8];
    size_t place;
    for (size_t depth = JSONTEXT_DEPTH_MAX - 1; depth <= JSONTEXT_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(is_json(text, 2 * depth, &place), depth <= JSONTEXT_DEPTH_MAX);
        assert_false(is_json(text, 2 * depth - 1, &place));
    }
    jsontext t;
    jsontext_open(&t, text, JSONTEXT_DEPTH_MAX + 1);
    assert_false(jsontext_value(&t));
    assert_string_equal(t.bad, "nested too deeply");
    /* Kinds are told apart at every depth. */
    for (size_t i = 0; i < 100; i++)
        memcpy(text + 6 * i, i % 3 == 0 ? "[     " : "{\"a\": ", 6);
    text[600] = '1';
    for (size_t i = 0; i < 100; i++)
        text[700 - i] = i % 3 == 0 ? ']' : '}';
    assert_true(is_json(text, 701, &place));
    for (size_t i = 0; i < 100; i++) {
        text[700 - i] ^= ']' ^ '}';
        assert_false(is_json(text, 701, &place));
        assert_int_equal(place, 700 - i);
        text[700 - i] ^= ']' ^ '}';
    }
}

static jsonstring string_of(const char *text)
{
    jsontext t;
    jsonstring s;
    jsontext_open(&t, text, strlen(text));
    assert_true(jsontext_string(&t, &s) && jsontext_done(&t));
    return s;
}

static void strings_are_compared_as_texts(void **state)
{
    (void)state;
    assert_true(jsonstring_is(string_of("\"a\\u00e4\\ud83d\\ude00\\\"\""),
                              "a\xc3\xa4\xf0\x9f\x98\x80\"", 8));
    assert_true(jsonstring_is(string_of("\"\\u0000\""), "\0", 1));
    assert_false(jsonstring_is(string_of("\"ab\""), "a", 1));
    assert_false(jsonstring_is(string_of("\"a\""), "ab", 2));
    assert_false(jsonstring_is(string_of("\"\xc3\xa4\""), "\xc3", 1));
    assert_true(jsonstring_is(string_of("\"\""), "", 0));
    static const char *const sorted[] = {"\"\"",        "\"\\n\"",     "\"a\"",
                                         "\"a\\t\"",    "\"ab\"",      "\"\\u00e4\"",
                                         "\"\\u20ac\"", "\"\\uffff\"", "\"\\ud83d\\ude00\""};
    const size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const int order = jsonstring_compare(string_of(sorted[i]), string_of(sorted[k]));
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    assert_int_equal(jsonstring_compare(string_of("\"\\u00e4\\/\""), string_of("\"\xc3\xa4/\"")),
                     0);
}

static bool read_number(const char *text, uint64_t *value)
{
    jsontext t;
    jsontext_open(&t, text, strlen(text));
    return jsontext_u64(&t, value) && jsontext_done(&t);
}

static void plain_numbers_only(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(read_number(" 18446744073709551615 ", &value) && value == UINT64_MAX);
    assert_true(read_number("0", &value) && value == 0);
    static const char *const refused[] = {"18446744073709551616",
                                          "99999999999999999999",
                                          "00",
                                          "01",
                                          "-1",
                                          "-0",
                                          "1.0",
                                          "1e3",
                                          "",
                                          "x",
                                          "+1"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_false(read_number(refused[i], &value));
}

/** What failed once fails for ever. */
static void failures_stick(void **state)
{
    (void)state;
    jsontext t;
    uint64_t value;
    jsontext_open(&t, "x[1]", 4);
    assert_false(jsontext_take(&t, '['));
    t.at++;
    assert_false(jsontext_take(&t, '['));
    assert_false(jsontext_value(&t));
    assert_false(jsontext_u64(&t, &value));
    assert_false(jsontext_done(&t));
    assert_string_equal(t.bad, "not JSON");
    jsontext_open(&t, NULL, 0);
    assert_false(jsontext_value(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_texts),        cmocka_unit_test(invalid_texts),
        cmocka_unit_test(depth_is_limited),   cmocka_unit_test(strings_are_compared_as_texts),
        cmocka_unit_test(plain_numbers_only), cmocka_unit_test(failures_stick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
