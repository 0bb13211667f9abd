// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The virtual store: what every name holds now, and held first. It promises what docs/guarantees.md
 * assumes and nothing else: single keys, atomic create-if-absent. Names are not forgotten, so it
 * is also the witness: the first content of each manifest name is the chain. (In a month those that
 * are gone are forgotten, vstore_forget: the checker has judged them.)
 */
#ifndef SIM_VSTORE_H
#define SIM_VSTORE_H

#include "sim.h"

/** Immutable bytes, counted. */
typedef struct blob {
    uint32_t references;
    uint32_t size;
    uint8_t *bytes;
} blob;

blob *blob_new(const void *bytes, size_t size);
blob *blob_ref(blob *b);
void blob_unref(blob *b); /* NULL is fine */
bool blob_equal(const blob *a, const blob *b);

typedef struct object {
    struct object *bucket_next;
    uint64_t hash;
    object_key key;
    key_kind kind;
    uint64_t number;
    uint64_t last, nonce; /* of a segment; of data and pages */
    blob *now;            /* NULL: absent */
    blob *first;          /* the first content ever; NULL: never held any */
    int64_t first_ns;
    uint32_t writes; /* that took effect */
    bool was_deleted;
    bool wanted;            /* scratch of vstore_forget */
    int64_t unreachable_ns; /* when it was first found so, in a month; 0: it was not */
} object;

vstore *vstore_new(void);
void vstore_free(vstore *v);

uint64_t vstore_key_hash(const char *key);
object *vstore_object(vstore *v, const object_key *key, uint64_t hash);
/** NULL when the name was never asked for. */
object *vstore_manifest(const vstore *v, uint64_t version);
bool vstore_has_marker(const vstore *v, uint64_t number);
/** Blocks [0, n) have their marker. */
uint64_t vstore_retired(const vstore *v);
/** The newest version of the chain; 0: none yet. */
uint64_t vstore_newest(const vstore *v);
bool vstore_is_retired(const sim *s, uint64_t version);
/** What is stored, and was at the most. */
typedef struct vstore_size {
    uint64_t objects, bytes;
} vstore_size;
vstore_size vstore_stored(const vstore *v);
vstore_size vstore_peak(const vstore *v);
/** Forgets names that hold nothing and that nobody who lives and no request on its way can mean. */
void vstore_forget(sim *s);
/** All objects, for checks at the end; until non-zero. */
int vstore_each(const vstore *v, int (*each)(void *context, object *o), void *context);

/** Applications; the checker is told of each. */
bool vstore_create(sim *s, object *o, blob *body, const flight *f);
void vstore_put(sim *s, object *o, blob *body, const flight *f);
void vstore_delete(sim *s, object *o, const flight *f);
/** Names of manifests after version `after`, in order, up to `max`; returns how many. */
uint32_t vstore_list(const vstore *v, uint64_t after, uint64_t *versions, uint32_t max, bool *more);
/** Names below `prefix` after `after`, in order, up to `max`; returns how many. */
uint32_t vstore_names(const vstore *v, const char *prefix, const char *after, const object **out,
                      uint32_t max, bool *more);

#endif
