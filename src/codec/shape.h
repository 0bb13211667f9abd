// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Rows of a block (docs/format.md 6.1, 6.2): reading, writing, their rules. Inside codec. */
#ifndef CODEC_SHAPE_H
#define CODEC_SHAPE_H

#include "codec/block.h"

#define SHAPE_AT_SIDE 12u
#define BLOCK_HEAD_BYTES 20u

/** Writes the row with side offset `side_at`. */
void shape_store(const shape *s, uint32_t side_at, uint8_t row[SHAPE_BYTES]);
/** Reads a row; `side` of an inline form has a size of 0 still. */
void shape_load(const uint8_t *row, shape *s, uint32_t *side_at);
/** What a row alone must fulfil; NULL, or what is wrong. */
const char *shape_fault(const shape *s);
/** What a row must fulfil in a namespace of `slices` slices. An inline form takes its side bytes
 * from `side`. */
const char *shape_fault_places(shape *s, uint32_t slices, wire_reader *side);

/** For dedupe: over the row, its side offset aside, and the side bytes. */
uint32_t shape_hash(const uint8_t *row, view side);
/** Writes a record's row with these indices. */
void record_store(const record *r, uint16_t id_index, uint16_t shape_index,
                  uint8_t row[RECORD_BYTES]);

#endif
