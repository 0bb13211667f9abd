// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Pages of a listing, buckets and errors as Google says them. */
#include "fuzz.h"
#include "store_gcs/gcs_internal.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    store_list list = {0};
    gcs_page page = {.prefix = "run/", .after = "a", .max = 3, .list = &list};
    const bw_status status = gcs_page_parse(&page, data, size);
    PROMISE(status == BW_OK || status == BW_CORRUPT);
    PROMISE(list.count <= 3 && strlen(page.last) <= STORE_KEY_MAX);
    for (size_t i = 0; i < list.count; i++)
        PROMISE(store_key_is_valid(list.entries[i].key) && strcmp(list.entries[i].key, "a") > 0);
    store_list_free(&list);
    static store_bucket bucket;
    memset(&bucket, 0, sizeof bucket);
    const bw_status read = gcs_bucket_parse(&bucket, data, size);
    PROMISE(read == BW_OK || (read == BW_CORRUPT && bucket.rules == STORE_UNREADABLE));
    PROMISE(bucket.rule_count <= STORE_RULES_MAX);
    net_error e;
    gcs_error_parse(data, size, &e);
    PROMISE(strnlen(e.code, sizeof e.code) < sizeof e.code);
    for (const char *c = e.message; *c != '\0'; c++)
        PROMISE(*c >= ' ' && *c < 127);
    return 0;
}
