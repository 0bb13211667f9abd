// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_parts.h"
#include "store_gcs/gcs_internal.h"

#include <jansson.h>
#include <string.h>
#include <time.h>

static json_t *load(const void *bytes, size_t size)
{
    return size == 0 ? NULL : json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* ---- errors ---- */

void gcs_error_parse(const void *bytes, size_t size, net_error *out)
{
    /* What a read of the content says, which is no JSON. */
    static const char absent[] = "No such object";
    memset(out, 0, sizeof *out);
    if (size >= sizeof absent - 1 && memcmp(bytes, absent, sizeof absent - 1) == 0) {
        memcpy(out->code, "notFound", 9);
        return;
    }
    json_t *root = load(bytes, size);
    const json_t *error = json_object_get(root, "error");
    const json_t *first = json_array_get(json_object_get(error, "errors"), 0);
    net_copy_printable(out->code, sizeof out->code, text_of(first, "reason"));
    net_copy_printable(out->message, sizeof out->message, text_of(error, "message"));
    if (strcmp(out->code, "invalid") == 0 && strcasestr(out->message, "crc32c") != NULL)
        memcpy(out->code, GCS_MISMATCH, sizeof GCS_MISMATCH);
    json_decref(root);
}

void gcs_error(const net_call *call, net_error *out)
{
    gcs_error_parse(call->text.data, call->text.size, out);
}

/* ---- objects ---- */

static bool parse_size(const char *text, uint64_t *out)
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

static bool two(const char *text, int *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *out = (text[0] - '0') * 10 + text[1] - '0';
    return true;
}

/* 2026-11-30T06:25:32.286615Z; 0 when it is anything else. */
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

bool gcs_object(const net_call *call, uint64_t *bytes, int64_t *modified_ms)
{
    json_t *root = load(call->text.data, call->text.size);
    const bool good = parse_size(text_of(root, "size"), bytes);
    *modified_ms = parse_time(text_of(root, "updated"));
    json_decref(root);
    return good;
}

/* ---- a page ---- */

static bw_status take_item(gcs_page *page, const json_t *item)
{
    const char *name = text_of(item, "name");
    const size_t skip = strlen(page->prefix);
    uint64_t bytes = 0;
    if (strncmp(name, page->prefix, skip) != 0 || strlen(name + skip) > STORE_KEY_MAX ||
        !parse_size(text_of(item, "size"), &bytes))
        return BW_CORRUPT;
    name += skip;
    memcpy(page->last, name, strlen(name) + 1);
    if (strcmp(name, page->after) <= 0 ||
        (!store_key_is_valid(name) && (!page->any || name[0] == '\0')))
        return BW_OK;
    if (page->list->count == page->max) {
        page->follows = true;
        return BW_OK;
    }
    return store_list_add(page->list, name, bytes, parse_time(text_of(item, "updated")));
}

bw_status gcs_page_parse(gcs_page *page, const void *bytes, size_t size)
{
    json_t *root = load(bytes, size);
    bw_status status = json_is_object(root) ? BW_OK : BW_CORRUPT;
    const json_t *items = json_object_get(root, "items");
    if (items != NULL && !json_is_array(items))
        status = BW_CORRUPT;
    page->follows = *text_of(root, "nextPageToken") != '\0';
    for (size_t i = 0; i < json_array_size(items) && status == BW_OK; i++)
        status = take_item(page, json_array_get(items, i));
    json_decref(root);
    return status;
}

/* ---- the listing ---- */

bool gcs_list_sink(net_call *net, const uint8_t *bytes, size_t size)
{
    gcs_call *call = gcs_call_of(net);
    buf_put(&call->page, bytes, size);
    net->parsed = buf_status(&call->page);
    return net->parsed == BW_OK;
}

static void part_error(const http_part *part, net_error *out)
{
    gcs_error_parse(part->body, part->body_bytes, out);
}

bool gcs_end(net_call *net)
{
    if (net->is_batch)
        return net_batch_end(net, &gcs_call_of(net)->page, part_error);
    gcs_call *call = gcs_call_of(net);
    store_op *op = net->op;
    gcs_page page = {.prefix = gcs_backend_of(net)->prefix,
                     .after = net->after,
                     .any = op->list_any,
                     .max = op->list_max == 0 ? SIZE_MAX : op->list_max,
                     .list = &op->list};
    const bw_status status = gcs_page_parse(&page, call->page.data, call->page.size);
    buf_free(&call->page);
    if (status != BW_OK) {
        net_fail_unread(net);
        return true;
    }
    op->outcome = STORE_OK;
    op->list.more = op->list.count > 0 && page.follows;
    if (op->list.count > 0 || !page.follows || strcmp(page.last, net->after) <= 0)
        return true;
    /* Foreign names only: the next page is asked for, after the last of them. */
    memcpy(net->after, page.last, sizeof page.last);
    return false;
}
