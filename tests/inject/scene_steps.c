// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene.h"
#include "scene_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        const bw_status try_status = (expression);                                                 \
        if (try_status != BW_OK)                                                                   \
            return try_status;                                                                     \
    } while (0)

/* ---- settings ---- */

typedef struct setting {
    const char *name, *value;
} setting;

/** NULL, or settings as given; a value of NULL is left out. */
static bw_status settings(scene *w, const setting *list, size_t count, bw_config **out)
{
    bw_config *config = bw_config_new();
    bw_status status = config == NULL ? BW_NOMEM : BW_OK;
    for (size_t i = 0; status == BW_OK && i < count; i++)
        status = bw_config_set(config, list[i].name, list[i].value, w->error);
    if (status != BW_OK) {
        bw_config_free(config);
        return status;
    }
    *out = config;
    return BW_OK;
}

#define SETTINGS(w, config, ...)                                                                   \
    settings(w, (const setting[]){__VA_ARGS__},                                                    \
             sizeof((const setting[]){__VA_ARGS__}) / sizeof(setting), config)

static bw_status step_config(scene *w)
{
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"dp", "4"}, {"layout", "contiguous"}, {"schema", "a text"},
                 {"layout", "headtail"}));
    if (strcmp(bw_config_get(config, "layout"), "headtail") != 0)
        scene_wrong(w, "bw_config_get: layout is %s", bw_config_get(config, "layout"));
    bw_config_free(config);
    bw_error *error = bw_error_new();
    bw_error_free(error);
    return error == NULL ? BW_NOMEM : BW_OK;
}

static int count_field(void *context, uint32_t sample, const char *key, size_t key_bytes,
                       const void *value, size_t value_bytes)
{
    (void)sample;
    (void)key;
    (void)key_bytes;
    (void)value;
    *(size_t *)context += value_bytes;
    return 0;
}

static bw_status step_samples(scene *w)
{
    bw_samples *samples = bw_samples_new(1 << 16);
    bw_status status = samples == NULL ? BW_NOMEM : BW_OK;
    const void *bytes = NULL;
    size_t size = 0, fields = 0;
    for (int i = 0; status == BW_OK && i < 4; i++) {
        status = bw_samples_begin(samples, w->error);
        for (int k = 0; status == BW_OK && k < 4; k++)
            status = bw_samples_field(samples, k % 2 == 0 ? "a" : "longer", w->url, 20, w->error);
    }
    if (status == BW_OK)
        status = bw_samples_view(samples, &bytes, &size);
    if (status == BW_OK)
        status = bw_samples_read(bytes, size, count_field, &fields, w->error);
    if (status == BW_OK && fields != 4 * 4 * 20)
        scene_wrong(w, "bw_samples_read: %zu bytes", fields);
    bw_samples_free(samples);
    return status;
}

static int count_tensor(void *context, const char *name, size_t name_bytes, const char *dtype,
                        const uint64_t *shape, size_t rank, const void *bytes, size_t size)
{
    (void)name;
    (void)name_bytes;
    (void)dtype;
    (void)shape;
    (void)rank;
    (void)bytes;
    *(size_t *)context += size;
    return 0;
}

/** Two slices of a sequence, each its own half, and the whole that they make. */
static bw_status step_tensors(scene *w)
{
    bw_tensors *parts[2] = {bw_tensors_new(4096), bw_tensors_new(4096)};
    bw_tensors *whole = bw_tensors_new(4096);
    bw_status status = parts[0] == NULL || parts[1] == NULL || whole == NULL ? BW_NOMEM : BW_OK;
    const uint64_t shape[] = {8};
    const void *items[2] = {NULL, NULL}, *bytes = NULL;
    size_t sizes[2] = {0, 0}, size = 0, counted = 0;
    for (int i = 0; status == BW_OK && i < 2; i++) {
        status = bw_tensors_add(parts[i], "x", "U8", shape, 1, "01234567", 8, w->error);
        if (status == BW_OK)
            status = bw_tensors_note(parts[i], "batchweave.axis.x", "0", w->error);
        if (status == BW_OK)
            status = bw_tensors_view(parts[i], &items[i], &sizes[i], w->error);
    }
    if (status == BW_OK)
        status =
            bw_tensors_remap(whole, "headtail", items, sizes, 2, 1, 0, &bytes, &size, w->error);
    if (status == BW_OK)
        status = bw_tensors_read(bytes, size, count_tensor, &counted, w->error);
    if (status == BW_OK && counted != 16)
        scene_wrong(w, "bw_tensors_read: %zu bytes", counted);
    bw_tensors_free(parts[0]);
    bw_tensors_free(parts[1]);
    bw_tensors_free(whole);
    return status;
}

