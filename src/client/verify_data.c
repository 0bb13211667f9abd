// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of one step. Shallow: each is there and has exactly the size that follows from the
 * descriptor. Deep: every byte of it is covered by a check or is zero.
 */
#include "client/verify.h"

#include "base/alloc.h"
#include "client/fetch.h"
#include "codec/packing.h"
#include <inttypes.h>
#include <string.h>

typedef struct batch_check {
    verify *v;
    uint64_t step;
    const descriptor *d;
    uint32_t slices;
    uint64_t *lengths;
    place *places;
    tgb_extent extent;
    footer footer;
    bool has_footer;
    uint8_t *footer_object;
    frame_item *rows;
    uint8_t *bytes; /* of the slice that is looked at */
    size_t capacity;
} batch_check;

static void part_name(const batch_check *b, uint32_t part, object_key *key)
{
    const record *r = &b->d->record;
    key_part(key, b->d->id, r->epoch, r->seq, r->nonce, part);
}

/* What is gone because a sweep got there meanwhile is none. */
static bw_status finding(batch_check *b, bw_status status, const char *code, uint32_t part,
                         bw_error *error)
{
    object_key key;
    bw_error why;
    bool trimmed = false;
    if (status == BW_NOT_FOUND) {
        const bw_status asked = verify_is_trimmed(b->v, b->step, false, &trimmed, &why);
        if (asked != BW_OK)
            error_copy(error, &why);
        if (asked != BW_OK || trimmed)
            return asked;
    }
    part_name(b, part, &key);
    return verify_judge(b->v, status, code, key.text, b->step, error);
}

/* Lengths from the descriptor where they stand in it, else from the footer. */
static bw_status find_lengths(batch_check *b, bw_error *error)
{
    const shape *s = &b->d->shape;
    if (s->form == FORM_FOOTER) {
        for (uint32_t i = 0; i < b->slices; i++)
            b->lengths[i] = b->footer.slices[i].framed_bytes;
        return BW_OK;
    }
    for (uint32_t i = 0; i < b->slices; i++) {
        place at;
        BW_TRY(shape_place(s, b->slices, b->v->g->part_bytes, i, &at));
        b->lengths[i] = at.bytes;
    }
    (void)error;
    return BW_OK;
}

static bw_status pack(batch_check *b, bw_error *error)
{
    const shape *s = &b->d->shape;
    BW_TRY(find_lengths(b, error));
    BW_TRY(tgb_pack(b->lengths, b->slices, b->v->g->part_bytes, s->footer_bytes, b->places,
                    &b->extent));
    if (b->extent.parts != s->parts || b->extent.total_bytes != s->total_bytes ||
        (s->form == FORM_FOOTER && b->extent.footer_offset != s->uniform))
        return error_set(error, BW_CORRUPT,
                         "the slice lengths give %u parts of %" PRIu64
                         " bytes, the descriptor says %u of %" PRIu64,
                         b->extent.parts, b->extent.total_bytes, s->parts, s->total_bytes);
    return BW_OK;
}

static uint64_t part_size(const batch_check *b, uint32_t part)
{
    if (part + 1 == b->extent.parts)
        return b->extent.footer_offset + b->d->shape.footer_bytes;
    uint64_t end = 0;
    for (uint32_t i = 0; i < b->slices; i++)
        if (b->places[i].part == part)
            end = b->places[i].offset + b->places[i].bytes;
    return end;
}

/* Deep: the footer says what the descriptor and the frames say. `filled[i]`: items of slice i that
 * are no pad. */
