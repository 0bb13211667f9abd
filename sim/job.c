// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What outlives the processes of a training job: its checkpoints. */
#include "trainer.h"

#include <string.h>

saved *job_find(job *j, const saved *wanted)
{
    for (uint32_t i = 0; i < j->count; i++)
        if (j->saved[i].nonce == wanted->nonce)
            return &j->saved[i];
    return NULL;
}

void job_drop(job *j, const saved *wanted)
{
    saved *at = job_find(j, wanted);
    if (at == NULL)
        return;
    j->count--;
    memmove(at, at + 1, (size_t)(j->saved + j->count - at) * sizeof *at);
}

void job_add(job *j, const saved *new)
{
    if (j->count == SAVED_MAX) {
        j->count--;
        memmove(j->saved, j->saved + 1, j->count * sizeof *j->saved);
    }
    j->saved[j->count++] = *new;
}

void act_jobs(sim *s)
{
    for (uint32_t i = 0; i < s->plan.groups; i++) {
        job *j = sim_alloc(sizeof *j);
        s->jobs[i] = j;
        j->name[0] = (char)('x' + i);
    }
}
