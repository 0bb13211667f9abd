// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The file store: durable and not, and with the look-up of kernels that lack openat2. */
#include "contract.h"
#include "scratch.h"
#include "store/file_store.h"

#include <stdlib.h>

static void *file_make(void)
{
    return scratch_make();
}

static void file_destroy(void *place)
{
    scratch_remove(place);
}

static store *file_open_with(const char *path, bool durable)
{
    const store_file_options options = {.durable = durable, .writable = true};
    store *s = NULL;
    return store_file_open(path, &options, &s, NULL) == BW_OK ? s : NULL;
}

static store *file_open_durable(void *place)
{
    return file_open_with(place, true);
}

static store *file_open_fast(void *place)
{
    return file_open_with(place, false);
}

static store *file_open_walking(void *place)
{
    store *s = file_open_with(place, false);
    if (s != NULL)
        atomic_store(&((file_store *)s)->backend->use_walk, true);
    return s;
}

static store *file_open_without_links(void *place)
{
    store *s = file_open_with(place, false);
    if (s != NULL)
        atomic_store(&((file_store *)s)->backend->no_link, true);
    return s;
}

int main(void)
{
    static const contract_factory factories[] = {
        {.name = "file, not durable",
         .make = file_make,
         .open = file_open_fast,
         .destroy = file_destroy,
         .across_processes = true},
        {.name = "file, durable",
         .make = file_make,
         .open = file_open_durable,
         .destroy = file_destroy,
         .across_processes = true},
        {.name = "file, no openat2",
         .make = file_make,
         .open = file_open_walking,
         .destroy = file_destroy,
         .across_processes = true},
        {.name = "file, no hard links",
         .make = file_make,
         .open = file_open_without_links,
         .destroy = file_destroy,
         .across_processes = true},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof factories / sizeof factories[0]; i++)
        failed += contract_run(&factories[i]);
    return failed;
}
