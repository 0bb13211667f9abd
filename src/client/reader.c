// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/space.h"

#include <inttypes.h>

bw_status reader_open(bw_space *space, int64_t deadline_ns, const atomic_int *stop, reader *out,
                      bw_error *error)
{
    *out = (reader){0};
    store *own = NULL;
    BW_TRY(space_store(space, &own, error));
    own->stop = stop;
    bw_status status = drive_new(own, &out->drive);
    if (status == BW_OK)
        status = chain_new(runtime_random(space->runtime), &space->runtime->log, &out->chain);
    if (status != BW_OK)
        (void)error_set(error, status, "%s", bw_status_text(status));
    else
        status = chain_walk(out->chain, out->drive, CHAIN_OPEN, deadline_ns, NULL, error);
    if (status != BW_OK)
        reader_close(out);
    return status;
}

void reader_close(reader *r)
{
    drive_free(r->drive);
    chain_free(r->chain);
    *r = (reader){0};
}

static bw_status check_retained(const manifest *m, uint64_t step, bw_error *error)
{
    if (step >= m->trim)
        return BW_OK;
    (void)error_set(error, BW_TRIMMED,
                    "step %" PRIu64 " is not retained: the trim step is %" PRIu64, step, m->trim);
    error_set_step(error, step);
    return BW_TRIMMED;
}

bw_status reader_step(bw_space *space, reader *r, uint64_t step, int64_t deadline_ns,
                      step_entry *out, bw_error *error)
{
    const genesis *g = space->genesis;
    for (uint32_t try = 0;; try++) {
        const manifest *m = chain_held(r->chain);
        BW_TRY(check_retained(m, step, error));
        bw_status status =
            segments_get(&space->segments, drive_store(r->drive), g, m, step, out, error);
        if (status != BW_NOT_FOUND)
            return status;
        /* A sweep may have passed between the two reads: only a manifest proved newest after the
         * miss can tell. */
        if (try > 0) {
            if (error != NULL)
                error->code = BW_CORRUPT; /* key and message stay */
            return BW_CORRUPT;
        }
        BW_TRY(chain_walk(r->chain, r->drive, CHAIN_NEWEST, deadline_ns, NULL, error));
    }
}
