// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/fetch.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "client/json.h"
#include "client/listing.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define META_BYTES_MAX ((size_t)64 << 20) /* a footer's 16 MiB, each byte escaped */

/* A miss or damage becomes a verdict only by a manifest that was proved newest after it. */
static bw_status judge(reader *r, uint64_t step, bw_status status, int64_t deadline_ns,
                       bw_error *error)
{
    if (status != BW_NOT_FOUND && status != BW_CORRUPT)
        return status;
    BW_TRY(chain_walk(r->chain, r->drive, CHAIN_NEWEST, deadline_ns, NULL, error));
    const manifest *m = chain_held(r->chain);
    if (step < m->trim) {
        (void)error_set(error, BW_TRIMMED,
                        "step %" PRIu64 " is not retained any more: the trim step is %" PRIu64,
                        step, m->trim);
        error_set_step(error, step);
        return BW_TRIMMED;
    }
    if (error != NULL)
        error->code = BW_CORRUPT; /* key and message are the miss's */
    return BW_CORRUPT;
}

static bw_status read_slice(bw_space *space, reader *r, const step_entry *entry, handout *h,
                            slice **out, bw_error *error)
{
    slice_request request = {
        .genesis = space->genesis,
        .handout = h,
        .budget = space->runtime->budget,
        .verify = true,
        .map = true,
    };
    BW_TRY(handout_plan(h, entry->step, 0, &entry->descriptor, &request.plan, error));
    request.reserved = slice_estimate(space->genesis, &request.plan);
    (void)budget_take(request.budget, request.reserved, true);
    bw_status status = slice_fetch(&request, drive_store(r->drive), out, error);
    if (status == BW_NOT_FOUND || status == BW_CORRUPT) {
        request.map = false; /* a second look takes the other way */
        status = slice_fetch(&request, drive_store(r->drive), out, error);
    }
    if (status != BW_OK)
        budget_give(request.budget, request.reserved);
    return status;
}

bw_status fetch_item(bw_space *space, uint64_t step, position p, uint32_t item, int64_t timeout_ns,
                     bw_item **out, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    const genesis *g = space->genesis;
    handout *h = NULL;
    reader r;
    slice *s = NULL;
    BW_TRY(space_check_chain(space, error));
    if (p.d >= g->dp || p.c >= g->cp)
        return error_set(error, BW_INVALID, "position (%u, %u) lies outside the mesh %u × %u", p.d,
                         p.c, g->dp, g->cp);
    BW_TRY(handout_new(g, p, g->dp, MODE_SAME_BATCH, &h, error));
    bw_status status = reader_open(space, deadline_ns, NULL, &r, error);
    if (status != BW_OK) {
        handout_free(h);
        return status;
    }
    step_entry entry;
    status = reader_step(space, &r, step, deadline_ns, &entry, error);
    if (status == BW_OK && item >= entry.descriptor.shape.items)
        status = error_set(error, BW_INVALID, "item %u: step %" PRIu64 " has %u items a slice",
                           item, step, entry.descriptor.shape.items);
    if (status == BW_OK) {
        status = read_slice(space, &r, &entry, h, &s, error);
        status = judge(&r, step, status, deadline_ns, error);
    }
    if (invariant_taken(error))
        status = BW_BUG;
    if (status == BW_OK)
        *out = slice_item(s, item);
    slice_unref(s);
    reader_close(&r);
    handout_free(h);
    return status;
}

