// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes the lines of a text file, one line an item, exactly once whatever happens to it.
 *
 * - batchweave init file:///tmp/lines --dp 2 --producers 1
 * - ./produce file:///tmp/lines lines.txt
 *
 * Kill it, start it again: it goes on behind the last line that is on the chain.
 */
#include <batchweave/batchweave.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES_MAX 1024u

static bw_error *error; /* of the last call that failed */

static void check(bw_status status)
{
    if (status == BW_OK)
        return;
    fprintf(stderr, "%s [%s]\n", bw_error_message(error), bw_status_name(status));
    exit(1);
}

/* The memory of a batch is ours again once its RELEASED event came: `token` is its lines. */
static void take_events(bw_producer *producer)
{
    bw_event *event;
    while (bw_producer_event(producer, 0, &event, NULL) == BW_OK) {
        if (bw_event_what(event) == BW_EVENT_RELEASED)
            free((void *)(uintptr_t)bw_event_token(event));
        bw_event_free(event);
    }
}

/* The next line without its end, in memory of its own; NULL at the end. */
static char *next_line(FILE *input)
{
    char *line = NULL;
    size_t capacity = 0;
    const ssize_t size = getline(&line, &capacity, input);
    if (size < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* One batch: an item for each of `slices` ranks. Returns how many lines it took. */
static uint64_t put_batch(bw_producer *producer, FILE *input, uint32_t dp, uint32_t cp,
                          uint64_t offset)
{
    const uint32_t slices = dp * cp;
    bw_batch *batch;
    check(bw_batch_new(producer, 1, &batch, error));
    char *text = NULL; /* all lines of the batch, freed when it is released */
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    size_t ends[SLICES_MAX] = {0};
    uint32_t lines = 0;
    char *line;
    while (lines < slices && (line = next_line(input)) != NULL) {
        fputs(line, memory);
        fflush(memory);
        ends[lines++] = size;
        free(line);
    }
    fclose(memory);
    if (lines == 0) {
        bw_batch_free(batch);
        free(text);
        return 0;
    }
    for (uint32_t i = 0; i < slices; i++) {
        const size_t start = i == 0 ? 0 : ends[i - 1];
        const struct iovec piece = {text + start, i < lines ? ends[i] - start : 0};
        check(i < lines ? bw_batch_item(batch, i / cp, i % cp, 0, &piece, 1, error)
                        : bw_batch_pad(batch, i / cp, i % cp, 0, error));
    }
    check(bw_producer_put(producer, batch, offset + lines, NULL, 0, (uint64_t)(uintptr_t)text,
                          BW_FOREVER, error));
    return lines;
}

int main(int argc, char **argv)
{
    error = bw_error_new();
    if (argc != 3 || error == NULL) {
        fprintf(stderr, "usage: produce URL FILE\n");
        return 1;
    }
    FILE *input = fopen(argv[2], "r");
    if (input == NULL) {
        perror(argv[2]);
        return 1;
    }
    bw_config *config = bw_config_new();
    bw_runtime *runtime;
    bw_space *space;
    bw_producer *producer;
    uint64_t offset;
    check(bw_config_set(config, "mode", "write", error));
    check(bw_runtime_open(NULL, &runtime, error));
    check(bw_space_open(runtime, argv[1], config, BW_FOREVER, &space, error));
    check(bw_producer_open(space, "lines", NULL, BW_FOREVER, &producer, error));
    check(bw_producer_resume(producer, &offset, NULL, NULL));
    for (uint64_t done = 0; done < offset; done++)
        free(next_line(input));

    const uint32_t dp = bw_space_dp(space), cp = bw_space_cp(space);
    if (dp * cp > SLICES_MAX) {
        fprintf(stderr, "this example is for at most %u slices\n", SLICES_MAX);
        return 1;
    }
    uint64_t lines;
    while ((lines = put_batch(producer, input, dp, cp, offset)) > 0) {
        offset += lines;
        take_events(producer);
    }
    check(bw_producer_finish(producer, BW_FOREVER, error));
    take_events(producer);
    check(bw_producer_close(producer, 0, error));
    printf("%llu lines are on the chain\n", (unsigned long long)offset);
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(config);
    bw_error_free(error);
    fclose(input);
    return 0;
}
