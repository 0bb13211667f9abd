// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include "base/alloc.h"
#include "codec/packing.h"
#include <inttypes.h>
#include <string.h>

#define SAMPLE_ID_MAX 65535u

bw_status batch_new(bw_producer *p, uint32_t items, bw_batch **out, bw_error *error)
{
    if (items == 0 || items > ITEMS_MAX)
        return error_set(error, BW_INVALID, "items per slice must be 1 … %u, not %u", ITEMS_MAX,
                         items);
    bw_batch *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    b->producer = p;
    b->slices = genesis_slices(p->space->genesis);
    b->items = items;
    buf_init(&b->ids, FOOTER_BYTES_MAX);
    buf_init(&b->side, INLINE_BYTES_MAX);
    buf_init(&b->footer, object_bytes_max(OBJECT_FOOTER));
    buf_init(&b->state_object, object_bytes_max(OBJECT_STATE));
    b->table = mem_array((size_t)b->slices * items, sizeof *b->table);
    if (b->table == NULL) {
        const bw_status status =
            error_set(error, BW_NOMEM, "no memory for a batch of %u × %u items", b->slices, items);
        batch_free(b);
        return status;
    }
    *out = b;
    return BW_OK;
}

void batch_free(bw_batch *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; b->table != NULL && i < (size_t)b->slices * b->items; i++) {
        mem_free(b->table[i].more);
        mem_free(b->table[i].packed);
    }
    mem_free(b->table);
    buf_free(&b->ids);
    mem_free(b->samples);
    mem_free(b->metadata);
    mem_free(b->places);
    buf_free(&b->side);
    buf_free(&b->footer);
    buf_free(&b->state_object);
    mem_free(b->parts);
    event_free(b->released);
    mem_free(b);
}

static bw_status find_slice(const bw_batch *b, uint32_t d, uint32_t c, uint32_t *slice,
                            bw_error *error)
{
    const genesis *g = b->producer->space->genesis;
    if (d >= g->dp || c >= g->cp)
        return error_set(error, BW_INVALID, "position (%u, %u) lies outside the mesh %u × %u", d, c,
                         g->dp, g->cp);
    *slice = d * g->cp + c;
    return BW_OK;
}

static bw_status find_unset(bw_batch *b, uint32_t d, uint32_t c, uint32_t item, batch_item **out,
                            bw_error *error)
{
    uint32_t slice = 0;
    BW_TRY(find_slice(b, d, c, &slice, error));
    if (item >= b->items)
        return error_set(error, BW_INVALID, "item %u: the batch has %u items a slice", item,
                         b->items);
    *out = &b->table[(size_t)slice * b->items + item];
    if ((*out)->state != ITEM_UNSET)
        return error_set(error, BW_INVALID, "item %u of slice (%u, %u) was set before", item, d, c);
    return BW_OK;
}

bw_status batch_set_item(bw_batch *b, uint32_t d, uint32_t c, uint32_t item,
                         const struct iovec *pieces, int count, bw_error *error)
{
    batch_item *at = NULL;
    BW_TRY(find_unset(b, d, c, item, &at, error));
    if (count < 0 || (count > 0 && pieces == NULL))
        return error_set(error, BW_INVALID, "%d pieces", count);
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_base == NULL && pieces[i].iov_len > 0)
            return error_set(error, BW_INVALID, "piece %d is NULL", i);
        if (pieces[i].iov_len > UINT32_MAX - bytes)
            return error_set(error, BW_TOO_LARGE, "item %u of slice (%u, %u) is larger than 4 GiB",
                             item, d, c);
        bytes += pieces[i].iov_len;
    }
    if (count == 1) {
        at->one = pieces[0];
    } else if (count > 1) {
        at->more = mem_dup(pieces, (size_t)count * sizeof *pieces);
        if (at->more == NULL)
            return error_set(error, BW_NOMEM, "out of memory");
    }
    at->pieces = (uint32_t)count;
    at->bytes = (uint32_t)bytes;
    at->state = ITEM_SET;
    return BW_OK;
}

bw_status batch_set_pad(bw_batch *b, uint32_t d, uint32_t c, uint32_t item, bw_error *error)
{
    batch_item *at = NULL;
    BW_TRY(find_unset(b, d, c, item, &at, error));
    at->state = ITEM_PAD;
    return BW_OK;
}

