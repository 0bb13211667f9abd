// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "outbox.h"

#include "human.h"
#include "signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_NS 500000000ll
#define SECOND_NS 1000000000ll

/** The memory of one batch. Its address is the batch's token. */
struct load {
    load *previous, *next;
    bw_batch *batch; /* until it is put */
    source_item *items;
    size_t count;
    uint64_t bytes;
};

void outbox_begin(outbox *o, cli *c, bw_producer *producer, uint64_t offset)
{
    *o = (outbox){.c = c, .producer = producer, .id = args_text(c, "id"), .offset = offset};
    o->dp = bw_space_dp(c->space);
    o->cp = bw_space_cp(c->space);
    o->items = args_given(c, "items") ? (uint32_t)args_number(c, "items")
                                      : bw_space_items_default(c->space);
    o->began_ns = now_ns();
    pace_begin(&o->bytes_pace, c, 0);
}

static load *load_new(outbox *o)
{
    load *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->items = calloc((size_t)o->dp * o->cp * o->items, sizeof *l->items);
    if (l->items == NULL) {
        free(l);
        return NULL;
    }
    l->next = o->loads;
    if (o->loads != NULL)
        o->loads->previous = l;
    o->loads = l;
    return l;
}

static void load_destroy(load *l)
{
    bw_batch_free(l->batch);
    for (size_t i = 0; i < l->count; i++)
        source_item_free(&l->items[i]);
    free(l->items);
    free(l);
}

/** Takes it out of the list and releases it. */
static void load_free(outbox *o, load *l)
{
    if (l->previous != NULL)
        l->previous->next = l->next;
    else
        o->loads = l->next;
    if (l->next != NULL)
        l->next->previous = l->previous;
    load_destroy(l);
}

/** How much of the input there is still, where that is known. */
static const char *input_left(outbox *o, char out[HUMAN_BYTES])
{
    double done, all;
    out[0] = '\0';
    if (o->from == NULL || !source_extent(o->from, &done, &all))
        return out;
    if (!o->input_moves) /* what an earlier run published took no time of this one */
        pace_begin(&o->input_pace, o->c, done);
    o->input_moves = true;
    return pace_left(&o->input_pace, done, all, out);
}

/** The rate since the last line, how far commits are behind, and how long it takes still. */
static void show_progress(outbox *o)
{
    char rate[HUMAN_BYTES], left[HUMAN_BYTES];
    if (o->bytes_pace.wanted && !o->input_moves)
        (void)input_left(o, left);
    if (!pace_due(&o->bytes_pace))
        return;
    cli_notice("%s: offset %" PRIu64 ", %" PRIu64 " batches committed, %" PRIu64 " behind, %s/s%s",
               o->id, o->offset, o->committed, o->batches - o->committed,
               human_bytes(pace_rate(&o->bytes_pace, (double)o->bytes), rate), input_left(o, left));
}

static void take_event(outbox *o, const bw_event *event)
{
    switch (bw_event_what(event)) {
    case BW_EVENT_RELEASED:
        load_free(o, (load *)(uintptr_t)bw_event_token(event));
        break;
    case BW_EVENT_COMMITTED:
        o->committed++;
        patience_reset(&o->store);
        o->reason[0] = '\0';
        break;
    case BW_EVENT_BLOCKED:
    case BW_EVENT_UNKNOWN:
        snprintf(o->reason, sizeof o->reason, "%s", bw_event_message(event));
        break;
    case BW_EVENT_FENCED:
    case BW_EVENT_FAILED:
        o->ended = true; /* the next call says so */
        break;
    }
}

bw_status outbox_drain(outbox *o)
{
    for (;;) {
        bw_event *event;
        const bw_status status = bw_producer_event(o->producer, 0, &event, o->c->error);
        if (status == BW_TIMEOUT)
            break;
        if (status != BW_OK)
            return status;
        take_event(o, event);
        bw_event_free(event);
    }
    show_progress(o);
    return BW_OK;
}

int outbox_tick(void *context)
{
    outbox *o = context;
    const int64_t limit = o->c->timeout_ns;
    const uint64_t bytes = source_bytes(o->from);
    if (bytes != o->input_bytes)
        patience_reset(&o->input);
    o->input_bytes = bytes;
    patience_tell(&o->input, "the input");
    o->input_late = limit >= 0 && patience_waited(&o->input) >= limit;
    return outbox_drain(o) != BW_OK || signals_seen() != 0 || o->input_late;
}

bw_status outbox_input_status(const outbox *o, bw_status status)
{
    if (status != BW_INTERRUPTED || !o->input_late || signals_seen() != 0)
        return status;
    return cli_fail(o->c, BW_TIMEOUT, "%s: the input gave nothing for %.1f s", o->id,
                    (double)o->c->timeout_ns / SECOND_NS);
}

typedef bw_status (*attempt_fn)(outbox *o, load *l, int64_t timeout_ns);

/** Whether waiting may help: a store that is full, or cannot be reached, gets well again. */
static bool may_pass(bw_status status)
{
    return status != BW_INTERRUPTED &&
           (bw_status_class(status) == BW_CLASS_WAIT || bw_status_class(status) == BW_CLASS_STORE);
}

/** `status` is what the call said that was waited for; what stands in the way says flush. */
static bw_status give_up(outbox *o, bw_status status, const char *why)
{
    cli *c = o->c;
    const bw_status cause = bw_producer_flush(o->producer, 0, 0, c->error);
    const bool known = cause != BW_OK && may_pass(cause);
    cli_fail(c, known ? cause : status, "producer %s: %s", o->id, why);
    if (known)
        cli_add_facts(c, c->error);
    return c->failed;
}

