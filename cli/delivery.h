// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What a rank does with the items of a step: a line of digests, files, counts. One per rank. */
#ifndef CLI_DELIVERY_H
#define CLI_DELIVERY_H

#include "input/itemdigest.h"

#include <batchweave/batchweave.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct delivery {
    bool digest;
    const char *folder; /* of --out, or NULL */
    FILE *line;         /* the digest line that is being written */
    char *line_text;
    size_t line_size;
    uint64_t items, pads, bytes; /* of all steps */
    bool swept;                  /* left temporaries, out of the folder of this step: */
    uint64_t swept_step;
} delivery;

/** An item of the current step. BW_IO, BW_NO_SPACE, BW_NOMEM. */
bw_status delivery_item(delivery *d, const bw_item *item, bw_error *error);
/** Ends the step: the line of JSON, valid until the next item, or NULL without digests. */
const char *delivery_step(delivery *d);
void delivery_end(delivery *d);

#endif
