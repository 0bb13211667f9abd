// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The names that hold something now, in order: a LIST costs what it returns, however many names are
 * gone. Each kind has its own row, in which little moves when a name comes or goes: markers and
 * manifests come at the end, and of the rest little is stored at a time.
 */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

#include "codec/key.h"

struct object;

typedef struct name_row {
    struct object **objects;
    size_t count, capacity;
} name_row;

typedef struct live_names {
    name_row rows[KEY_FOREIGN + 1];
} live_names;

void names_free(live_names *n);
/** It begins to hold something, and holds nothing any more. */
void names_add(live_names *n, struct object *o);
void names_remove(live_names *n, const struct object *o);
/** The numbers of those of a kind after the name `after`, in order, up to `max`; returns how many.
 * `more`: there are more. */
uint32_t names_numbers(const live_names *n, key_kind kind, const char *after, uint64_t *numbers,
                       uint32_t max, bool *more);
/** Those below `prefix` after `after`, of all kinds, as above. */
uint32_t names_list(const live_names *n, const char *prefix, const char *after,
                    const struct object **out, uint32_t max, bool *more);

#endif
