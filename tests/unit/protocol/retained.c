// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "retained.h"

#include "base/alloc.h"
#include <string.h>

/* ---- what must be there ---- */

typedef struct reading {
    world *world;
    chain *chain;
    const manifest *newest;
    segment_cache *cache;
    page page;
    bool only; /* no more than that */
} reading;

static void must_have(const reading *r, const object_key *key)
{
    if (!world_has(r->world, key->text))
        fail_msg("%s is gone: version %llu, trim %llu, swept %llu", key->text,
                 (unsigned long long)r->newest->version, (unsigned long long)r->newest->trim,
                 (unsigned long long)r->newest->swept);
}

static void read_page(reading *r)
{
    const manifest *m = r->newest;
    const uint8_t *bytes;
    size_t size;
    object_key key;
    bw_error error;
    if (!m->has_page)
        return;
    key_page(&key, m->page.version, m->page.nonce);
    must_have(r, &key);
    assert_true(mem_space_get(r->world->space, key.text, &bytes, &size));
    assert_int_equal(page_decode(view_of(bytes, size), &r->page, &error), BW_OK);
}

static void begin(reading *r, world *w)
{
    memset(r, 0, sizeof *r);
    r->world = w;
    r->chain = world_chain(w);
    r->newest = chain_held(r->chain);
    assert_int_equal(segment_cache_new(1u << 20, &r->cache), BW_OK);
    read_page(r);
}

static void end(reading *r)
{
    segment_cache_free(r->cache);
    if (r->newest->has_page)
        page_free(&r->page);
    chain_free(r->chain);
}

