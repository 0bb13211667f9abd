// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_xml.h"

#include "base/alloc.h"
#include "http/uri.h"
#include "store/driver.h"

#include <string.h>
#include <time.h>

static bool parse_number(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (value > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return *text == '\0';
}

/* ---- errors ---- */

static void take_error(net_error *e, const char *name, const char *text)
{
    if (strcmp(name, "Code") == 0)
        net_copy_printable(e->code, sizeof e->code, text);
    else if (strcmp(name, "Message") == 0)
        net_copy_printable(e->message, sizeof e->message, text);
    else if (strcmp(name, "Region") == 0)
        net_copy_printable(e->region, sizeof e->region, text);
    else if (strcmp(name, "ActualObjectSize") == 0)
        e->has_size = parse_number(text, &e->size);
}

static const char *below(const char *path, const char *parent)
{
    const size_t size = strlen(parent);
    return strncmp(path, parent, size) == 0 ? path + size : "";
}

static bw_status on_error(void *context, const char *path, const char *text)
{
    take_error(context, below(path, "Error/"), text);
    return BW_OK;
}

void s3_error_parse(const void *bytes, size_t size, net_error *out)
{
    xml *reader = NULL;
    memset(out, 0, sizeof *out);
    if (size == 0 || xml_new(NET_ERROR_BYTES_MAX, on_error, out, &reader) != BW_OK)
        return;
    (void)xml_feed(reader, bytes, size);
    xml_free(reader);
}

/* ---- a page of a listing ---- */

static bool two(const char *text, int *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *out = (text[0] - '0') * 10 + text[1] - '0';
    return true;
}

/* 2009-10-12T17:50:30.000Z; 0 when it is anything else. */
static int64_t parse_time(const char *text)
{
    struct tm t = {0};
    int century = 0;
    int year = 0;
    int month = 0;
    if (strlen(text) < 20 || text[10] != 'T' || !two(text, &century) || !two(text + 2, &year) ||
        !two(text + 5, &month) || !two(text + 8, &t.tm_mday) || !two(text + 11, &t.tm_hour) ||
        !two(text + 14, &t.tm_min) || !two(text + 17, &t.tm_sec))
        return 0;
    t.tm_year = century * 100 + year - 1900;
    t.tm_mon = month - 1;
    const time_t seconds = timegm(&t);
    return seconds > 0 ? (int64_t)seconds * 1000 : 0;
}

static bw_status take_entry(s3_page *page)
{
    if (page->name == NULL)
        return BW_CORRUPT;
    const bw_status status = store_list_add(page->list, page->name, page->bytes, page->modified_ms);
    s3_page_clear(page);
    return status;
}

static bw_status on_page(void *context, const char *path, const char *text)
{
    s3_page *page = context;
    const char *name = below(path, "ListBucketResult/");
    const char *field = below(name, "Contents/");
    if (strcmp(path, "ListBucketResult") == 0)
        page->whole = true;
    if (strcmp(name, "Contents") == 0)
        return take_entry(page);
    if (strcmp(field, "Key") == 0) {
        s3_page_clear(page);
        page->name = mem_strdup(text);
        return page->name != NULL ? BW_OK : BW_NOMEM;
    }
    if (strcmp(field, "Size") == 0)
        return parse_number(text, &page->bytes) ? BW_OK : BW_CORRUPT;
    if (strcmp(field, "LastModified") == 0)
        page->modified_ms = parse_time(text);
    else if (strcmp(name, "IsTruncated") == 0)
        page->truncated = strcmp(text, "true") == 0;
    else if (strcmp(name, "EncodingType") == 0)
        page->encoded = strcmp(text, "url") == 0; /* may stand behind the names */
    else
        take_error(&page->error, below(path, "Error/"), text);
    return BW_OK;
}

bw_status s3_page_new(s3_page *page, xml **out)
{
    return xml_new(S3_PAGE_BYTES_MAX, on_page, page, out);
}

void s3_page_clear(s3_page *page)
{
    mem_free(page->name);
    page->name = NULL;
}

/* The name without the prefix, in place; NULL: it is no name that was asked for. */
static const char *plain_name(const s3_page *page, char *name, const char *prefix)
{
    size_t size = strlen(name);
    if (page->encoded)
        size = uri_decode(name, true);
    const size_t skip = strlen(prefix);
    if (size == SIZE_MAX || strlen(name) < size || size < skip || size - skip > STORE_KEY_MAX ||
        memcmp(name, prefix, skip) != 0)
        return NULL;
    memmove(name, name + skip, size - skip);
    name[size - skip] = '\0';
    return name;
}

bw_status s3_page_finish(s3_page *page, const char *prefix, bool any)
{
    store_list *list = page->list;
    size_t kept = 0;
    bw_status status = BW_OK;
    for (size_t i = 0; i < list->count; i++) {
        store_entry *entry = &list->entries[i];
        const char *name = plain_name(page, entry->key, prefix);
        if (name == NULL)
            status = BW_CORRUPT;
        else
            memcpy(page->last, name, strlen(name) + 1);
        /* The prefix itself is what some tools make to show a folder. */
        if (name != NULL && (store_key_is_valid(name) || (any && name[0] != '\0')))
            list->entries[kept++] = *entry;
        else
            mem_free(entry->key);
    }
    list->count = kept;
    return status;
}

/* ---- batch delete ---- */

static bw_status on_deleted(void *context, const char *path, const char *text)
{
    s3_deleted *d = context;
    if (strcmp(path, "DeleteResult") == 0)
        d->whole = true;
    take_error(&d->one, below(path, "DeleteResult/Error/"), text);
    take_error(&d->error, below(path, "Error/"), text);
    if (strcmp(path, "DeleteResult/Error") != 0)
        return BW_OK;
    if (strcmp(d->one.code, "NoSuchKey") != 0 && d->failed++ == 0)
        d->error = d->one;
    memset(&d->one, 0, sizeof d->one);
    return BW_OK;
}

bw_status s3_deleted_new(s3_deleted *deleted, xml **out)
{
    memset(deleted, 0, sizeof *deleted);
    return xml_new(S3_PAGE_BYTES_MAX, on_deleted, deleted, out);
}

static void put_escaped(buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            buf_put_text(out, "&amp;");
            break;
        case '<':
            buf_put_text(out, "&lt;");
            break;
        case '>':
            buf_put_text(out, "&gt;");
            break;
        default:
            buf_put_u8(out, (uint8_t)*text);
        }
    }
}

void s3_delete_body(buf *out, const char *prefix, const char *const *keys, uint32_t count)
{
    buf_put_text(out,
                 "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_text(out, "<Object><Key>");
        put_escaped(out, prefix);
        put_escaped(out, keys[i]);
        buf_put_text(out, "</Key></Object>");
    }
    buf_put_text(out, "</Delete>");
}
