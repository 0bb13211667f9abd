// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "grab.h"
#include "names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 4096u
/* Versions look like generations: far from 0, so that no test mistakes one for a count. */
#define VERSION_BASE 1700000000000000ull

typedef enum event { EVENT_CREATED, EVENT_OVERWROTE, EVENT_DELETED } event;

typedef struct entry {
    const name *name;
    int64_t at_ns; /* monotonic */
    uint64_t request, size;
    hash128 digest;
    uint32_t crc32c;
    uint8_t event, how;
} entry;

struct objects {
    lock lock;
    struct {
        names names;
        char **containers;
        size_t container_count, container_capacity;
        entry *journal;
        size_t journal_count, journal_capacity;
        objects_totals totals;
    } locked;
    uint64_t bytes_max, journal_max;
};

objects *objects_new(uint64_t bytes_max, uint64_t journal_max)
{
    objects *o = grab_zeroed(sizeof *o);
    lock_init(&o->lock);
    names_init(&o->locked.names);
    o->bytes_max = bytes_max;
    o->journal_max = journal_max;
    return o;
}

void objects_reset(objects *o)
{
    lock_acquire(&o->lock);
    names_free(&o->locked.names);
    mem_free(o->locked.journal);
    o->locked.journal = NULL;
    o->locked.journal_count = o->locked.journal_capacity = 0;
    o->locked.totals = (objects_totals){0};
    lock_release(&o->lock);
}

void objects_free(objects *o)
{
    objects_reset(o);
    for (size_t i = 0; i < o->locked.container_count; i++)
        mem_free(o->locked.containers[i]);
    mem_free(o->locked.containers);
    lock_destroy(&o->lock);
    mem_free(o);
}

static bool container_known_locked(const objects *o, const char *container)
{
    for (size_t i = 0; i < o->locked.container_count; i++)
        if (strcmp(o->locked.containers[i], container) == 0)
            return true;
    return false;
}

failure objects_add_container(objects *o, const char *container)
{
    lock_acquire(&o->lock);
    const bool known = container_known_locked(o, container);
    if (!known) {
        void *array = o->locked.containers;
        grab_grow(&array, &o->locked.container_capacity, o->locked.container_count + 1,
                  sizeof *o->locked.containers);
        o->locked.containers = array;
        o->locked.containers[o->locked.container_count++] = grab_text(container);
    }
    lock_release(&o->lock);
    return known ? FAILURE_CONTAINER_EXISTS : FAILURE_NONE;
}

bool objects_has_container(objects *o, const char *container)
{
    lock_acquire(&o->lock);
    const bool known = container_known_locked(o, container);
    lock_release(&o->lock);
    return known;
}

static failure full_name(const char *container, const char *key, char *text)
{
    const int size = snprintf(text, NAME_BYTES_MAX, "%s/%s", container, key);
    return size < 0 || (size_t)size >= NAME_BYTES_MAX ? FAILURE_LONG_KEY : FAILURE_NONE;
}

failure objects_get(objects *o, const char *container, const char *key, object *out)
{
    char text[NAME_BYTES_MAX];
    failure f = full_name(container, key, text);
    if (f != FAILURE_NONE)
        return f;
    lock_acquire(&o->lock);
    const name *at = names_find(&o->locked.names, text);
    if (at != NULL && at->now.bytes != NULL) {
        *out = at->now;
        blob_keep(out->bytes);
    } else {
        f = container_known_locked(o, container) ? FAILURE_NO_OBJECT : FAILURE_NO_CONTAINER;
    }
    lock_release(&o->lock);
    return f;
}

static void note_locked(objects *o, const name *n, const change *c, event e, const blob *bytes)
{
    o->locked.totals.journaled++;
    if (o->locked.journal_count == o->journal_max) {
        o->locked.totals.journal_lost++;
        return;
    }
    void *array = o->locked.journal;
    grab_grow(&array, &o->locked.journal_capacity, o->locked.journal_count + 1, sizeof(entry));
    o->locked.journal = array;
    o->locked.journal[o->locked.journal_count++] = (entry){.name = n,
                                                           .at_ns = clock_now(clock_system()),
                                                           .request = c->request,
                                                           .size = bytes->size,
                                                           .crc32c = bytes->crc32c,
                                                           .digest = bytes->digest,
                                                           .event = (uint8_t)e,
                                                           .how = (uint8_t)c->how};
}

