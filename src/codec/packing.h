// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** packing: items that are stored compressed, one zstd frame each (docs/format.md section 5.2). */
#ifndef CODEC_PACKING_H
#define CODEC_PACKING_H

#include "codec/frame.h"

/* What a reader takes of one item is bounded by what is stored: who sends little, claims little. */
#define PACKED_PLAIN_MAX (1u << 30)
#define PACKED_RATIO_MAX 1024u
#define PACKED_WINDOW_MAX (1u << 23)
#define PACKING_LEVEL_MAX 19u /* the last with a window that small */

typedef struct packer packer;

/** One thread. */
bw_status packer_new(uint32_t level, packer **out);
void packer_free(packer *p);
/** One item of `bytes`, piece after piece. At the end it is one frame, `*packed`, which is the
 * caller's (mem_free), or NULL when it is better stored as it is: no shorter, empty, or beyond what
 * readers allow. BW_NOMEM. */
bw_status packer_begin(packer *p, uint32_t bytes);
void packer_add(packer *p, view piece);
bw_status packer_end(packer *p, uint8_t **packed, uint32_t *packed_bytes);

/** Lengths that a packed item may state; checked before memory is asked for. */
bool packed_lengths_fit(uint32_t stored_bytes, uint32_t plain_bytes);
/** Bytes of the buffer of frame_unpack; 0: no item is packed. */
uint64_t frame_unpacked_bytes(const frame_item *items, uint32_t count);
/** Unpacks the packed items of a verified frame to their `unpacked_at`. BW_CORRUPT: not one zstd
 * frame of the stated length, with a dictionary, or with too large a window. BW_NOMEM. */
bw_status frame_unpack(view frame, const frame_item *items, uint32_t count, uint8_t *out,
                       bw_error *error);

#endif
