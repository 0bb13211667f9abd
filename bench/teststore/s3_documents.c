// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "s3_documents.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "grab.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XML_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define XML_NAMESPACE " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

/** Replaces the entities of XML in place; false: one that nobody defined. */
static bool unescape(char *text)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    static const char values[] = "&<>\"'";
    char *to = text;
    for (char *from = text; *from != '\0';) {
        if (*from != '&') {
            *to++ = *from++;
            continue;
        }
        size_t i = 0;
        while (i < 5 && !text_begins(from, names[i]))
            i++;
        if (i < 5) {
            *to++ = values[i];
            from += strlen(names[i]);
            continue;
        }
        const bool hex = text_begins(from, "&#x");
        char *end = NULL;
        const unsigned long code = strtoul(from + (hex ? 3 : 2), &end, hex ? 16 : 10);
        if (from[1] != '#' || *end != ';' || code == 0 || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000))
            return false;
        uint8_t utf8[4];
        const size_t size = utf8_encode((uint32_t)code, utf8);
        memcpy(to, utf8, size); /* never longer than its escape */
        to += size;
        from = end + 1;
    }
    *to = '\0';
    return true;
}

static bool add_name(operation *op, const char *text, size_t size)
{
    void *names = op->names;
    if (size == 0 || size > 6 * KEY_BYTES_MAX || op->name_count == DELETE_MAX)
        return false;
    grab_grow(&names, &op->name_capacity, op->name_count + 1, sizeof *op->names);
    op->names = names;
    char *copy = grab(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    op->names[op->name_count++] = copy;
    return unescape(copy) && strlen(copy) <= KEY_BYTES_MAX && utf8_is_valid(copy, strlen(copy));
}

failure s3_read_deletes(exchange *x)
{
    operation *op = &x->operation;
    if (x->body == NULL || memchr(x->body->bytes, '\0', x->body->size) != NULL)
        return FAILURE_BAD_BODY;
    char *text = grab(x->body->size + 1);
    memcpy(text, x->body->bytes, x->body->size);
    text[x->body->size] = '\0';
    bool good = strstr(text, "<Delete") != NULL && strstr(text, "</Delete>") != NULL;
    op->quiet = strstr(text, "<Quiet>true</Quiet>") != NULL;
    for (const char *at = text; good && (at = strstr(at, "<Key>")) != NULL;) {
        at += strlen("<Key>");
        const char *end = strstr(at, "</Key>");
        good = end != NULL && add_name(op, at, (size_t)(end - at));
    }
    mem_free(text);
    return good && op->name_count > 0 ? FAILURE_NONE : FAILURE_BAD_BODY;
}

void s3_put_deleted(exchange *x)
{
    const operation *op = &x->operation;
    buf *out = &x->reply.body;
    reply_header(x, "Content-Type", "application/xml");
    buf_put_text(out, XML_HEAD "<DeleteResult" XML_NAMESPACE ">");
    for (size_t i = 0; i < op->name_count; i++) {
        const failure f = x->outcome.each[i];
        const bool gone = f == FAILURE_NONE || f == FAILURE_NO_OBJECT;
        if (gone && op->quiet)
            continue;
        buf_put_text(out, gone ? "<Deleted><Key>" : "<Error><Key>");
        put_xml(out, op->names[i]);
        buf_put_text(out, "</Key>");
        if (gone)
            buf_put_text(out, "</Deleted>");
        else
            buf_printf(out, "<Code>%s</Code><Message>%s</Message></Error>",
                       failure_spelled(f, DIALECT_S3).code, failure_message(f));
    }
    buf_put_text(out, "</DeleteResult>");
}

static void put_name(buf *out, const operation *op, const char *name)
{
    if (op->url_names)
        put_url(out, name, true);
    else
        put_xml(out, name);
}

static void put_element(buf *out, const operation *op, const char *element, const char *value)
{
    buf_printf(out, "<%s>", element);
    put_name(out, op, value);
    buf_printf(out, "</%s>", element);
}

void s3_put_listing(exchange *x)
{
    const operation *op = &x->operation;
    const listing *l = &x->outcome.listing;
    const char *token = request_query(&x->request, "continuation-token");
    const char *after = request_query(&x->request, "start-after");
    buf *out = &x->reply.body;
    reply_header(x, "Content-Type", "application/xml");
    buf_put_text(out, XML_HEAD "<ListBucketResult" XML_NAMESPACE "><Name>");
    put_xml(out, op->container);
    buf_put_text(out, "</Name>");
    put_element(out, op, "Prefix", op->prefix);
    if (after != NULL)
        put_element(out, op, "StartAfter", after);
    if (token != NULL)
        buf_printf(out, "<ContinuationToken>%s</ContinuationToken>", token);
    if (l->next != NULL) {
        buf_put_text(out, "<NextContinuationToken>");
        put_token(out, l->next);
        buf_put_text(out, "</NextContinuationToken>");
    }
    buf_printf(out, "<KeyCount>%zu</KeyCount><MaxKeys>%zu</MaxKeys>", l->count, op->max);
    if (op->url_names)
        buf_put_text(out, "<EncodingType>url</EncodingType>");
    buf_printf(out, "<IsTruncated>%s</IsTruncated>", l->next != NULL ? "true" : "false");
    for (size_t i = 0; i < l->count; i++) {
        const list_entry *e = &l->entries[i];
        char modified[DATE_BYTES];
        iso_date(e->stored_ms, modified);
        buf_put_text(out, "<Contents>");
        put_element(out, op, "Key", e->key);
        buf_printf(out,
                   "<LastModified>%s</LastModified><ETag>&quot;%016" PRIx64
                   "%08x%08x&quot;</ETag><Size>%" PRIu64
                   "</Size><StorageClass>STANDARD</StorageClass></Contents>",
                   modified, e->version, e->crc32c, (unsigned)e->size, e->size);
    }
    buf_put_text(out, "</ListBucketResult>");
}

void s3_put_probe(exchange *x)
{
    buf *out = &x->reply.body;
    reply_header(x, "x-amz-bucket-region", "%s", x->settings->region);
    if (x->request.method == METHOD_HEAD)
        return;
    reply_header(x, "Content-Type", "application/xml");
    const char *element = request_query(&x->request, "versioning") != NULL
                              ? "VersioningConfiguration"
                              : "LocationConstraint";
    buf_printf(out, XML_HEAD "<%s" XML_NAMESPACE "/>", element);
}