static failure judge(const change *c, const name *n)
{
    const bool there = n != NULL && n->now.bytes != NULL;
    if (c->condition == IF_ABSENT)
        return there ? FAILURE_EXISTS : FAILURE_NONE;
    if (c->condition == IF_VERSION && !there)
        return FAILURE_NO_OBJECT;
    if (c->condition == IF_VERSION && n->now.version != c->version)
        return FAILURE_CONDITION;
    return FAILURE_NONE;
}

static failure put_locked(objects *o, const change *c, const char *text, blob *bytes, object *out)
{
    if (!container_known_locked(o, c->container))
        return FAILURE_NO_CONTAINER;
    name *n = names_find(&o->locked.names, text);
    const failure f = judge(c, n);
    if (f != FAILURE_NONE)
        return f;
    if (o->locked.totals.bytes + bytes->size > o->bytes_max)
        return FAILURE_FULL;
    if (n == NULL)
        n = names_make(&o->locked.names, text);
    const bool there = n->now.bytes != NULL;
    note_locked(o, n, c, there ? EVENT_OVERWROTE : EVENT_CREATED, bytes);
    o->locked.totals.bytes += bytes->size;
    o->locked.totals.objects += !there;
    if (there)
        o->locked.totals.bytes -= n->now.bytes->size;
    blob_drop(n->now.bytes);
    n->now = (object){.bytes = blob_keep(bytes),
                      .version = VERSION_BASE + o->locked.totals.journaled,
                      .stored_ms = clock_wall_ms(clock_system())};
    n->stored_ns = clock_now(clock_system());
    *out = n->now;
    out->bytes = NULL;
    return FAILURE_NONE;
}

failure objects_put(objects *o, const change *c, blob *bytes, object *out)
{
    char text[NAME_BYTES_MAX];
    failure f = full_name(c->container, c->key, text);
    if (f != FAILURE_NONE)
        return f;
    lock_acquire(&o->lock);
    f = put_locked(o, c, text, bytes, out);
    lock_release(&o->lock);
    return f;
}

static failure delete_locked(objects *o, const change *c, const char *text)
{
    if (!container_known_locked(o, c->container))
        return FAILURE_NO_CONTAINER;
    name *n = names_find(&o->locked.names, text);
    if (n == NULL || n->now.bytes == NULL)
        return FAILURE_NO_OBJECT;
    const failure f = judge(c, n);
    if (f != FAILURE_NONE)
        return f;
    note_locked(o, n, c, EVENT_DELETED, n->now.bytes);
    o->locked.totals.bytes -= n->now.bytes->size;
    o->locked.totals.objects--;
    n->gone = n->now;
    n->gone.bytes = NULL;
    n->gone_size = n->now.bytes->size;
    n->deleted_ns = clock_now(clock_system());
    blob_drop(n->now.bytes);
    n->now = (object){0};
    return FAILURE_NONE;
}

failure objects_delete(objects *o, const change *c)
{
    char text[NAME_BYTES_MAX];
    failure f = full_name(c->container, c->key, text);
    if (f != FAILURE_NONE)
        return f;
    lock_acquire(&o->lock);
    f = delete_locked(o, c, text);
    lock_release(&o->lock);
    return f;
}

/** What a list that is `stale_ns` old shows of a name; false: nothing. */
static bool visible(const name *n, int64_t stale_ns, list_entry *e)
{
    const int64_t then = clock_now(clock_system()) - stale_ns;
    if (n->now.bytes != NULL && (stale_ns == 0 || n->stored_ns <= then)) {
        e->size = n->now.bytes->size;
        e->crc32c = n->now.bytes->crc32c;
        e->version = n->now.version;
        e->stored_ms = n->now.stored_ms;
        return true;
    }
    if (stale_ns == 0 || n->deleted_ns <= then)
        return false;
    e->size = n->gone_size;
    e->crc32c = 0;
    e->version = n->gone.version;
    e->stored_ms = n->gone.stored_ms;
    return true;
}

