// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/uri.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void uri_encode(buf *out, const char *text, size_t size, bool keep_slash)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (is_unreserved(c) || (keep_slash && c == '/')) {
            buf_put_u8(out, c);
        } else {
            const char three[] = {'%', digits[c >> 4], digits[c & 15]};
            buf_put(out, three, sizeof three);
        }
    }
}

/* Compares what the encoded forms would be: by their bytes, where % comes before all that stays. */
static int compare_encoded(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    const unsigned char x = (unsigned char)*a;
    const unsigned char y = (unsigned char)*b;
    if (x == y)
        return 0;
    if (x == 0 || y == 0)
        return x == 0 ? -1 : 1;
    if (is_unreserved(x) == is_unreserved(y))
        return x < y ? -1 : 1;
    return is_unreserved(x) ? 1 : -1;
}

static int compare_parameters(const void *left, const void *right)
{
    const uri_parameter *a = left;
    const uri_parameter *b = right;
    const int by_name = compare_encoded(a->name, b->name);
    return by_name != 0 ? by_name : compare_encoded(a->value, b->value);
}

void uri_query(buf *out, const uri_parameter *parameters, size_t count)
{
    uri_parameter sorted[URI_PARAMETERS_MAX] = {{NULL, NULL}};
    if (count > URI_PARAMETERS_MAX) {
        out->failed = BW_TOO_LARGE;
        return;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = parameters[i];
    qsort(sorted, count, sizeof sorted[0], compare_parameters);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_put_u8(out, '&');
        uri_encode(out, sorted[i].name, strlen(sorted[i].name), false);
        buf_put_u8(out, '=');
        uri_encode(out, sorted[i].value, strlen(sorted[i].value), false);
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

size_t uri_decode(char *text, bool blanks)
{
    const size_t size = strlen(text);
    size_t to = 0;
    for (size_t from = 0; from < size; from++, to++) {
        text[to] = blanks && text[from] == '+' ? ' ' : text[from];
        if (text[from] != '%')
            continue;
        const int high = from + 2 < size ? hex_digit(text[from + 1]) : -1;
        const int low = high < 0 ? -1 : hex_digit(text[from + 2]);
        if (low < 0)
            return SIZE_MAX;
        text[to] = (char)(high * 16 + low);
        from += 2;
    }
    text[to] = '\0';
    return to;
}

static bool is_loopback(const char *host)
{
    if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    /* 127.x.y.z, all of it digits and dots: 127.0.0.1.example.org is somebody's name. */
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host);
}

static bool parse_port(const char *text, uint16_t *port)
{
    uint32_t value = 0;
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint32_t)(text[i] - '0');
    *port = (uint16_t)value;
    return value >= 1 && value <= 65535;
}

/* Letters, digits, dots and hyphens, or an IPv6 address in brackets; the size, or 0. */
static size_t host_size(const char *text)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    if (text[0] != '[')
        return strspn(text, name);
    const size_t inside = strspn(text + 1, "0123456789abcdefABCDEF:.");
    return inside > 0 && text[1 + inside] == ']' ? inside + 2 : 0;
}

bw_status uri_parse_origin(const char *text, uri_origin *out, bw_error *error)
{
    *out = (uri_origin){.tls = strncasecmp(text, "https://", 8) == 0};
    const bool plain = strncasecmp(text, "http://", 7) == 0;
    const char *host = text + (out->tls ? 8 : 7);
    const size_t size = out->tls || plain ? host_size(host) : 0;
    bool good = size > 0 && size <= URI_HOST_MAX;
    if (good) {
        for (size_t i = 0; i < size; i++)
            out->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
        const char *rest = host + size;
        char port[8] = "";
        if (*rest == ':') {
            const size_t length = strcspn(rest + 1, "/");
            good = length < sizeof port;
            if (good)
                memcpy(port, rest + 1, length);
            good = good && parse_port(port, &out->port);
            rest += 1 + length;
        }
        good = good && (*rest == '\0' || strcmp(rest, "/") == 0);
    }
    if (!good && strchr(text, '@') != NULL) /* there may be a password before it */
        return error_set(error, BW_INVALID,
                         "an endpoint is https://host or https://host:port, nothing more");
    if (!good)
        return error_set(error, BW_INVALID,
                         "endpoint \"%.120s\": write https://host or https://host:port, nothing "
                         "more",
                         text);
    if (out->port == (out->tls ? 443 : 80))
        out->port = 0; /* it is not sent, and so not signed */
    out->loopback = is_loopback(out->host);
    return BW_OK;
}
