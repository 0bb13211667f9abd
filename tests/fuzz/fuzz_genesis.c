// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include "codec/genesis.h"

static bw_status decode(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    return genesis_decode(object, decoded, error);
}

static bw_status encode(const void *decoded, buf *out)
{
    return genesis_encode(decoded, out);
}

static void walk(const void *decoded)
{
    const genesis *g = decoded;
    PROMISE(genesis_slices(g) >= 1 && genesis_slices(g) <= SLICES_MAX);
    PROMISE(genesis_block(g, g->block_size) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case genesis_case = {.decode = decode, .encode = encode, .walk = walk};
    object_try(&genesis_case, data, size);
    return 0;
}
