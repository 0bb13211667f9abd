// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* S3's REST interface: path style and host style, one request a thing. */
#include "auth.h"
#include "digests.h"
#include "exchange.h"
#include "s3_documents.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIST_DEFAULT 1000u

/** The container from the path or from the host's first labels, the key from what is left. */
static void read_place(exchange *x)
{
    const char *host = request_header(&x->request, "host");
    const size_t suffix = strlen(x->settings->s3_host);
    const size_t length = host == NULL ? 0 : strcspn(host, ":");
    operation *op = &x->operation;
    if (length > suffix + 1 && host[length - suffix - 1] == '.' &&
        strncasecmp(host + length - suffix, x->settings->s3_host, suffix) == 0) {
        snprintf(op->host, sizeof op->host, "%.*s", (int)(length - suffix - 1), host);
        op->container = op->host;
        op->key = x->request.path + 1;
        return;
    }
    /* The path is ours to cut: nothing reads it after this but the signature, which came before. */
    char *path = (char *)(uintptr_t)x->request.path + 1;
    char *slash = strchr(path, '/');
    op->container = path;
    if (slash != NULL) {
        *slash = '\0';
        op->key = slash + 1;
    }
}

/** The version within an entity tag that this server made; 0, which nothing has, for any other. */
static uint64_t read_etag(const char *text)
{
    char digits[17] = "";
    if (*text == '"')
        text++;
    if (strlen(text) >= 32)
        memcpy(digits, text, 16);
    return strtoull(digits, NULL, 16);
}

static failure read_put(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *absent = request_header(r, "if-none-match");
    const char *match = request_header(r, "if-match");
    const char *hash = request_header(r, "x-amz-content-sha256");
    const char *coding = request_header(r, "content-encoding");
    op->verb = absent != NULL ? VERB_CREATE : VERB_PUT;
    if (request_header(r, "x-amz-copy-source") != NULL || request_query(r, "uploadId") != NULL ||
        (hash != NULL && text_begins(hash, "STREAMING-")) ||
        (coding != NULL && strstr(coding, "aws-chunked") != NULL))
        return FAILURE_NOT_IMPLEMENTED;
    if (absent != NULL && (match != NULL || strcmp(absent, "*") != 0))
        return FAILURE_NOT_IMPLEMENTED;
    if (absent != NULL)
        op->condition = IF_ABSENT;
    if (match != NULL) {
        op->condition = IF_VERSION;
        op->version = read_etag(match);
    }
    return FAILURE_NONE;
}

static failure read_list(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *token = request_query(r, "continuation-token");
    const char *max = request_query(r, "max-keys");
    const char *coding = request_query(r, "encoding-type");
    const char *delimiter = request_query(r, "delimiter");
    uint64_t number = LIST_DEFAULT;
    op->verb = VERB_LIST;
    if (delimiter != NULL && *delimiter != '\0')
        return FAILURE_NOT_IMPLEMENTED;
    if (max != NULL && !request_number(max, &number))
        return FAILURE_BAD_REQUEST;
    op->max = number < LIST_DEFAULT ? (size_t)number : LIST_DEFAULT;
    op->url_names = coding != NULL && strcmp(coding, "url") == 0;
    if (request_query(r, "prefix") != NULL)
        op->prefix = request_query(r, "prefix");
    if (request_query(r, "start-after") != NULL)
        op->after = request_query(r, "start-after");
    if (token == NULL)
        return FAILURE_NONE;
    return read_token(op, token) ? FAILURE_NONE : FAILURE_BAD_REQUEST;
}

static failure read_bucket(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *type = request_query(r, "list-type");
    if (r->method == METHOD_PUT) {
        op->verb = VERB_CONTAINER;
        return r->query_count > 0 ? FAILURE_NOT_IMPLEMENTED : FAILURE_NONE;
    }
    if (r->method == METHOD_POST && request_query(r, "delete") != NULL) {
        op->verb = VERB_DELETE_MANY;
        return FAILURE_NONE;
    }
    if (r->method == METHOD_GET && type != NULL && strcmp(type, "2") == 0)
        return read_list(x);
    const bool asked = r->method == METHOD_HEAD || request_query(r, "location") != NULL ||
                       request_query(r, "versioning") != NULL ||
                       request_query(r, "lifecycle") != NULL;
    if ((r->method == METHOD_GET || r->method == METHOD_HEAD) && asked) {
        op->verb = VERB_PROBE;
        return request_query(r, "lifecycle") != NULL ? FAILURE_NO_LIFECYCLE : FAILURE_NONE;
    }
    return r->method == METHOD_GET ? FAILURE_NOT_IMPLEMENTED : FAILURE_NO_METHOD;
}

static failure read_object(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *match = request_header(r, "if-match");
    switch (r->method) {
    case METHOD_PUT:
        return read_put(x);
    case METHOD_GET:
    case METHOD_HEAD:
        op->verb = r->method == METHOD_GET ? VERB_GET : VERB_HEAD;
        parse_range(op, request_header(r, "range"));
        break;
    case METHOD_DELETE:
        op->verb = VERB_DELETE;
        break;
    case METHOD_POST:
    case METHOD_OTHER:
        return FAILURE_NO_METHOD;
    }
    if (match != NULL) {
        op->condition = IF_VERSION;
        op->version = read_etag(match);
    }
    return FAILURE_NONE;
}

