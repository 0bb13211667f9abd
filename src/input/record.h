// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Records: what a reader of samples gives, whatever its format, and the readers' common shape.
 *
 * A reader goes through the records of one shard, once, in an order that any machine finds again.
 * A place names the next record; a reader that was sent to a place gives the very records that
 * follow it.
 */
#ifndef INPUT_RECORD_H
#define INPUT_RECORD_H

#include "base/buf.h"
#include "input/documents.h"

#include <batchweave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct record_place {
    uint64_t file, at; /* index in the list of files; byte */
    uint64_t index;    /* of the record, where records are counted */
} record_place;

typedef struct record_field {
    size_t key_at, key_bytes, value_at, value_bytes; /* within the record's data */
} record_field;

typedef struct record {
    buf data;
    record_field *fields;
    size_t field_count, field_capacity;
    char *id; /* where it comes from, for people */
    record_place place;
    uint64_t tokens;
} record;

void record_init(record *r, size_t bytes_max);
void record_free(record *r);
/** Begins a field; its value is what is appended to `data` until record_close_field. */
bw_status record_open_field(record *r, const void *key, size_t key_bytes);
void record_close_field(record *r);
/** The whole field. */
bw_status record_add_field(record *r, const char *key, const void *value, size_t value_bytes);
/** NULL: there is none. */
const record_field *record_find(const record *r, const void *key, size_t key_bytes);
bw_status record_set_id(record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct reader_options {
    const documents *files; /* borrowed */
    uint32_t shard, shards;
    uint32_t record_bytes_max;
    int (*tick)(void *context); /* see bytestream */
    void *context;
} reader_options;

typedef struct reader reader;

struct reader {
    /** Goes to a place; what was there before may be gone: BW_INPUT_CHANGED. */
    bw_status (*seek)(reader *r, record_place to, bw_error *error);
    /**
     * The next record into `out`, which was initialised and is empty. BW_END behind the last.
     * BW_INPUT_BAD names file and byte; the reader stands behind what is bad, and goes on with the
     * next call, unless it is broken.
     */
    bw_status (*next)(reader *r, record *out, bw_error *error);
    /** Gives a record of `next` its fields; NULL: it has them. */
    bw_status (*fill)(reader *r, record *out, bw_error *error);
    /** Of the next record. */
    record_place (*place)(const reader *r);
    /** Bytes read and passed over so far: whether the input moves. */
    uint64_t (*bytes)(const reader *r);
    void (*close)(reader *r);
    /** A file could not be read at all: no record is to blame, and none may be passed over. */
    bool broken;
};

/** `input NAME at byte N: what`; BW_INPUT_BAD or another code, which it returns. */
bw_status record_fail(bw_error *error, bw_status code, const document *file, uint64_t at,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
#if defined(__clang_analyzer__) || defined(BW_ANALYZE)
#define record_fail(error, code, ...) error_same(record_fail(error, code, __VA_ARGS__), code)
#endif

#endif
