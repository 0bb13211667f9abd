// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include "base/alloc.h"
#include "grab.h"
#include <string.h>

void names_init(names *n)
{
    memset(n, 0, sizeof *n);
    rng_seed(&n->random, 1);
}

void names_free(names *n)
{
    for (name *at = n->first[0], *next = NULL; at != NULL; at = next) {
        next = at->next[0];
        blob_drop(at->now.bytes);
        mem_free(at);
    }
    names_init(n);
}

/** On each level the last link before `text`. */
static void find_links(names *n, const char *text, name ***links)
{
    name **row = n->first;
    for (size_t level = NAMES_LEVELS; level-- > 0;) {
        while (row[level] != NULL && strcmp(row[level]->text, text) < 0)
            row = row[level]->next;
        links[level] = &row[level];
    }
}

name *names_from(names *n, const char *text)
{
    name **links[NAMES_LEVELS];
    find_links(n, text, links);
    return *links[0];
}

name *names_find(names *n, const char *text)
{
    name *at = names_from(n, text);
    return at != NULL && strcmp(at->text, text) == 0 ? at : NULL;
}

name *names_make(names *n, const char *text)
{
    name **links[NAMES_LEVELS];
    find_links(n, text, links);
    if (*links[0] != NULL && strcmp((*links[0])->text, text) == 0)
        return *links[0];
    /* Two of three stay on a level. */
    size_t levels = 1;
    while (levels < NAMES_LEVELS && rng_below(&n->random, 3) == 0)
        levels++;
    const size_t size = strlen(text) + 1;
    const size_t head = sizeof(name) + levels * sizeof(name *);
    name *made = grab_zeroed(head + size);
    char *copy = (char *)made + head;
    memcpy(copy, text, size);
    made->text = copy;
    for (size_t level = 0; level < levels; level++) {
        made->next[level] = *links[level];
        *links[level] = made;
    }
    n->count++;
    return made;
}
