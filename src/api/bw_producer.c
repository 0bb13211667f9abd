// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include "api/check.h"
#include "api/config.h"

bw_status bw_producer_open(bw_space *space, const char *id, const bw_config *config,
                           int64_t timeout_ns, bw_producer **producer, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(id);
    CHECK_NOT_NULL(producer);
    BW_TRY(space_check_process(space, error));
    BW_TRY(config_check_stop(config, error));
    producer_options options;
    BW_TRY(config_producer(config, &options, error));
    return config_ended(config, producer_open(space, id, &options, timeout_ns, producer, error),
                        error);
}

bw_status bw_producer_resume(const bw_producer *producer, uint64_t *offset, const void **state,
                             size_t *state_bytes)
{
    if (producer == NULL)
        return BW_INVALID;
    if (offset != NULL)
        *offset = producer->resume_offset;
    if (state != NULL)
        *state = producer->resume_state;
    if (state_bytes != NULL)
        *state_bytes = producer->resume_state_bytes;
    return BW_OK;
}

bw_status bw_batch_new(bw_producer *producer, uint32_t items_per_slice, bw_batch **batch,
                       bw_error *error)
{
    CHECK_NOT_NULL(producer);
    CHECK_NOT_NULL(batch);
    BW_TRY(space_check_process(producer->space, error));
    return batch_new(producer, items_per_slice, batch, error);
}

void bw_batch_free(bw_batch *batch)
{
    batch_free(batch);
}

bw_status bw_batch_item(bw_batch *batch, uint32_t d, uint32_t c, uint32_t item,
                        const struct iovec *pieces, int count, bw_error *error)
{
    CHECK_NOT_NULL(batch);
    return batch_set_item(batch, d, c, item, pieces, count, error);
}

bw_status bw_batch_pad(bw_batch *batch, uint32_t d, uint32_t c, uint32_t item, bw_error *error)
{
    CHECK_NOT_NULL(batch);
    return batch_set_pad(batch, d, c, item, error);
}

bw_status bw_batch_samples(bw_batch *batch, uint32_t d, uint32_t c, const char *const *ids,
                           size_t count, uint64_t tokens, bw_error *error)
{
    CHECK_NOT_NULL(batch);
    return batch_add_samples(batch, d, c, ids, count, tokens, error);
}

bw_status bw_batch_meta(bw_batch *batch, uint64_t tag, const void *json, size_t bytes,
                        bw_error *error)
{
    CHECK_NOT_NULL(batch);
    return batch_set_meta(batch, tag, json, bytes, error);
}

bw_status bw_producer_put(bw_producer *producer, bw_batch *batch, uint64_t end_offset,
                          const void *state, size_t state_bytes, uint64_t token, int64_t timeout_ns,
                          bw_error *error)
{
    CHECK_NOT_NULL(producer);
    CHECK_NOT_NULL(batch);
    BW_TRY(space_check_process(producer->space, error));
    if (state == NULL && state_bytes > 0)
        return error_set(error, BW_INVALID, "bw_producer_put: state is NULL");
    return producer_put(producer, batch, end_offset, view_of(state, state_bytes), token, timeout_ns,
                        error);
}

int bw_producer_event_fd(const bw_producer *producer)
{
    return producer != NULL ? producer->locked.events.fd : -1;
}

bw_status bw_producer_event(bw_producer *producer, int64_t timeout_ns, bw_event **event,
                            bw_error *error)
{
    CHECK_NOT_NULL(producer);
    CHECK_NOT_NULL(event);
    BW_TRY(space_check_process(producer->space, error));
    return producer_event(producer, timeout_ns, event, error);
}

bw_event_kind bw_event_what(const bw_event *event)
{
    return event->kind;
}

uint64_t bw_event_token(const bw_event *event)
{
    return event->token;
}

uint64_t bw_event_step(const bw_event *event)
{
    return event->step;
}

uint64_t bw_event_version(const bw_event *event)
{
    return event->version;
}

const char *bw_event_message(const bw_event *event)
{
    return event->message;
}

void bw_event_free(bw_event *event)
{
    event_free(event);
}

bw_status bw_producer_flush(bw_producer *producer, unsigned flags, int64_t timeout_ns,
                            bw_error *error)
{
    CHECK_NOT_NULL(producer);
    BW_TRY(space_check_process(producer->space, error));
    if ((flags & ~BW_URGENT) != 0)
        return error_set(error, BW_INVALID, "bw_producer_flush: unknown flags 0x%x", flags);
    return producer_flush(producer, (flags & BW_URGENT) != 0, timeout_ns, error);
}

bw_status bw_producer_finish(bw_producer *producer, int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(producer);
    BW_TRY(space_check_process(producer->space, error));
    return producer_finish(producer, timeout_ns, error);
}

void bw_producer_interrupt(bw_producer *producer, int on)
{
    if (producer != NULL)
        producer_interrupt(producer, on != 0);
}

bw_status bw_producer_stats(bw_producer *producer, char *json, size_t cap, size_t *length,
                            bw_error *error)
{
    CHECK_NOT_NULL(producer);
    if (json == NULL && cap > 0)
        return error_set(error, BW_INVALID, "bw_producer_stats: json is NULL");
    BW_TRY(space_check_process(producer->space, error));
    return producer_stats_json(producer, json, cap, length, error);
}

bw_status bw_producer_close(bw_producer *producer, int64_t timeout_ns, bw_error *error)
{
    return producer_close(producer, timeout_ns, error);
}
