// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Packs the documents of one shard, end to end, into sequences of byte-level tokens.
 *
 * Document k belongs to shard k mod n. A sequence is a run of fragments: consecutive pieces of
 * consecutive documents, `seq_len` tokens in all (the last one may be shorter). Nothing is cut
 * away: the fragments of a document tile it; an empty document has no token, so it has no fragment.
 * A reader opened at the position behind any sequence goes on with the very next one.
 *
 * A document that is damaged ends the text: what was read before it comes as a short sequence, then
 * each call gives the error.
 */
#ifndef INPUT_TEXTPACK_H
#define INPUT_TEXTPACK_H

#include "input/documents.h"

#define SEQ_LEN_MAX (1u << 26)

typedef struct text_position {
    uint64_t document; /* index in the sorted list of all documents */
    uint64_t at;       /* byte within it */
} text_position;

typedef struct text_fragment {
    size_t document;
    uint64_t at;
    const uint8_t *bytes;
    size_t size; /* ≥ 1 */
} text_fragment;

typedef struct text_sequence {
    const text_fragment *fragments;
    size_t count;
    size_t tokens;
} text_sequence;

typedef struct textpack textpack;

/**
 * `docs` is borrowed until close. 1 ≤ seq_len ≤ SEQ_LEN_MAX, shard < shards. A position outside the
 * shard's text is BW_INVALID.
 */
bw_status textpack_open(const documents *docs, uint32_t shard, uint32_t shards, size_t seq_len,
                        text_position from, textpack **pack, bw_error *error);
/**
 * The next sequence, valid until the next call. BW_END after the last; BW_INPUT_CHANGED or
 * BW_INPUT_BAD name file and offset.
 */
bw_status textpack_next(textpack *pack, text_sequence *sequence, bw_error *error);
/** Behind the last sequence given. */
text_position textpack_position(const textpack *pack);
void textpack_close(textpack *pack);

#endif
