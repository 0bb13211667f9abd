// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/lookup.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

#define CACHE_BUCKETS 256u
/* Never fewer are kept, whatever their size: a walk from the top index down to a leaf must fit, or
 * it would ask for ever for what it has just pushed out. */
#define CACHE_COUNT_MIN (SEGMENT_LEVELS_MAX + 2u)

typedef struct cached {
    struct cached *bucket_next;
    struct cached *newer, *older;
    hash128 hash;
    uint8_t *object;
    size_t bytes;
    segment segment;
} cached;

struct segment_cache {
    size_t bytes_max, bytes;
    uint32_t count;
    cached *newest, *oldest;
    cached *buckets[CACHE_BUCKETS];
};

bw_status segment_cache_new(size_t bytes_max, segment_cache **out)
{
    segment_cache *cache = mem_zalloc(sizeof *cache);
    if (cache == NULL)
        return BW_NOMEM;
    cache->bytes_max = bytes_max;
    *out = cache;
    return BW_OK;
}

static cached **bucket_of(segment_cache *cache, const hash128 *hash)
{
    return &cache->buckets[hash->bytes[0] % CACHE_BUCKETS];
}

static void unlink_age(segment_cache *cache, cached *entry)
{
    MUST(entry->newer != NULL || cache->newest == entry);
    MUST(entry->older != NULL || cache->oldest == entry);
    *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(segment_cache *cache, cached *entry)
{
    MUST_OR(cache->newest != entry, return );
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
    MUST(cache->oldest != NULL);
}

static void drop_oldest(segment_cache *cache)
{
    cached *entry = cache->oldest;
    MUST_OR(entry != NULL, return );
    MUST(cache->count > 0);
    MUST(cache->bytes >= entry->bytes);
    unlink_age(cache, entry);
    cached **at = bucket_of(cache, &entry->hash);
    while (*at != entry)
        at = &(*at)->bucket_next;
    *at = entry->bucket_next;
    cache->bytes -= entry->bytes;
    cache->count--;
    mem_free(entry->object);
    mem_free(entry);
}

void segment_cache_free(segment_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->oldest != NULL)
        drop_oldest(cache);
    mem_free(cache);
}

static cached *find(segment_cache *cache, const hash128 *hash)
{
    for (cached *entry = *bucket_of(cache, hash); entry != NULL; entry = entry->bucket_next)
        if (hash_equal(&entry->hash, hash))
            return entry;
    return NULL;
}

/* Hashes alone do not tell: a manifest may lie, and name one object for two ranges of steps. */
static bool fits(const segment *s, const segment_ref *ref)
{
    return s->level == ref->level && s->first == ref->first && s->last == ref->last;
}

const segment *segment_cache_find(segment_cache *cache, const hash128 *hash)
{
    cached *entry = find(cache, hash);
    if (entry == NULL)
        return NULL;
    unlink_age(cache, entry);
    link_newest(cache, entry);
    MUST(cache->newest == entry);
    return &entry->segment;
}

bw_status segment_cache_add(segment_cache *cache, const segment_ref *ref,
                            const uint8_t uuid[UUID_BYTES], uint32_t slices, uint8_t *object,
                            size_t bytes, bw_error *error)
{
    cached *entry = NULL;
    bw_status status = BW_OK;
    MUST(ref->first <= ref->last);
    MUST(ref->level < SEGMENT_LEVELS_MAX);
    const cached *known = find(cache, &ref->hash);
    if (known != NULL) {
        if (!fits(&known->segment, ref))
            status =
                error_set(error, BW_CORRUPT, "segment: two references name it, for other steps");
        goto done;
    }
    entry = mem_zalloc(sizeof *entry);
    if (entry == NULL) {
        status = error_set(error, BW_NOMEM, "no memory for a segment");
        goto done;
    }
    status = segment_open(view_of(object, bytes), ref, uuid, slices, &entry->segment, error);
    if (status != BW_OK)
        goto done;
    MUST(fits(&entry->segment, ref));
    entry->hash = ref->hash;
    entry->object = object;
    entry->bytes = bytes;
    cached **bucket = bucket_of(cache, &ref->hash);
    entry->bucket_next = *bucket;
    *bucket = entry;
    link_newest(cache, entry);
    cache->count++;
    cache->bytes += bytes;
    while (cache->bytes > cache->bytes_max && cache->count > CACHE_COUNT_MIN)
        drop_oldest(cache);
    MUST(cache->newest == entry);
    MUST(cache->bytes <= cache->bytes_max || cache->count <= CACHE_COUNT_MIN);
    return BW_OK;
done:
    mem_free(entry);
    mem_free(object);
    return status;
}