static void read_segment(reading *r, const segment_ref *ref)
{
    const uint8_t *bytes;
    size_t size;
    object_key key;
    bw_error error;
    segment_ref_key(ref, &key);
    must_have(r, &key);
    assert_true(mem_space_get(r->world->space, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    assert_int_equal(
        segment_cache_add(r->cache, ref, r->world->genesis.uuid, 1, copy, size, &error), BW_OK);
}

static void describe(reading *r, uint64_t step, descriptor *d)
{
    segment_ref needed;
    lookup_verdict verdict;
    while ((verdict = lookup_step(r->newest, r->cache, step, d, &needed)) == LOOKUP_NEED)
        read_segment(r, &needed);
    assert_int_equal(verdict, LOOKUP_FOUND);
}

static const producer_entry *entry_of(const reading *r, view id)
{
    const producer_entry *e = manifest_producer(r->newest, id);
    return e != NULL || !r->newest->has_page ? e : page_producer(&r->page, id);
}

static void state_there(const reading *r, const producer_entry *e)
{
    object_key key;
    if (!e->state_is_object)
        return;
    key_state(&key, e->id, e->state_ref.epoch, e->state_ref.seq, e->state_ref.nonce);
    must_have(r, &key);
}

void retained_whole(world *w)
{
    reading r;
    descriptor d;
    object_key key;
    begin(&r, w);
    const manifest *m = r.newest;
    assert_true(m->swept <= m->trim && m->trim <= m->next);
    for (uint64_t step = m->swept; step < m->next; step++) {
        describe(&r, step, &d);
        for (uint32_t part = 0; step >= m->trim && part < d.shape.parts; part++) {
            key_part(&key, d.id, d.record.epoch, d.record.seq, d.record.nonce, part);
            must_have(&r, &key);
        }
    }
    for (uint32_t k = 0; k < m->ref_count; k++) {
        segment_ref_key(&m->refs[k], &key);
        assert_true(m->refs[k].last >= m->swept);
        must_have(&r, &key);
    }
    for (uint32_t k = 0; k < m->producer_count; k++)
        state_there(&r, &m->producers[k]);
    for (uint32_t k = 0; m->has_page && k < r.page.count; k++)
        if (manifest_producer(m, r.page.entries[k].id) == NULL)
            state_there(&r, &r.page.entries[k]);
    end(&r);
}

/* ---- what may be there ---- */

/* Does the newest manifest name it by a descriptor that is not swept? */
static bool is_named(reading *r, const key_fields *f)
{
    descriptor d;
    for (uint64_t step = r->newest->swept; step < r->newest->next; step++) {
        describe(r, step, &d);
        if (d.record.epoch == f->epoch && d.record.seq == f->number && d.record.nonce == f->nonce &&
            view_equal(d.id, f->producer))
            return true;
    }
    return false;
}

static bool data_may(reading *r, const key_fields *f)
{
    const producer_entry *e = entry_of(r, f->producer);
    if (e == NULL)
        return true;
    if (f->kind == KEY_STATE && e->state_is_object && e->state_ref.seq == f->number &&
        e->state_ref.nonce == f->nonce)
        return true;
    if (f->number <= e->swept_seq)
        return false;
    return (f->epoch >= e->epoch && !e->finished && !e->forgotten && !r->newest->sealed) ||
           is_named(r, f);
}

static bool may(reading *r, const char *key)
{
    const manifest *m = r->newest;
    key_fields f;
    key_parse(view_text(key), &f);
    switch (f.kind) {
    case KEY_PART:
    case KEY_STATE:
        return data_may(r, &f);
    case KEY_SEGMENT:
        /* A rival's fold of the same steps may come to be referred to. */
        return f.last >= m->swept;
    case KEY_PAGE:
        return f.number > m->version ||
               (m->has_page && f.number == m->page.version && f.nonce == m->page.nonce);
    case KEY_MANIFEST:
        return genesis_block(&r->world->genesis, f.number) + 2 >
               genesis_block(&r->world->genesis, m->version);
    default:
        return true;
    }
}

static int each(void *context, const char *key, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    reading *r = context;
    if (!may(r, key))
        fail_msg("%s is left: version %llu, trim %llu, swept %llu", key,
                 (unsigned long long)r->newest->version, (unsigned long long)r->newest->trim,
                 (unsigned long long)r->newest->swept);
    return 0;
}

void retained_only(world *w)
{
    reading r;
    begin(&r, w);
    assert_int_equal(r.newest->swept, r.newest->trim);
    descriptor d;
    /* All segments at hand: the space must not be touched below. */
    for (uint64_t step = r.newest->swept; step < r.newest->next; step++)
        describe(&r, step, &d);
    (void)mem_space_each(w->space, "", each, &r);
    end(&r);
}

/* ---- data ---- */

static void put(actor *a, const object_key *key)
{
    assert_int_equal(mem_space_set(a->world->space, key->text, "data", 4), BW_OK);
}

void retained_begin_publish(actor *a, uint32_t count, bool finish, state_ref *refs)
{
    assert_true(count <= 64);
    a->call = ++a->world->calls;
    for (uint32_t k = 0; k < count; k++) {
        object_key key;
        actor_batch(a, a->seq + 1 + k, a->offset + 10 * k, &a->batch[k]);
        const record *at = &a->batch[k].record;
        key_part(&key, view_text(a->id), at->epoch, at->seq, at->nonce, 0);
        put(a, &key);
        a->states[k] = view_text("inline");
        refs[k] = (state_ref){.epoch = at->epoch, .seq = at->seq, .nonce = at->nonce, .bytes = 300};
        if (at->seq % 3 != 0)
            continue;
        key_state(&key, view_text(a->id), at->epoch, at->seq, at->nonce);
        put(a, &key);
        a->states[k] = view_of(NULL, 0);
    }
    const intent i = {.kind = INTENT_PUBLISH,
                      .publish = {.id = view_text(a->id),
                                  .token = a->token,
                                  .descriptors = a->batch,
                                  .states = a->states,
                                  .state_refs = refs,
                                  .count = count,
                                  .finish = finish}};
    actor_begin_intent(a, &i);
}

/* ---- requests ---- */

void errand_keep(errand *e, const machine_request *request)
{
    *e = (errand){.request = *request};
    if (request->bytes != NULL) {
        e->bytes = mem_dup(request->bytes, request->size);
        assert_non_null(e->bytes);
        e->request.bytes = e->bytes;
    }
    if (request->key_count > 0) {
        e->keys = mem_dup(request->keys, request->key_count * sizeof *request->keys);
        assert_non_null(e->keys);
        e->request.keys = e->keys;
    }
}

void errand_apply(world *w, const errand *e, machine_reply *reply, store_list *list)
{
    world_list(w, &e->request, reply, list);
}

void errand_late(world *w, const errand *e)
{
    machine_reply reply;
    store_list list = {0};
    errand_apply(w, e, &reply, &list);
    mem_free(reply.bytes);
    store_list_free(&list);
}

void errand_drop(errand *e)
{
    mem_free(e->bytes);
    mem_free(e->keys);
    *e = (errand){0};
}

void errand_answer(world *w, const machine_type *type, void *self, machine_reply *reply)
{
    type->reply(self, w->now_ns, reply);
    mem_free(reply->bytes);
    if (reply->list != NULL)
        store_list_free(reply->list);
}