/* Its length is only claimed: memory is asked for when as many bytes are there. */
static bw_status read_footer(store *s, const char *key, const place *where, uint8_t **object,
                             bw_error *error)
{
    uint64_t bytes = 0;
    bw_status status = listing_size(s, key, &bytes, error);
    if (status == BW_NOT_FOUND)
        return error_set(error, status, "the part with the footer is missing");
    BW_TRY(status);
    if (where->bytes > bytes || where->offset > bytes - where->bytes)
        return error_set(error, BW_CORRUPT,
                         "the part has %" PRIu64 " bytes; the footer would be %" PRIu64
                         " at offset %" PRIu64,
                         bytes, where->bytes, where->offset);
    *object = mem_alloc((size_t)where->bytes);
    if (*object == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    return listing_read(s, key, where->offset, where->bytes, *object, error);
}

bw_status fetch_footer(const genesis *g, store *s, const step_entry *entry, uint8_t **object,
                       footer *f, bw_error *error)
{
    const descriptor *d = &entry->descriptor;
    place where;
    object_key key;
    *object = NULL;
    *f = (footer){0};
    BW_TRY(shape_footer(&d->shape, genesis_slices(g), g->part_bytes, &where));
    key_part(&key, d->id, d->record.epoch, d->record.seq, d->record.nonce, where.part);
    uint8_t *bytes = NULL;
    bw_status status = read_footer(s, key.text, &where, &bytes, error);
    if (status == BW_OK) {
        status = footer_decode(view_of(bytes, (size_t)where.bytes), f, error);
        if (status == BW_OK && (f->nonce != d->record.nonce || f->items != d->shape.items ||
                                f->kind != d->shape.kind || f->slice_count != genesis_slices(g))) {
            footer_free(f);
            status = error_set(error, BW_CORRUPT, "the footer is not this batch's");
        }
    }
    if (status == BW_OK) {
        *object = bytes;
        return BW_OK;
    }
    mem_free(bytes);
    error_prefix(error, "step %" PRIu64, entry->step);
    error_set_key(error, key.text);
    error_set_step(error, entry->step);
    return status;
}

static int append(const char *text, size_t size, void *context)
{
    buf_put(context, text, size);
    return 0;
}

/* JSON metadata stands as it is; other bytes as hex, so that nothing is lost. */
static void put_metadata(buf *out, view metadata)
{
    json_t *parsed = metadata.size == 0
                         ? NULL
                         : json_loadb((const char *)metadata.data, metadata.size,
                                      JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (parsed == NULL) {
        json_put_null(out, "metadata");
        if (metadata.size > 0)
            json_put_hex(out, "metadata_hex", metadata.data, metadata.size);
        return;
    }
    json_put_raw(out, "metadata", "");
    (void)json_dump_callback(parsed, append, out, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(parsed);
}

static int put_sample(void *context, view id)
{
    json_put_view(context, NULL, id);
    return 0;
}

static void put_meta(buf *out, const genesis *g, const step_entry *entry, const footer *f)
{
    const descriptor *d = &entry->descriptor;
    json_put_object(out, NULL);
    json_put_u64(out, "step", entry->step);
    json_put_view(out, "producer", d->id);
    json_put_nonce(out, "nonce", f->nonce);
    json_put_text(out, "kind", kind_name(f->kind));
    json_put_view(out, "media_type", f->media_type);
    json_put_u64(out, "items", f->items);
    json_put_u64(out, "samples", d->shape.samples);
    json_put_u64(out, "tokens", d->shape.tokens);
    json_put_u64(out, "tag", d->shape.tag);
    put_metadata(out, f->metadata);
    json_put_array(out, "slices");
    for (uint32_t i = 0; i < f->slice_count; i++) {
        json_put_object(out, NULL);
        json_put_u64(out, "d", i / g->cp);
        json_put_u64(out, "c", i % g->cp);
        json_put_u64(out, "bytes", f->slices[i].framed_bytes);
        json_put_u64(out, "items_set", f->slices[i].items_set);
        json_put_array(out, "samples");
        (void)footer_samples(f, i, put_sample, out);
        json_put_array_end(out);
        json_put_object_end(out);
    }
    json_put_array_end(out);
    json_put_object_end(out);
}

static bw_status meta_text(const genesis *g, const step_entry *entry, const footer *f, char **json,
                           bw_error *error)
{
    buf out;
    size_t size = 0;
    buf_init(&out, META_BYTES_MAX);
    put_meta(&out, g, entry, f);
    buf_put_u8(&out, 0);
    const bw_status status = buf_status(&out);
    if (status == BW_OK)
        *json = (char *)buf_take(&out, &size);
    buf_free(&out);
    return status == BW_OK
               ? BW_OK
               : error_set(error, status, "the metadata of the step: %s", bw_status_text(status));
}

bw_status fetch_meta(bw_space *space, uint64_t step, int64_t timeout_ns, char **json,
                     bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    reader r;
    BW_TRY(space_check_chain(space, error));
    BW_TRY(reader_open(space, deadline_ns, NULL, &r, error));
    step_entry entry;
    footer f;
    uint8_t *object = NULL;
    bw_status status = reader_step(space, &r, step, deadline_ns, &entry, error);
    if (status == BW_OK) {
        status = fetch_footer(space->genesis, drive_store(r.drive), &entry, &object, &f, error);
        if (status == BW_OK) {
            status = meta_text(space->genesis, &entry, &f, json, error);
            footer_free(&f);
        } else {
            status = judge(&r, step, status, deadline_ns, error);
        }
    }
    mem_free(object);
    reader_close(&r);
    return status;
}
