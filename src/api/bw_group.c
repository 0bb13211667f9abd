// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/groups.h"

#include "api/check.h"
#include "client/consumer.h"
#include <batchweave/group.h>

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

const char *bw_consumer_group(const bw_consumer *consumer)
{
    return consumer != NULL ? or_empty(consumer->group) : "";
}

const char *bw_consumer_launch(const bw_consumer *consumer)
{
    return consumer != NULL ? or_empty(consumer->launch) : "";
}

static bw_status call_of(const bw_consumer *c, int64_t timeout_ns, group_call *call,
                         bw_error *error)
{
    BW_TRY(space_check_process(c->space, error));
    if (c->group == NULL || c->launch == NULL)
        return error_set(error, BW_INVALID,
                         c->group == NULL
                             ? "the consumer was opened without a group"
                             : "this rank does not know the launch: pin by rank 0, or set launch");
    *call = (group_call){.name = c->group, .launch = c->launch, .timeout_ns = timeout_ns};
    return BW_OK;
}

static bw_status check_ids(const char *const *ids, size_t count, bw_error *error)
{
    if (ids == NULL && count > 0)
        return error_set(error, BW_INVALID, "%zu ids, and none is given", count);
    for (size_t k = 0; k < count; k++)
        if (ids[k] == NULL)
            return error_set(error, BW_INVALID, "id %zu is NULL", k);
    return BW_OK;
}

bw_status bw_consumer_pin(bw_consumer *consumer, const char *id, const bw_cursor *at,
                          const char *const *release, size_t release_count, int64_t timeout_ns,
                          bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    CHECK_NOT_NULL(id);
    CHECK_NOT_NULL(at);
    group_call call;
    BW_TRY(check_ids(release, release_count, error));
    BW_TRY(call_of(consumer, timeout_ns, &call, error));
    const id_list list = {release, release_count};
    return group_pin(consumer->space, &call, id, &at->cursor, &list, error);
}

bw_status bw_consumer_release(bw_consumer *consumer, const char *const *ids, size_t count,
                              int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    group_call call;
    BW_TRY(check_ids(ids, count, error));
    BW_TRY(call_of(consumer, timeout_ns, &call, error));
    const id_list list = {ids, count};
    return group_pin(consumer->space, &call, NULL, NULL, &list, error);
}

bw_status bw_consumer_reconcile(bw_consumer *consumer, const char *const *keep, size_t count,
                                uint32_t *released, int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    group_call call;
    BW_TRY(check_ids(keep, count, error));
    BW_TRY(call_of(consumer, timeout_ns, &call, error));
    const id_list list = {keep, count};
    return group_reconcile(consumer->space, &call, &list, released, error);
}

bw_status bw_space_pin(bw_space *space, const char *name, const char *launch, const char *id,
                       const bw_cursor *at, int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(name);
    CHECK_NOT_NULL(id);
    CHECK_NOT_NULL(at);
    BW_TRY(space_check_process(space, error));
    BW_TRY(space_check_chain(space, error));
    const group_call call = {.name = name, .launch = launch, .timeout_ns = timeout_ns};
    return group_pin(space, &call, id, &at->cursor, NULL, error);
}

bw_status bw_space_release(bw_space *space, const char *name, const char *launch,
                           const char *const *ids, size_t count, int64_t timeout_ns,
                           bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(name);
    BW_TRY(space_check_process(space, error));
    BW_TRY(space_check_chain(space, error));
    BW_TRY(check_ids(ids, count, error));
    const group_call call = {.name = name, .launch = launch, .timeout_ns = timeout_ns};
    const id_list list = {ids, count};
    return group_pin(space, &call, NULL, NULL, &list, error);
}

bw_status bw_space_group_rm(bw_space *space, const char *name, const char *launch,
                            int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(name);
    BW_TRY(space_check_process(space, error));
    BW_TRY(space_check_chain(space, error));
    const group_call call = {.name = name, .launch = launch, .timeout_ns = timeout_ns};
    return group_remove(space, &call, error);
}

bw_status bw_space_forget(bw_space *space, const char *id, uint32_t epoch, int64_t timeout_ns,
                          bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(id);
    BW_TRY(space_check_process(space, error));
    BW_TRY(space_check_chain(space, error));
    return producer_forget(space, id, epoch, timeout_ns, error);
}
