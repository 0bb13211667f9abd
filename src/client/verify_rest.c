// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that is stored, and what of it nothing refers to. That is no fault: a create in
 * flight, a batch that is being staged or was never published, a fold that lost its race, a ghost
 * in a retired block all look like this. Only a manifest beyond a gap of the chain is one.
 */
#include "client/verify.h"

#include <inttypes.h>

static bw_status emit_apart(verify *v, const char *what, const store_entry *entry, bw_error *error)
{
    buf *out = &v->r->out;
    json_put_object(out, NULL);
    json_put_text(out, "apart", what);
    json_put_text(out, "key", entry->key);
    json_put_u64(out, "bytes", entry->bytes);
    json_put_object_end(out);
    return report_emit(v->r, error);
}

/* A version beyond the newest that was proved: the chain has grown meanwhile, or it has a gap. */
static bw_status check_beyond(verify *v, const store_entry *entry, uint64_t version,
                              bw_error *error)
{
    if (v->blocked_version > 0)
        return version <= v->blocked_version
                   ? BW_OK /* told */
                   : verify_found(v, "GAP", entry->key, NO_STEP, error,
                                  "version %" PRIu64 " stands beyond what blocks the chain",
                                  version);
    BW_TRY(
        chain_walk(v->reader.chain, v->reader.drive, CHAIN_NEWEST, v->r->deadline_ns, NULL, error));
    if (version <= chain_held(v->reader.chain)->version) {
        v->newer++;
        return BW_OK;
    }
    /* Written after that walk? Then the version before it is there. */
    object_key before;
    uint64_t bytes = 0;
    key_manifest(&before, version - 1);
    const bw_status status = listing_size(v->s, before.text, &bytes, error);
    if (status == BW_OK) {
        v->newer++;
        return BW_OK;
    }
    if (status != BW_NOT_FOUND)
        return status;
    return verify_found(v, "GAP", entry->key, NO_STEP, error,
                        "version %" PRIu64 " stands beyond the newest of the chain", version);
}

static bw_status look_at_manifest(verify *v, const store_entry *entry, uint64_t version,
                                  bw_error *error)
{
    if (version / v->g->block_size < v->blocks_retired) {
        v->ghosts++;
        return emit_apart(v, "ghost", entry, error);
    }
    return version > v->m->version ? check_beyond(v, entry, version, error) : BW_OK;
}

static bw_status look_at_marker(verify *v, const store_entry *entry, uint64_t number,
                                bw_error *error)
{
    if (number < v->blocks_retired)
        return BW_OK;
    object_key before;
    uint64_t bytes = 0;
    if (number == 0)
        return BW_OK; /* written since */
    key_marker(&before, number - 1);
    const bw_status status = listing_size(v->s, before.text, &bytes, error);
    if (status != BW_NOT_FOUND)
        return status;
    return verify_found(v, "MARKER", entry->key, NO_STEP, error,
                        "the marker of the block before it is missing");
}

static bw_status look_at(void *context, const store_entry *entry, bw_error *error)
{
    verify *v = context;
    key_fields fields;
    key_parse(view_text(entry->key), &fields);
    switch (fields.kind) {
    case KEY_GENESIS:
        return BW_OK;
    case KEY_MANIFEST:
        return look_at_manifest(v, entry, fields.number, error);
    case KEY_MARKER:
        return look_at_marker(v, entry, fields.number, error);
    case KEY_SEGMENT:
    case KEY_PAGE:
    case KEY_PART:
    case KEY_STATE:
        if (key_set_has(&v->referenced, entry->key))
            return BW_OK;
        v->apart[fields.kind]++;
        return emit_apart(v, "unreferenced", entry, error);
    case KEY_HINT:
    case KEY_PROBE:
    case KEY_TMP:
    case KEY_FOREIGN:
        v->apart[fields.kind]++;
        return emit_apart(v, key_kind_name(fields.kind), entry, error);
    }
    return BW_OK;
}

bw_status verify_rest(verify *v, bw_error *error)
{
    BW_TRY(listing_everything(v->s, "", look_at, v, error));
    /* The file store shows its temporary files only to who asks for them. */
    return listing_each(v->s, "tmp/", look_at, v, error);
}
