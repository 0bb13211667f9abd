// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/itemdigest.h"

#include "base/sha256.h"

bw_status item_digest(const void *bytes, size_t size, char hex[ITEM_DIGEST_BYTES])
{
    sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, bytes, size);
    return sha256_end_hex(&hash, hex);
}
