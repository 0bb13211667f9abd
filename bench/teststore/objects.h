// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The objects that the server holds: immutable blobs under ordered names, and the journal of
 * everything that ever happened to a name. All of it under one lock; any thread.
 *
 * A name is never forgotten, only emptied: a stale LIST can show what is gone, and the journal
 * points at names instead of copying them.
 */
#ifndef TESTSTORE_OBJECTS_H
#define TESTSTORE_OBJECTS_H

#include "base/buf.h"
#include "base/hash.h"
#include "failures.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of an object or of a request; shared, freed with the last reference. */
typedef struct blob {
    atomic_uint references;
    uint32_t crc32c;
    hash128 digest; /* zero unless digests were asked for */
    size_t size;
    uint8_t *bytes; /* within the same allocation */
} blob;

/** One reference; the bytes are the caller's to fill. */
blob *blob_new(size_t size);
blob *blob_keep(blob *b);
void blob_drop(blob *b); /* NULL does nothing */
/** When the bytes are complete: their checksum and, if asked for, their digest. */
void blob_seal(blob *b, bool digest);

/** What an object is at one moment; `bytes` is a reference (blob_drop). */
typedef struct object {
    blob *bytes;
    uint64_t version; /* of this content of this name; unique, ascending; the journal's number */
    int64_t stored_ms;
} object;

typedef enum condition_kind { IF_ANY, IF_ABSENT, IF_VERSION } condition_kind;

/** By which way a write was applied (docs: faults). */
typedef enum applied { APPLIED_ONCE, APPLIED_LATE, APPLIED_AGAIN, APPLIED_RACY } applied;

typedef struct change {
    const char *container, *key;
    condition_kind condition;
    uint64_t version; /* of IF_VERSION */
    uint64_t request; /* id of the request that asked for it */
    applied how;
} change;

typedef struct objects objects;

objects *objects_new(uint64_t bytes_max, uint64_t journal_max);
void objects_free(objects *o);
/** Forgets every object and the journal; containers stay. */
void objects_reset(objects *o);

failure objects_add_container(objects *o, const char *container);
bool objects_has_container(objects *o, const char *container);
failure objects_get(objects *o, const char *container, const char *key, object *out);
/** Takes a reference of its own to `bytes`. On success `out` is the new object, without one. */
failure objects_put(objects *o, const change *c, blob *bytes, object *out);
failure objects_delete(objects *o, const change *c);

typedef struct list_query {
    const char *container, *prefix;
    const char *after; /* names greater than this; "" for all */
    const char *from;  /* names not less than this; "" for all */
    size_t max;
    int64_t stale_ns; /* as things were so long ago */
    bool unordered;
    size_t repeat; /* so many names of this page come again on the next */
    uint64_t seed; /* of the disorder */
} list_query;

typedef struct list_entry {
    char *key; /* the listing's own */
    uint64_t size, version;
    uint32_t crc32c;
    int64_t stored_ms;
} list_entry;

typedef struct listing {
    list_entry *entries;
    size_t count, capacity;
    const char *next; /* list after this for more; NULL at the end */
} listing;

failure objects_list(objects *o, const list_query *q, listing *out);
void listing_free(listing *l);

/** Lines of JSON from the journal, entries numbered `after` + 1 and on, at most `max`. */
void objects_journal(objects *o, uint64_t after, size_t max, buf *out);

typedef struct objects_totals {
    uint64_t objects, bytes, journaled, journal_lost;
} objects_totals;
void objects_count(objects *o, objects_totals *totals);

#endif
