// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Azure Blob Storage: block blobs of one request, containers, lists. */
#include "auth.h"
#include "batches.h"
#include "digests.h"
#include "exchange.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VERSION "2021-12-02"
#define RANGE_CRC64_MAX (4u << 20)
#define BATCH_MAX 256u

/** "/account/container/blob", or without the account where the host names it. */
static void read_place(exchange *x)
{
    const char *host = request_header(&x->request, "host");
    const size_t size = strlen(x->settings->account);
    operation *op = &x->operation;
    char *at = (char *)(uintptr_t)x->request.path + 1;
    const bool by_host =
        host != NULL && strncasecmp(host, x->settings->account, size) == 0 && host[size] == '.';
    if (!by_host) {
        char *slash = strchr(at, '/');
        at = slash == NULL ? at + strlen(at) : slash + 1;
    }
    op->container = at;
    char *slash = strchr(at, '/');
    if (slash != NULL) {
        *slash = '\0';
        op->key = slash + 1;
    }
}

/** The version within an entity tag that this server made; 0 for any other. */
static uint64_t read_etag(const char *text)
{
    if (*text == '"')
        text++;
    return text_begins(text, "0x8") ? strtoull(text + 3, NULL, 16) : 0;
}

static void read_match(exchange *x)
{
    const char *match = request_header(&x->request, "if-match");
    if (match == NULL || strcmp(match, "*") == 0)
        return;
    x->operation.condition = IF_VERSION;
    x->operation.version = read_etag(match);
}

static failure read_put(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *absent = request_header(r, "if-none-match");
    const char *type = request_header(r, "x-ms-blob-type");
    op->verb = absent != NULL ? VERB_CREATE : VERB_PUT;
    read_match(x);
    if (request_query(r, "comp") != NULL || request_header(r, "x-ms-copy-source") != NULL ||
        (absent != NULL && (op->condition != IF_ANY || strcmp(absent, "*") != 0)))
        return FAILURE_NOT_IMPLEMENTED;
    if (absent != NULL)
        op->condition = IF_ABSENT;
    if (type == NULL)
        return FAILURE_NEEDS_HEADER;
    return strcmp(type, "BlockBlob") == 0 ? FAILURE_NONE : FAILURE_NOT_IMPLEMENTED;
}

static failure read_list(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *marker = request_query(r, "marker");
    const char *max = request_query(r, "maxresults");
    uint64_t number = LIST_MAX;
    op->verb = VERB_LIST;
    if (request_query(r, "delimiter") != NULL)
        return FAILURE_NOT_IMPLEMENTED;
    if (max != NULL && (!request_number(max, &number) || number == 0))
        return FAILURE_BAD_REQUEST;
    op->max = number < LIST_MAX ? (size_t)number : LIST_MAX;
    if (request_query(r, "prefix") != NULL)
        op->prefix = request_query(r, "prefix");
    return marker == NULL || *marker == '\0' || read_token(op, marker) ? FAILURE_NONE
                                                                       : FAILURE_BAD_REQUEST;
}

static failure read_container(exchange *x)
{
    const request *r = &x->request;
    const char *type = request_query(r, "restype");
    const char *component = request_query(r, "comp");
    if (type == NULL || strcmp(type, "container") != 0)
        return FAILURE_NOT_IMPLEMENTED;
    if (r->method == METHOD_POST && component != NULL && strcmp(component, "batch") == 0) {
        x->operation.verb = VERB_DELETE_MANY;
        return FAILURE_NONE;
    }
    if (component != NULL)
        return r->method == METHOD_GET && strcmp(component, "list") == 0 ? read_list(x)
                                                                         : FAILURE_NOT_IMPLEMENTED;
    if (r->method == METHOD_PUT)
        x->operation.verb = VERB_CONTAINER;
    else if (r->method == METHOD_GET || r->method == METHOD_HEAD)
        x->operation.verb = VERB_PROBE;
    else
        return FAILURE_NO_METHOD;
    return FAILURE_NONE;
}

static failure read_blob(exchange *x)
{
    const request *r = &x->request;
    operation *op = &x->operation;
    const char *range = request_header(r, "x-ms-range");
    switch (r->method) {
    case METHOD_PUT:
        return read_put(x);
    case METHOD_GET:
    case METHOD_HEAD:
        op->verb = r->method == METHOD_GET ? VERB_GET : VERB_HEAD;
        parse_range(op, range != NULL ? range : request_header(r, "range"));
        /* No suffixes there, and the whole from byte 0 is no range. */
        if (op->range == RANGE_SUFFIX || (op->range == RANGE_OPEN && op->first == 0) ||
            r->method == METHOD_HEAD)
            op->range = RANGE_NONE;
        break;
    case METHOD_DELETE:
        op->verb = VERB_DELETE;
        break;
    case METHOD_POST:
    case METHOD_OTHER:
        return FAILURE_NO_METHOD;
    }
    read_match(x);
    return request_query(r, "comp") != NULL ? FAILURE_NOT_IMPLEMENTED : FAILURE_NONE;
}

static failure azure_parse(exchange *x)
{
    const failure allowed = auth_azure(x);
    read_place(x);
    failure f = FAILURE_BAD_REQUEST;
    if (x->operation.container[0] != '\0')
        f = x->operation.key[0] == '\0' ? read_container(x) : read_blob(x);
    return allowed != FAILURE_NONE ? allowed : f;
}

