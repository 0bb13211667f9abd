// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The part of a source that reads records: lines of JSON, samples of tar archives, sequences of
 * tokens; --batch of them are an item.
 */
#ifndef CLI_RECORDSOURCE_H
#define CLI_RECORDSOURCE_H

#include "source.h"

typedef struct recordsource recordsource;

/**
 * Lists `patterns`, checks the options, and writes the fingerprint. BW_INVALID, BW_INPUT_BAD. An
 * index of tokens is read whole.
 */
bw_status recordsource_new(cli *c, resume_kind kind, const char *const *patterns, size_t count,
                           uint32_t shard, uint32_t shards, char fingerprint[FINGERPRINT_HEX_BYTES],
                           recordsource **out);
/** See source_split; of tokens. */
bw_status recordsource_split(recordsource *s, uint32_t cp, const char *layout);
/** Goes to the position. */
bw_status recordsource_begin(recordsource *s, const resume *from, source_tick tick, void *context);
/** As source_next; `at` becomes the position behind the item. */
bw_status recordsource_next(recordsource *s, source_item *item, resume *at);
/** See source_extent; `at`: the position. */
bool recordsource_extent(const recordsource *s, const resume *at, double *done, double *all);
uint64_t recordsource_bytes(const recordsource *s);
/** Bad records that were skipped, those of runs before this one included. */
uint64_t recordsource_skipped(const recordsource *s);
void recordsource_free(recordsource *s);

#endif
