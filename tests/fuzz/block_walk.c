// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "block_walk.h"

#include "base/alloc.h"
#include "codec/key.h"
#include "fuzz.h"

#define PART_BYTES ((uint64_t)1 << 20)

/* The place that is computed from the form equals the one that packing all lengths gives. */
static void check_places(const block *b, const shape *s)
{
    uint64_t *lengths = mem_array(b->slices, sizeof *lengths);
    place *places = mem_array(b->slices, sizeof *places);
    PROMISE(lengths != NULL && places != NULL);
    wire_reader side;
    wire_open(&side, s->side);
    for (uint32_t i = 0; i < b->slices; i++)
        lengths[i] = s->form == FORM_INLINE ? wire_leb(&side) : s->uniform;
    PROMISE(s->form != FORM_INLINE || wire_done(&side));
    tgb_extent extent;
    const bw_status packed =
        tgb_pack(lengths, b->slices, PART_BYTES, s->footer_bytes, places, &extent);
    const uint32_t wanted[] = {0, b->slices / 2, b->slices - 1};
    for (size_t i = 0; packed == BW_OK && i < sizeof wanted / sizeof wanted[0]; i++) {
        place found;
        PROMISE(shape_place(s, b->slices, PART_BYTES, wanted[i], &found) == BW_OK);
        const place *expected = &places[wanted[i]];
        PROMISE(found.part == expected->part && found.offset == expected->offset &&
                found.bytes == expected->bytes);
    }
    place behind;
    PROMISE(shape_footer(s, b->slices, PART_BYTES, &behind) == BW_OK);
    PROMISE(packed != BW_OK || behind.offset == extent.footer_offset);
    buf again_side;
    buf_init(&again_side, INLINE_BYTES_MAX);
    shape again = *s;
    PROMISE(shape_places(&again, lengths, b->slices, &again_side) == BW_OK);
    PROMISE(again.form == s->form && again.uniform == s->uniform &&
            view_equal(again.side, s->side));
    buf_free(&again_side);
    mem_free(places);
    mem_free(lengths);
}

static void check_shape(const block *b, uint32_t i)
{
    shape s;
    block_shape(b, i, &s);
    place out;
    PROMISE(shape_place(&s, b->slices, PART_BYTES, b->slices, &out) == BW_INVALID);
    if (s.form != FORM_FOOTER) {
        check_places(b, &s);
        return;
    }
    PROMISE(shape_place(&s, b->slices, PART_BYTES, 0, &out) == BW_UNSUPPORTED);
    PROMISE(shape_footer(&s, b->slices, PART_BYTES, &out) == BW_OK);
    PROMISE(out.offset == s.uniform && out.bytes == s.footer_bytes);
}

/* The second half on its own, then the first half again with what follows as descriptors: both
 * ways to write the same block. */
static void check_halves(const block *b)
{
    const uint32_t half = b->records / 2;
    descriptor *later = mem_array(b->records - half, sizeof *later);
    PROMISE(later != NULL);
    for (uint32_t k = half; k < b->records; k++)
        block_descriptor(b, k, &later[k - half]);
    buf from_base, from_descriptors;
    buf_init(&from_base, SIZE_MAX);
    buf_init(&from_descriptors, SIZE_MAX);
    PROMISE(block_encode(b, half, NULL, 0, &from_base) == BW_OK);
    PROMISE(block_encode(NULL, 0, later, b->records - half, &from_descriptors) == BW_OK);
    PROMISE(view_equal(view_of(from_base.data, from_base.size),
                       view_of(from_descriptors.data, from_descriptors.size)));
    block second;
    PROMISE(block_decode(view_of(from_base.data, from_base.size), b->slices, &second, NULL) ==
            BW_OK);
    hash128 whole = {{0}}, parts = {{0}};
    PROMISE(block_add_terms(b, 5, 0, b->records, &whole) == BW_OK);
    PROMISE(block_add_terms(b, 5, 0, half, &parts) == BW_OK);
    PROMISE(block_add_terms(&second, 5 + half, 0, second.records, &parts) == BW_OK);
    PROMISE(hash_equal(&whole, &parts));
    buf_free(&from_base);
    buf_free(&from_descriptors);
    mem_free(later);
}

void block_walk(const block *b)
{
    for (uint32_t i = 0; i < b->ids; i++)
        PROMISE(name_is_valid(block_id(b, i)));
    for (uint32_t i = 0; i < b->shapes; i++)
        check_shape(b, i);
    for (uint32_t k = 0; k < b->records; k++) {
        descriptor d;
        block_descriptor(b, k, &d);
        PROMISE(d.record.start <= d.record.end && d.record.seq > 0 && d.record.epoch > 0);
        PROMISE(descriptor_bytes_max(&d) >= RECORD_BYTES);
    }
    check_halves(b);
}
