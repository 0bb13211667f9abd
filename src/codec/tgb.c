// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/tgb.h"

bw_status tgb_pack(const uint64_t *lengths, uint32_t slices, uint64_t part_bytes,
                   uint64_t footer_bytes, place *places, tgb_extent *extent)
{
    uint32_t part = 0;
    uint64_t at = 0;
    uint64_t full = 0; /* bytes of the parts before this one */
    for (uint32_t i = 0; i < slices; i++) {
        if (lengths[i] > SLICE_BYTES_MAX)
            return BW_TOO_LARGE;
        uint64_t start = align64(at);
        if (start > 0 && start + lengths[i] > part_bytes) {
            full += at;
            part++;
            start = 0;
        }
        if (places != NULL)
            places[i] = (place){part, start, lengths[i]};
        at = start + lengths[i];
    }
    const uint64_t footer_offset = align64(at);
    if (footer_bytes > object_bytes_max(OBJECT_FOOTER) || part >= PARTS_MAX ||
        full + footer_offset + footer_bytes > TGB_BYTES_MAX)
        return BW_TOO_LARGE;
    *extent = (tgb_extent){part + 1, footer_offset, full + footer_offset + footer_bytes};
    return BW_OK;
}

void tgb_place_uniform(uint64_t length, uint64_t part_bytes, uint32_t slice, place *out)
{
    /* A slice longer than a part stands alone in its part. */
    const uint64_t stride = align64(length);
    const uint64_t per_part =
        length == 0 || length > part_bytes ? 1 : (part_bytes - length) / stride + 1;
    out->part = (uint32_t)(slice / per_part);
    out->offset = slice % per_part * stride;
    out->bytes = length;
}
