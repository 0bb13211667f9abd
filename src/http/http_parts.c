// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_parts.h"

#include <string.h>

/* A line without its end; false behind the last one. */
static bool take_line(http_parts *p, const char **line, size_t *size)
{
    if (p->at == p->end)
        return false;
    const char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
    *line = p->at;
    p->at = stop != NULL ? stop + 1 : p->end;
    *size = (size_t)((stop != NULL ? stop : p->end) - *line);
    while (*size > 0 && ((*line)[*size - 1] == '\r' || (*line)[*size - 1] == ' '))
        --*size;
    return true;
}

static bool is_delimiter(http_parts *p, const char *line, size_t size)
{
    const size_t known = p->delimiter_size;
    if (size < known || memcmp(line, p->delimiter, known) != 0)
        return false;
    p->whole = size == known + 2 && memcmp(line + known, "--", 2) == 0;
    return p->whole || size == known;
}

void http_parts_start(http_parts *p, const void *text, size_t size)
{
    const char *line = NULL;
    size_t length = 0;
    *p = (http_parts){.at = text, .end = (const char *)text + size};
    while (take_line(p, &line, &length) && length == 0)
        continue;
    if (length > 2 && length <= HTTP_DELIMITER_MAX && memcmp(line, "--", 2) == 0) {
        p->delimiter = line;
        p->delimiter_size = length;
    } else {
        p->at = p->end; /* none of that kind */
    }
}

bool http_parts_next(http_parts *p, http_part *out)
{
    enum { OF_PART, OF_ANSWER, BODY } state = OF_PART;
    const char *line = NULL;
    size_t size = 0;
    http_head_init(&out->head);
    out->body = p->at;
    out->body_bytes = 0;
    while (!p->whole && take_line(p, &line, &size)) {
        if (is_delimiter(p, line, size)) {
            if (state == BODY)
                out->body_bytes = (size_t)(line - out->body);
            return true;
        }
        if (state == OF_ANSWER && size > 0 && !http_head_line(&out->head, line, size))
            p->at = p->end; /* larger than any */
        if (state != BODY && size == 0) {
            state++;
            out->body = p->at;
        }
    }
    return false;
}
