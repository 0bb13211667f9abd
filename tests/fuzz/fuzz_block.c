// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A block without any object around it. The first byte chooses the number of slices. */
#include "base/alloc.h"
#include "block_walk.h"
#include "codec/block.h"
#include "fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t slices[] = {512, 1, 4, 205};
    if (size == 0)
        return 0;
    const view bytes = view_of(data + 1, size - 1);
    block b;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = block_decode(bytes, slices[data[0] % 4], &b, &error);
    PROMISE(meter_peak() <= decode_bytes_max(size));
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT);
        check_told(status, &error);
        return 0;
    }
    block_walk(&b);
    buf out;
    buf_init(&out, SIZE_MAX);
    PROMISE(block_encode(&b, 0, NULL, 0, &out) == BW_OK);
    PROMISE(view_equal(view_of(out.data, out.size), bytes));
    buf_free(&out);
    return 0;
}
