// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "rank.h"

#include "fill.h"

bw_status rank_open(rank *r, const char *url, const char *const *pairs, const char *group,
                    bw_error *error)
{
    bw_config *config = NULL;
    *r = (rank){0};
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(config, &r->runtime, error);
    if (status == BW_OK)
        status = bw_space_open(r->runtime, url, config, BW_FOREVER, &r->space, error);
    if (status == BW_OK)
        status = bw_consumer_open(r->space, group, config, NULL, BW_FOREVER, &r->consumer, error);
    bw_config_free(config);
    return status;
}

void rank_close(rank *r)
{
    bw_consumer_close(r->consumer);
    bw_space_close(r->space);
    bw_runtime_close(r->runtime);
    *r = (rank){0};
}

bw_status rank_step(rank *r, bw_error *error)
{
    bool last = false;
    while (!last) {
        bw_item *item = NULL;
        BW_TRY(bw_consumer_next(r->consumer, BW_FOREVER, &item, error));
        last = bw_item_order(item) + 1 == bw_item_total(item);
        bw_item_release(item);
    }
    return BW_OK;
}
