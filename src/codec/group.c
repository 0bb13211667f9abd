// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Groups and their pins (docs/format.md section 11). */
#include "codec/parts.h"

#include "base/alloc.h"
#include <string.h>

#define GROUP_PINNED 1u

void group_encode(const group *g, buf *out)
{
    wire_put_text8(out, g->name);
    wire_put_text8(out, g->launch);
    buf_put_u64(out, g->launch_number);
    buf_put_u8(out, g->pinned ? GROUP_PINNED : 0);
    buf_put_u64(out, g->hold);
    buf_put(out, g->cursor_hash.bytes, HASH_BYTES);
    buf_put_u64(out, g->last_version);
    buf_put_u64(out, g->last_clock_ms);
    if (g->pin_count > PINS_MAX && out->failed == BW_OK)
        out->failed = BW_TOO_LARGE;
    buf_put_u8(out, (uint8_t)g->pin_count);
    for (uint32_t i = 0; i < g->pin_count; i++) {
        const pin *p = &g->pins[i];
        wire_put_text8(out, p->id);
        buf_put_u64(out, p->nonce);
        buf_put_u64(out, p->step);
        buf_put_u32(out, p->item);
        buf_put(out, p->cursor_hash.bytes, HASH_BYTES);
    }
}

static void read_pin(wire_reader *r, pin *p)
{
    p->id = wire_text8(r);
    p->nonce = wire_u64(r);
    p->step = wire_u64(r);
    p->item = wire_u32(r);
    wire_bytes(r, p->cursor_hash.bytes, HASH_BYTES);
    r->failed |= p->id.size == 0 || p->id.size > PIN_ID_MAX;
}

/* Everything but the pins, which follow. */
static void read_group_head(wire_reader *r, group *g)
{
    memset(g, 0, sizeof *g);
    g->name = wire_text8(r);
    g->launch = wire_text8(r);
    g->launch_number = wire_u64(r);
    const uint8_t flags = wire_u8(r);
    g->pinned = (flags & GROUP_PINNED) != 0;
    g->hold = wire_u64(r);
    wire_bytes(r, g->cursor_hash.bytes, HASH_BYTES);
    g->last_version = wire_u64(r);
    g->last_clock_ms = wire_u64(r);
    g->pin_count = wire_u8(r);
    r->failed |= !name_is_valid(g->name) || g->launch.size == 0 || g->launch.size > LAUNCH_MAX ||
                 g->launch_number == 0 || (flags & ~GROUP_PINNED) != 0 || g->pin_count > PINS_MAX;
}

/* Reads a group; its pins go to `pins`, which has room for PINS_MAX (NULL: they are only counted).
 * */
static void read_group(wire_reader *r, const manifest *m, group *g, pin *pins)
{
    read_group_head(r, g);
    r->failed |= g->hold < m->trim || g->hold > m->next;
    pin before = {.nonce = 0}, one = {.nonce = 0};
    for (uint32_t i = 0; i < g->pin_count && !r->failed; i++) {
        read_pin(r, &one);
        r->failed |= one.step < m->trim || one.step > m->next ||
                     (i > 0 && view_compare(before.id, one.id) >= 0);
        before = one;
        if (pins != NULL)
            pins[i] = one;
    }
    g->pins = pins;
}

bw_status groups_read(wire_reader *r, manifest *m, bw_error *error)
{
    const uint32_t count = wire_u32(r);
    if (r->failed || count > GROUPS_MAX || count > wire_left(r) / GROUP_BYTES_MIN)
        return error_set(error, BW_CORRUPT, "manifest: %u groups in %zu bytes", count,
                         wire_left(r));
    m->groups = mem_array(count, sizeof *m->groups);
    if (m->groups == NULL)
        return error_set(error, BW_NOMEM, "manifest: no memory for %u groups", count);
    /* Twice over the same bytes: all pins live in one array, whose size the first pass gives. */
    wire_reader first_pass = *r;
    uint32_t pin_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        read_group(&first_pass, m, &m->groups[i], NULL);
        if (first_pass.failed ||
            (i > 0 && view_compare(m->groups[i - 1].name, m->groups[i].name) >= 0))
            return error_set(error, BW_CORRUPT, "manifest: group %u breaks the format", i);
        pin_count += m->groups[i].pin_count;
    }
    m->pin_storage = mem_array(pin_count, sizeof *m->pin_storage);
    if (m->pin_storage == NULL)
        return error_set(error, BW_NOMEM, "manifest: no memory for %u pins", pin_count);
    pin *next = m->pin_storage;
    for (uint32_t i = 0; i < count; i++) {
        read_group(r, m, &m->groups[i], next);
        next += m->groups[i].pin_count;
    }
    m->group_count = count;
    return BW_OK;
}

/* The lowest or the highest of what a group keeps; a pin rather than the hold that it moved up. */
static keeper extreme(const group *g, bool highest)
{
    keeper k = {.group = g, .step = g->hold};
    for (uint32_t i = 0; i < g->pin_count; i++) {
        const uint64_t step = g->pins[i].step;
        if (highest ? step >= k.step : step <= k.step)
            k = (keeper){.group = g, .pin = &g->pins[i], .step = step};
    }
    return k;
}

static bool least(const manifest *m, bool highest, keeper *k)
{
    for (uint32_t i = 0; i < m->group_count; i++) {
        const keeper of_group = extreme(&m->groups[i], highest);
        if (i == 0 || of_group.step < k->step)
            *k = of_group;
    }
    return m->group_count > 0;
}

bool manifest_w_keeper(const manifest *m, keeper *k)
{
    return least(m, false, k);
}

bool manifest_frontier_keeper(const manifest *m, keeper *k)
{
    return least(m, true, k);
}

uint64_t manifest_w(const manifest *m)
{
    keeper k;
    return manifest_w_keeper(m, &k) ? k.step : m->trim;
}

uint64_t manifest_frontier(const manifest *m)
{
    keeper k;
    return manifest_frontier_keeper(m, &k) ? k.step : m->next;
}
