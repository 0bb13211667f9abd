// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_parts.h"
#include "store_net/net_store.h"

bool net_call_is_batch(const net_call *call)
{
    const store_op *op = call->op;
    return op->kind == STORE_DELETE && op->key_count - call->delete_at > 1 &&
           !atomic_load(&call->owner->backend->no_batch);
}

/* What is not there any more is deleted. */
static bool is_deleted(const net_call *call, const http_part *part, net_part_error *error,
                       net_error *e)
{
    const int status = part->head.status;
    if (status >= 200 && status <= 299)
        return true;
    error(part, e);
    const net_outcomes *table = call->owner->backend->dialect->outcomes;
    return net_outcome_find(table, status, e->code)->other == STORE_NOT_FOUND;
}

bool net_batch_end(net_call *call, const buf *answers, net_part_error *error)
{
    store_op *op = call->op;
    http_parts parts;
    http_part part;
    net_error e;
    net_error first;
    int first_status = 0;
    uint32_t deleted = 0;
    uint32_t failed = 0;
    http_parts_start(&parts, answers->data, answers->size);
    while (http_parts_next(&parts, &part)) {
        if (is_deleted(call, &part, error, &e)) {
            deleted++;
        } else if (failed++ == 0) {
            first = e;
            first_status = part.head.status;
        }
    }
    if (failed > 0) {
        call->http.head.status = first_status;
        net_fail(call, &first);
        error_prefix(&op->error, "%u of %u objects", failed, call->batch_keys);
        return true;
    }
    if (!parts.whole || deleted != call->batch_keys) {
        net_fail_unread(call);
        return true;
    }
    call->delete_at += call->batch_keys;
    op->outcome = STORE_OK;
    return call->delete_at == op->key_count;
}
