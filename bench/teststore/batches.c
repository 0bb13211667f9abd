// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include "base/alloc.h"
#include "grab.h"
#include <stdio.h>
#include <string.h>

#define ANSWER_BOUNDARY "answers-of-a-batch"
#define ANSWER_DELIMITER "--" ANSWER_BOUNDARY

static const char *text_after(const char *text, const char *stem)
{
    return text != NULL && text_begins(text, stem) ? text + strlen(stem) : NULL;
}

/** "DELETE /STEM CONTAINER BETWEEN NAME[?…] HTTP/1.1" */
static failure read_target(exchange *x, const char *line, const char *stem, const char *between)
{
    operation *op = &x->operation;
    char target[REQUEST_HEAD_MAX];
    const size_t size = strcspn(line, " ?\r\n");
    snprintf(target, sizeof target, "%.*s", (int)size, line);
    const char *container = text_after(target, stem);
    const char *at = container == NULL ? NULL : strstr(container, between);
    if (at == NULL || size >= sizeof target)
        return FAILURE_BAD_BODY;
    char known[sizeof op->host];
    snprintf(known, sizeof known, "%.*s", (int)(at - container), container);
    if (op->container[0] == '\0') {
        memcpy(op->host, known, sizeof known);
        op->container = op->host;
    }
    char *name = grab_text(at + strlen(between));
    void *names = op->names;
    grab_grow(&names, &op->name_capacity, op->name_count + 1, sizeof *op->names);
    op->names = names;
    op->names[op->name_count++] = name;
    return request_decode(name) && strcmp(known, op->container) == 0 && *name != '\0' &&
                   strlen(name) <= KEY_BYTES_MAX
               ? FAILURE_NONE
               : FAILURE_BAD_BODY;
}

failure batch_read(exchange *x, const char *stem, const char *between, size_t max)
{
    static const char mark[] = "boundary=";
    const char *type = request_header(&x->request, "content-type");
    const char *boundary = type == NULL ? NULL : strstr(type, mark);
    if (boundary == NULL || !text_begins(type, "multipart/mixed") || x->body == NULL)
        return FAILURE_BAD_REQUEST;
    char delimiter[128];
    snprintf(delimiter, sizeof delimiter, "--%s\r\n", boundary + sizeof mark - 1);
    char *body = grab(x->body->size + 1);
    memcpy(body, x->body->bytes, x->body->size);
    body[x->body->size] = '\0';
    failure f = FAILURE_NONE;
    for (char *at = strstr(body, delimiter), *next = NULL; at != NULL && f == FAILURE_NONE;
         at = next) {
        at += strlen(delimiter);
        next = strstr(at, delimiter);
        const char *line = strstr(at, "\r\n\r\nDELETE ");
        f = line == NULL || (next != NULL && line > next) || x->operation.name_count == max
                ? FAILURE_BAD_BODY
                : read_target(x, line + strlen("\r\n\r\nDELETE "), stem, between);
    }
    memcpy(strstr(delimiter, "\r\n"), "--", 3);
    if (strstr(body, delimiter) == NULL || x->operation.name_count == 0)
        f = FAILURE_BAD_BODY;
    mem_free(body);
    return f;
}

void batch_answer(exchange *x)
{
    buf *out = &x->reply.body;
    const bool azure = x->dialect->id == DIALECT_AZURE;
    x->reply.status = azure ? 202 : 200;
    reply_header(x, "Content-Type", "multipart/mixed; boundary=" ANSWER_BOUNDARY);
    for (size_t i = 0; i < x->operation.name_count; i++) {
        const failure f = x->outcome.each[i];
        const failure_spelling spelled = failure_spelled(f, x->dialect->id);
        buf_printf(out,
                   ANSWER_DELIMITER "\r\nContent-Type: application/http\r\nContent-ID: %zu\r\n\r\n",
                   i);
        if (f == FAILURE_NONE)
            buf_printf(out, "HTTP/1.1 %d x\r\n\r\n", azure ? 202 : 204);
        else if (azure)
            buf_printf(out, "HTTP/1.1 %d x\r\nx-ms-error-code: %s\r\n\r\n", spelled.status,
                       spelled.code);
        else
            buf_printf(
                out,
                "HTTP/1.1 %d x\r\nContent-Type: application/json\r\n\r\n{\"error\":{\"errors\":"
                "[{\"reason\":\"%s\"}]}}\r\n",
                spelled.status, spelled.code);
    }
    buf_put_text(out, ANSWER_DELIMITER "--\r\n");
}