static bw_status check_footer(const batch_check *b, const uint32_t *filled, bw_error *error)
{
    const footer *f = &b->footer;
    uint64_t samples = 0;
    if (f->dp != b->v->g->dp || f->cp != b->v->g->cp)
        return error_set(error, BW_CORRUPT, "the footer states another mesh");
    for (uint32_t i = 0; i < b->slices; i++) {
        samples += f->slices[i].sample_count;
        if (f->slices[i].framed_bytes != b->lengths[i] || f->slices[i].items_set != filled[i])
            return error_set(error, BW_CORRUPT,
                             "the footer states another length or item count of slice %u", i);
    }
    if (samples != b->d->shape.samples)
        return error_set(error, BW_CORRUPT,
                         "the footer lists %" PRIu64 " samples, the descriptor says %" PRIu64,
                         samples, b->d->shape.samples);
    return BW_OK;
}

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static bw_status reserve(batch_check *b, uint64_t bytes, bw_error *error)
{
    void *memory = b->bytes;
    if (mem_grow(&memory, &b->capacity, (size_t)bytes, 1) != 0)
        return error_set(error, BW_NOMEM, "no memory for %" PRIu64 " bytes", bytes);
    b->bytes = memory;
    return BW_OK;
}

/* Packed items of the slice at hand, behind `lead`, can be unpacked. */
static bw_status check_unpacked(batch_check *b, uint64_t lead, bw_error *error)
{
    const uint32_t items = b->d->shape.items;
    const uint64_t bytes = frame_unpacked_bytes(b->rows, items);
    if (bytes == 0)
        return BW_OK;
    uint8_t *plain = mem_alloc((size_t)bytes);
    if (plain == NULL)
        return error_set(error, BW_NOMEM, "no memory for %" PRIu64 " bytes", bytes);
    const bw_status status =
        frame_unpack(view_of(b->bytes + lead, b->capacity - lead), b->rows, items, plain, error);
    mem_free(plain);
    return status;
}

/* The slice at `at`, and the zeros between `from` and it. */
static bw_status check_slice(batch_check *b, uint32_t index, uint64_t from, uint32_t *filled,
                             bw_error *error)
{
    const place *at = &b->places[index];
    const uint64_t lead = at->offset - from;
    object_key key;
    part_name(b, at->part, &key);
    BW_TRY(reserve(b, lead + at->bytes, error));
    BW_TRY(listing_read(b->v->s, key.text, from, lead + at->bytes, b->bytes, error));
    if (!is_zero(b->bytes, lead))
        return error_set(error, BW_CORRUPT, "the bytes before slice %u are not zero", index);
    const shape *s = &b->d->shape;
    const frame_head expected = {
        .nonce = b->d->record.nonce,
        .slice = index,
        .items = s->items,
        .framed_bytes = at->bytes,
        .kind = s->kind,
    };
    BW_TRY(frame_verify(view_of(b->bytes + lead, (size_t)at->bytes), &expected, b->rows, s->items,
                        error));
    BW_TRY(check_unpacked(b, lead, error));
    *filled = 0;
    for (uint32_t i = 0; i < s->items; i++)
        *filled += !b->rows[i].pad;
    b->v->items += *filled;
    b->v->pads += s->items - *filled;
    return BW_OK;
}

static bw_status check_tail_padding(batch_check *b, uint64_t from, bw_error *error)
{
    const uint64_t lead = b->extent.footer_offset - from;
    if (lead == 0)
        return BW_OK;
    object_key key;
    part_name(b, b->extent.parts - 1, &key);
    BW_TRY(reserve(b, lead, error));
    BW_TRY(listing_read(b->v->s, key.text, from, lead, b->bytes, error));
    return is_zero(b->bytes, lead)
               ? BW_OK
               : error_set(error, BW_CORRUPT, "the bytes before the footer are not zero");
}