bw_status batch_add_samples(bw_batch *b, uint32_t d, uint32_t c, const char *const *ids,
                            size_t count, uint64_t tokens, bw_error *error)
{
    uint32_t slice = 0;
    BW_TRY(find_slice(b, d, c, &slice, error));
    for (size_t i = 0; i < count; i++)
        if (ids == NULL || ids[i] == NULL || strlen(ids[i]) > SAMPLE_ID_MAX)
            return error_set(error, BW_INVALID, "sample id %zu is NULL or longer than %u bytes", i,
                             SAMPLE_ID_MAX);
    if (tokens > UINT64_MAX - b->tokens)
        return error_set(error, BW_INVALID, "the number of tokens overflows");
    void *samples = b->samples;
    if (mem_grow(&samples, &b->sample_capacity, b->sample_count + count, sizeof *b->samples) != 0)
        return error_set(error, BW_NOMEM, "out of memory");
    b->samples = samples;
    const size_t ids_before = b->ids.size;
    for (size_t i = 0; i < count; i++) {
        b->samples[b->sample_count + i] =
            (batch_sample){slice, (uint32_t)strlen(ids[i]), b->ids.size};
        buf_put_text(&b->ids, ids[i]);
    }
    const bw_status status = buf_status(&b->ids);
    if (status != BW_OK) {
        b->ids.size = ids_before; /* as if the call had not been made */
        b->ids.failed = BW_OK;
        return error_set(error, status, "the sample ids of one batch take more than %u bytes",
                         FOOTER_BYTES_MAX);
    }
    b->sample_count += count;
    b->tokens += tokens;
    return BW_OK;
}

bw_status batch_set_meta(bw_batch *b, uint64_t tag, const void *json, size_t bytes, bw_error *error)
{
    if (bytes > METADATA_BYTES_MAX)
        return error_set(error, BW_TOO_LARGE, "metadata of %zu bytes; at most %u", bytes,
                         METADATA_BYTES_MAX);
    if (bytes > 0 && json == NULL)
        return error_set(error, BW_INVALID, "metadata is NULL");
    uint8_t *copy = bytes > 0 ? mem_dup(json, bytes) : NULL;
    if (bytes > 0 && copy == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    mem_free(b->metadata);
    b->metadata = copy;
    b->metadata_bytes = bytes;
    b->tag = tag;
    return BW_OK;
}

void batch_frame_items(const bw_batch *b, uint32_t slice, frame_item *rows)
{
    const batch_item *items = &b->table[(size_t)slice * b->items];
    for (uint32_t i = 0; i < b->items; i++)
        rows[i] = (frame_item){
            .stored_bytes = items[i].packed != NULL ? items[i].packed_bytes : items[i].bytes,
            .plain_bytes = items[i].bytes,
            .pad = items[i].state == ITEM_PAD,
            .codec = items[i].packed != NULL ? CODEC_ZSTD : CODEC_NONE,
        };
}

const struct iovec *batch_item_pieces(const batch_item *item)
{
    return item->pieces == 1 ? &item->one : item->more;
}

static bw_status pack_item(packer *p, batch_item *item)
{
    const struct iovec *pieces = batch_item_pieces(item);
    BW_TRY(packer_begin(p, item->bytes));
    for (uint32_t k = 0; k < item->pieces; k++)
        packer_add(p, view_of(pieces[k].iov_base, pieces[k].iov_len));
    return packer_end(p, &item->packed, &item->packed_bytes);
}

/* Here, in the caller's thread: nothing has a place before all lengths are known. A call that is
 * repeated finds what an earlier one has packed. */
static bw_status pack_items(bw_batch *b, bw_error *error)
{
    const uint32_t level = b->producer->options.zstd_level;
    packer *p = NULL;
    if (level == 0)
        return BW_OK;
    bw_status status = packer_new(level, &p);
    for (size_t i = 0; status == BW_OK && i < (size_t)b->slices * b->items; i++) {
        batch_item *item = &b->table[i];
        if (item->state == ITEM_SET && item->packed == NULL)
            status = pack_item(p, item);
    }
    packer_free(p);
    return status == BW_OK ? BW_OK
                           : error_set(error, status, "packing items: %s", bw_status_text(status));
}

static bw_status check_all_set(const bw_batch *b, bw_error *error)
{
    const uint32_t cp = b->producer->space->genesis->cp;
    for (uint32_t slice = 0; slice < b->slices; slice++)
        for (uint32_t item = 0; item < b->items; item++)
            if (b->table[(size_t)slice * b->items + item].state == ITEM_UNSET)
                return error_set(error, BW_UNSET_ITEM,
                                 "item %u of slice (%u, %u) was never set; mark it as pad if it "
                                 "is meant to be empty",
                                 item, slice / cp, slice % cp);
    return BW_OK;
}

static bw_status frame_lengths(const bw_batch *b, uint64_t *lengths, bw_error *error)
{
    frame_item *rows = mem_array(b->items, sizeof *rows);
    if (rows == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < b->slices && status == BW_OK; i++) {
        frame_head head = {.items = b->items};
        batch_frame_items(b, i, rows);
        status = frame_layout(&head, rows);
        lengths[i] = head.framed_bytes;
        if (status != BW_OK)
            (void)error_set(error, status, "slice %u is larger than %" PRIu64 " bytes", i,
                            (uint64_t)SLICE_BYTES_MAX);
    }
    mem_free(rows);
    return status;
}

/* The ids of each slice, in the order of the calls: a counting sort. `views` has room for all ids,
 * `first` for slices + 1. */
static void group_samples(const bw_batch *b, footer_slice *slices, view *views, size_t *first)
{
    for (size_t i = 0; i < b->sample_count; i++)
        slices[b->samples[i].slice].sample_count++;
    size_t at = 0;
    for (uint32_t s = 0; s < b->slices; s++) {
        first[s] = at;
        slices[s].samples = views + at;
        at += slices[s].sample_count;
    }
    for (size_t i = 0; i < b->sample_count; i++) {
        const batch_sample *sample = &b->samples[i];
        views[first[sample->slice]++] = view_of(b->ids.data + sample->at, sample->bytes);
    }
}

static uint32_t items_set(const bw_batch *b, uint32_t slice)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < b->items; i++)
        set += b->table[(size_t)slice * b->items + i].state == ITEM_SET;
    return set;
}