/* The reference that covers `step`; they are contiguous and ascending. */
static const segment_ref *covering(const segment_ref *refs, uint32_t count, uint64_t step)
{
    uint32_t low = 0, high = count;
    MUST(count > 0);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (refs[middle].first <= step)
            low = middle;
        else
            high = middle;
    }
    if (low + 1 < count && MUTANT(lookup_wrong_segment))
        return &refs[low + 1];
    MUST(refs[low].first <= step);
    MUST(step <= refs[low].last);
    return &refs[low];
}

lookup_verdict lookup_path(const manifest *m, segment_cache *cache, uint64_t step,
                           segment_ref path[SEGMENT_LEVELS_MAX], uint32_t *depth,
                           const segment **leaf)
{
    *depth = 1;
    MUST_OR(m->ref_count > 0, return LOOKUP_FAILED);
    MUST_OR(step < manifest_tail_first(m), return LOOKUP_FAILED);
    path[0] = *covering(m->refs, m->ref_count, step);
    for (*depth = 1;; ++*depth) {
        const segment_ref *ref = &path[*depth - 1];
        const segment *s = segment_cache_find(cache, &ref->hash);
        if (s == NULL || !fits(s, ref))
            return LOOKUP_NEED;
        *leaf = s;
        if (s->level == 0) {
            MUST_OR(s->first <= step, return LOOKUP_FAILED);
            MUST_OR(step <= s->last, return LOOKUP_FAILED);
            return LOOKUP_FOUND;
        }
        /* The way down ends: children are of the level below. */
        MUST_OR(*depth < SEGMENT_LEVELS_MAX, return LOOKUP_FAILED);
        path[*depth] = *covering(s->children, INDEX_CHILDREN, step);
        MUST_OR(path[*depth].level + 1u == s->level, return LOOKUP_FAILED);
    }
}

/* Goes down to the segment of level 0 that holds `step`, which lies below the tail. */
static lookup_verdict descend(const manifest *m, segment_cache *cache, uint64_t step,
                              const segment **leaf, segment_ref *ref)
{
    segment_ref path[SEGMENT_LEVELS_MAX];
    uint32_t depth;
    const lookup_verdict verdict = lookup_path(m, cache, step, path, &depth, leaf);
    *ref = path[depth - 1];
    return verdict;
}

lookup_verdict lookup_step(const manifest *m, segment_cache *cache, uint64_t step, descriptor *out,
                           segment_ref *needed)
{
    if (step >= m->next)
        return LOOKUP_BEYOND;
    if (step < m->swept)
        return LOOKUP_TRIMMED;
    const uint64_t tail_first = manifest_tail_first(m);
    MUST(tail_first <= m->next);
    if (step >= tail_first) {
        MUST_OR(step - tail_first < m->tail.records, return LOOKUP_FAILED);
        const bool late = step + 1 < m->next && MUTANT(lookup_next_step);
        block_descriptor(&m->tail, (uint32_t)(step - tail_first) + late, out);
        return LOOKUP_FOUND;
    }
    const segment *leaf;
    const lookup_verdict verdict = descend(m, cache, step, &leaf, needed);
    MUST(verdict != LOOKUP_FOUND || step - leaf->first < leaf->block.records);
    if (verdict == LOOKUP_FOUND)
        block_descriptor(&leaf->block, (uint32_t)(step - leaf->first), out);
    return verdict;
}

lookup_verdict lookup_sum(const manifest *m, segment_cache *cache, uint64_t step, hash128 *sum,
                          segment_ref *needed)
{
    if (step > m->next)
        return LOOKUP_BEYOND;
    if (step < m->swept)
        return LOOKUP_TRIMMED;
    const uint64_t tail_first = manifest_tail_first(m);
    hash128 terms = {{0}};
    if (step >= tail_first) {
        MUST_OR(step - tail_first <= m->tail.records, return LOOKUP_FAILED);
        if (block_add_terms(&m->tail, tail_first, (uint32_t)(step - tail_first), m->tail.records,
                            &terms) != BW_OK)
            return LOOKUP_FAILED;
        *sum = m->sum;
        hash_subtract(sum, &terms);
        return LOOKUP_FOUND;
    }
    const segment *leaf;
    const lookup_verdict verdict = descend(m, cache, step, &leaf, needed);
    if (verdict != LOOKUP_FOUND)
        return verdict;
    MUST_OR(step - leaf->first < leaf->block.records, return LOOKUP_FAILED);
    MUST(needed->level == 0);
    if (block_add_terms(&leaf->block, leaf->first, 0, (uint32_t)(step - leaf->first), &terms) !=
        BW_OK)
        return LOOKUP_FAILED;
    *sum = needed->sum_before;
    hash_add(sum, &terms);
    return LOOKUP_FOUND;
}
