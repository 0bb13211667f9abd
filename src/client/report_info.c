// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "info", and the parts of manifests that other reports show as well. */
#include "client/reports.h"

static void put_limit(buf *out, const char *key, bool has, uint64_t value)
{
    if (has)
        json_put_u64(out, key, value);
    else
        json_put_null(out, key);
}

void put_genesis_members(buf *out, const genesis *g)
{
    json_put_hex(out, "uuid", g->uuid, UUID_BYTES);
    json_put_u64(out, "created_ms", g->created_ms);
    json_put_u64(out, "dp", g->dp);
    json_put_u64(out, "cp", g->cp);
    json_put_u64(out, "items", g->items_default);
    json_put_u64(out, "expected_producers", g->expected_producers);
    json_put_u64(out, "block_size", g->block_size);
    json_put_u64(out, "tail_cap", g->tail_cap);
    json_put_u64(out, "part_size", g->part_bytes);
    json_put_u64(out, "page_min", g->page_min);
    put_limit(out, "max_lag", g->has_max_lag, g->max_lag);
    put_limit(out, "max_bytes", g->has_max_bytes, g->max_bytes);
    json_put_text(out, "layout", g->layout);
    json_put_view(out, "schema", g->schema);
}

void put_producer(buf *out, const producer_entry *e)
{
    json_put_object(out, NULL);
    json_put_view(out, "id", e->id);
    json_put_u64(out, "epoch", e->epoch);
    json_put_u64(out, "seq", e->seq);
    json_put_u64(out, "offset", e->offset);
    json_put_bool(out, "finished", e->finished);
    json_put_bool(out, "forgotten", e->forgotten);
    json_put_u64(out, "last_publish", e->last_publish);
    json_put_u64(out, "last_commit", e->last_commit);
    json_put_u64(out, "swept_seq", e->swept_seq);
    json_put_u64(out, "swept_offset", e->swept_offset);
    json_put_u64(out, "slot_ms", e->slot_ms);
    json_put_hex(out, "token", e->token.bytes, TOKEN_BYTES);
    if (e->state_is_object) {
        object_key key;
        key_state(&key, e->id, e->state_ref.epoch, e->state_ref.seq, e->state_ref.nonce);
        json_put_text(out, "state_key", key.text);
        json_put_u64(out, "state_bytes", e->state_ref.bytes);
    } else {
        json_put_u64(out, "state_bytes", e->state.size);
        json_put_hex(out, "state", e->state.data, e->state.size);
    }
    json_put_object_end(out);
}

void put_group(buf *out, const group *g)
{
    json_put_object(out, NULL);
    json_put_view(out, "name", g->name);
    json_put_view(out, "launch", g->launch);
    json_put_u64(out, "launch_number", g->launch_number);
    json_put_u64(out, "hold", g->hold);
    json_put_u64(out, "last_version", g->last_version);
    json_put_u64(out, "last_clock_ms", g->last_clock_ms);
    json_put_array(out, "pins");
    for (uint32_t i = 0; i < g->pin_count; i++) {
        const pin *p = &g->pins[i];
        json_put_object(out, NULL);
        json_put_view(out, "id", p->id);
        json_put_nonce(out, "nonce", p->nonce);
        json_put_u64(out, "step", p->step);
        json_put_u64(out, "item", p->item);
        json_put_object_end(out);
    }
    json_put_array_end(out);
    json_put_object_end(out);
}

void put_keeper(buf *out, const char *key, const keeper *k)
{
    if (k == NULL) {
        json_put_null(out, key);
        return;
    }
    json_put_object(out, key);
    json_put_view(out, "group", k->group->name);
    if (k->pin != NULL)
        json_put_view(out, "pin", k->pin->id);
    else
        json_put_null(out, "pin");
    json_put_u64(out, "step", k->step);
    json_put_u64(out, "version", k->group->last_version);
    json_put_i64(out, "age_ms", clock_age_ms(clock_system(), k->group->last_clock_ms));
    json_put_object_end(out);
}

void put_segment_ref(buf *out, const segment_ref *ref)
{
    object_key key;
    segment_ref_key(ref, &key);
    json_put_object(out, NULL);
    json_put_text(out, "key", key.text);
    json_put_u64(out, "first", ref->first);
    json_put_u64(out, "last", ref->last);
    json_put_u64(out, "level", ref->level);
    json_put_u64(out, "bytes", ref->bytes);
    json_put_object_end(out);
}

void put_manifest_members(buf *out, const manifest *m)
{
    json_put_u64(out, "version", m->version);
    json_put_u64(out, "next_step", m->next);
    json_put_u64(out, "trim_step", m->trim);
    json_put_u64(out, "swept_step", m->swept);
    json_put_bool(out, "sealed", m->sealed);
    json_put_u64(out, "committed_bytes", m->committed_bytes);
    json_put_u64(out, "swept_bytes", m->swept_bytes);
    json_put_u64(out, "finished_producers", m->finished_producers);
    json_put_view(out, "committer", m->committer);
    json_put_u64(out, "clock_ms", m->clock_ms);
    json_put_u64(out, "manifest_bytes", m->object_bytes);
    json_put_u64(out, "segments", m->ref_count);
    json_put_u64(out, "tail_steps", m->tail.records);
    if (m->has_page)
        json_put_u64(out, "page_entries", m->page.entries);
    else
        json_put_null(out, "page_entries");
    json_put_array(out, "producers");
    for (uint32_t i = 0; i < m->producer_count; i++)
        put_producer(out, &m->producers[i]);
    json_put_array_end(out);
    json_put_array(out, "groups");
    for (uint32_t i = 0; i < m->group_count; i++)
        put_group(out, &m->groups[i]);
    json_put_array_end(out);
    keeper k;
    put_keeper(out, "kept_by", manifest_w_keeper(m, &k) ? &k : NULL);
    put_keeper(out, "frontier", manifest_frontier_keeper(m, &k) ? &k : NULL);
}

bw_status report_info(report *r, bw_error *error)
{
    reader from;
    BW_TRY(reader_open(r->space, r->deadline_ns, r->options->stop, &from, error));
    const manifest *m = chain_held(from.chain);
    json_put_object(&r->out, NULL);
    json_put_text(&r->out, "url", r->space->url);
    put_genesis_members(&r->out, r->space->genesis);
    put_manifest_members(&r->out, m);
    json_put_i64(&r->out, "last_commit_age_ms", clock_age_ms(clock_system(), m->clock_ms));
    json_put_object_end(&r->out);
    reader_close(&from);
    return report_emit(r, error);
}
