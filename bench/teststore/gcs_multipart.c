// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "gcs_multipart.h"

#include "base/crc32c.h"
#include "digests.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct piece {
    const char *bytes;
    size_t size;
} piece;

void gcs_free_text(char *text)
{
    free(text);
}

uint32_t gcs_payload_crc(const exchange *x)
{
    return x->payload == NULL ? 0 : crc32c(0, x->payload->bytes, x->payload->size);
}

/** A member of a JSON object that is a text. */
static bool read_member(piece text, const char *name, char *out, size_t size)
{
    json_t *document = json_loadb(text.bytes, text.size, 0, NULL);
    const char *value = json_string_value(json_object_get(document, name));
    const bool good = value != NULL && *value != '\0' && strlen(value) < size;
    if (good)
        snprintf(out, size, "%s", value);
    json_decref(document);
    return good;
}

failure gcs_read_bucket(exchange *x)
{
    operation *op = &x->operation;
    if (x->body == NULL || !read_member((piece){(const char *)x->body->bytes, x->body->size},
                                        "name", op->host, sizeof op->host))
        return FAILURE_BAD_BODY;
    op->container = op->host;
    return FAILURE_NONE;
}

/** The boundary of the content type, with the two dashes before it. */
static bool read_boundary(const exchange *x, char *out, size_t size)
{
    const char *type = request_header(&x->request, "content-type");
    const char *at = type == NULL ? NULL : strstr(type, "boundary=");
    if (at == NULL || !text_begins(type, "multipart/related"))
        return false;
    at += strlen("boundary=");
    const size_t quoted = *at == '"';
    const size_t length = strcspn(at + quoted, quoted ? "\"" : "; ");
    return length > 0 && snprintf(out, size, "--%.*s", (int)length, at + quoted) < (int)size;
}

/** The next part behind `*left`: from its empty line to the next delimiter. */
static bool next_part(piece *left, const char *delimiter, piece *part)
{
    const size_t length = strlen(delimiter);
    const char *begin = memmem(left->bytes, left->size, delimiter, length);
    if (begin == NULL)
        return false;
    const char *end = left->bytes + left->size;
    begin += length;
    const char *blank = memmem(begin, (size_t)(end - begin), "\r\n\r\n", 4);
    if (blank == NULL)
        return false;
    part->bytes = blank + 4;
    char stop[260];
    const int size = snprintf(stop, sizeof stop, "\r\n%s", delimiter);
    const char *at = memmem(part->bytes, (size_t)(end - part->bytes), stop, (size_t)size);
    if (at == NULL)
        return false;
    part->size = (size_t)(at - part->bytes);
    *left = (piece){at + 2, (size_t)(end - at) - 2};
    return true;
}

failure gcs_read_multipart(exchange *x)
{
    operation *op = &x->operation;
    char delimiter[256];
    piece description, media;
    if (x->body == NULL || !read_boundary(x, delimiter, sizeof delimiter))
        return FAILURE_BAD_REQUEST;
    piece left = {(const char *)x->body->bytes, x->body->size};
    if (!next_part(&left, delimiter, &description) || !next_part(&left, delimiter, &media) ||
        left.size < strlen(delimiter) + 2 || memcmp(left.bytes + strlen(delimiter), "--", 2) != 0)
        return FAILURE_BAD_BODY;
    if (op->key[0] == '\0') {
        if (!read_member(description, "name", op->token, sizeof op->token))
            return FAILURE_BAD_REQUEST;
        op->key = op->token;
    }
    x->payload = blob_new(media.size);
    memcpy(x->payload->bytes, media.bytes, media.size);
    char claim[16];
    uint32_t claimed = 0;
    if (!read_member(description, "crc32c", claim, sizeof claim))
        return FAILURE_NONE;
    if (!read_crc32c(claim, &claimed))
        return FAILURE_BAD_DIGEST_FORM;
    return claimed == gcs_payload_crc(x) ? FAILURE_NONE : FAILURE_BAD_CRC;
}
