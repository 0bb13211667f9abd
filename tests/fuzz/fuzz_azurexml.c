// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Pages of a listing as Azure says them, whole and in two pieces. The first byte says where they
 * are cut. */
#include "fuzz.h"
#include "store_azure/azure_internal.h"
#include <string.h>

/* The reader, and for an element an entry of a few words at most. */
#define MEMORY_MAX(size) (65536u + 64u * (size))

static bw_status read_page(const uint8_t *data, size_t size, size_t cut, store_list *list,
                           azure_page *page)
{
    xml *x = NULL;
    *page = (azure_page){.prefix = "run/", .after = "a", .max = 3, .list = list};
    PROMISE(azure_page_new(page, &x) == BW_OK);
    bw_status status = xml_feed(x, data, cut);
    if (status == BW_OK)
        status = xml_feed(x, data + cut, size - cut);
    if (status == BW_OK)
        status = xml_end(x);
    xml_free(x);
    azure_page_clear(page);
    PROMISE(status == BW_OK || status == BW_CORRUPT);
    PROMISE(strnlen(page->next, sizeof page->next) < sizeof page->next);
    PROMISE(strnlen(page->error.message, sizeof page->error.message) < sizeof page->error.message);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const size_t cut = (size_t)data[0] * (size - 1) / 256;
    store_list whole = {0};
    store_list pieces = {0};
    azure_page page;
    azure_page again;
    data++;
    size--;
    meter_start();
    const bw_status status = read_page(data, size, 0, &whole, &page);
    PROMISE(meter_peak() <= MEMORY_MAX(size));
    PROMISE(read_page(data, size, cut, &pieces, &again) == status);
    PROMISE(whole.count <= 3 && (!page.cut || whole.count == 3));
    PROMISE(status != BW_OK || whole.count == pieces.count);
    for (size_t i = 0; i < whole.count; i++)
        PROMISE(store_key_is_valid(whole.entries[i].key) && strcmp(whole.entries[i].key, "a") > 0);
    store_list_free(&whole);
    store_list_free(&pieces);
    return 0;
}
