// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The resume state of the command line's producers, which any program may have written. */
#include "fuzz.h"
#include "input/resume_state.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    resume state;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = resume_decode(data, size, &state, &error);
    PROMISE(meter_peak() == 0);
    if (status != BW_OK) {
        PROMISE(status == BW_INPUT_CHANGED);
        check_told(status, &error);
        return 0;
    }
    char text[RESUME_BYTES_MAX];
    size_t text_bytes;
    resume_encode(&state, text, &text_bytes);
    PROMISE(text_bytes == size && memcmp(text, data, size) == 0);
    return 0;
}