static void collect_locked(objects *o, const list_query *q, const char *stem, const char *start,
                           bool inclusive, listing *out)
{
    const size_t stem_size = strlen(stem), skip = strlen(q->container) + 1;
    name *n = names_from(&o->locked.names, start);
    if (n != NULL && !inclusive && strcmp(n->text, start) == 0)
        n = n->next[0];
    for (; n != NULL && strncmp(n->text, stem, stem_size) == 0; n = n->next[0]) {
        list_entry e = {0};
        if (!visible(n, q->stale_ns, &e))
            continue;
        if (out->count == q->max) {
            const size_t back = q->repeat < q->max ? q->repeat : q->max - 1;
            out->next = q->max > 0 ? out->entries[q->max - 1 - back].key : NULL;
            return;
        }
        void *array = out->entries;
        grab_grow(&array, &out->capacity, out->count + 1, sizeof e);
        out->entries = array;
        e.key = grab_text(n->text + skip);
        out->entries[out->count++] = e;
    }
}

static void shuffle(listing *l, uint64_t seed)
{
    rng random;
    rng_seed(&random, seed);
    for (size_t i = l->count; i > 1; i--) {
        const size_t k = (size_t)rng_below(&random, i);
        const list_entry kept = l->entries[k];
        l->entries[k] = l->entries[i - 1];
        l->entries[i - 1] = kept;
    }
}

failure objects_list(objects *o, const list_query *q, listing *out)
{
    char stem[NAME_BYTES_MAX], start[NAME_BYTES_MAX], other[NAME_BYTES_MAX];
    failure f = full_name(q->container, q->prefix, stem);
    if (f == FAILURE_NONE)
        f = full_name(q->container, q->after, start);
    if (f == FAILURE_NONE)
        f = full_name(q->container, q->from, other);
    if (f != FAILURE_NONE)
        return f;
    /* The greatest of the three lower bounds; only `after` leaves its own name out. */
    const char *bound = start;
    bool inclusive = false;
    if (strcmp(other, bound) > 0) {
        bound = other;
        inclusive = true;
    }
    if (strcmp(stem, bound) > 0) {
        bound = stem;
        inclusive = true;
    }
    lock_acquire(&o->lock);
    if (!container_known_locked(o, q->container))
        f = FAILURE_NO_CONTAINER;
    else
        collect_locked(o, q, stem, bound, inclusive, out);
    lock_release(&o->lock);
    if (q->unordered)
        shuffle(out, q->seed);
    return f;
}

void listing_free(listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->entries[i].key);
    mem_free(l->entries);
    *l = (listing){0};
}

/** Keys are UTF-8 (exchange_begin): only what JSON wants escaped is. */
static void put_json_text(buf *out, const char *text)
{
    buf_put_u8(out, '"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == '"' || *c == '\\' || *c == 0x7f)
            buf_printf(out, "\\u%04x", *c);
        else
            buf_put_u8(out, *c);
    }
    buf_put_u8(out, '"');
}

void objects_journal(objects *o, uint64_t after, size_t max, buf *out)
{
    static const char *const events[] = {"created", "overwrote", "deleted"};
    static const char *const ways[] = {"once", "late", "again", "racy"};
    lock_acquire(&o->lock);
    for (uint64_t i = after; i < o->locked.journal_count && i - after < max; i++) {
        const entry *e = &o->locked.journal[i];
        char digest[HASH_HEX_BYTES];
        hex_encode(e->digest.bytes, HASH_BYTES, digest);
        buf_printf(out,
                   "{\"number\":%" PRIu64 ",\"at_ns\":%" PRId64 ",\"event\":\"%s\",\"key\":", i + 1,
                   e->at_ns, events[e->event]);
        put_json_text(out, e->name->text);
        buf_printf(out,
                   ",\"size\":%" PRIu64 ",\"crc32c\":\"%08x\",\"request\":\"%016" PRIx64
                   "\",\"applied\":\"%s\"",
                   e->size, e->crc32c, e->request, ways[e->how]);
        if (!hash_is_zero(&e->digest))
            buf_printf(out, ",\"sha256_128\":\"%s\"", digest);
        buf_put_text(out, "}\n");
    }
    lock_release(&o->lock);
}

void objects_count(objects *o, objects_totals *totals)
{
    lock_acquire(&o->lock);
    *totals = o->locked.totals;
    lock_release(&o->lock);
}
