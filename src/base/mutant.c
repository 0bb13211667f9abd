// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Compiled with -Dmutants=true only. */
#include "base/mutant.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUTANT_NAME(name, by, text) #name,
#define MUTANT_BY(name, by, text) by,
#define MUTANT_TEXT(name, by, text) text,

static const char *const names[] = {MUTANT_LIST(MUTANT_NAME)};
static const char *const killers[] = {MUTANT_LIST(MUTANT_BY)};
static const char *const texts[] = {MUTANT_LIST(MUTANT_TEXT)};

atomic_uint_least64_t mutant_hits;

static atomic_int on = MUTANT_COUNT;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

const char *mutant_name(mutant_id id)
{
    return names[id];
}

const char *mutant_by(mutant_id id)
{
    return killers[id];
}

const char *mutant_text(mutant_id id)
{
    return texts[id];
}

static void look(void)
{
    const char *name = getenv("BATCHWEAVE_MUTANT");
    for (int i = 0; name != NULL && i < MUTANT_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            atomic_store(&on, i);
}

void mutant_switch(mutant_id id)
{
    (void)pthread_once(&looked, look);
    atomic_store(&on, (int)id);
    atomic_store(&mutant_hits, 0);
}

bool mutant_here(mutant_id id)
{
    (void)pthread_once(&looked, look);
    if ((int)id != atomic_load_explicit(&on, memory_order_relaxed))
        return false;
    if (atomic_fetch_add(&mutant_hits, 1) > 0)
        return true;
    const char *path = getenv("BATCHWEAVE_MUTANT_REACHED");
    const int file = path != NULL ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        (void)close(file);
    return true;
}
