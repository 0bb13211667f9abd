// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** fetch: single reads without a consumer, each from a manifest proved newest for it. */
#ifndef CLIENT_FETCH_H
#define CLIENT_FETCH_H

#include "client/slice.h"
#include "client/space.h"

/** One verified item; release with item_release. */
bw_status fetch_item(bw_space *space, uint64_t step, position p, uint32_t item, int64_t timeout_ns,
                     bw_item **out, bw_error *error);
/** What a step's footer says beside lengths, as JSON (docs/reports.md); release with mem_free. */
bw_status fetch_meta(bw_space *space, uint64_t step, int64_t timeout_ns, char **json,
                     bw_error *error);

/** The footer of a step: reads and decodes it, checks that it is this batch's. `object` (mem_free)
 * must outlive `f` (footer_free). */
bw_status fetch_footer(const genesis *g, store *s, const step_entry *entry, uint8_t **object,
                       footer *f, bw_error *error);

#endif