static failure azure_accept(exchange *x)
{
    failure f = digest_md5(x, "content-md5", x->body);
    if (f == FAILURE_NONE)
        f = digest_crc64(x, "x-ms-content-crc64", x->body);
    if (f != FAILURE_NONE || x->operation.verb != VERB_DELETE_MANY)
        return f;
    /* By host the account is in no path. */
    char stem[128];
    snprintf(stem, sizeof stem, "/%s/", x->settings->account);
    const bool by_path = text_begins(x->request.target, stem);
    return batch_read(x, by_path ? stem : "/", "/", BATCH_MAX);
}

static void put_identity(exchange *x)
{
    const object *o = &x->outcome.object;
    char modified[DATE_BYTES];
    http_date(o->stored_ms, modified);
    reply_header(x, "Last-Modified", "%s", modified);
    reply_header(x, "ETag", "\"0x8%015" PRIX64 "\"", o->version);
}

static void answer_put(exchange *x)
{
    static const char *const digests[] = {"Content-MD5", "x-ms-content-crc64"};
    static const char *const lower[] = {"content-md5", "x-ms-content-crc64"};
    x->reply.status = 201;
    put_identity(x);
    for (size_t i = 0; i < 2; i++)
        if (request_header(&x->request, lower[i]) != NULL)
            reply_header(x, digests[i], "%s", request_header(&x->request, lower[i]));
    reply_header(x, "x-ms-request-server-encrypted", "true");
}

static void answer_list(exchange *x)
{
    const operation *op = &x->operation;
    const listing *l = &x->outcome.listing;
    const char *host = request_header(&x->request, "host");
    buf *out = &x->reply.body;
    reply_header(x, "Content-Type", "application/xml");
    buf_put_text(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults "
                      "ServiceEndpoint=\"http://");
    put_xml(out, host == NULL ? "" : host);
    buf_printf(out, "/%s/\" ContainerName=\"", x->settings->account);
    put_xml(out, op->container);
    buf_put_text(out, "\"><Prefix>");
    put_xml(out, op->prefix);
    buf_printf(out, "</Prefix><MaxResults>%zu</MaxResults><Blobs>", op->max);
    for (size_t i = 0; i < l->count; i++) {
        const list_entry *e = &l->entries[i];
        char modified[DATE_BYTES];
        http_date(e->stored_ms, modified);
        buf_put_text(out, "<Blob><Name>");
        put_xml(out, e->key);
        buf_printf(out,
                   "</Name><Properties><Creation-Time>%s</Creation-Time><Last-Modified>%s"
                   "</Last-Modified><Etag>0x8%015" PRIX64 "</Etag><Content-Length>%" PRIu64
                   "</Content-Length><Content-Type>application/octet-stream</Content-Type>"
                   "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>"
                   "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
                   "</Properties></Blob>",
                   modified, modified, e->version, e->size);
    }
    buf_put_text(out, "</Blobs><NextMarker>");
    if (l->next != NULL)
        put_token(out, l->next);
    buf_put_text(out, "</NextMarker></EnumerationResults>");
}

static void answer_get(exchange *x)
{
    const outcome *out = &x->outcome;
    const char *wanted = request_header(&x->request, "x-ms-range-get-content-crc64");
    reply_object(x, "application/octet-stream");
    put_identity(x);
    reply_header(x, "Accept-Ranges", "bytes");
    reply_header(x, "x-ms-blob-type", "BlockBlob");
    reply_header(x, "x-ms-lease-state", "available");
    reply_header(x, "x-ms-server-encrypted", "true");
    if (wanted == NULL || strcasecmp(wanted, "true") != 0 || !out->partial ||
        out->size > RANGE_CRC64_MAX)
        return;
    buf text;
    buf_init(&text, 64);
    put_crc64(&text, azure_crc64(out->object.bytes->bytes + out->from, (size_t)out->size));
    reply_header(x, "x-ms-content-crc64", "%s", buf_text(&text));
    buf_free(&text);
}

static void azure_answer(exchange *x)
{
    switch (x->operation.verb) {
    case VERB_GET:
    case VERB_HEAD:
        answer_get(x);
        break;
    case VERB_PUT:
    case VERB_CREATE:
        answer_put(x);
        break;
    case VERB_DELETE:
        x->reply.status = 202;
        reply_header(x, "x-ms-delete-type-permanent", "true");
        break;
    case VERB_LIST:
        answer_list(x);
        break;
    case VERB_CONTAINER:
        x->reply.status = 201;
        break;
    case VERB_PROBE:
        reply_header(x, "x-ms-lease-state", "available");
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

static void azure_refuse(exchange *x, failure f, int status, const char *code)
{
    const object *o = &x->outcome.object;
    buf *out = &x->reply.body;
    (void)status;
    reply_header(x, "Content-Type", "application/xml");
    reply_header(x, "x-ms-error-code", "%s", code);
    if (f == FAILURE_BAD_RANGE)
        reply_header(x, "Content-Range", "bytes */%zu", o->bytes == NULL ? 0 : o->bytes->size);
    buf_put_text(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>");
    put_xml(out, code);
    buf_printf(out, "</Code><Message>%s\nRequestId:%016" PRIx64 "\nTime:%s</Message></Error>",
               failure_message(f), x->id, x->date);
}

static void azure_sign(exchange *x)
{
    const char *version = request_header(&x->request, "x-ms-version");
    reply_header(x, "x-ms-request-id", "%016" PRIx64, x->id);
    reply_header(x, "x-ms-version", "%s", version == NULL ? VERSION : version);
}

const dialect dialect_azure = {.name = "azure",
                               .id = DIALECT_AZURE,
                               .parse = azure_parse,
                               .accept = azure_accept,
                               .answer = azure_answer,
                               .refuse = azure_refuse,
                               .sign = azure_sign};
