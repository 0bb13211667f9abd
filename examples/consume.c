// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * One rank: prints the items of its slice until the namespace is sealed and read to its end.
 *     ./consume file:///tmp/lines 0 2        # rank 0 of 2
 */
#include <batchweave/batchweave.h>
#include <stdio.h>
#include <stdlib.h>

static bw_error *error; /* of the last call that failed */

static void check(bw_status status)
{
    if (status == BW_OK)
        return;
    fprintf(stderr, "%s [%s]\n", bw_error_message(error), bw_status_name(status));
    exit(1);
}

int main(int argc, char **argv)
{
    error = bw_error_new();
    if (argc != 4 || error == NULL) {
        fprintf(stderr, "usage: consume URL RANK WORLD\n");
        return 1;
    }
    bw_config *config = bw_config_new();
    bw_runtime *runtime;
    bw_space *space;
    bw_consumer *consumer;
    check(bw_config_set(config, "rank", argv[2], error));
    check(bw_config_set(config, "world", argv[3], error));
    check(bw_runtime_open(NULL, &runtime, error));
    check(bw_space_open(runtime, argv[1], NULL, BW_FOREVER, &space, error));
    check(bw_consumer_open(space, NULL, config, NULL, BW_FOREVER, &consumer, error));

    const int64_t minute_ns = 60000000000;
    bw_item *item;
    bw_status status;
    while ((status = bw_consumer_next(consumer, minute_ns, &item, error)) == BW_OK) {
        const void *data;
        size_t size;
        bw_item_view(item, &data, &size); /* borrowed until released */
        if (!bw_item_pad(item))
            printf("%llu %.*s\n", (unsigned long long)bw_item_step(item), (int)size,
                   (const char *)data);
        bw_item_release(item);
    }
    /* A real trainer saves bw_cursor_json(bw_consumer_cursor) with each checkpoint, and opens with
     * it. */
    if (status != BW_END)
        check(status);
    bw_consumer_close(consumer);
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(config);
    bw_error_free(error);
    return 0;
}
