// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "vstore.h"

#include "base/alloc.h"
#include "check.h"
#include "names.h"
#include "network.h"
#include <string.h>

#define BUCKETS 4096u

/* Objects of one kind by number, where numbers are small and dense. */
typedef struct number_index {
    object **objects;
    size_t count, capacity;
} number_index;

struct vstore {
    object *buckets[BUCKETS];
    number_index manifests, markers;
    live_names names;
    uint64_t newest, retired;
    vstore_size stored, peak;
};

blob *blob_new(const void *bytes, size_t size)
{
    blob *b = sim_alloc(sizeof *b + size);
    b->references = 1;
    b->size = (uint32_t)size;
    b->bytes = (uint8_t *)(b + 1);
    if (size > 0)
        memcpy(b->bytes, bytes, size);
    return b;
}

blob *blob_ref(blob *b)
{
    b->references++;
    return b;
}

void blob_unref(blob *b)
{
    if (b != NULL && --b->references == 0)
        mem_free(b);
}

bool blob_equal(const blob *a, const blob *b)
{
    return a == b || (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0);
}

vstore *vstore_new(void)
{
    return sim_alloc(sizeof(vstore));
}

void vstore_free(vstore *v)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (object *o = v->buckets[i], *next; o != NULL; o = next) {
            next = o->bucket_next;
            blob_unref(o->now);
            blob_unref(o->first);
            mem_free(o);
        }
    }
    mem_free(v->manifests.objects);
    mem_free(v->markers.objects);
    names_free(&v->names);
    mem_free(v);
}

uint64_t vstore_key_hash(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key != '\0'; key++)
        hash = (hash ^ (uint8_t)*key) * 0x100000001b3u;
    return hash;
}

/* Absurd numbers (from an absurd hint) are left out: nothing is ever created there. */
#define INDEX_MAX 1000000u

static void index_add(number_index *x, object *o)
{
    if (o->number >= INDEX_MAX)
        return;
    void *objects = x->objects;
    const size_t old = x->capacity;
    if (mem_grow(&objects, &x->capacity, (size_t)o->number + 1, sizeof *x->objects) != 0)
        sim_defect("no memory");
    x->objects = objects;
    if (x->capacity > old)
        memset(x->objects + old, 0, (x->capacity - old) * sizeof *x->objects);
    x->objects[o->number] = o;
    if (x->count <= o->number)
        x->count = (size_t)o->number + 1;
}

static object *index_at(const number_index *x, uint64_t number)
{
    return number < x->count ? x->objects[number] : NULL;
}

object *vstore_object(vstore *v, const object_key *key, uint64_t hash)
{
    object **at = &v->buckets[hash % BUCKETS];
    for (; *at != NULL; at = &(*at)->bucket_next)
        if ((*at)->hash == hash && strcmp((*at)->key.text, key->text) == 0)
            return *at;
    object *o = sim_alloc(sizeof *o);
    key_fields fields;
    key_parse(view_text(key->text), &fields);
    o->hash = hash;
    o->key = *key;
    o->kind = fields.kind;
    o->number = fields.number;
    o->last = fields.last;
    o->nonce = fields.nonce;
    *at = o;
    if (o->kind == KEY_MANIFEST && o->number > 0 && o->number <= v->newest) { /* it was forgotten */
        o->was_deleted = true;
        o->first = blob_new("", 0);
        o->writes = 1;
    }
    if (o->kind == KEY_MANIFEST)
        index_add(&v->manifests, o);
    else if (o->kind == KEY_MARKER)
        index_add(&v->markers, o);
    return o;
}

object *vstore_manifest(const vstore *v, uint64_t version)
{
    return index_at(&v->manifests, version);
}

bool vstore_has_marker(const vstore *v, uint64_t number)
{
    const object *o = index_at(&v->markers, number);
    return o != NULL && o->now != NULL;
}

uint64_t vstore_retired(const vstore *v)
{
    return v->retired;
}

