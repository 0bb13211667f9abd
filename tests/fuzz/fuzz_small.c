// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Marker, hint and state: one target, the magic says which. */
#include "fuzz.h"

#include "codec/small.h"
#include <string.h>

typedef struct small {
    uint8_t uuid[UUID_BYTES];
    uint64_t number;
    uint32_t epoch;
    view state;
} small;

static bw_status decode_marker(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    small *s = decoded;
    return marker_decode(object, s->uuid, &s->number, error);
}

static bw_status encode_marker(const void *decoded, buf *out)
{
    const small *s = decoded;
    return marker_encode(s->uuid, s->number, out);
}

static bw_status decode_hint(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    small *s = decoded;
    return hint_decode(object, s->uuid, &s->number, error);
}

static bw_status encode_hint(const void *decoded, buf *out)
{
    const small *s = decoded;
    return hint_encode(s->uuid, s->number, out);
}

static bw_status decode_state(view object, uint32_t slices, void *decoded, bw_error *error)
{
    (void)slices;
    small *s = decoded;
    return state_decode(object, s->uuid, &s->epoch, &s->number, &s->state, error);
}

static bw_status encode_state(const void *decoded, buf *out)
{
    const small *s = decoded;
    return state_encode(s->uuid, s->epoch, s->number, s->state, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case marker = {.decode = decode_marker, .encode = encode_marker};
    static const object_case hint = {.decode = decode_hint, .encode = encode_hint};
    static const object_case state = {.decode = decode_state, .encode = encode_state};
    if (size >= 4 && memcmp(data, "BWHT", 4) == 0)
        object_try(&hint, data, size);
    else if (size >= 4 && memcmp(data, "BWST", 4) == 0)
        object_try(&state, data, size);
    else
        object_try(&marker, data, size);
    return 0;
}
