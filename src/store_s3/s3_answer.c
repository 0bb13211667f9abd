// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_internal.h"

#include <string.h>

void s3_answer_error(const net_call *call, net_error *out)
{
    s3_error_parse(call->text.data, call->text.size, out);
}

bool s3_answer_has_ended(const net_call *call, const net_error *e)
{
    const int status = call->http.head.status;
    if (strcmp(e->code, "ExpiredToken") == 0 || strcmp(e->code, "TokenRefreshRequired") == 0)
        return true;
    /* The answer to a HEAD has no code, and some stores have others. */
    if (net_call_is_past_end(call))
        return status >= 400 && status <= 403;
    return call->method == HTTP_HEAD && status == 400 && !net_call_has_fresh_keys(call);
}

bool s3_answer_sink(net_call *net, const uint8_t *bytes, size_t size)
{
    s3_call *call = s3_call_of(net);
    if (call->reader == NULL) {
        memset(&call->page, 0, sizeof call->page);
        call->page.list = &net->op->list;
        net->parsed = net->is_batch ? s3_deleted_new(&call->deleted, &call->reader)
                                    : s3_page_new(&call->page, &call->reader);
    }
    if (net->parsed == BW_OK)
        net->parsed = xml_feed(call->reader, bytes, size);
    return net->parsed == BW_OK;
}

static bool is_whole(s3_call *call, bool root)
{
    if (call->reader != NULL && xml_end(call->reader) == BW_OK && root)
        return true;
    net_fail_unread(&call->net);
    return false;
}

static bool end_list(s3_call *call)
{
    store_op *op = call->net.op;
    s3_page *page = &call->page;
    if (page->error.code[0] != '\0') {
        net_fail(&call->net, &page->error);
        return true;
    }
    if (!is_whole(call, page->whole))
        return true;
    const size_t came = op->list.count;
    if (s3_page_finish(page, s3_backend_of(&call->net)->prefix, op->list_any) != BW_OK) {
        net_fail_unread(&call->net); /* names that were not asked for */
        return true;
    }
    op->list.more = page->truncated && came > 0;
    op->outcome = STORE_OK;
    if (!op->list.more || op->list.count > 0)
        return true;
    /* A page of foreign names only: the next one is asked for, after the last of them. */
    memcpy(call->net.after, page->last, sizeof page->last);
    return false;
}

static void end_batch(s3_call *call)
{
    store_op *op = call->net.op;
    const s3_deleted *d = &call->deleted;
    const bool says = call->reader != NULL && d->error.code[0] != '\0';
    if (!says && !is_whole(call, d->whole))
        return;
    op->outcome = STORE_OK;
    if (!says)
        return;
    net_fail(&call->net, &d->error);
    if (d->failed > 0)
        error_prefix(&op->error, "%u of %u objects", d->failed, op->key_count);
}

bool s3_answer_end(net_call *net)
{
    s3_call *call = s3_call_of(net);
    if (!net->is_batch)
        return end_list(call);
    end_batch(call);
    return true;
}