/* ---- handles ---- */

static bw_status need_runtime(scene *w)
{
    if (w->runtime != NULL)
        return BW_OK;
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"threads", "2"}, {"memory", "1MiB"}, {"log", "error"}));
    const bw_status status = bw_runtime_open(config, &w->runtime, w->error);
    bw_config_free(config);
    return status;
}

static bw_status step_init(scene *w)
{
    TRY(need_runtime(w));
    if (w->initialised)
        return BW_OK;
    char dp[16], cp[16];
    (void)snprintf(dp, sizeof dp, "%u", w->shape->dp);
    (void)snprintf(cp, sizeof cp, "%u", w->shape->cp);
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"dp", dp}, {"cp", cp}, {"block_size", "4"},
                 {"tail_cap", w->shape->tail_cap}, {"part_size", w->shape->part_size},
                 {"page_min", "2"}, {"retry_limit", "200ms"}));
    bw_status status = bw_space_init(w->runtime, w->url, config, w->error);
    bw_config_free(config);
    if (status == BW_NOT_EMPTY && w->tried) /* by a try before this one: the opener finishes it */
        status = BW_OK;
    w->tried = true;
    if (status == BW_OK) {
        w->initialised = true;
        if (w->acknowledge != NULL)
            w->acknowledge(w);
    }
    return status;
}

static bw_status need_space(scene *w)
{
    TRY(step_init(w));
    if (w->space != NULL)
        return BW_OK;
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"mode", "write"}, {"retry_limit", "200ms"}));
    const bw_status status =
        bw_space_open(w->runtime, w->url, config, w->timeout_ns, &w->space, w->error);
    bw_config_free(config);
    return status;
}

static bw_status step_open_read(scene *w)
{
    TRY(need_runtime(w));
    if (w->reading != NULL)
        return BW_OK;
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"retry_limit", "200ms"}));
    const bw_status status =
        bw_space_open(w->runtime, w->url, config, w->timeout_ns, &w->reading, w->error);
    bw_config_free(config);
    return status;
}

static void acknowledged(scene *w, uint32_t batches)
{
    if (batches <= w->acknowledged)
        return;
    w->acknowledged = batches;
    if (w->acknowledge != NULL)
        w->acknowledge(w);
}

static bw_status need_producer(scene *w)
{
    TRY(need_space(w));
    if (w->producer != NULL)
        return BW_OK;
    bw_config *config = NULL;
    TRY(SETTINGS(w, &config, {"policy", "naive"}, {"kind", w->shape->kind},
                 {"media_type", "text/plain"}, {"commit_timeout", "500ms"}, {"reopen", "true"},
                 {"compress", w->shape->compress}));
    const bw_status status =
        bw_producer_open(w->space, "p", config, w->timeout_ns, &w->producer, w->error);
    bw_config_free(config);
    TRY(status);
    uint64_t offset = 0;
    const void *state = NULL;
    size_t state_bytes = 0;
    TRY(bw_producer_resume(w->producer, &offset, &state, &state_bytes));
    if (offset % OFFSET_STEP != 0 || offset / OFFSET_STEP > w->shape->batches)
        scene_wrong(w, "resume offset %" PRIu64, offset);
    w->next_batch = (uint32_t)(offset / OFFSET_STEP);
    if (w->next_batch < w->acknowledged)
        scene_wrong(w, "resume at batch %u, but %u were acknowledged", w->next_batch,
                    w->acknowledged);
    if (w->next_batch > 0 && !content_is_state(w->shape, w->next_batch - 1, state, state_bytes))
        scene_wrong(w, "resume state of batch %u is another one", w->next_batch);
    acknowledged(w, w->next_batch);
    return BW_OK;
}

/* ---- producing ---- */

