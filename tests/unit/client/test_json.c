// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/json.h"
#include <jansson.h>
#include <string.h>

static bool refuse;
void *__real_mem_realloc(void *memory, size_t bytes);
void *__wrap_mem_realloc(void *memory, size_t bytes);

void *__wrap_mem_realloc(void *memory, size_t bytes)
{
    return refuse ? NULL : __real_mem_realloc(memory, bytes);
}

/* A text that fills its memory to the last byte, and none left for the NUL behind it. */
static void test_no_room_for_the_end(void **state)
{
    (void)state;
    char text[200] = "as before";
    buf out;
    buf_init(&out, 1000);
    buf_put_text(&out, "\"");
    while (out.size + 1 < out.capacity)
        buf_put_text(&out, "a");
    buf_put_text(&out, "\"");
    assert_int_equal(out.size, out.capacity);
    refuse = true;
    assert_int_equal(json_hand_out(&out, text, sizeof text, NULL, NULL), BW_NOMEM);
    refuse = false;
    assert_string_equal(text, "as before");
    buf_free(&out);
}

static void test_writer(void **state)
{
    (void)state;
    buf out;
    buf_init(&out, 1000);
    json_put_object(&out, NULL);
    json_put_u64(&out, "a", UINT64_MAX);
    json_put_array(&out, "b");
    json_put_i64(&out, NULL, -1);
    json_put_text(&out, NULL, "x");
    json_put_object(&out, NULL);
    json_put_object_end(&out);
    json_put_array_end(&out);
    json_put_bool(&out, "c", true);
    json_put_null(&out, "d");
    json_put_hex(&out, "e", "\x01\xfe", 2);
    json_put_nonce(&out, "f", 0xab);
    json_put_raw(&out, "g", "[1]");
    json_put_object_end(&out);
    assert_string_equal(buf_text(&out),
                        "{\"a\":18446744073709551615,\"b\":[-1,\"x\",{}],\"c\":true,\"d\":null,"
                        "\"e\":\"01fe\",\"f\":\"00000000000000ab\",\"g\":[1]}");
    char text[400];
    size_t length = 0;
    assert_int_equal(json_hand_out(&out, text, 10, &length, NULL), BW_TOO_LARGE);
    assert_int_equal(length, out.size);
    assert_int_equal(json_hand_out(&out, text, out.size, &length, NULL), BW_TOO_LARGE);
    assert_int_equal(json_hand_out(&out, text, out.size + 1, NULL, NULL), BW_OK);
    assert_int_equal(strlen(text), out.size);
    buf_free(&out);
    buf_init(&out, 3);
    json_put_text(&out, NULL, "too long");
    assert_int_equal(json_hand_out(&out, text, sizeof text, NULL, NULL), BW_TOO_LARGE);
    buf_free(&out);
}

/* Whatever the bytes, a strict parser reads the text. */
static void test_any_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint8_t bytes[6] = {(uint8_t)i, (uint8_t)(i >> 8), 0x80, 0xbf, 'z', (uint8_t)(i * 7)};
        buf out;
        buf_init(&out, 1000);
        json_put_array(&out, NULL);
        json_put_view(&out, NULL, view_of(bytes, sizeof bytes));
        json_put_array_end(&out);
        json_t *parsed = json_loadb((const char *)out.data, out.size, JSON_ALLOW_NUL, NULL);
        if (parsed == NULL)
            fail_msg("%u gives %s", i, buf_text(&out));
        json_decref(parsed);
        buf_free(&out);
    }
    buf out;
    buf_init(&out, 100);
    json_put_text(&out, NULL, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d \" \\ \n \xc0\xaf");
    assert_string_equal(
        buf_text(&out),
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d \\\" \\\\ \\u000a \\u00c0\\u00af\"");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_room_for_the_end),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
