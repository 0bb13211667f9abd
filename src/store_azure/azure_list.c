// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_azure/azure_internal.h"

#include <stdlib.h>
#include <string.h>

#define SKEW_MS (5 * 60 * 1000)

/* ---- errors ---- */

static bw_status on_error(void *context, const char *path, const char *text)
{
    net_error *e = context;
    if (strcmp(path, "Error/Code") == 0)
        net_copy_printable(e->code, sizeof e->code, text);
    else if (strcmp(path, "Error/Message") == 0)
        net_copy_printable(e->message, sizeof e->message, text);
    return BW_OK;
}

/* Azure bears a quarter of an hour, and has the same code for a clock that is off as for a key that
 * is wrong. */
static bool is_skewed(const net_call *call)
{
    const int64_t date_ms = call->http.head.date_ms;
    return date_ms != 0 && llabs(date_ms - clock_wall_ms(clock_system()) -
                                 atomic_load(&call->owner->backend->skew_ms)) > SKEW_MS;
}

void azure_error_parse(const http_head *head, const void *body, size_t size, net_error *out)
{
    xml *reader = NULL;
    memset(out, 0, sizeof *out);
    if (size > 0 && xml_new(NET_ERROR_BYTES_MAX, on_error, out, &reader) == BW_OK) {
        (void)xml_feed(reader, body, size);
        xml_free(reader);
    }
    /* Also where there is no body. */
    if (out->code[0] == '\0')
        memcpy(out->code, head->error_code, sizeof out->code);
}

void azure_error(const net_call *call, net_error *out)
{
    azure_error_parse(&call->http.head, call->text.data, call->text.size, out);
    if (strcmp(out->code, "AuthenticationFailed") == 0 && is_skewed(call))
        memcpy(out->code, NET_SKEWED, sizeof NET_SKEWED);
    if (strcmp(out->code, "FeatureNotSupported") == 0 &&
        ((const azure_call *)call)->crc64[0] != '\0') {
        atomic_store(&azure_backend_of(call)->no_crc64, true);
        memcpy(out->code, AZURE_NO_CRC64, sizeof AZURE_NO_CRC64);
    }
}

_Static_assert(sizeof((http_head *)0)->error_code == sizeof((net_error *)0)->code,
               "one is copied to the other");

/* ---- a page ---- */

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

void azure_page_clear(azure_page *page)
{
    mem_free(page->name);
    page->name = NULL;
}

/* The name without the prefix; one that lies elsewhere, or is too long, is no answer. */
static bw_status take_name(azure_page *page, const char *text)
{
    const size_t skip = strlen(page->prefix);
    azure_page_clear(page);
    if (strncmp(text, page->prefix, skip) != 0 || strlen(text + skip) > STORE_KEY_MAX)
        return BW_CORRUPT;
    page->name = mem_strdup(text + skip);
    page->bytes = 0;
    page->modified_ms = 0;
    return page->name != NULL ? BW_OK : BW_NOMEM;
}

static bw_status take_blob(azure_page *page)
{
    const char *name = page->name;
    bw_status status = BW_OK;
    if (name == NULL)
        return BW_CORRUPT;
    const bool wanted = strcmp(name, page->after) > 0 &&
                        (store_key_is_valid(name) || (page->any && name[0] != '\0'));
    if (wanted && page->list->count < page->max)
        status = store_list_add(page->list, name, page->bytes, page->modified_ms);
    else if (wanted)
        page->cut = true;
    azure_page_clear(page);
    return status;
}

static const char *below(const char *path, const char *parent)
{
    const size_t size = strlen(parent);
    return strncmp(path, parent, size) == 0 ? path + size : "";
}

static bw_status on_page(void *context, const char *path, const char *text)
{
    azure_page *page = context;
    const char *name = below(path, "EnumerationResults/");
    const char *field = below(name, "Blobs/Blob/");
    const size_t size = strlen(text);
    if (strcmp(path, "EnumerationResults") == 0)
        page->whole = true;
    if (strcmp(name, "Blobs/Blob") == 0)
        return take_blob(page);
    if (strcmp(field, "Name") == 0)
        return take_name(page, text);
    if (strcmp(field, "Properties/Content-Length") == 0)
        return parse_number(text, &page->bytes) ? BW_OK : BW_CORRUPT;
    if (strcmp(field, "Properties/Last-Modified") == 0) {
        page->modified_ms = http_date_ms(text, size);
    } else if (strcmp(name, "NextMarker") == 0) {
        if (size >= sizeof page->next)
            return BW_CORRUPT;
        memcpy(page->next, text, size + 1);
    } else {
        (void)on_error(&page->error, path, text);
    }
    return BW_OK;
}

bw_status azure_page_new(azure_page *page, xml **out)
{
    return xml_new(AZURE_PAGE_BYTES_MAX, on_page, page, out);
}

/* ---- the listing ---- */

static void start_page(azure_call *call)
{
    const store_op *op = call->net.op;
    call->page = (azure_page){.prefix = azure_backend_of(&call->net)->prefix,
                              .after = op->after,
                              .any = op->list_any,
                              .max = op->list_max == 0 ? SIZE_MAX : op->list_max,
                              .list = &call->net.op->list};
    call->net.parsed = azure_page_new(&call->page, &call->reader);
}

bool azure_list_sink(net_call *net, const uint8_t *bytes, size_t size)
{
    azure_call *call = azure_call_of(net);
    if (call->reader == NULL)
        start_page(call);
    if (net->parsed == BW_OK)
        net->parsed = xml_feed(call->reader, bytes, size);
    return net->parsed == BW_OK;
}

static void keep_mark(azure_call *call)
{
    const store_op *op = call->net.op;
    const char *last = op->list.entries[op->list.count - 1].key;
    memcpy(call->mark.prefix, op->key, sizeof call->mark.prefix);
    memcpy(call->mark.after, last, strlen(last) + 1);
    memcpy(call->mark.marker, call->page.next, sizeof call->mark.marker);
}

bool azure_list_end(net_call *net)
{
    azure_call *call = azure_call_of(net);
    azure_page *page = &call->page;
    store_op *op = net->op;
    if (call->reader == NULL || xml_end(call->reader) != BW_OK || !page->whole) {
        if (call->reader != NULL && page->error.code[0] != '\0')
            net_fail(net, &page->error);
        else
            net_fail_unread(net);
        return true;
    }
    const bool follows = page->next[0] != '\0';
    if (op->list.count == 0 && follows) {
        memcpy(call->marker, page->next, sizeof call->marker);
        return false; /* nothing yet: not there, or foreign */
    }
    op->list.more = op->list.count > 0 && (page->cut || follows);
    op->outcome = STORE_OK;
    call->mark.marker[0] = '\0';
    if (op->list.count > 0 && follows && !page->cut)
        keep_mark(call);
    return true;
}
