// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "payload/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    samples_reader r;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = samples_open(&r, data, size, &error);
    PROMISE(meter_peak() == 0);
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT);
        check_told(status, &error);
        return 0;
    }
    samples_reader hasty = r;
    samples_builder b;
    buf out;
    buf_init(&out, SIZE_MAX);
    samples_begin(&b, &out);
    uint32_t samples = 0;
    while (samples_next(&r)) {
        samples_add(&b);
        samples++;
        sample_field f;
        while (samples_next_field(&r, &f)) {
            PROMISE(f.key >= data && f.value + f.value_bytes <= data + size);
            samples_add_field(&b, f.key, f.key_bytes, f.value, f.value_bytes);
        }
    }
    PROMISE(samples == r.samples && r.at == r.end);
    PROMISE(samples_end(&b) == BW_OK);
    PROMISE(view_equal(view_of(out.data, out.size), view_of(data, size)));
    buf_free(&out);
    /* Without looking at the fields. */
    while (samples_next(&hasty))
        samples--;
    PROMISE(samples == 0);
    return 0;
}
