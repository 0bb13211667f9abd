// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/jsontext.h"

#include "base/utf8.h"

#include <string.h>

void jsontext_open(jsontext *t, const void *bytes, size_t size)
{
    /* NULL + 0 is undefined; an empty text needs some place. */
    const uint8_t *at = size > 0 ? bytes : (const uint8_t *)"";
    *t = (jsontext){.begin = at, .at = at, .end = at + size};
}

bool jsontext_fail(jsontext *t, const char *what)
{
    if (t->bad == NULL)
        t->bad = what;
    return false;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

uint8_t jsontext_peek(jsontext *t)
{
    while (t->at < t->end && is_space(*t->at))
        t->at++;
    return t->at < t->end ? *t->at : 0;
}

bool jsontext_take(jsontext *t, char c)
{
    if (t->bad != NULL || jsontext_peek(t) != (uint8_t)c || t->at == t->end)
        return jsontext_fail(t, t->at == t->end ? "the text ends too early" : "not JSON");
    t->at++;
    return true;
}

bool jsontext_done(jsontext *t)
{
    jsontext_peek(t);
    if (t->bad == NULL && t->at != t->end)
        jsontext_fail(t, "something stands behind the value");
    return t->bad == NULL;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const uint8_t lower = (uint8_t)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/** The four hex digits at `at`, or -1. */
static int32_t hex_unit(const uint8_t *at, size_t left)
{
    int32_t unit = 0;
    for (size_t i = 0; i < 4; i++) {
        const int digit = i < left ? hex_digit(at[i]) : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/**
 * Length of the \u escape at `at` (a pair of surrogates is one), 0 when it is none; its code point.
 */
static size_t unicode_escape(const uint8_t *at, size_t left, uint32_t *code)
{
    const int32_t unit = left >= 6 ? hex_unit(at + 2, left - 2) : -1;
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return 0;
    *code = (uint32_t)unit;
    if (unit < 0xd800 || unit > 0xdbff)
        return 6;
    if (left < 12 || at[6] != '\\' || at[7] != 'u')
        return 0;
    const int32_t low = hex_unit(at + 8, left - 8);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *code = 0x10000 + (((uint32_t)unit - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
    return 12;
}

static const char escapes[] = "\"\\/bfnrt";
static const char escaped[] = "\"\\/\b\f\n\r\t";

/** Length of the escape at `at`, 0 when it is none; its code point. */
static size_t escape_length(const uint8_t *at, size_t left, uint32_t *code)
{
    if (left < 2)
        return 0;
    if (at[1] == 'u')
        return unicode_escape(at, left, code);
    const char *found = at[1] != 0 ? strchr(escapes, at[1]) : NULL;
    if (found == NULL)
        return 0;
    *code = (uint8_t)escaped[found - escapes];
    return 2;
}

bool jsontext_string(jsontext *t, jsonstring *s)
{
    if (!jsontext_take(t, '"'))
        return false;
    *s = (jsonstring){.raw = t->at};
    while (t->at < t->end && *t->at != '"') {
        uint32_t code;
        const size_t left = (size_t)(t->end - t->at);
        if (*t->at < 0x20)
            return jsontext_fail(t, *t->at == 0 ? "a NUL byte" : "a control character in a string");
        const size_t length =
            *t->at == '\\' ? escape_length(t->at, left, &code) : utf8_length(t->at, left);
        if (length == 0)
            return jsontext_fail(t, *t->at == '\\' ? "not an escape" : "not UTF-8");
        t->at += length;
    }
    s->raw_bytes = (size_t)(t->at - s->raw);
    return jsontext_take(t, '"');
}

static bool digits(jsontext *t)
{
    const uint8_t *start = t->at;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9')
        t->at++;
    return t->at > start || jsontext_fail(t, "not a number");
}

static bool number(jsontext *t)
{
    if (*t->at == '-')
        t->at++;
    const uint8_t *start = t->at;
    if (!digits(t))
        return false;
    if (*start == '0' && t->at - start > 1) {
        t->at = start;
        return jsontext_fail(t, "a number with a leading zero");
    }
    if (t->at < t->end && *t->at == '.') {
        t->at++;
        if (!digits(t))
            return false;
    }
    if (t->at < t->end && (*t->at == 'e' || *t->at == 'E')) {
        t->at++;
        if (t->at < t->end && (*t->at == '+' || *t->at == '-'))
            t->at++;
        return digits(t);
    }
    return true;
}

static bool word(jsontext *t, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(t->end - t->at) < size || memcmp(t->at, text, size) != 0)
        return jsontext_fail(t, "not JSON");
    t->at += size;
    return true;
}

static bool scalar(jsontext *t)
{
    jsonstring ignored;
    switch (jsontext_peek(t)) {
    case '"':
        return jsontext_string(t, &ignored);
    case 't':
        return word(t, "true");
    case 'f':
        return word(t, "false");
    case 'n':
        return word(t, "null");
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return number(t);
    case 0:
        return jsontext_fail(t, t->at == t->end ? "the text ends too early" : "a NUL byte");
    default:
        return jsontext_fail(t, "not JSON");
    }
}

/** What is open, innermost last: a bit an object. */
typedef struct nesting {
    uint8_t objects[JSONTEXT_DEPTH_MAX / 8];
    size_t depth;
} nesting;

static bool in_object(const nesting *n)
{
    const size_t at = n->depth - 1;
    return (n->objects[at / 8] >> at % 8 & 1) != 0;
}

static bool open_value(jsontext *t, nesting *n, bool object)
{
    if (n->depth == JSONTEXT_DEPTH_MAX)
        return jsontext_fail(t, "nested too deeply");
    const uint8_t bit = (uint8_t)(1u << n->depth % 8);
    if (object)
        n->objects[n->depth / 8] |= bit;
    else
        n->objects[n->depth / 8] &= (uint8_t)~bit;
    n->depth++;
    t->at++;
    return true;
}

static bool member_name(jsontext *t, const nesting *n)
{
    jsonstring ignored;
    return !in_object(n) || (jsontext_string(t, &ignored) && jsontext_take(t, ':'));
}

/** Behind a value: closes what ends here; true when another value must follow, or all is closed. */
static bool close_values(jsontext *t, nesting *n)
{
    while (n->depth > 0) {
        const uint8_t c = jsontext_peek(t);
        if (c == ',') {
            t->at++;
            return member_name(t, n);
        }
        if (!jsontext_take(t, in_object(n) ? '}' : ']'))
            return false;
        n->depth--;
    }
    return true;
}

bool jsontext_value(jsontext *t)
{
    nesting n = {.depth = 0};
    if (t->bad != NULL)
        return false;
    do {
        const uint8_t c = jsontext_peek(t);
        if (c == '{' || c == '[') {
            if (!open_value(t, &n, c == '{'))
                return false;
            if (jsontext_peek(t) != (c == '{' ? '}' : ']')) {
                if (!member_name(t, &n))
                    return false;
                continue;
            }
        } else if (!scalar(t)) {
            return false;
        }
        if (!close_values(t, &n))
            return false;
    } while (n.depth > 0);
    return true;
}

bool jsontext_u64(jsontext *t, uint64_t *value)
{
    if (t->bad != NULL)
        return false;
    jsontext_peek(t);
    const uint8_t *start = t->at;
    *value = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        const uint64_t digit = (uint64_t)(*t->at - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return jsontext_fail(t, "a number beyond 64 bits");
        *value = *value * 10 + digit;
    }
    if (t->at == start || (*start == '0' && t->at - start > 1))
        return jsontext_fail(t, "not a plain number");
    return true;
}

size_t jsonstring_next(jsonstring *s, uint8_t out[4])
{
    if (s->raw_bytes == 0)
        return 0;
    uint32_t code = 0;
    size_t length, bytes;
    if (*s->raw == '\\') {
        length = escape_length(s->raw, s->raw_bytes, &code);
        bytes = utf8_encode(code, out);
    } else {
        length = bytes = utf8_length(s->raw, s->raw_bytes);
        memcpy(out, s->raw, bytes);
    }
    s->raw += length;
    s->raw_bytes -= length;
    return bytes;
}

int jsonstring_compare(jsonstring a, jsonstring b)
{
    for (;;) {
        uint8_t x[4], y[4];
        const size_t m = jsonstring_next(&a, x), n = jsonstring_next(&b, y);
        if (m == 0 || n == 0)
            return (m > 0) - (n > 0);
        /* The order of UTF-8 is the order of code points, whatever the lengths. */
        const int order = memcmp(x, y, m < n ? m : n);
        if (order != 0)
            return order;
    }
}

bool jsonstring_is(jsonstring s, const void *text, size_t size)
{
    const uint8_t *at = text;
    uint8_t c[4];
    size_t n;
    while ((n = jsonstring_next(&s, c)) > 0) {
        if (n > size || memcmp(c, at, n) != 0)
            return false;
        at += n;
        size -= n;
    }
    return size == 0;
}
