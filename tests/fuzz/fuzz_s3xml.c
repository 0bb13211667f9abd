// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What S3 says in XML: the same bytes as a page of a listing, as the outcome of a batch delete, as
 * the rules of a bucket, and as an error, whole and in two pieces. The first byte says where they
 * are cut. */
#include "fuzz.h"
#include "store_s3/s3_internal.h"
#include <string.h>

/* An element makes an entry of a few words at most. */
#define MEMORY_MAX(size) (65536u + 64u * (size))

static void check_error(const net_error *e)
{
    PROMISE(strnlen(e->code, sizeof e->code) < sizeof e->code);
    PROMISE(strnlen(e->message, sizeof e->message) < sizeof e->message);
    for (const char *c = e->message; *c != '\0'; c++)
        PROMISE(*c >= ' ' && *c < 127);
}

static bw_status feed(xml *x, const uint8_t *data, size_t size, size_t cut)
{
    bw_status status = xml_feed(x, data, cut);
    if (status == BW_OK)
        status = xml_feed(x, data + cut, size - cut);
    if (status == BW_OK)
        status = xml_end(x);
    xml_free(x);
    PROMISE(status == BW_OK || status == BW_CORRUPT);
    return status;
}

static bw_status read_page(const uint8_t *data, size_t size, size_t cut, store_list *list,
                           s3_page *page)
{
    xml *x = NULL;
    memset(page, 0, sizeof *page);
    page->list = list;
    PROMISE(s3_page_new(page, &x) == BW_OK);
    const bw_status status = feed(x, data, size, cut);
    s3_page_clear(page);
    check_error(&page->error);
    return status;
}

static void try_page(const uint8_t *data, size_t size, size_t cut)
{
    store_list whole = {0};
    store_list pieces = {0};
    s3_page page;
    s3_page again;
    meter_start();
    const bw_status status = read_page(data, size, 0, &whole, &page);
    PROMISE(meter_peak() <= MEMORY_MAX(size));
    PROMISE(read_page(data, size, cut, &pieces, &again) == status);
    PROMISE(status != BW_OK || whole.count == pieces.count);
    if (status == BW_OK && s3_page_finish(&page, "run/", false) == BW_OK) {
        for (size_t i = 0; i < whole.count; i++)
            PROMISE(strlen(whole.entries[i].key) <= STORE_KEY_MAX);
        PROMISE(strlen(page.last) <= STORE_KEY_MAX);
    }
    store_list_free(&whole);
    store_list_free(&pieces);
}

static void try_rules(const uint8_t *data, size_t size, size_t cut)
{
    static store_bucket bucket;
    static s3_rules rules;
    xml *x = NULL;
    memset(&bucket, 0, sizeof bucket);
    PROMISE(s3_rules_new(&rules, &bucket, &x) == BW_OK);
    const bw_status status = feed(x, data, size, cut);
    PROMISE(bucket.rule_count <= STORE_RULES_MAX);
    PROMISE(status != BW_OK || bucket.rules != STORE_OFF || bucket.rule_count == 0);
    for (uint32_t i = 0; i < bucket.rule_count; i++) {
        PROMISE(strnlen(bucket.list[i].name, sizeof bucket.list[i].name) <
                sizeof bucket.list[i].name);
        PROMISE(strnlen(bucket.list[i].prefix, STORE_KEY_MAX + 1) <= STORE_KEY_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const size_t cut = (size_t)data[0] * (size - 1) / 256;
    data++;
    size--;
    try_page(data, size, cut);
    try_rules(data, size, cut);
    s3_deleted deleted;
    xml *x = NULL;
    PROMISE(s3_deleted_new(&deleted, &x) == BW_OK);
    (void)feed(x, data, size, cut);
    check_error(&deleted.error);
    net_error error;
    s3_error_parse(data, size, &error);
    check_error(&error);
    return 0;
}
