// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Heads of HTTP answers, line by line. */
#include "fuzz.h"
#include "http/http_head.h"
#include "http/http_parts.h"
#include <string.h>

/* Whatever becomes part of a message is printable and ends. */
static void check_text(const char *text, size_t capacity)
{
    const size_t size = strnlen(text, capacity);
    PROMISE(size < capacity);
    for (size_t i = 0; i < size; i++)
        PROMISE(text[i] > ' ' && text[i] < 127);
}

/* Heads of answers also come in parts. */
static void walk_parts(const uint8_t *data, size_t size)
{
    http_parts p;
    http_part part;
    const char *last = (const char *)data;
    http_parts_start(&p, data, size);
    while (http_parts_next(&p, &part)) {
        PROMISE(part.head.status == 0 || (part.head.status >= 100 && part.head.status <= 599));
        PROMISE(part.body >= last && part.body + part.body_bytes <= (const char *)data + size);
        check_text(part.head.error_code, sizeof part.head.error_code);
        last = part.body;
    }
    PROMISE(!http_parts_next(&p, &part));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    http_head h;
    http_head_init(&h);
    size_t fed = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t line = end != NULL ? (size_t)(end - data) - at + 1 : size - at;
        fed += line;
        PROMISE(http_head_line(&h, (const char *)data + at, line) == (fed <= HTTP_HEAD_BYTES_MAX));
        at += line;
    }
    PROMISE(h.status == 0 || (h.status >= 100 && h.status <= 599));
    PROMISE(!h.has_range || h.range_first <= h.range_last);
    PROMISE(!h.has_range || !h.has_total || h.range_last < h.range_total);
    PROMISE(h.date_ms >= 0 && h.modified_ms >= 0);
    PROMISE(h.retry_after_s >= -1 && h.retry_after_s <= 86400);
    check_text(h.request_id, sizeof h.request_id);
    check_text(h.error_code, sizeof h.error_code);
    check_text(h.region, sizeof h.region);
    walk_parts(data, size);
    return 0;
}
