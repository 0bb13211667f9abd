// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include "base/alloc.h"
#include "vstore.h"
#include <string.h>

void names_free(live_names *n)
{
    for (uint32_t i = 0; i <= KEY_FOREIGN; i++)
        mem_free(n->rows[i].objects);
}

/* How many of the row come before `name`. */
static size_t place_of(const name_row *row, const char *name)
{
    size_t from = 0, to = row->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (strcmp(row->objects[middle]->key.text, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void names_add(live_names *n, object *o)
{
    name_row *row = &n->rows[o->kind];
    void *objects = row->objects;
    if (mem_grow(&objects, &row->capacity, row->count + 1, sizeof(object *)) != 0)
        sim_defect("no memory");
    row->objects = objects;
    const size_t at = place_of(row, o->key.text);
    memmove(row->objects + at + 1, row->objects + at, (row->count - at) * sizeof(object *));
    row->objects[at] = o;
    row->count++;
}

void names_remove(live_names *n, const object *o)
{
    name_row *row = &n->rows[o->kind];
    const size_t at = place_of(row, o->key.text);
    if (at == row->count || row->objects[at] != o)
        sim_defect("a name that was not listed");
    row->count--;
    memmove(row->objects + at, row->objects + at + 1, (row->count - at) * sizeof(object *));
}

/* The first of the row after `after`. */
static size_t place_after(const name_row *row, const char *after)
{
    const size_t at = place_of(row, after);
    return at + (at < row->count && strcmp(row->objects[at]->key.text, after) == 0);
}

uint32_t names_numbers(const live_names *n, key_kind kind, const char *after, uint64_t *numbers,
                       uint32_t max, bool *more)
{
    const name_row *row = &n->rows[kind];
    const size_t from = place_after(row, after);
    uint32_t count = 0;
    while (count < max && from + count < row->count) {
        numbers[count] = row->objects[from + count]->number;
        count++;
    }
    *more = from + count < row->count;
    return count;
}

/* The first in order of those that the rows have at these places; NULL: none has the prefix. */
static const object *first_of(const live_names *n, const size_t *at, const char *prefix)
{
    const size_t size = strlen(prefix);
    const object *first = NULL;
    for (uint32_t i = 0; i <= KEY_FOREIGN; i++) {
        const object *o = at[i] < n->rows[i].count ? n->rows[i].objects[at[i]] : NULL;
        if (o != NULL && strncmp(o->key.text, prefix, size) == 0 &&
            (first == NULL || strcmp(o->key.text, first->key.text) < 0))
            first = o;
    }
    return first;
}

uint32_t names_list(const live_names *n, const char *prefix, const char *after, const object **out,
                    uint32_t max, bool *more)
{
    const bool goes_on = strcmp(after, prefix) >= 0;
    size_t at[KEY_FOREIGN + 1];
    for (uint32_t i = 0; i <= KEY_FOREIGN; i++)
        at[i] = goes_on ? place_after(&n->rows[i], after) : place_of(&n->rows[i], prefix);
    uint32_t count = 0;
    const object *next;
    while ((next = first_of(n, at, prefix)) != NULL && count < max) {
        out[count++] = next;
        at[next->kind]++;
    }
    *more = next != NULL;
    return count;
}