static failure s3_parse(exchange *x)
{
    const failure allowed = auth_s3(x);
    read_place(x);
    failure f = FAILURE_NO_METHOD;
    if (x->operation.container[0] != '\0')
        f = x->operation.key[0] == '\0' ? read_bucket(x) : read_object(x);
    return allowed != FAILURE_NONE ? allowed : f;
}

static failure s3_accept(exchange *x)
{
    const request *r = &x->request;
    failure f = auth_s3_body(x);
    if (f == FAILURE_NONE)
        f = digest_md5(x, "content-md5", x->body);
    if (f == FAILURE_NONE)
        f = digest_crc32c(x, "x-amz-checksum-crc32c", x->body);
    if (f != FAILURE_NONE || x->operation.verb != VERB_DELETE_MANY)
        return f;
    if (request_header(r, "content-md5") == NULL &&
        request_header(r, "x-amz-sdk-checksum-algorithm") == NULL &&
        request_header(r, "x-amz-checksum-crc32c") == NULL)
        return FAILURE_NEEDS_DIGEST;
    return s3_read_deletes(x);
}

static void put_etag_header(exchange *x, const object *o, const blob *bytes)
{
    reply_header(x, "ETag", "\"%016" PRIx64 "%08x%08x\"", o->version, bytes->crc32c,
                 (unsigned)bytes->size);
}

static void put_crc_header(exchange *x, uint32_t crc)
{
    buf text;
    buf_init(&text, 64);
    put_crc32c(&text, crc);
    reply_header(x, "x-amz-checksum-crc32c", "%s", buf_text(&text));
    reply_header(x, "x-amz-checksum-type", "FULL_OBJECT");
    buf_free(&text);
}

static void answer_get(exchange *x)
{
    const object *o = &x->outcome.object;
    const char *mode = request_header(&x->request, "x-amz-checksum-mode");
    char modified[DATE_BYTES];
    reply_object(x, "binary/octet-stream");
    http_date(o->stored_ms, modified);
    reply_header(x, "Last-Modified", "%s", modified);
    reply_header(x, "Accept-Ranges", "bytes");
    put_etag_header(x, o, o->bytes);
    /* As S3: a checksum of the whole says nothing about a part, and is left out. */
    if (mode != NULL && strcasecmp(mode, "ENABLED") == 0 && !x->outcome.partial)
        put_crc_header(x, o->bytes->crc32c);
}

static void s3_answer(exchange *x)
{
    const operation *op = &x->operation;
    switch (op->verb) {
    case VERB_GET:
    case VERB_HEAD:
        answer_get(x);
        break;
    case VERB_PUT:
    case VERB_CREATE:
        put_etag_header(x, &x->outcome.object, x->payload);
        if (request_header(&x->request, "x-amz-checksum-crc32c") != NULL)
            put_crc_header(x, x->payload->crc32c);
        break;
    case VERB_DELETE:
        x->reply.status = 204;
        break;
    case VERB_DELETE_MANY:
        s3_put_deleted(x);
        break;
    case VERB_LIST:
        s3_put_listing(x);
        break;
    case VERB_CONTAINER:
        reply_header(x, "Location", "/%s", op->container);
        break;
    case VERB_PROBE:
        s3_put_probe(x);
        break;
    case VERB_OTHER:
    case VERB_CONTROL:
    case VERB_COUNT:
        break;
    }
}

static void s3_refuse(exchange *x, failure f, int status, const char *code)
{
    const operation *op = &x->operation;
    const object *o = &x->outcome.object;
    buf *out = &x->reply.body;
    (void)status;
    reply_header(x, "Content-Type", "application/xml");
    if (f == FAILURE_BAD_RANGE)
        reply_header(x, "Content-Range", "bytes */%zu", o->bytes == NULL ? 0 : o->bytes->size);
    buf_put_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>");
    put_xml(out, code);
    buf_printf(out, "</Code><Message>%s</Message>", failure_message(f));
    if (f == FAILURE_NO_OBJECT) {
        buf_put_text(out, "<Key>");
        put_xml(out, op->key);
        buf_put_text(out, "</Key>");
    } else if (f == FAILURE_NO_CONTAINER) {
        buf_put_text(out, "<BucketName>");
        put_xml(out, op->container);
        buf_put_text(out, "</BucketName>");
    } else if (f == FAILURE_EXISTS || f == FAILURE_CONDITION) {
        buf_printf(out, "<Condition>%s</Condition>",
                   f == FAILURE_EXISTS ? "If-None-Match" : "If-Match");
    } else if (f == FAILURE_BAD_RANGE && o->bytes != NULL) {
        buf_printf(out, "<ActualObjectSize>%zu</ActualObjectSize>", o->bytes->size);
    } else if (f == FAILURE_BAD_SCOPE) {
        buf_printf(out, "<Region>%s</Region>", x->settings->region);
    }
    buf_printf(out, "<RequestId>%016" PRIX64 "</RequestId><HostId>teststore</HostId></Error>",
               x->id);
}

static void s3_sign(exchange *x)
{
    reply_header(x, "x-amz-request-id", "%016" PRIX64, x->id);
    reply_header(x, "x-amz-id-2", "teststore");
}

const dialect dialect_s3 = {.name = "s3",
                            .id = DIALECT_S3,
                            .delete_of_nothing_succeeds = true,
                            .parse = s3_parse,
                            .accept = s3_accept,
                            .answer = s3_answer,
                            .refuse = s3_refuse,
                            .sign = s3_sign};