static bw_status check_bytes(batch_check *b, bw_error *error)
{
    uint32_t *filled = mem_array(b->slices, sizeof *filled);
    /* The parts are as long as they must be, so as many items have their place. */
    b->rows = mem_array(b->d->shape.items, sizeof *b->rows);
    if (filled == NULL || b->rows == NULL) {
        mem_free(filled);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    uint64_t end = 0;
    bool whole = true;
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < b->slices && status == BW_OK; i++) {
        const bool opens = i > 0 && b->places[i].part != b->places[i - 1].part;
        status = check_slice(b, i, opens || i == 0 ? 0 : end, &filled[i], error);
        whole = whole && status == BW_OK;
        status = finding(b, status, "SLICE", b->places[i].part, error);
        end = b->places[i].offset + b->places[i].bytes;
    }
    if (status == BW_OK)
        status =
            finding(b, check_tail_padding(b, end, error), "PADDING", b->extent.parts - 1, error);
    if (status == BW_OK && whole)
        status = finding(b, check_footer(b, filled, error), "FOOTER", b->extent.parts - 1, error);
    mem_free(filled);
    return status;
}

/* Each part has the size that it must have; false in `*whole` when one is missing or not as long.
 */
static bw_status check_sizes(batch_check *b, bool *whole, bw_error *error)
{
    *whole = true;
    for (uint32_t part = 0; part < b->extent.parts; part++) {
        object_key key;
        uint64_t bytes = 0;
        part_name(b, part, &key);
        bw_status status = listing_size(b->v->s, key.text, &bytes, error);
        const uint64_t expected = part_size(b, part);
        if (status == BW_OK && bytes == expected) {
            b->v->parts++;
            continue;
        }
        *whole = false;
        if (status == BW_OK)
            status = error_set(error, BW_CORRUPT,
                               "the part has %" PRIu64 " bytes where %" PRIu64 " belong", bytes,
                               expected);
        BW_TRY(finding(b, status, "PART", part, error));
    }
    return BW_OK;
}

static bw_status read_footer(batch_check *b, bw_error *error)
{
    step_entry entry;
    step_entry_set(&entry, b->step, b->d);
    const bw_status status =
        fetch_footer(b->v->g, b->v->s, &entry, &b->footer_object, &b->footer, error);
    b->has_footer = status == BW_OK;
    return status;
}

static bw_status check_batch(batch_check *b, bw_error *error)
{
    const bool deep = b->v->r->options->deep;
    const uint32_t last = b->d->shape.parts - 1u;
    if (b->d->shape.form == FORM_FOOTER || deep) {
        const bw_status status = read_footer(b, error);
        if (status != BW_OK)
            BW_TRY(finding(b, status, "FOOTER", last, error));
        /* Without it the places of this form are not known, and the bytes cannot be told apart. */
        if (status != BW_OK && b->d->shape.form == FORM_FOOTER)
            return BW_OK;
    }
    const bw_status packed = pack(b, error);
    if (packed != BW_OK)
        return finding(b, packed, "SHAPE", last, error);
    bool whole = false;
    BW_TRY(check_sizes(b, &whole, error));
    return deep && whole && b->has_footer ? check_bytes(b, error) : BW_OK;
}

bw_status verify_batch(verify *v, uint64_t step, const descriptor *d, bw_error *error)
{
    object_key key;
    for (uint32_t part = 0; part < d->shape.parts; part++) {
        key_part(&key, d->id, d->record.epoch, d->record.seq, d->record.nonce, part);
        BW_TRY(key_set_add(&v->referenced, key.text));
    }
    if (step < v->m->trim)
        return BW_OK; /* a sweep may be deleting it */
    batch_check b = {.v = v, .step = step, .d = d, .slices = genesis_slices(v->g)};
    b.lengths = mem_array(b.slices, sizeof *b.lengths);
    b.places = mem_array(b.slices, sizeof *b.places);
    bw_status status = BW_NOMEM;
    if (b.lengths != NULL && b.places != NULL)
        status = check_batch(&b, error);
    else
        (void)error_set(error, BW_NOMEM, "out of memory");
    if (b.has_footer)
        footer_free(&b.footer);
    mem_free(b.footer_object);
    mem_free(b.lengths);
    mem_free(b.places);
    mem_free(b.rows);
    mem_free(b.bytes);
    return status;
}
