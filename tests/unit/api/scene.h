// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What the API tests share: a temporary directory with a namespace in it, producers, consumers and
 * content that proves its place. */
#ifndef TESTS_API_SCENE_H
#define TESTS_API_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <batchweave/batchweave.h>
#include <stdbool.h>

#define SECOND 1000000000ll

typedef struct scene {
    char directory[128];
    char url[160];
    bw_error *error;
    bw_runtime *runtime;
    bw_space *space; /* open for writing */
} scene;

/** Settings as "name", "value", …, NULL. Free with bw_config_free. */
bw_config *settings(const char *first, ...) __attribute__((sentinel));
/** A runtime and a namespace of `dp` × `cp` with tiny blocks and tails, open for writing. `more`:
 * further "init" settings, NULL for none. */
void scene_open(scene *w, const char *dp, const char *cp, const bw_config *more);
/** Closes and removes everything. */
void scene_close(scene *w);
/** A second handle on the same namespace. */
bw_space *scene_space(scene *w, bool write);

/** Expects BW_OK; prints the error otherwise. */
void expect_ok(const scene *w, bw_status status);
void expect_status(const scene *w, bw_status status, bw_status expected);

bw_producer *open_producer(scene *w, const char *id, const bw_config *config);
bw_consumer *open_consumer(scene *w, bw_space *space, const char *d, const char *c);
/** A batch whose items say producer, offset, slice and item; `bytes` of the text are repeated to
 * fill. Memory: the caller frees it. */
void put_batch(scene *w, bw_producer *p, const char *id, uint64_t start, uint64_t end,
               uint32_t items, char **memory);
/** What item (d, c, item) of the batch [start, …) of `id` must be. */
size_t item_text(char *out, size_t cap, const char *id, uint64_t start, uint32_t d, uint32_t c,
                 uint32_t item);
/** Takes the next item and checks it against item_text; returns its step. */
uint64_t take_item(scene *w, bw_consumer *consumer, char *id, size_t id_cap, uint64_t *start);
/** For reports of which only the status counts. */
int no_line(void *context, const char *json);
/** Number in a JSON text behind "key":; fails when absent. */
int64_t json_number(const char *json, const char *key);
/** Number of stored files below the namespace's `prefix`. */
size_t count_files(const scene *w, const char *prefix);

#endif
