// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Google Cloud Storage's JSON interface: media and multipart uploads, generations. */
#include "auth.h"
#include "batches.h"
#include "digests.h"
#include "exchange.h"
#include "gcs_multipart.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define LIST_DEFAULT 1000u
#define BATCH_MAX 100u

/** Cuts "/storage/v1/b/BUCKET[/o[/OBJECT]]" behind `stem`; false: it is something else. */
static bool read_place(exchange *x, const char *stem, bool *of_objects)
{
    operation *op = &x->operation;
    if (!text_begins(x->request.path, stem))
        return false;
    char *at = (char *)(uintptr_t)x->request.path + strlen(stem);
    *of_objects = false;
    if (*at == '\0')
        return true;
    if (*at++ != '/')
        return false;
    op->container = at;
    char *slash = strchr(at, '/');
    if (slash == NULL)
        return true;
    *slash = '\0';
    if (slash[1] != 'o' || (slash[2] != '/' && slash[2] != '\0'))
        return false;
    *of_objects = true;
    if (slash[2] == '/')
        op->key = slash + 3;
    return true;
}

/** ifGenerationMatch, which 0 turns into "if absent". */
static failure read_generation(exchange *x)
{
    operation *op = &x->operation;
    const char *text = request_query(&x->request, "ifGenerationMatch");
    if (text == NULL)
        return FAILURE_NONE;
    if (!request_number(text, &op->version))
        return FAILURE_BAD_REQUEST;
    op->condition = op->version == 0 ? IF_ABSENT : IF_VERSION;
    return FAILURE_NONE;
}

static failure read_upload(exchange *x)
{
    operation *op = &x->operation;
    const request *r = &x->request;
    const char *type = request_query(r, "uploadType");
    const char *name = request_query(r, "name");
    const failure f = read_generation(x);
    op->verb = op->condition == IF_ABSENT ? VERB_CREATE : VERB_PUT;
    if (r->method != METHOD_POST || op->key[0] != '\0')
        return FAILURE_NO_METHOD;
    if (f != FAILURE_NONE)
        return f;
    if (name != NULL)
        op->key = name;
    if (type != NULL && strcmp(type, "multipart") == 0)
        return FAILURE_NONE; /* the name may come with the body */
    if (type == NULL || strcmp(type, "media") != 0)
        return FAILURE_NOT_IMPLEMENTED;
    return name == NULL || *name == '\0' ? FAILURE_BAD_REQUEST : FAILURE_NONE;
}

static failure read_list(exchange *x)
{
    operation *op = &x->operation;
    const request *r = &x->request;
    const char *token = request_query(r, "pageToken");
    const char *max = request_query(r, "maxResults");
    uint64_t number = LIST_DEFAULT;
    op->verb = VERB_LIST;
    if (request_query(r, "delimiter") != NULL || request_query(r, "endOffset") != NULL)
        return FAILURE_NOT_IMPLEMENTED;
    if (max != NULL && (!request_number(max, &number) || number == 0))
        return FAILURE_BAD_REQUEST;
    op->max = number < LIST_DEFAULT ? (size_t)number : LIST_DEFAULT;
    if (request_query(r, "prefix") != NULL)
        op->prefix = request_query(r, "prefix");
    if (request_query(r, "startOffset") != NULL)
        op->from = request_query(r, "startOffset");
    return token == NULL || read_token(op, token) ? FAILURE_NONE : FAILURE_BAD_REQUEST;
}

static failure read_object(exchange *x)
{
    operation *op = &x->operation;
    const request *r = &x->request;
    const char *alt = request_query(r, "alt");
    const char *generation = request_query(r, "generation");
    if (generation != NULL && (!request_number(generation, &op->generation) || op->generation == 0))
        return FAILURE_BAD_REQUEST;
    if (r->method == METHOD_DELETE) {
        op->verb = VERB_DELETE;
        return read_generation(x);
    }
    if (r->method != METHOD_GET)
        return FAILURE_NO_METHOD;
    op->metadata_only = alt == NULL || strcmp(alt, "media") != 0;
    op->verb = op->metadata_only ? VERB_HEAD : VERB_GET;
    parse_range(op, request_header(r, "range"));
    return read_generation(x);
}

