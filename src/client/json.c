// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/json.h"

#include "base/error.h"
#include <inttypes.h>
#include <string.h>

/* The separator follows from the last byte written: none at the start of an object or array. */
static void begin_value(buf *out, const char *key)
{
    if (out->size > 0) {
        const uint8_t last = out->data[out->size - 1];
        if (last != '{' && last != '[' && last != ':')
            buf_put_u8(out, ',');
    }
    if (key != NULL) {
        buf_put_u8(out, '"');
        buf_put_text(out, key);
        buf_put_text(out, "\":");
    }
}

void json_put_object(buf *out, const char *key)
{
    begin_value(out, key);
    buf_put_u8(out, '{');
}

void json_put_object_end(buf *out)
{
    buf_put_u8(out, '}');
}

void json_put_array(buf *out, const char *key)
{
    begin_value(out, key);
    buf_put_u8(out, '[');
}

void json_put_array_end(buf *out)
{
    buf_put_u8(out, ']');
}

void json_put_u64(buf *out, const char *key, uint64_t value)
{
    begin_value(out, key);
    buf_printf(out, "%" PRIu64, value);
}

void json_put_i64(buf *out, const char *key, int64_t value)
{
    begin_value(out, key);
    buf_printf(out, "%" PRId64, value);
}

void json_put_bool(buf *out, const char *key, bool value)
{
    begin_value(out, key);
    buf_put_text(out, value ? "true" : "false");
}

void json_put_null(buf *out, const char *key)
{
    begin_value(out, key);
    buf_put_text(out, "null");
}

/* Length of the well-formed UTF-8 sequence at `bytes`, 0 when there is none (RFC 3629: no
 * surrogates, no overlong forms). */
static size_t utf8_length(const uint8_t *bytes, size_t left)
{
    const uint8_t b = bytes[0];
    if (b < 0x80)
        return 1;
    const size_t length = b >= 0xC2 && b <= 0xDF   ? 2
                          : (b & 0xF0) == 0xE0     ? 3
                          : b >= 0xF0 && b <= 0xF4 ? 4
                                                   : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    const uint8_t c = bytes[1];
    if ((b == 0xE0 && c < 0xA0) || (b == 0xED && c > 0x9F) || (b == 0xF0 && c < 0x90) ||
        (b == 0xF4 && c > 0x8F))
        return 0;
    return length;
}

static void put_escaped(buf *out, view text)
{
    for (size_t i = 0; i < text.size;) {
        const uint8_t b = text.data[i];
        const size_t length = utf8_length(text.data + i, text.size - i);
        if (b == '"' || b == '\\') {
            buf_put_u8(out, '\\');
            buf_put_u8(out, b);
        } else if (b < 0x20 || b == 0x7F || length == 0) {
            buf_printf(out, "\\u%04x", (unsigned)b);
        } else {
            buf_put(out, text.data + i, length);
            i += length;
            continue;
        }
        i++;
    }
}

void json_put_view(buf *out, const char *key, view text)
{
    begin_value(out, key);
    buf_put_u8(out, '"');
    put_escaped(out, text);
    buf_put_u8(out, '"');
}

void json_put_text(buf *out, const char *key, const char *text)
{
    json_put_view(out, key, view_of(text, strlen(text)));
}

void json_put_hex(buf *out, const char *key, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    begin_value(out, key);
    buf_put_u8(out, '"');
    for (size_t i = 0; i < size; i++) {
        char digits[3];
        hex_encode(at + i, 1, digits);
        buf_put(out, digits, 2);
    }
    buf_put_u8(out, '"');
}

void json_put_raw(buf *out, const char *key, const char *json)
{
    begin_value(out, key);
    buf_put_text(out, json);
}

void json_put_nonce(buf *out, const char *key, uint64_t nonce)
{
    begin_value(out, key);
    buf_printf(out, "\"%016" PRIx64 "\"", nonce);
}

bw_status json_hand_out(buf *text, char *to, size_t cap, size_t *length, bw_error *error)
{
    const char *whole = buf_text(text); /* its NUL may need more memory */
    if (buf_status(text) != BW_OK)
        return error_set(error, buf_status(text), "the text could not be built");
    if (length != NULL)
        *length = text->size;
    if (text->size >= cap)
        return error_set(error, BW_TOO_LARGE, "%zu bytes are needed, there is room for %zu",
                         text->size + 1, cap);
    memcpy(to, whole, text->size + 1);
    return BW_OK;
}