uint64_t vstore_newest(const vstore *v)
{
    return v->newest;
}

bool vstore_is_retired(const sim *s, uint64_t version)
{
    return vstore_has_marker(s->store, genesis_block(&s->genesis, version));
}

int vstore_each(const vstore *v, int (*each)(void *context, object *o), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (object *o = v->buckets[i]; o != NULL; o = o->bucket_next) {
            const int answer = each(context, o);
            if (answer != 0)
                return answer;
        }
    }
    return 0;
}

vstore_size vstore_stored(const vstore *v)
{
    return v->stored;
}

vstore_size vstore_peak(const vstore *v)
{
    return v->peak;
}

static void count(vstore *v, const blob *old, const blob *new)
{
    v->stored.objects += new != NULL ? 1 : 0;
    v->stored.objects -= old != NULL ? 1 : 0;
    v->stored.bytes += new != NULL ? new->size : 0;
    v->stored.bytes -= old != NULL ? old->size : 0;
    if (v->stored.objects > v->peak.objects)
        v->peak.objects = v->stored.objects;
    if (v->stored.bytes > v->peak.bytes)
        v->peak.bytes = v->stored.bytes;
}

static void want(const void *object_of_ours)
{
    object *o = (object *)(uintptr_t)object_of_ours;
    if (o != NULL)
        o->wanted = true;
}

static void index_drop(number_index *x, const object *o)
{
    if (index_at(x, o->number) == o)
        x->objects[o->number] = NULL;
}

void vstore_forget(sim *s)
{
    vstore *v = s->store;
    network_want(s);
    for (uint32_t i = 0; i < s->process_count; i++) {
        want(s->processes[i]->bad_object);
        for (uint32_t k = 0; k < DAMAGED_KEPT; k++)
            want(s->processes[i]->damaged[k].object);
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (object **at = &v->buckets[i], *o = *at; o != NULL; o = *at) {
            const bool goes = o->now == NULL && !o->wanted && check_let_go(s, o);
            o->wanted = false;
            if (!goes) {
                at = &o->bucket_next;
                continue;
            }
            *at = o->bucket_next;
            index_drop(&v->manifests, o);
            index_drop(&v->markers, o);
            blob_unref(o->first);
            mem_free(o);
        }
    }
}

static void hold(sim *s, object *o, blob *body)
{
    vstore *v = s->store;
    blob *old = o->now;
    o->now = blob_ref(body);
    o->unreachable_ns = 0;
    if (old == NULL)
        names_add(&v->names, o);
    count(v, old, body);
    blob_unref(old);
    o->writes++;
    if (o->first != NULL)
        return;
    o->first = blob_ref(body);
    o->first_ns = s->now_ns;
    if (o->kind == KEY_MANIFEST && o->number == v->newest + 1)
        v->newest++;
    while (vstore_has_marker(v, v->retired))
        v->retired++;
}

bool vstore_create(sim *s, object *o, blob *body, const flight *f)
{
    if (o->now != NULL)
        return false;
    hold(s, o, body);
    check_created(s, o, f);
    return true;
}

void vstore_put(sim *s, object *o, blob *body, const flight *f)
{
    hold(s, o, body);
    check_put(s, o, f);
}

void vstore_delete(sim *s, object *o, const flight *f)
{
    check_deleted(s, o, f);
    if (o->now != NULL)
        names_remove(&s->store->names, o);
    count(s->store, o->now, NULL);
    blob_unref(o->now);
    o->was_deleted |= o->now != NULL;
    o->now = NULL;
}

uint32_t vstore_list(const vstore *v, uint64_t after, uint64_t *versions, uint32_t max, bool *more)
{
    object_key key;
    key_manifest(&key, after);
    return names_numbers(&v->names, KEY_MANIFEST, key.text, versions, max, more);
}

uint32_t vstore_names(const vstore *v, const char *prefix, const char *after, const object **out,
                      uint32_t max, bool *more)
{
    return names_list(&v->names, prefix, after, out, max, more);
}
