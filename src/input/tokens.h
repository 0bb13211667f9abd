// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Sequences of tokens, a record each: fields `tokens`, `labels` and, with an index, `positions`:
 * seq_len numbers i32 little-endian each.
 *
 * Sequence k of a file has its tokens from k · seq_len on, and as labels the tokens that follow
 * each: no label is lost between sequences, and a file of n tokens has n − 1 labels. What the last
 * sequence of a file lacks is token 0, label −100 (which trainers ignore) and position 0. Documents
 * of a Megatron pair lie end to end, as its own trainer packs them; `positions` counts from each
 * one's first token. Sequence j of all files is of shard j mod n.
 */
#ifndef INPUT_TOKENS_H
#define INPUT_TOKENS_H

#include "input/record.h"
#include "input/tokenfile.h"

#define TOKENS_IGNORED (-100)

/**
 * `files` as filelist_expand gave them; an entry NAME.idx becomes that of NAME.bin, with its size.
 * Opens and checks all. Close `*out` with its own close.
 */
bw_status tokens_open(documents *files, uint32_t shard, uint32_t shards, size_t seq_len,
                      token_type type, reader **out, bw_error *error);
/** Whether records have `positions`. Files with and without an index do not mix. */
bool tokens_indexed(const reader *r);
/** Sequences of all files, and of all shards. */
uint64_t tokens_sequences(const reader *r);

#endif
