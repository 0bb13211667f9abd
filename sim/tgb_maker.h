// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** TGBs whose content tells what they are: every item's bytes follow from the TGB's nonce and the
 * item's place. Real frames and footers, made with the codec. */
#ifndef SIM_TGB_MAKER_H
#define SIM_TGB_MAKER_H

#include "codec/manifest.h"
#include "history.h"

/** Fills the contents of `t` (whose identity is set) and the shape of `d`. `side` holds what the
 * shape views: it lives as long as `d`. */
void tgb_make(sim *s, tgb *t, uint64_t part_seed, descriptor *d, buf *side);
/** Are these the bytes of this item? */
bool tgb_item_is(const tgb *t, uint32_t slice, uint32_t item, const uint8_t *bytes, size_t size);
uint64_t tgb_hash(const uint8_t *bytes, size_t size);

#endif
