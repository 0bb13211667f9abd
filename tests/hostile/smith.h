// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Makes one small, correct namespace in memory, part by part, so that a row of a table can spoil
 * exactly one thing and everything that protects it (lengths, CRCs, hashes, sums) can be made to
 * fit again: what is refused then is refused for its content.
 *
 * Twenty steps of dp × 1 slices by two producers: 0 … 15 in an index segment, 16 and 17 in a
 * segment, 18 and 19 in the tail of manifest 2, the newest.
 */
#ifndef HOSTILE_SMITH_H
#define HOSTILE_SMITH_H

#include "codec/manifest.h"

#define SMITH_STEPS 20u
#define SMITH_TAIL 18u /* first step of the tail */
#define SMITH_SLICES_MAX 640u
#define SMITH_PART_BYTES 65536u
#define SMITH_BLOCK_SIZE 4u

typedef struct smith_object {
    object_key key;
    buf bytes;
} smith_object;

typedef struct smith {
    genesis genesis;
    hash128 genesis_hash;
    manifest m; /* of the newest version; a draft, whose parts are below */
    segment_ref refs[40];
    segment_ref children[INDEX_CHILDREN];
    producer_entry producers[8];
    group groups[GROUPS_MAX + 1];
    pin pins[PINS_MAX + 1];
    page page;
    producer_entry departed[4];
    descriptor steps[SMITH_STEPS];
    buf tail, sides;
    smith_object *objects;
    size_t object_count, object_capacity;
} smith;

/** More than 512 positions make every second step of the footer form. */
void smith_init(smith *s, uint32_t dp);
void smith_free(smith *s);
/** The object `key`; made empty when there is none. Valid until another one is made. */
buf *smith_object_at(smith *s, const char *key);
void smith_remove(smith *s, const char *key);
/** Writes `m` as the object of its version. */
void smith_publish(smith *s);
/** Encodes steps [SMITH_TAIL, SMITH_STEPS) as the tail of `m` again, and its sum. */
void smith_tail(smith *s);
/** A page of `departed`, and the reference of `m` to it. */
void smith_page(smith *s);
/** Writes every object as a file below `directory`, which exists. */
void smith_write(const smith *s, const char *directory);
/** Makes the directories above `path`. */
void smith_parents(char *path);
/** Key of a part of a step. */
void smith_part_key(const smith *s, uint32_t step, uint32_t part, object_key *key);

/** Sets the body's length and the CRC of an object that was changed. */
void reseal(buf *object);
/** The same for head and items of a frame. */
void reseal_frame(buf *frame);
/** Little-endian values at a place. */
void put8(buf *b, size_t at, unsigned value);
void put16(buf *b, size_t at, unsigned value);
void put32(buf *b, size_t at, uint32_t value);
void put64(buf *b, size_t at, uint64_t value);
/** Adds bytes of zero, or takes bytes away, at the place. */
void grow(buf *b, size_t at, size_t bytes);
void cut(buf *b, size_t at, size_t bytes);
/** Aborts the test program: what must not fail here is not what is tested. */
void must(bool good, const char *what);

#endif
