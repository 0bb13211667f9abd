// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Batches on their way: fills them from a source, puts them, keeps their memory until it is
 * released, takes the producer's events, and tells people how it goes. One thread.
 */
#ifndef CLI_OUTBOX_H
#define CLI_OUTBOX_H

#include "pace.h"
#include "patience.h"
#include "source.h"

typedef struct load load;

typedef struct outbox {
    cli *c;
    bw_producer *producer;
    const char *id;
    uint32_t dp, cp, items;
    uint64_t offset; /* behind the last batch that was put */
    load *loads;     /* in flight */
    uint64_t batches, committed, filled, pads, bytes, tokens;
    int64_t began_ns;
    pace bytes_pace, input_pace;
    bool input_moves; /* the second one has begun */
    patience store, input;
    const source *from;   /* what is waited for in outbox_tick */
    uint64_t input_bytes; /* of it, when the tick looked last */
    bool input_late;      /* it gave nothing for --timeout */
    char reason[256];     /* the newest event that says what holds the producer up */
    bool ended;           /* an event said that the producer is finished: nothing passes any more */
} outbox;

void outbox_begin(outbox *o, cli *c, bw_producer *producer, uint64_t offset);
/**
 * One batch: slots item-major, the rest pads when the source ends within it. BW_OK: there is more.
 * Else why the source ended (BW_END, a failure of the input); what came before is put.
 */
bw_status outbox_fill(outbox *o, source *s);
/** Everything put is on the chain for good. */
bw_status outbox_flush(outbox *o);
bw_status outbox_finish(outbox *o);
/** Takes the events that are there. */
bw_status outbox_drain(outbox *o);
/** A source_tick: takes events, tells what is waited for; non-zero when a signal came, or when
 * nothing came for --timeout. `context` is the outbox. */
int outbox_tick(void *context);
/** A wait for the input that outbox_tick ended is BW_TIMEOUT when the input was late; any other
 * status is returned as it is. */
bw_status outbox_input_status(const outbox *o, bw_status status);
/** After the producer is closed: releases all memory. */
void outbox_end(outbox *o);

#endif
