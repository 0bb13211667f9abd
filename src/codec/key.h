// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Object names (docs/format.md section 3): building and parsing. Pure. */
#ifndef CODEC_KEY_H
#define CODEC_KEY_H

#include "base/hash.h"
#include "codec/wire.h"

#define KEY_MAX 1024u
/** Longest key that we build: data/…/<64>/<10>-<20>-<16>.state */
#define KEY_BYTES 160u
#define NAME_MAX_BYTES 64u

typedef struct object_key {
    char text[KEY_BYTES]; /* NUL-terminated */
} object_key;

/** `[a-z0-9][a-z0-9._-]{0,63}` without `..`. */
bool name_is_valid(view name);

void key_genesis(object_key *key);
void key_hint(object_key *key);
void key_manifest(object_key *key, uint64_t version);
void key_marker(object_key *key, uint64_t block);
void key_segment(object_key *key, uint64_t first, uint64_t last, const hash128 *hash);
void key_page(object_key *key, uint64_t version, uint64_t nonce);
/** Parts and states: an empty key, which no store takes, when memory for the hash ran out. */
void key_part(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce,
              uint32_t part);
void key_state(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce);
void key_probe(object_key *key, uint64_t nonce);

typedef enum key_kind {
    KEY_GENESIS,
    KEY_HINT,
    KEY_MANIFEST,
    KEY_MARKER,
    KEY_SEGMENT,
    KEY_PAGE,
    KEY_PART,
    KEY_STATE,
    KEY_PROBE,
    KEY_TMP,
    KEY_FOREIGN /* not a name of ours */
} key_kind;

typedef struct key_fields {
    key_kind kind;
    /* version of a manifest or page, block, first step of a segment, seq of a part or state */
    uint64_t number;
    uint64_t last;  /* segment */
    hash128 hash;   /* segment */
    uint64_t nonce; /* page, part, state, probe */
    uint32_t epoch; /* part, state */
    uint32_t part;
    view producer; /* part, state: points into `text` */
} key_fields;

/** Exactly the canonical spelling parses (the two hex digits checked); everything else is
 * KEY_FOREIGN. */
void key_parse(view text, key_fields *fields);

#endif
