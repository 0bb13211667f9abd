// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/wire.h"

#include <string.h>

bool view_equal(view a, view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int view_compare(view a, view b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    if (order != 0)
        return order;
    return a.size < b.size ? -1 : a.size > b.size;
}

void wire_open(wire_reader *r, view bytes)
{
    /* An empty view may have no address, and NULL + 0 is not defined. */
    static const uint8_t nothing = 0;
    r->at = bytes.size > 0 ? bytes.data : &nothing;
    r->end = r->at + bytes.size;
    r->failed = false;
}

/* The next `size` bytes, or NULL and nothing more from here on. */
static const uint8_t *take(wire_reader *r, size_t size)
{
    if (size > (size_t)(r->end - r->at)) {
        r->failed = true;
        r->at = r->end;
        return NULL;
    }
    const uint8_t *at = r->at;
    r->at += size;
    return at;
}

uint8_t wire_u8(wire_reader *r)
{
    const uint8_t *at = take(r, 1);
    return at != NULL ? *at : 0;
}

uint16_t wire_u16(wire_reader *r)
{
    const uint8_t *at = take(r, 2);
    return at != NULL ? load_u16(at) : 0;
}

uint32_t wire_u32(wire_reader *r)
{
    const uint8_t *at = take(r, 4);
    return at != NULL ? load_u32(at) : 0;
}

uint64_t wire_u64(wire_reader *r)
{
    const uint8_t *at = take(r, 8);
    return at != NULL ? load_u64(at) : 0;
}

void wire_bytes(wire_reader *r, void *out, size_t size)
{
    const uint8_t *at = take(r, size);
    if (at != NULL)
        memcpy(out, at, size);
    else
        memset(out, 0, size);
}

view wire_view(wire_reader *r, size_t size)
{
    const uint8_t *at = take(r, size);
    return view_of(at, at != NULL ? size : 0);
}

view wire_text8(wire_reader *r)
{
    return wire_view(r, wire_u8(r));
}

view wire_text16(wire_reader *r)
{
    return wire_view(r, wire_u16(r));
}

view wire_text32(wire_reader *r)
{
    return wire_view(r, wire_u32(r));
}

uint64_t wire_leb(wire_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *at = take(r, 1);
        if (at == NULL)
            return 0;
        const uint64_t bits = *at & 0x7f;
        const bool last = (*at & 0x80) == 0;
        /* The tenth byte holds one bit; a last byte of zero says what one byte fewer says. */
        if ((shift == 63 && bits > 1) || (last && bits == 0 && shift > 0))
            break;
        value |= bits << shift;
        if (last)
            return value;
    }
    r->failed = true;
    return 0;
}

void wire_zero(wire_reader *r, size_t size)
{
    const uint8_t *at = take(r, size);
    if (at == NULL)
        return;
    for (size_t i = 0; i < size; i++)
        r->failed |= at[i] != 0;
}

size_t wire_left(const wire_reader *r)
{
    return (size_t)(r->end - r->at);
}

bool wire_done(const wire_reader *r)
{
    return !r->failed && r->at == r->end;
}

static bool fits(buf *out, view text, size_t most)
{
    if (text.size <= most)
        return true;
    if (out->failed == BW_OK)
        out->failed = BW_TOO_LARGE;
    return false;
}

void wire_put_text8(buf *out, view text)
{
    if (!fits(out, text, UINT8_MAX))
        return;
    buf_put_u8(out, (uint8_t)text.size);
    buf_put(out, text.data, text.size);
}

void wire_put_text16(buf *out, view text)
{
    if (!fits(out, text, UINT16_MAX))
        return;
    buf_put_u16(out, (uint16_t)text.size);
    buf_put(out, text.data, text.size);
}

void wire_put_text32(buf *out, view text)
{
    if (!fits(out, text, UINT32_MAX))
        return;
    buf_put_u32(out, (uint32_t)text.size);
    buf_put(out, text.data, text.size);
}

void wire_put_leb(buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_put_u8(out, (uint8_t)(value | 0x80));
    buf_put_u8(out, (uint8_t)value);
}

size_t wire_leb_bytes(uint64_t value)
{
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7)
        bytes++;
    return bytes;
}
