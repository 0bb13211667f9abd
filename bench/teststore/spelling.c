// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* How the dialects spell dates, names, digests and tokens. */
#include "exchange.h"

#include "base/utf8.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void http_date(int64_t unix_ms, char *text)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const time_t seconds = (time_t)(unix_ms / 1000);
    struct tm t;
    gmtime_r(&seconds, &t);
    /* Not strftime: its names of days follow the locale. */
    snprintf(text, DATE_BYTES, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + (ptrdiff_t)3 * t.tm_wday, t.tm_mday, months + (ptrdiff_t)3 * t.tm_mon,
             t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

void iso_date(int64_t unix_ms, char *text)
{
    const time_t seconds = (time_t)(unix_ms / 1000);
    struct tm t;
    gmtime_r(&seconds, &t);
    snprintf(text, DATE_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
             t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (int)(unix_ms % 1000));
}

void parse_range(operation *op, const char *text)
{
    if (text == NULL || strncmp(text, "bytes=", 6) != 0)
        return;
    char first[24] = "", last[24] = "";
    const char *dash = strchr(text + 6, '-');
    if (dash == NULL || strchr(text, ',') != NULL || (size_t)(dash - text - 6) >= sizeof first ||
        strlen(dash + 1) >= sizeof last)
        return;
    memcpy(first, text + 6, (size_t)(dash - text - 6));
    memcpy(last, dash + 1, strlen(dash + 1));
    const bool has_first = request_number(first, &op->first);
    const bool has_last = request_number(last, &op->last);
    if (has_first && has_last && op->first <= op->last)
        op->range = RANGE_SPAN;
    else if (has_first && last[0] == '\0')
        op->range = RANGE_OPEN;
    else if (has_last && first[0] == '\0')
        op->range = RANGE_SUFFIX;
}

void put_token(buf *out, const char *key)
{
    for (const unsigned char *c = (const unsigned char *)key; *c != '\0'; c++)
        buf_printf(out, "%02x", *c);
}

bool read_token(operation *op, const char *text)
{
    const size_t size = strlen(text) / 2;
    if (size >= sizeof op->token || hex_decode(text, strlen(text), op->token, size) != 0 ||
        memchr(op->token, '\0', size) != NULL)
        return false;
    op->token[size] = '\0';
    op->after = op->token;
    return true;
}

void put_xml(buf *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '&')
            buf_put_text(out, "&amp;");
        else if (*c == '<')
            buf_put_text(out, "&lt;");
        else if (*c == '>')
            buf_put_text(out, "&gt;");
        else if (*c == '"')
            buf_put_text(out, "&quot;");
        else if (*c < 0x20)
            buf_printf(out, "&#x%x;", *c);
        else
            buf_put_u8(out, *c);
    }
}

void put_url(buf *out, const char *text, bool slash)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                           (*c >= '0' && *c <= '9') || strchr("-._~", *c) != NULL;
        if (plain || (slash && *c == '/'))
            buf_put_u8(out, *c);
        else
            buf_printf(out, "%%%02X", *c);
    }
}

void put_base64(buf *out, const void *bytes, size_t size)
{
    unsigned char text[128];
    if (size > 90)
        return;
    EVP_EncodeBlock(text, bytes, (int)size);
    buf_put_text(out, (const char *)text);
}

bool read_base64(const char *text, void *bytes, size_t size)
{
    unsigned char raw[96];
    const size_t length = strlen(text), groups = (size + 2) / 3;
    if (length != 4 * groups || 3 * groups > sizeof raw ||
        EVP_DecodeBlock(raw, (const unsigned char *)text, (int)length) < 0)
        return false;
    /* As many equal signs as the size asks for, or it is another size. */
    const size_t padding = 3 * groups - size;
    if (strlen(text + length - strspn(text + length - padding, "=")) != padding ||
        (padding < 2 && text[length - 1 - padding] == '='))
        return false;
    memcpy(bytes, raw, size);
    return true;
}

bool text_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

void reply_header(exchange *x, const char *name, const char *format, ...)
{
    char value[512];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    buf_printf(&x->reply.head, "%s: %s\r\n", name, value);
}
