// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "delivery.h"

#include "input/savefile.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

/** `folder`/<step>/<d>.<c>.<item>, whole or not at all. */
static bw_status write_file(delivery *d, const bw_item *item, const void *data, size_t size,
                            bw_error *error)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%" PRIu64, d->folder, bw_item_step(item));
    if (length < 0 || (size_t)length + 64 > sizeof path)
        return savefile_mkdir("", error);
    const bw_status status = savefile_mkdir(path, error);
    if (status != BW_OK)
        return status;
    /* A killed run was at work in the steps behind its cursor, and there this one begins. */
    if (!d->swept || d->swept_step != bw_item_step(item))
        savefile_sweep(path);
    d->swept = true;
    d->swept_step = bw_item_step(item);
    snprintf(path + length, sizeof path - (size_t)length, "/%" PRIu32 ".%" PRIu32 ".%" PRIu32,
             bw_item_d(item), bw_item_c(item), bw_item_index(item));
    return savefile_write(path, data, size, false, NULL, error);
}

static bw_status write_digest(delivery *d, const bw_item *item, const void *data, size_t size)
{
    char hex[ITEM_DIGEST_BYTES];
    const bw_status status = item_digest(data, size, hex);
    if (status != BW_OK)
        return status;
    if (d->line == NULL) {
        free(d->line_text);
        d->line_text = NULL;
        d->line = open_memstream(&d->line_text, &d->line_size);
        if (d->line == NULL)
            return BW_NOMEM;
        fprintf(d->line, "{\"step\":%" PRIu64 ",\"d\":%" PRIu32 ",\"c\":%" PRIu32 ",\"items\":[",
                bw_item_step(item), bw_item_d(item), bw_item_c(item));
    } else {
        fputc(',', d->line);
    }
    fprintf(d->line, "{\"item\":%" PRIu32 ",\"bytes\":%zu,\"sha256\":\"%s\",\"pad\":%s}",
            bw_item_index(item), size, hex, bw_item_pad(item) ? "true" : "false");
    return BW_OK;
}

bw_status delivery_item(delivery *d, const bw_item *item, bw_error *error)
{
    const void *data;
    size_t size;
    bw_item_view(item, &data, &size);
    *(bw_item_pad(item) ? &d->pads : &d->items) += 1;
    d->bytes += size;
    bw_status status = BW_OK;
    if (d->folder != NULL && !bw_item_pad(item))
        status = write_file(d, item, data, size, error);
    if (status == BW_OK && d->digest)
        status = write_digest(d, item, data, size);
    return status;
}

const char *delivery_step(delivery *d)
{
    if (d->line == NULL)
        return NULL;
    fputs("]}\n", d->line);
    const int failed = fclose(d->line);
    d->line = NULL;
    return failed == 0 ? d->line_text : NULL;
}

void delivery_end(delivery *d)
{
    if (d->line != NULL)
        fclose(d->line);
    free(d->line_text);
    *d = (delivery){0};
}