static bw_status build(scene *w, uint32_t number, bw_batch **out)
{
    const scene_shape *shape = w->shape;
    bw_batch *batch = NULL;
    TRY(bw_batch_new(w->producer, shape->items, &batch, w->error));
    bw_status status = BW_OK;
    static const char *const ids[] = {"sample one", "sample two"};
    for (uint32_t i = 0; status == BW_OK && i < shape->dp * shape->cp * shape->items; i++) {
        const uint32_t item = i % shape->items, slice = i / shape->items;
        const uint32_t d = slice / shape->cp, c = slice % shape->cp;
        if (content_is_pad(shape, number, d, c, item)) {
            status = bw_batch_pad(batch, d, c, item, w->error);
            continue;
        }
        size_t size = 0;
        char *text = content_item(shape, number, d, c, item, &size);
        const struct iovec pieces[2] = {{text, 3}, {text + 3, size - 3}};
        status = bw_batch_item(batch, d, c, item, pieces, 2, w->error);
        if (status == BW_OK && item == 0)
            status = bw_batch_samples(batch, d, c, ids, 2, 7, w->error);
    }
    if (status == BW_OK)
        status = bw_batch_meta(batch, number, "{\"a\": 1}", 8, w->error);
    if (status != BW_OK) {
        bw_batch_free(batch);
        return status;
    }
    *out = batch;
    return BW_OK;
}

static bw_status step_batch(scene *w)
{
    TRY(need_producer(w));
    bw_batch *batch = NULL;
    TRY(build(w, 0, &batch));
    bw_batch_free(batch);
    return BW_OK;
}

static bw_status put_up_to(scene *w, uint32_t end)
{
    TRY(need_producer(w));
    while (w->next_batch < end && w->next_batch < w->shape->batches) {
        const uint32_t number = w->next_batch;
        bw_batch *batch = NULL;
        TRY(build(w, number, &batch));
        size_t state_bytes = 0;
        const void *state = content_state(w->shape, number, &state_bytes);
        const bw_status status =
            bw_producer_put(w->producer, batch, (number + 1) * OFFSET_STEP, state, state_bytes,
                            number, w->timeout_ns, w->error);
        if (status != BW_OK) {
            bw_batch_free(batch);
            return status;
        }
        w->next_batch = number + 1;
    }
    return BW_OK;
}

static bw_status step_put(scene *w)
{
    return put_up_to(w, w->shape->batches / 4);
}

static bw_status flush(scene *w, uint32_t end, unsigned flags)
{
    TRY(put_up_to(w, end));
    TRY(bw_producer_flush(w->producer, flags, w->timeout_ns, w->error));
    acknowledged(w, w->next_batch);
    return BW_OK;
}

static bw_status step_flush(scene *w)
{
    return flush(w, w->shape->batches / 4, 0);
}

/* Batch by batch, so that there are many versions. */
static bw_status step_put_flush(scene *w)
{
    TRY(need_producer(w));
    for (uint32_t end = w->next_batch; end + 1 < w->shape->batches; end++)
        TRY(flush(w, end + 1, BW_URGENT));
    return BW_OK;
}

static bw_status step_event(scene *w)
{
    TRY(need_producer(w));
    bw_event *event = NULL;
    bw_status status;
    while ((status = bw_producer_event(w->producer, 0, &event, w->error)) == BW_OK) {
        const uint64_t token = bw_event_token(event);
        if (bw_event_what(event) == BW_EVENT_COMMITTED) {
            acknowledged(w, (uint32_t)token + 1);
            if (bw_event_step(event) != token)
                scene_wrong(w, "batch %" PRIu64 " committed as step %" PRIu64, token,
                            bw_event_step(event));
        }
        bw_event_free(event);
    }
    return status == BW_TIMEOUT ? BW_OK : status;
}

typedef bw_status (*json_call)(scene *w, char *json, size_t cap, size_t *length);

static bw_status json_of(scene *w, json_call call)
{
    char json[8192];
    size_t length = 0;
    TRY(call(w, json, sizeof json, &length));
    if (length < 2 || json[0] != '{' || json[length - 1] != '}')
        scene_wrong(w, "no JSON object: %.80s", json);
    return BW_OK;
}

static bw_status producer_stats_json(scene *w, char *json, size_t cap, size_t *length)
{
    return bw_producer_stats(w->producer, json, cap, length, w->error);
}

static bw_status step_producer_stats(scene *w)
{
    TRY(need_producer(w));
    return json_of(w, producer_stats_json);
}

static bw_status step_finish(scene *w)
{
    TRY(put_up_to(w, w->shape->batches));
    TRY(bw_producer_finish(w->producer, w->timeout_ns, w->error));
    w->finished = true;
    acknowledged(w, w->shape->batches);
    return BW_OK;
}