static failure read_request(exchange *x)
{
    operation *op = &x->operation;
    const method m = x->request.method;
    bool of_objects = false;
    if (m == METHOD_POST && strcmp(x->request.path, "/batch/storage/v1") == 0) {
        op->verb = VERB_DELETE_MANY;
        return FAILURE_NONE;
    }
    if (read_place(x, "/upload/storage/v1/b", &of_objects))
        return of_objects ? read_upload(x) : FAILURE_NO_METHOD;
    if (!read_place(x, "/storage/v1/b", &of_objects) &&
        !read_place(x, "/download/storage/v1/b", &of_objects))
        return FAILURE_BAD_REQUEST;
    if (op->key[0] != '\0')
        return read_object(x);
    if (of_objects)
        return m == METHOD_GET ? read_list(x) : FAILURE_NO_METHOD;
    if (op->container[0] == '\0' && m == METHOD_POST) {
        op->verb = VERB_CONTAINER;
        return FAILURE_NONE;
    }
    op->verb = VERB_PROBE;
    return op->container[0] != '\0' && m == METHOD_GET ? FAILURE_NONE : FAILURE_NO_METHOD;
}

static failure gcs_parse(exchange *x)
{
    const failure f = read_request(x);
    const failure allowed = auth_bearer(x);
    return allowed != FAILURE_NONE ? allowed : f;
}

/** X-Goog-Hash: crc32c=…,md5=… (md5 is not checked: no client of ours sends it). */
static failure check_hash(const exchange *x)
{
    const char *text = request_header(&x->request, "x-goog-hash");
    const char *at = text == NULL ? NULL : strstr(text, "crc32c=");
    char digits[9] = "";
    uint32_t claimed = 0;
    if (at == NULL)
        return FAILURE_NONE;
    snprintf(digits, sizeof digits, "%.8s", at + strlen("crc32c="));
    if (!read_crc32c(digits, &claimed))
        return FAILURE_BAD_DIGEST_FORM;
    return gcs_payload_crc(x) == claimed ? FAILURE_NONE : FAILURE_BAD_CRC;
}

static failure gcs_accept(exchange *x)
{
    operation *op = &x->operation;
    const char *type = request_query(&x->request, "uploadType");
    if (op->verb == VERB_CONTAINER)
        return gcs_read_bucket(x);
    if (op->verb == VERB_DELETE_MANY)
        return batch_read(x, "/storage/v1/b/", "/o/", BATCH_MAX);
    if (op->verb != VERB_PUT && op->verb != VERB_CREATE)
        return FAILURE_NONE;
    if (type != NULL && strcmp(type, "multipart") == 0) {
        const failure f = gcs_read_multipart(x);
        if (f != FAILURE_NONE)
            return f;
    }
    return check_hash(x);
}

/** The description of an object; `out` gets no line's end. */
static void put_resource(buf *out, const operation *op, const char *key, const list_entry *e)
{
    char stored[DATE_BYTES];
    buf crc;
    buf_init(&crc, 64);
    put_crc32c(&crc, e->crc32c);
    iso_date(e->stored_ms, stored);
    json_t *resource = json_object();
    const char *const names[] = {"kind",           "name",   "bucket",      "storageClass",
                                 "metageneration", "crc32c", "timeCreated", "updated"};
    const char *const values[] = {"storage#object", key,    op->container, "STANDARD", "1",
                                  buf_text(&crc),   stored, stored};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(resource, names[i], json_string(values[i]));
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, e->version);
    json_object_set_new(resource, "generation", json_string(number));
    json_object_set_new(resource, "etag", json_string(number));
    snprintf(number, sizeof number, "%" PRIu64, e->size);
    json_object_set_new(resource, "size", json_string(number));
    char *text = json_dumps(resource, JSON_COMPACT);
    buf_put_text(out, text == NULL ? "" : text);
    gcs_free_text(text);
    json_decref(resource);
    buf_free(&crc);
}

static void answer_resource(exchange *x, const blob *bytes)
{
    const object *o = &x->outcome.object;
    const list_entry e = {.size = bytes->size,
                          .version = o->version,
                          .crc32c = bytes->crc32c,
                          .stored_ms = o->stored_ms};
    reply_header(x, "Content-Type", "application/json; charset=UTF-8");
    reply_header(x, "ETag", "%" PRIu64, o->version);
    put_resource(&x->reply.body, &x->operation, x->operation.key, &e);
}

