// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One small run of everything public, in steps, on one namespace: what the sweeps put their faults
 * into. Each step sees to the handles that it needs, so it can be run again after a failure, on the
 * same handles or on new ones.
 */
#ifndef TESTS_INJECT_SCENE_H
#define TESTS_INJECT_SCENE_H

#include <batchweave/batchweave.h>
#include <stdbool.h>

#define BATCHES_MAX 48u
#define ITEM_BYTES_MAX 4096u
#define SECOND 1000000000ll

/* How large the run is. */
typedef struct scene_shape {
    const char *name;
    uint32_t dp, cp, items, batches;
    uint32_t item_bytes; /* 64 … ITEM_BYTES_MAX; some items are shorter, the last is a pad */
    uint32_t state_bytes;
    const char *kind, *part_size, *tail_cap, *compress;
} scene_shape;

extern const scene_shape scene_shapes[];
extern const uint32_t scene_shape_count;

typedef struct scene {
    const scene_shape *shape;
    char root[96], url[112];
    int64_t timeout_ns; /* of every call */
    bw_error *error;    /* never made under injection */
    bw_runtime *runtime;
    bw_space *space, *reading;
    bw_producer *producer;
    bw_consumer *consumer;
    uint32_t next_batch; /* of this producer handle */
    uint64_t next_step;  /* of this consumer handle */
    uint32_t next_item;
    bool tried;                         /* to initialise */
    bool initialised, finished, sealed; /* acknowledged */
    uint32_t acknowledged;              /* batches */
    char cursor[512];
    void (*acknowledge)(struct scene *w); /* told when one of the above changed; NULL: nobody */
    char wrong[512];                      /* what must never be; "": nothing */
} scene;

typedef struct scene_step {
    const char *name; /* of the public functions it is about */
    bw_status (*run)(scene *w);
    bool aside; /* changes nothing for the others: left out where it is not what is tried */
} scene_step;

extern const scene_step scene_steps[];
extern const uint32_t scene_step_count;

/** A scene in the directory `root`, which need not exist. */
void scene_begin(scene *w, const scene_shape *shape, const char *root);
/** Closes all handles; the namespace stays. */
void scene_close(scene *w);
/** Closes all handles and frees the rest. */
void scene_end(scene *w);
/** The first thing wrong is kept. */
void scene_wrong(scene *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Reads the whole namespace with new handles: proves it by verify, deep, and compares each item
 * with what was put. Everything acknowledged must be there; `complete`: all batches. */
void scene_prove(scene *w, bool complete);
/** rm -r of what is beneath `path`, and `path`. */
void scene_remove(const char *path);

#endif
