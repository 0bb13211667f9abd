// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include "api/check.h"
#include "api/config.h"

bw_status bw_consumer_open(bw_space *space, const char *name, const bw_config *config,
                           const bw_cursor *from, int64_t timeout_ns, bw_consumer **consumer,
                           bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(consumer);
    BW_TRY(space_check_process(space, error));
    BW_TRY(config_check_stop(config, error));
    consumer_options options;
    BW_TRY(config_consumer(config, &options, error));
    options.group = name;
    return config_ended(config,
                        consumer_open(space, &options, from != NULL ? &from->cursor : NULL,
                                      timeout_ns, consumer, error),
                        error);
}

uint32_t bw_consumer_d(const bw_consumer *consumer)
{
    return consumer != NULL ? consumer->position.d : 0;
}

uint32_t bw_consumer_c(const bw_consumer *consumer)
{
    return consumer != NULL ? consumer->position.c : 0;
}

bw_status bw_consumer_next(bw_consumer *consumer, int64_t timeout_ns, bw_item **item,
                           bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    CHECK_NOT_NULL(item);
    BW_TRY(space_check_process(consumer->space, error));
    return consumer_next(consumer, timeout_ns, item, error);
}

bw_status bw_consumer_lend(bw_consumer *consumer, void *data, size_t bytes, uint64_t token,
                           bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    CHECK_NOT_NULL(data);
    BW_TRY(space_check_process(consumer->space, error));
    return consumer_lend(consumer, data, bytes, token, error);
}

int bw_item_lent(const bw_item *item, uint64_t *token)
{
    const lent_buffer *lent = item_lent(item);
    if (lent != NULL && token != NULL)
        *token = lent->token;
    return lent != NULL;
}

void bw_item_view(const bw_item *item, const void **data, size_t *size)
{
    if (data != NULL)
        *data = item->data;
    if (size != NULL)
        *size = item->owner->frames[item->index].plain_bytes;
}

uint64_t bw_item_step(const bw_item *item)
{
    return item->owner->step;
}

uint32_t bw_item_d(const bw_item *item)
{
    return item->owner->d;
}

uint32_t bw_item_c(const bw_item *item)
{
    return item->owner->c;
}

uint32_t bw_item_index(const bw_item *item)
{
    return item->index;
}

uint32_t bw_item_count(const bw_item *item)
{
    return item->owner->items;
}

uint32_t bw_item_order(const bw_item *item)
{
    return item->order;
}

uint32_t bw_item_total(const bw_item *item)
{
    return item->total;
}

int bw_item_pad(const bw_item *item)
{
    return item->owner->frames[item->index].pad;
}

uint64_t bw_item_tag(const bw_item *item)
{
    return item->owner->tag;
}

uint64_t bw_item_tokens(const bw_item *item)
{
    return item->owner->tokens;
}

const char *bw_item_kind(const bw_item *item)
{
    return kind_name(item->owner->kind);
}

void bw_item_release(bw_item *item)
{
    item_release(item);
}

bw_status bw_consumer_cursor(bw_consumer *consumer, bw_cursor **out, bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    CHECK_NOT_NULL(out);
    BW_TRY(space_check_process(consumer->space, error));
    return consumer_cursor(consumer, out, error);
}

void bw_cursor_free(bw_cursor *c)
{
    cursor_unwrap(c);
}

uint64_t bw_cursor_step(const bw_cursor *c)
{
    return c != NULL ? c->cursor.step : 0;
}

uint32_t bw_cursor_item(const bw_cursor *c)
{
    return c != NULL ? c->cursor.item : 0;
}

int bw_cursor_equal(const bw_cursor *a, const bw_cursor *b)
{
    return a != NULL && b != NULL && cursor_equal(&a->cursor, &b->cursor);
}

const char *bw_cursor_json(const bw_cursor *c)
{
    return c != NULL ? (const char *)c->json.data : "";
}

bw_status bw_cursor_parse(const char *json, size_t bytes, bw_cursor **out, bw_error *error)
{
    CHECK_NOT_NULL(json);
    CHECK_NOT_NULL(out);
    cursor plain;
    BW_TRY(cursor_decode(view_of(json, bytes), &plain, error));
    const bw_status status = cursor_wrap(&plain, out, error);
    cursor_free(&plain);
    return status;
}

bw_status bw_cursor_begin(bw_space *space, const bw_config *config, const bw_cursor *from,
                          int64_t timeout_ns, bw_cursor **out, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(out);
    BW_TRY(space_check_process(space, error));
    BW_TRY(config_check_stop(config, error));
    consumer_options options;
    BW_TRY(config_consumer(config, &options, error));
    return config_ended(config,
                        consumer_start(space, &options, from != NULL ? &from->cursor : NULL,
                                       timeout_ns, out, error),
                        error);
}

bw_status bw_cursor_skip(const bw_cursor *from, uint64_t first, uint64_t end, bw_cursor **out,
                         bw_error *error)
{
    CHECK_NOT_NULL(from);
    CHECK_NOT_NULL(out);
    cursor plain;
    bw_status status = cursor_copy(&plain, &from->cursor);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a cursor");
    status = cursor_skip(&plain, first, end);
    if (status != BW_OK)
        (void)error_set(error, status,
                        "steps %llu … %llu cannot be skipped: the range is empty, or the cursor "
                        "has 1,024 ranges already",
                        (unsigned long long)first, (unsigned long long)end);
    else
        status = cursor_wrap(&plain, out, error);
    cursor_free(&plain);
    return status;
}

bw_status bw_consumer_wait_reason(bw_consumer *consumer, char *json, size_t cap, size_t *length,
                                  bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    if (json == NULL && cap > 0)
        return error_set(error, BW_INVALID, "bw_consumer_wait_reason: json is NULL");
    BW_TRY(space_check_process(consumer->space, error));
    return consumer_wait_reason(consumer, json, cap, length, error);
}

bw_status bw_consumer_stats(bw_consumer *consumer, char *json, size_t cap, size_t *length,
                            bw_error *error)
{
    CHECK_NOT_NULL(consumer);
    if (json == NULL && cap > 0)
        return error_set(error, BW_INVALID, "bw_consumer_stats: json is NULL");
    BW_TRY(space_check_process(consumer->space, error));
    return consumer_stats_json(consumer, json, cap, length, error);
}

void bw_consumer_interrupt(bw_consumer *consumer, int on)
{
    if (consumer != NULL)
        consumer_interrupt(consumer, on != 0);
}

void bw_consumer_close(bw_consumer *consumer)
{
    consumer_close(consumer);
}
