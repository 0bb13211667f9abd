// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include "codec/manifest.h"

static bw_status decode(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    return page_decode(object, decoded, error);
}

static bw_status encode(const void *decoded, buf *out)
{
    return page_encode(decoded, out);
}

static void walk(const void *decoded)
{
    const page *p = decoded;
    for (uint32_t i = 0; i < p->count; i++)
        PROMISE(page_producer(p, p->entries[i].id) == &p->entries[i]);
    PROMISE(page_producer(p, view_text("~")) == NULL);
}

static void release(void *decoded)
{
    page_free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case page_case = {decode, encode, walk, release};
    object_try(&page_case, data, size);
    return 0;
}
