// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/small.h"

/* Marker and hint are a uuid and a number. */
static bw_status encode_number(object_kind kind, const uint8_t uuid[UUID_BYTES], uint64_t number,
                               buf *out)
{
    const size_t at = object_begin(out, kind);
    buf_put(out, uuid, UUID_BYTES);
    buf_put_u64(out, number);
    object_finish(out, at);
    return buf_status(out);
}

static bw_status decode_number(object_kind kind, view object, uint8_t uuid[UUID_BYTES],
                               uint64_t *number, bw_error *error)
{
    view body;
    BW_TRY(object_open(object, kind, &body, error));
    wire_reader r;
    wire_open(&r, body);
    wire_bytes(&r, uuid, UUID_BYTES);
    *number = wire_u64(&r);
    if (!wire_done(&r))
        return error_set(error, BW_CORRUPT, "%s: the fields do not fit the bytes",
                         object_kind_name(kind));
    return BW_OK;
}

bw_status marker_encode(const uint8_t uuid[UUID_BYTES], uint64_t block, buf *out)
{
    return encode_number(OBJECT_MARKER, uuid, block, out);
}

bw_status marker_decode(view object, uint8_t uuid[UUID_BYTES], uint64_t *block, bw_error *error)
{
    return decode_number(OBJECT_MARKER, object, uuid, block, error);
}

bw_status hint_encode(const uint8_t uuid[UUID_BYTES], uint64_t version, buf *out)
{
    return encode_number(OBJECT_HINT, uuid, version, out);
}

bw_status hint_decode(view object, uint8_t uuid[UUID_BYTES], uint64_t *version, bw_error *error)
{
    return decode_number(OBJECT_HINT, object, uuid, version, error);
}

bw_status state_encode(const uint8_t uuid[UUID_BYTES], uint32_t epoch, uint64_t seq, view state,
                       buf *out)
{
    const size_t at = object_begin(out, OBJECT_STATE);
    buf_put(out, uuid, UUID_BYTES);
    buf_put_u32(out, epoch);
    buf_put_u64(out, seq);
    wire_put_text32(out, state);
    object_finish(out, at);
    return buf_status(out);
}

bw_status state_decode(view object, uint8_t uuid[UUID_BYTES], uint32_t *epoch, uint64_t *seq,
                       view *state, bw_error *error)
{
    view body;
    BW_TRY(object_open(object, OBJECT_STATE, &body, error));
    wire_reader r;
    wire_open(&r, body);
    wire_bytes(&r, uuid, UUID_BYTES);
    *epoch = wire_u32(&r);
    *seq = wire_u64(&r);
    *state = wire_text32(&r);
    if (!wire_done(&r))
        return error_set(error, BW_CORRUPT, "resume state: the fields do not fit the bytes");
    return BW_OK;
}
