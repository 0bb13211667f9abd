// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Settings: lines of name=value. Whatever is accepted is kept, and every object can be told from
 * what is set. */
#include "api/config.h"
#include "fuzz.h"
#include <string.h>

#define LINE_MAX_BYTES 4096u

static void set_line(bw_config *config, char *line)
{
    char *value = strchr(line, '=');
    if (value == NULL)
        return;
    *value++ = '\0';
    bw_error error = {.code = BW_OK};
    const bw_status status = bw_config_set(config, line, value, &error);
    if (status == BW_OK) {
        PROMISE(strcmp(bw_config_get(config, line), value) == 0);
        return;
    }
    PROMISE(status == BW_INVALID);
    check_told(status, &error);
}

static void check_told_or_ok(bw_status status, const bw_error *error)
{
    PROMISE(status == BW_OK || status == BW_INVALID);
    if (status != BW_OK)
        check_told(status, error);
}

/* What config_genesis accepts, genesis_check judges; and then it can be stored. */
static void check_genesis(const bw_config *config)
{
    genesis g;
    bw_error error = {.code = BW_OK};
    bw_status status = config_genesis(config, &g, &error);
    check_told_or_ok(status, &error);
    if (status != BW_OK)
        return;
    status = genesis_check(&g, &error);
    check_told_or_ok(status, &error);
    buf out;
    buf_init(&out, SIZE_MAX);
    PROMISE(genesis_encode(&g, &out) == status);
    genesis again;
    if (status == BW_OK)
        PROMISE(genesis_decode(view_of(out.data, out.size), &again, NULL) == BW_OK);
    buf_free(&out);
}

static void check_objects(const bw_config *config)
{
    bw_error error = {.code = BW_OK};
    runtime_options for_runtime;
    config_runtime(config, &for_runtime);
    PROMISE(for_runtime.threads >= 1 && for_runtime.threads <= 64);
    space_options for_space;
    config_space(config, &for_space);
    PROMISE(for_space.retry_limit_ns >= 0);
    check_genesis(config);
    producer_options for_producer;
    check_told_or_ok(config_producer(config, &for_producer, &error), &error);
    consumer_options for_consumer;
    check_told_or_ok(config_consumer(config, &for_consumer, &error), &error);
    report_options for_report;
    config_report(config, &for_report);
    PROMISE(for_report.timeout_ns >= 0 && for_report.prefix != NULL);
}

/* What fails under an interrupt was interrupted; once it is taken back, nothing is. */
static void check_interrupt(bw_config *config)
{
    bw_error error = {.code = BW_OK};
    bw_config_interrupt(config, 1);
    PROMISE(config_check_stop(config, &error) == BW_INTERRUPTED);
    check_told(BW_INTERRUPTED, &error);
    PROMISE(config_ended(config, BW_IO, &error) == BW_INTERRUPTED);
    PROMISE(config_ended(config, BW_OK, &error) == BW_OK);
    bw_config_interrupt(config, 0);
    PROMISE(config_ended(config, BW_IO, &error) == BW_IO);
    PROMISE(atomic_load(config_stop(config)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bw_config *config = bw_config_new();
    PROMISE(config != NULL);
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        const size_t line_bytes = end != NULL ? (size_t)(end - data) : size;
        char line[LINE_MAX_BYTES + 1];
        if (line_bytes <= LINE_MAX_BYTES) {
            memcpy(line, data, line_bytes);
            line[line_bytes] = '\0';
            set_line(config, line);
        }
        const size_t taken = line_bytes + (end != NULL);
        data += taken;
        size -= taken;
    }
    check_objects(config);
    check_interrupt(config);
    bw_config_free(config);
    return 0;
}
