// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <string.h>
#include <strings.h>

size_t request_head_size(const char *bytes, size_t size)
{
    const char *end = size < 4 ? NULL : memmem(bytes, size, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - bytes) + 4;
}

/** Ends the text at the next `stop` and returns what is behind it; NULL when there is none. */
static char *cut(char *text, const char *stop)
{
    char *at = strstr(text, stop);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(stop);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** Decodes percent signs in place; false: broken ones, or a NUL. */
bool request_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        const int high = hex_digit(from[1]);
        const int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0 || high + low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool parse_query(request *r, char *text)
{
    for (char *next = NULL; text != NULL; text = next) {
        next = cut(text, "&");
        if (*text == '\0')
            continue;
        if (r->query_count == REQUEST_FIELDS_MAX)
            return false;
        char *value = cut(text, "=");
        for (char *c = value; c != NULL; c = strchr(c, '+'))
            if (*c == '+')
                *c = ' ';
        if (!request_decode(text) || (value != NULL && !request_decode(value)))
            return false;
        r->query[r->query_count++] = (field){text, value == NULL ? "" : value};
    }
    return true;
}

static bool parse_target(request *r, const char *target, char *decoded)
{
    if (target[0] != '/')
        return false;
    memcpy(decoded, target, strlen(target) + 1);
    char *query = cut(decoded, "?");
    r->target = target;
    r->path = decoded;
    return request_decode(decoded) && parse_query(r, query);
}

static bool parse_header(request *r, char *line)
{
    char *value = cut(line, ":");
    if (value == NULL || *line == '\0' || r->header_count == REQUEST_FIELDS_MAX)
        return false;
    for (char *c = line; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c |= 0x20;
    value += strspn(value, " \t");
    for (size_t size = strlen(value); size > 0 && strchr(" \t", value[size - 1]) != NULL; size--)
        value[size - 1] = '\0';
    r->headers[r->header_count++] = (field){line, value};
    return true;
}

static method method_named(const char *name)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    size_t m = 0;
    while (m < METHOD_OTHER && strcmp(names[m], name) != 0)
        m++;
    return (method)m;
}

static bool read_framing(request *r)
{
    const char *length = request_header(r, "content-length");
    const char *coding = request_header(r, "transfer-encoding");
    const char *expect = request_header(r, "expect");
    const char *connection = request_header(r, "connection");
    r->has_length = length != NULL;
    if (length != NULL && !request_number(length, &r->length))
        return false;
    r->chunked = coding != NULL;
    r->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
    r->keep_alive = connection == NULL || strcasecmp(connection, "close") != 0;
    return !(r->chunked && r->has_length);
}

bool request_parse(request *r, char *head, size_t size, char *decoded)
{
    *r = (request){0};
    head[size - 2] = '\0';
    if (memchr(head, '\0', size - 2) != NULL)
        return false;
    char *headers = cut(head, "\r\n");
    char *target = cut(head, " ");
    char *version = target == NULL ? NULL : cut(target, " ");
    if (version == NULL || strcmp(version, "HTTP/1.1") != 0)
        return false;
    r->method_name = head;
    r->method = method_named(head);
    for (char *line = headers, *next = NULL; line != NULL && *line != '\0'; line = next) {
        next = cut(line, "\r\n");
        if (!parse_header(r, line))
            return false;
    }
    return parse_target(r, target, decoded) && read_framing(r);
}

static const char *find(const field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return fields[i].value;
    return NULL;
}

const char *request_header(const request *r, const char *name)
{
    return find(r->headers, r->header_count, name);
}

const char *request_query(const request *r, const char *name)
{
    return find(r->query, r->query_count, name);
}

bool request_number(const char *text, uint64_t *value)
{
    uint64_t number = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*c - '0');
    }
    *value = number;
    return *text != '\0';
}