/** Repeats a call that waits for the store, in slices, so that people see why and --timeout counts
 * what stands still. */
static bw_status persist(outbox *o, attempt_fn attempt, load *l)
{
    cli *c = o->c;
    patience_reset(&o->store);
    for (;;) {
        const bw_status status = attempt(o, l, SLICE_NS);
        if (status == BW_OK || !may_pass(status))
            return status;
        char why[256];
        snprintf(why, sizeof why, "%s",
                 o->reason[0] != '\0' ? o->reason : bw_error_message(c->error));
        const bw_status drained = outbox_drain(o);
        if (drained != BW_OK)
            return drained;
        if (o->ended)
            return attempt(o, l, 0); /* its failure again: the events took its message's place */
        patience_tell(&o->store, why);
        if (c->timeout_ns >= 0 && patience_waited(&o->store) >= c->timeout_ns)
            return give_up(o, status, why);
    }
}

static bw_status try_put(outbox *o, load *l, int64_t timeout_ns)
{
    char state[RESUME_BYTES_MAX];
    size_t size;
    resume_encode(&l->items[l->count - 1].behind, state, &size);
    return bw_producer_put(o->producer, l->batch, o->offset + l->count, state, size,
                           (uint64_t)(uintptr_t)l, timeout_ns, o->c->error);
}

static bw_status try_flush(outbox *o, load *l, int64_t timeout_ns)
{
    (void)l;
    return bw_producer_flush(o->producer, BW_URGENT, timeout_ns, o->c->error);
}

static bw_status try_finish(outbox *o, load *l, int64_t timeout_ns)
{
    (void)l;
    return bw_producer_finish(o->producer, timeout_ns, o->c->error);
}

/** Slot k: item ⌊k / slices⌋ of slice k mod slices. */
static bw_status set_slot(outbox *o, load *l, size_t k)
{
    const size_t slices = (size_t)o->dp * o->cp;
    const uint32_t slice = (uint32_t)(k % slices), item = (uint32_t)(k / slices);
    const uint32_t d = slice / o->cp, p = slice % o->cp;
    if (k >= l->count)
        return bw_batch_pad(l->batch, d, p, item, o->c->error);
    const source_item *from = &l->items[k];
    const struct iovec piece = {.iov_base = from->bytes, .iov_len = from->size};
    bw_status status = bw_batch_item(l->batch, d, p, item, &piece, 1, o->c->error);
    if (status == BW_OK && from->id_count > 0)
        status = bw_batch_samples(l->batch, d, p, (const char *const *)from->ids, from->id_count,
                                  from->tokens, o->c->error);
    return status;
}

static bw_status put_load(outbox *o, load *l)
{
    const size_t slots = (size_t)o->dp * o->cp * o->items;
    bw_status status = bw_batch_new(o->producer, o->items, &l->batch, o->c->error);
    for (size_t k = 0; status == BW_OK && k < slots; k++)
        status = set_slot(o, l, k);
    if (status == BW_OK && args_given(o->c, "tag"))
        status = bw_batch_meta(l->batch, args_number(o->c, "tag"), NULL, 0, o->c->error);
    if (status == BW_OK)
        status = persist(o, try_put, l);
    if (status != BW_OK) {
        load_free(o, l);
        return status;
    }
    l->batch = NULL; /* the producer's; the load may be released by the next event */
    o->batches++;
    o->offset += l->count;
    o->filled += l->count;
    o->pads += slots - l->count;
    o->bytes += l->bytes;
    return outbox_drain(o);
}

bw_status outbox_fill(outbox *o, source *s)
{
    load *l = load_new(o);
    if (l == NULL)
        return cli_fail(o->c, BW_NOMEM, "out of memory");
    const size_t slots = (size_t)o->dp * o->cp * o->items;
    bw_status ended = BW_OK;
    while (l->count < slots) {
        patience_reset(&o->input);
        ended = signals_seen() != 0 ? BW_INTERRUPTED
                                    : outbox_input_status(o, source_next(s, &l->items[l->count]));
        if (ended != BW_OK)
            break;
        l->bytes += l->items[l->count].size;
        o->tokens += l->items[l->count].tokens;
        l->count++;
    }
    /* Ctrl-C in a pipeline ends the program that feeds us too: its end is not the end of the input.
     */
    if (ended != BW_OK && signals_seen() != 0)
        ended = BW_INTERRUPTED;
    /* What is not whole is read again by the next start. */
    if (l->count == 0 || ended == BW_INTERRUPTED || ended == BW_TIMEOUT) {
        load_free(o, l);
        return ended;
    }
    if (ended != BW_OK && ended != BW_END)
        cli_keep_failure(o->c, ended);
    const bw_status status = put_load(o, l);
    return status != BW_OK ? status : ended;
}

bw_status outbox_flush(outbox *o)
{
    const bw_status status = persist(o, try_flush, NULL);
    return status == BW_OK ? outbox_drain(o) : status;
}

bw_status outbox_finish(outbox *o)
{
    const bw_status status = persist(o, try_finish, NULL);
    return status == BW_OK ? outbox_drain(o) : status;
}

void outbox_end(outbox *o)
{
    for (load *l = o->loads; l != NULL;) {
        load *next = l->next;
        load_destroy(l);
        l = next;
    }
    o->loads = NULL;
}
