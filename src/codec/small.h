// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The small objects: retirement marker, hint, resume state (docs/format.md section 13). */
#ifndef CODEC_SMALL_H
#define CODEC_SMALL_H

#include "codec/genesis.h"

bw_status marker_encode(const uint8_t uuid[UUID_BYTES], uint64_t block, buf *out);
bw_status marker_decode(view object, uint8_t uuid[UUID_BYTES], uint64_t *block, bw_error *error);
bw_status hint_encode(const uint8_t uuid[UUID_BYTES], uint64_t version, buf *out);
bw_status hint_decode(view object, uint8_t uuid[UUID_BYTES], uint64_t *version, bw_error *error);
bw_status state_encode(const uint8_t uuid[UUID_BYTES], uint32_t epoch, uint64_t seq, view state,
                       buf *out);
bw_status state_decode(view object, uint8_t uuid[UUID_BYTES], uint32_t *epoch, uint64_t *seq,
                       view *state, bw_error *error);

#endif
