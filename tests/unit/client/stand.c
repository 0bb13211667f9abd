// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE (20 * NS_PER_S)

void stand_expect(stand *s, bw_status status, bw_status expected)
{
    if (status != expected)
        fail_msg("%s where %s was expected: %s", bw_status_name(status), bw_status_name(expected),
                 s->error.message);
}

static space_options options_of(bool impatient)
{
    return (space_options){
        .writable = true, .durable = false, .retry_limit_ns = impatient ? 0 : 30 * NS_PER_S};
}

bw_status stand_try_space(stand *s, const char *rules, bool impatient, bw_space **space)
{
    store *plain = NULL, *faulty = NULL;
    const space_options options = options_of(impatient);
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, store_fault_wrap(plain, rules, &faulty, &s->error), BW_OK);
    return space_open_on(s->runtime, faulty, "mem", &options, PATIENCE, space, &s->error);
}

bw_space *stand_space(stand *s, const char *rules, bool impatient)
{
    bw_space *space = NULL;
    stand_expect(s, stand_try_space(s, rules, impatient, &space), BW_OK);
    return space;
}

bw_status stand_init_at(bw_runtime *runtime, const char *url, const space_options *options,
                        const genesis *draft, bw_error *error)
{
    store *s = NULL;
    BW_TRY(store_open_url(url, true, options->durable, &s, error));
    return space_init_on(runtime, s, options, draft, error);
}

bw_status stand_open_at(bw_runtime *runtime, const char *url, const space_options *options,
                        int64_t timeout_ns, bw_space **space, bw_error *error)
{
    store *s = NULL;
    BW_TRY(store_open_url(url, options->writable, options->durable, &s, error));
    return space_open_on(runtime, s, url, options, timeout_ns, space, error);
}

bw_space *stand_resume(stand *s, const resume_point *from)
{
    bw_space *space = NULL;
    store *plain = NULL;
    space_options options = options_of(false);
    options.writable = false; /* no probe is counted */
    options.from = *from;
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, space_open_on(s->runtime, plain, "mem", &options, PATIENCE, &space, &s->error),
                 BW_OK);
    return space;
}

void stand_open(stand *s, uint32_t dp, const char *rules, bool impatient)
{
    memset(s, 0, sizeof *s);
    s->commit_timeout_ns = 300 * NS_PER_MS;
    const runtime_options options = {
        .threads = 4, .memory_bytes = 64u << 20, .log = LOG_LEVEL_ERROR};
    const genesis g = {
        .dp = dp,
        .cp = 1,
        .items_default = 1,
        .block_size = 4,
        .tail_cap = 256,
        .part_bytes = 4096,
        .page_min = 2,
        .schema = view_text(""),
    };
    const space_options writing = options_of(false);
    store *plain = NULL;
    assert_int_equal(mem_space_new(&s->contents), BW_OK);
    stand_expect(s, runtime_open(&options, &s->runtime, &s->error), BW_OK);
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, space_init_on(s->runtime, plain, &writing, &g, &s->error), BW_OK);
    s->space = stand_space(s, rules, impatient);
}

void stand_close(stand *s)
{
    space_close(s->space);
    runtime_close(s->runtime);
    mem_space_free(s->contents);
}

bw_producer *stand_producer(stand *s, bw_space *space, const char *id, const char *policy)
{
    producer_options options = {
        .kind = ITEM_RAW,
        .commit_timeout_ns = s->commit_timeout_ns,
        .zstd_level = s->zstd_level,
        .staged_bytes_max = 1u << 20,
        .staged_batches_max = 64,
        .events_max = 1000,
    };
    bw_producer *p = NULL;
    stand_expect(s, cadence_parse(policy, &options.cadence, &s->error), BW_OK);
    stand_expect(s, producer_open(space, id, &options, PATIENCE, &p, &s->error), BW_OK);
    return p;
}

bw_status stand_try_put(stand *s, bw_producer *p, const char *text, uint64_t end_offset,
                        int64_t timeout_ns)
{
    bw_batch *b = NULL;
    const struct iovec piece = {(void *)(uintptr_t)text, strlen(text)};
    stand_expect(s, batch_new(p, 1, &b, &s->error), BW_OK);
    for (uint32_t d = 0; d < s->space->genesis->dp; d++)
        stand_expect(s, batch_set_item(b, d, 0, 0, &piece, 1, &s->error), BW_OK);
    const bw_status status =
        producer_put(p, b, end_offset, view_text("at"), end_offset, timeout_ns, &s->error);
    if (status != BW_OK)
        batch_free(b);
    return status;
}

void stand_put(stand *s, bw_producer *p, const char *text, uint64_t end_offset)
{
    stand_expect(s, stand_try_put(s, p, text, end_offset, PATIENCE), BW_OK);
}

bw_consumer *stand_consumer(stand *s, bw_space *space, uint32_t d)
{
    const consumer_options options = {
        .has_position = true,
        .d = d,
        .tp = 1,
        .pp = 1,
        .start = START_EARLIEST,
        .prefetch = 4,
        .verify = true,
    };
    bw_consumer *c = NULL;
    stand_expect(s, consumer_open(space, &options, NULL, PATIENCE, &c, &s->error), BW_OK);
    return c;
}

void stand_take(stand *s, bw_consumer *c, const char *text)
{
    bw_item *item = NULL;
    stand_expect(s, consumer_next(c, PATIENCE, &item, &s->error), BW_OK);
    const frame_item *row = &item->owner->frames[item->index];
    assert_int_equal(row->plain_bytes, strlen(text));
    assert_memory_equal(item->data, text, row->plain_bytes);
    item_release(item);
}

uint64_t stand_await(stand *s, bw_producer *p, bw_event_kind kind, char *message)
{
    for (;;) {
        bw_event *e = NULL;
        stand_expect(s, producer_event(p, PATIENCE, &e, &s->error), BW_OK);
        const bool found = e->kind == kind;
        const uint64_t token = e->token;
        if (found && message != NULL)
            (void)snprintf(message, EVENT_MESSAGE_MAX + 1, "%s", e->message);
        event_free(e);
        if (found)
            return token;
    }
}