static void answer_media(exchange *x)
{
    const object *o = &x->outcome.object;
    char modified[DATE_BYTES];
    buf crc;
    reply_object(x, "application/octet-stream");
    http_date(o->stored_ms, modified);
    buf_init(&crc, 64);
    put_crc32c(&crc, o->bytes->crc32c);
    reply_header(x, "Last-Modified", "%s", modified);
    reply_header(x, "Accept-Ranges", "bytes");
    reply_header(x, "ETag", "%" PRIu64, o->version);
    reply_header(x, "X-Goog-Generation", "%" PRIu64, o->version);
    reply_header(x, "X-Goog-Metageneration", "1");
    reply_header(x, "X-Goog-Hash", "crc32c=%s", buf_text(&crc));
    reply_header(x, "X-Goog-Stored-Content-Length", "%zu", o->bytes->size);
    reply_header(x, "X-Goog-Storage-Class", "STANDARD");
    buf_free(&crc);
}

static void answer_list(exchange *x)
{
    const listing *l = &x->outcome.listing;
    buf *out = &x->reply.body;
    reply_header(x, "Content-Type", "application/json; charset=UTF-8");
    buf_put_text(out, "{\"kind\":\"storage#objects\"");
    if (l->next != NULL) {
        buf_put_text(out, ",\"nextPageToken\":\"");
        put_token(out, l->next);
        buf_put_text(out, "\"");
    }
    for (size_t i = 0; i < l->count; i++) {
        buf_put_text(out, i == 0 ? ",\"items\":[" : ",");
        put_resource(out, &x->operation, l->entries[i].key, &l->entries[i]);
    }
    buf_put_text(out, l->count > 0 ? "]}" : "}");
}

static void gcs_answer(exchange *x)
{
    const operation *op = &x->operation;
    switch (op->verb) {
    case VERB_GET:
        answer_media(x);
        break;
    case VERB_HEAD:
        answer_resource(x, x->outcome.object.bytes);
        break;
    case VERB_PUT:
    case VERB_CREATE:
        answer_resource(x, x->payload);
        break;
    case VERB_DELETE:
        x->reply.status = 204;
        break;
    case VERB_LIST:
        answer_list(x);
        break;
    case VERB_CONTAINER:
    case VERB_PROBE:
        reply_header(x, "Content-Type", "application/json; charset=UTF-8");
        buf_printf(&x->reply.body, "{\"kind\":\"storage#bucket\",\"name\":\"%s\"}", op->container);
        break;
    case VERB_DELETE_MANY:
        batch_answer(x);
        break;
    case VERB_OTHER:
    case VERB_CONTROL:
    case VERB_COUNT:
        break;
    }
}

static void gcs_refuse(exchange *x, failure f, int status, const char *code)
{
    const operation *op = &x->operation;
    const object *o = &x->outcome.object;
    buf *out = &x->reply.body;
    if (f == FAILURE_BAD_RANGE)
        reply_header(x, "Content-Range", "bytes */%zu", o->bytes == NULL ? 0 : o->bytes->size);
    if (op->verb == VERB_GET) { /* of media: plain text and no JSON */
        reply_header(x, "Content-Type", "text/html; charset=UTF-8");
        if (f == FAILURE_NO_OBJECT)
            buf_printf(out, "No such object: %s/%s", op->container, op->key);
        else
            buf_put_text(out, failure_message(f));
        return;
    }
    reply_header(x, "Content-Type", "application/json; charset=UTF-8");
    const bool condition = f == FAILURE_EXISTS || f == FAILURE_CONDITION;
    buf_printf(out,
               "{\"error\":{\"code\":%d,\"message\":\"%s\",\"errors\":[{\"message\":\"%s\","
               "\"domain\":\"global\",\"reason\":\"%s\"%s}]}}",
               status, failure_message(f), failure_message(f), code,
               condition ? ",\"locationType\":\"header\",\"location\":\"If-Match\"" : "");
}

static void gcs_sign(exchange *x)
{
    reply_header(x, "X-GUploader-UploadID", "%016" PRIx64, x->id);
}

const dialect dialect_gcs = {.name = "gcs",
                             .id = DIALECT_GCS,
                             .parse = gcs_parse,
                             .accept = gcs_accept,
                             .answer = gcs_answer,
                             .refuse = gcs_refuse,
                             .sign = gcs_sign};