static bw_status encode_footer(bw_batch *b, const uint64_t *lengths, bw_error *error)
{
    const bw_producer *p = b->producer;
    footer_slice *slices = mem_array(b->slices, sizeof *slices);
    view *views = mem_array(b->sample_count, sizeof *views);
    size_t *first = mem_array(b->slices, sizeof *first);
    bw_status status = BW_NOMEM;
    if (slices == NULL || views == NULL || first == NULL)
        goto done;
    for (uint32_t i = 0; i < b->slices; i++) {
        slices[i].framed_bytes = lengths[i];
        slices[i].items_set = items_set(b, i);
    }
    group_samples(b, slices, views, first);
    const footer f = {
        .nonce = b->nonce,
        .dp = p->space->genesis->dp,
        .cp = p->space->genesis->cp,
        .items = b->items,
        .kind = p->options.kind,
        .media_type = view_text(p->options.media_type),
        .metadata = view_of(b->metadata, b->metadata_bytes),
        .slice_count = b->slices,
        .slices = slices,
    };
    buf_reset(&b->footer);
    status = footer_encode(&f, &b->footer);
done:
    mem_free(slices);
    mem_free(views);
    mem_free(first);
    if (status != BW_OK)
        return error_set(error, status, "the batch's footer (lengths, sample ids, metadata): %s",
                         bw_status_text(status));
    return BW_OK;
}

static bw_status place_slices(bw_batch *b, const uint64_t *lengths, bw_error *error)
{
    const genesis *g = b->producer->space->genesis;
    mem_free(b->places);
    b->places = mem_array(b->slices, sizeof *b->places);
    if (b->places == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    bw_status status =
        tgb_pack(lengths, b->slices, g->part_bytes, b->footer.size, b->places, &b->extent);
    if (status == BW_OK && g->has_max_bytes && b->extent.total_bytes > g->max_bytes)
        return error_set(error, BW_TOO_LARGE,
                         "the batch takes %" PRIu64 " bytes, more than the namespace's max_bytes "
                         "of %" PRIu64 ": it could never be published",
                         b->extent.total_bytes, g->max_bytes);
    b->shape = (shape){
        .kind = b->producer->options.kind,
        .items = b->items,
        .footer_bytes = (uint32_t)b->footer.size,
        .samples = b->sample_count,
        .tokens = b->tokens,
        .tag = b->tag,
    };
    buf_reset(&b->side);
    if (status == BW_OK)
        status = shape_places(&b->shape, lengths, b->slices, &b->side);
    if (status != BW_OK)
        return error_set(error, status, "the batch's parts: %s", bw_status_text(status));
    b->shape.parts = (uint16_t)b->extent.parts;
    b->shape.total_bytes = b->extent.total_bytes;
    if (b->shape.form == FORM_FOOTER)
        b->shape.uniform = b->extent.footer_offset;
    return BW_OK;
}

bw_status batch_layout(bw_batch *b, uint64_t nonce, bw_error *error)
{
    BW_TRY(check_all_set(b, error));
    BW_TRY(pack_items(b, error));
    b->nonce = nonce;
    uint64_t *lengths = mem_array(b->slices, sizeof *lengths);
    if (lengths == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    bw_status status = frame_lengths(b, lengths, error);
    if (status == BW_OK)
        status = encode_footer(b, lengths, error);
    if (status == BW_OK)
        status = place_slices(b, lengths, error);
    mem_free(lengths);
    return status;
}
