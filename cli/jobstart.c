// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "jobstart.h"

#include "patience.h"

/* The cursor of --skip A-B skips steps [A, B) as well. */
static bw_status add_skip(cli *c, bw_cursor **cursor)
{
    uint64_t first, end;
    const char *text = args_text(c, "skip");
    if (*cursor == NULL)
        return cli_fail(c, BW_INVALID, "--skip needs --cursor, a file to go on from");
    if (!args_span(text, &first, &end))
        return cli_fail(c, BW_INVALID, "--skip %s: expected FIRST-END, two steps", text);
    bw_cursor *skipping;
    const bw_status status = bw_cursor_skip(*cursor, first, end, &skipping, c->error);
    if (status != BW_OK)
        return status;
    bw_cursor_free(*cursor);
    *cursor = skipping;
    return BW_OK;
}

static bw_status set(cli *c, const char *name, const char *value)
{
    return bw_config_set(c->config, name, value, c->error);
}

/* Resolved for all ranks: what they are given is a cursor, and nothing else. */
static bw_status resolve(cli *c, bw_cursor **cursor)
{
    bw_cursor *one;
    patience_begin("the head of the chain is read");
    bw_status status = bw_cursor_begin(c->space, c->config, *cursor, c->timeout_ns, &one, c->error);
    patience_end();
    if (status != BW_OK)
        return status;
    bw_cursor_free(*cursor);
    *cursor = one;
    status = set(c, "tags", "");
    return status == BW_OK ? set(c, "skip_to_tip", "false") : status;
}

bw_status jobstart(cli *c, const char *group, bw_cursor **cursor, bool *moved)
{
    bw_status status = BW_OK;
    const bool tip = args_given(c, "skip-to-tip");
    *moved = *cursor == NULL || tip || args_given(c, "skip") || args_given(c, "tags");
    if (tip && *cursor == NULL && args_given(c, "from"))
        return cli_fail(c, BW_INVALID, "--skip-to-tip and --from exclude each other");
    if (args_given(c, "skip"))
        status = add_skip(c, cursor);
    if (status == BW_OK && args_given(c, "tags"))
        status = set(c, "tags", args_text(c, "tags"));
    if (status == BW_OK && tip)
        status = set(c, "skip_to_tip", "true");
    else if (status == BW_OK && *cursor == NULL && (group == NULL || args_given(c, "from")))
        status = set(c, "start", args_text(c, "from"));
    if (status == BW_OK && group == NULL && args_given(c, "world") && !args_given(c, "rank"))
        status = resolve(c, cursor);
    return status;
}
