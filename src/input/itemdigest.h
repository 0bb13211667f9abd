// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The digest of an item that people compare. */
#ifndef INPUT_ITEMDIGEST_H
#define INPUT_ITEMDIGEST_H

#include <batchweave/status.h>
#include <stddef.h>

#define ITEM_DIGEST_BYTES 65u /* with NUL */

/** SHA-256 in lower-case hex. BW_OK or BW_NOMEM. */
bw_status item_digest(const void *bytes, size_t size, char hex[ITEM_DIGEST_BYTES]);

#endif