static bw_status step_producer_close(scene *w)
{
    const bw_status status = bw_producer_close(w->producer, w->timeout_ns, w->error);
    w->producer = NULL; /* always */
    return status;
}

static bw_status step_seal(scene *w)
{
    TRY(need_space(w));
    TRY(bw_space_seal(w->space, BW_SEAL_FORCE, w->timeout_ns, w->error));
    w->sealed = true;
    if (w->acknowledge != NULL)
        w->acknowledge(w);
    return BW_OK;
}

/* ---- consuming ---- */

static bw_status open_consumer(scene *w, const bw_cursor *from)
{
    bw_config *config = NULL;
    TRY(step_open_read(w));
    TRY(SETTINGS(w, &config, {"d", "0"}, {"c", "0"}, {"prefetch", "3"}));
    const bw_status status =
        bw_consumer_open(w->reading, NULL, config, from, w->timeout_ns, &w->consumer, w->error);
    bw_config_free(config);
    return status;
}

static bw_status need_consumer(scene *w)
{
    if (w->consumer != NULL)
        return BW_OK;
    bw_cursor *from = NULL;
    if (w->cursor[0] != '\0')
        TRY(bw_cursor_parse(w->cursor, strlen(w->cursor), &from, w->error));
    const bw_status status = open_consumer(w, from);
    w->next_step = from == NULL ? 0 : bw_cursor_step(from);
    w->next_item = from == NULL ? 0 : bw_cursor_item(from);
    bw_cursor_free(from);
    return status;
}

static bw_status take(scene *w)
{
    bw_item *item = NULL;
    TRY(bw_consumer_next(w->consumer, w->timeout_ns, &item, w->error));
    content_check(w, item, w->next_step, 0, 0, w->next_item);
    bw_item_release(item);
    if (++w->next_item == w->shape->items) {
        w->next_item = 0;
        w->next_step++;
    }
    return BW_OK;
}

static bw_status step_next(scene *w)
{
    TRY(need_consumer(w));
    while (w->next_step < w->shape->batches / 2)
        TRY(take(w));
    return BW_OK;
}

static bw_status step_cursor(scene *w)
{
    TRY(need_consumer(w));
    bw_cursor *cursor = NULL, *again = NULL;
    TRY(bw_consumer_cursor(w->consumer, &cursor, w->error));
    const char *json = bw_cursor_json(cursor);
    if (bw_cursor_step(cursor) != w->next_step || bw_cursor_item(cursor) != w->next_item)
        scene_wrong(w, "cursor at step %" PRIu64 ", not %" PRIu64, bw_cursor_step(cursor),
                    w->next_step);
    bw_status status = bw_cursor_parse(json, strlen(json), &again, w->error);
    if (status == BW_OK && !bw_cursor_equal(cursor, again))
        scene_wrong(w, "a cursor is another one after parsing");
    if (status == BW_OK)
        (void)snprintf(w->cursor, sizeof w->cursor, "%s", json);
    bw_cursor_free(again);
    bw_cursor_free(cursor);
    return status;
}

static bw_status consumer_stats_json(scene *w, char *json, size_t cap, size_t *length)
{
    return bw_consumer_stats(w->consumer, json, cap, length, w->error);
}

static bw_status wait_reason_json(scene *w, char *json, size_t cap, size_t *length)
{
    return bw_consumer_wait_reason(w->consumer, json, cap, length, w->error);
}

static bw_status step_consumer_stats(scene *w)
{
    TRY(need_consumer(w));
    TRY(json_of(w, consumer_stats_json));
    return json_of(w, wait_reason_json);
}

static bw_status step_next_to_end(scene *w)
{
    TRY(need_consumer(w));
    bw_status status;
    while ((status = take(w)) == BW_OK)
        continue;
    if (status == BW_END && w->next_step != w->shape->batches)
        scene_wrong(w, "END at step %" PRIu64, w->next_step);
    return status == BW_END ? BW_OK : status;
}

static bw_status step_consumer_close(scene *w)
{
    bw_consumer_close(w->consumer);
    w->consumer = NULL;
    return BW_OK;
}

static bw_status step_resume(scene *w)
{
    TRY(step_consumer_close(w));
    return step_next_to_end(w);
}

