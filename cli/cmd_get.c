// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include "input/itemdigest.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define STEP_MAX INT64_MAX

static bw_status describe(cli *c, const bw_item *item, const void *data, size_t size)
{
    char hex[ITEM_DIGEST_BYTES] = "";
    const bw_status status = item_digest(data, size, hex);
    if (status != BW_OK)
        return cli_fail(c, status, "out of memory");
    printf("{\"step\":%" PRIu64 ",\"d\":%" PRIu32 ",\"c\":%" PRIu32 ",\"item\":%" PRIu32
           ",\"kind\":\"%s\",\"pad\":%s,\"bytes\":%zu,\"sha256\":\"%s\"}\n",
           bw_item_step(item), bw_item_d(item), bw_item_c(item), bw_item_index(item),
           bw_item_kind(item), bw_item_pad(item) ? "true" : "false", size, hex);
    return BW_OK;
}

/** Items [first, last) of one slice; the slice's own count ends it earlier. */
static bw_status get_slice(cli *c, uint64_t step, uint32_t d, uint32_t p, uint32_t first,
                           uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        bw_item *item;
        bw_status status = bw_space_item(c->space, step, d, p, i, c->timeout_ns, &item, c->error);
        if (status != BW_OK)
            return status;
        const void *data;
        size_t size;
        bw_item_view(item, &data, &size);
        if (c->json)
            status = describe(c, item, data, size);
        else
            cli_write(data, size);
        if (bw_item_count(item) < last)
            last = bw_item_count(item);
        bw_item_release(item);
        if (status != BW_OK)
            return status;
    }
    return BW_OK;
}

static bw_status get_step(cli *c, uint64_t step)
{
    for (uint32_t d = 0; d < bw_space_dp(c->space); d++)
        for (uint32_t p = 0; p < bw_space_cp(c->space); p++) {
            const bw_status status = get_slice(c, step, d, p, 0, UINT32_MAX);
            if (status != BW_OK)
                return status;
        }
    return BW_OK;
}

static bw_status get_meta(cli *c, uint64_t step)
{
    char *text;
    const bw_status status = bw_space_step_meta(c->space, step, c->timeout_ns, &text, c->error);
    if (status != BW_OK)
        return status;
    cli_write(text, strlen(text));
    cli_write("\n", 1);
    bw_text_free(text);
    return BW_OK;
}

static bw_status run(cli *c)
{
    uint64_t step = 0, place[3] = {0};
    static const char *const names[] = {"D", "C", "ITEM"};
    bw_status status = args_operand(c, 1, "STEP", STEP_MAX, &step);
    for (size_t i = 2; status == BW_OK && i < c->operand_count && i - 2 < COUNT_OF(names); i++)
        status = args_operand(c, i, names[i - 2], UINT32_MAX - 1, &place[i - 2]);
    if (status != BW_OK)
        return status;
    if (c->operand_count == 3)
        return cli_fail(c, BW_INVALID, "D without C: give both, or STEP alone");
    if (args_given(c, "meta") && c->operand_count > 2)
        return cli_fail(c, BW_INVALID, "--meta is of a whole step: give STEP alone");
    status = cli_open(c, "read");
    if (status != BW_OK)
        return status;
    if (args_given(c, "meta"))
        return get_meta(c, step);
    if (c->operand_count == 2)
        return get_step(c, step);
    const bool one = c->operand_count == 5;
    return get_slice(c, step, (uint32_t)place[0], (uint32_t)place[1], one ? (uint32_t)place[2] : 0,
                     one ? (uint32_t)place[2] + 1 : UINT32_MAX);
}

static const option options[] = {
    {.name = "meta",
     .type = OPTION_SWITCH,
     .help = "metadata and sample ids of the step, as JSON, instead of its items"},
};

static const example examples[] = {
    {"get file:///data/run7 12 0 0 1 > item.bin", "item 1 of slice (0,0) of step 12"},
    {"get file:///data/run7 12 -o json", "kind, size and SHA-256 of every item of step 12"},
    {"get file:///data/run7 12 --meta", "which samples are in step 12"},
};

const command command_get = {
    .name = "get",
    .operands = "URL STEP [D C [ITEM]]",
    .operands_min = 2,
    .operands_max = 5,
    .summary = "Writes the verified bytes of items to standard output",
    .details = "STEP alone: all items of all slices, one after the other. D C: all items of that\n"
               "slice.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: the bytes; with --meta JSON\n"
              "json: one object an item: "
              "{\"step\",\"d\",\"c\",\"item\",\"kind\",\"pad\",\"bytes\",\"sha256\"}\n",
    .run = run,
};