static bw_status step_item(scene *w)
{
    TRY(step_open_read(w));
    bw_item *item = NULL;
    TRY(bw_space_item(w->reading, 1, w->shape->dp - 1, 0, 0, w->timeout_ns, &item, w->error));
    content_check(w, item, 1, w->shape->dp - 1, 0, 0);
    bw_item_release(item);
    return BW_OK;
}

static bw_status step_meta(scene *w)
{
    TRY(step_open_read(w));
    char *json = NULL;
    TRY(bw_space_step_meta(w->reading, 1, w->timeout_ns, &json, w->error));
    if (strstr(json, "sample two") == NULL)
        scene_wrong(w, "no provenance: %.80s", json);
    bw_text_free(json);
    return BW_OK;
}

/* ---- reports ---- */

static int no_line(void *context, const char *json)
{
    (void)context;
    (void)json;
    return 0;
}

static bw_status report(scene *w, bw_space *space, const char *what, const char *name,
                        const char *value)
{
    bw_config *config = NULL;
    char limit[32];
    (void)snprintf(limit, sizeof limit, "%llds", (long long)(w->timeout_ns / SECOND));
    TRY(SETTINGS(w, &config, {"report_timeout", limit}, {name, value}));
    const bw_status status = bw_space_report(space, what, config, no_line, NULL, w->error);
    bw_config_free(config);
    return status;
}

#define REPORT_STEP(name, what, setting_name, value)                                               \
    static bw_status step_##name(scene *w)                                                         \
    {                                                                                              \
        TRY(step_open_read(w));                                                                    \
        return report(w, w->reading, what, setting_name, value);                                   \
    }

REPORT_STEP(info, "info", "first", "0")
REPORT_STEP(steps, "steps", "first", "0")
REPORT_STEP(tail, "tail", "first", "0")
REPORT_STEP(verify, "verify", "deep", "true")
REPORT_STEP(list, "list", "prefix", "")
REPORT_STEP(inspect, "inspect", "key", "genesis")
REPORT_STEP(gc_dry, "gc", "apply", "false")

static bw_status step_gc(scene *w)
{
    TRY(need_space(w));
    return report(w, w->space, "gc", "apply", "true");
}

static bw_status step_close(scene *w)
{
    TRY(step_producer_close(w));
    TRY(step_consumer_close(w));
    bw_space_close(w->reading);
    w->reading = NULL;
    bw_space_close(w->space);
    w->space = NULL;
    bw_runtime_close(w->runtime);
    w->runtime = NULL;
    return BW_OK;
}

const scene_step scene_steps[] = {
    {"bw_config, bw_error", step_config, true},
    {"bw_samples", step_samples, true},
    {"bw_tensors", step_tensors, true},
    {"bw_runtime_open", need_runtime, false},
    {"bw_space_init", step_init, false},
    {"bw_space_open (write)", need_space, false},
    {"bw_producer_open", need_producer, false},
    {"bw_batch", step_batch, true},
    {"bw_producer_put", step_put, false},
    {"bw_producer_flush", step_flush, false},
    {"bw_producer_put, flush (urgent)", step_put_flush, false},
    {"bw_producer_event", step_event, false},
    {"bw_producer_stats", step_producer_stats, true},
    {"bw_producer_finish", step_finish, false},
    {"bw_producer_close", step_producer_close, false},
    {"bw_space_seal", step_seal, false},
    {"bw_space_open (read)", step_open_read, false},
    {"bw_consumer_open", need_consumer, false},
    {"bw_consumer_next", step_next, false},
    {"bw_consumer_cursor", step_cursor, false},
    {"bw_consumer_stats, wait_reason", step_consumer_stats, true},
    {"bw_consumer_next (to END)", step_next_to_end, false},
    {"bw_consumer_close, open (cursor)", step_resume, false},
    {"bw_space_item", step_item, true},
    {"bw_space_step_meta", step_meta, true},
    {"bw_space_report info", step_info, true},
    {"bw_space_report steps", step_steps, true},
    {"bw_space_report tail", step_tail, true},
    {"bw_space_report verify", step_verify, true},
    {"bw_space_report list", step_list, true},
    {"bw_space_report inspect", step_inspect, true},
    {"bw_space_report gc", step_gc_dry, true},
    {"bw_space_report gc (apply)", step_gc, false},
    {"bw_consumer_close", step_consumer_close, false},
    {"bw_space_close, bw_runtime_close", step_close, false},
};
const uint32_t scene_step_count = sizeof scene_steps / sizeof scene_steps[0];
