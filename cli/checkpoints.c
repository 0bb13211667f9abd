// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoints.h"

#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ID_PREFIX "step-"

static void add(checkpoints *all, const char *id)
{
    if (all->count < CHECKPOINTS_MAX)
        (void)snprintf(all->ids[all->count++], CHECKPOINT_ID_BYTES, "%s", id);
}

/* Ids are sorted as bytes, and of one width: oldest first. */
static void take(checkpoints *all, const json_t *pins)
{
    size_t i;
    const json_t *pin;
    json_array_foreach(pins, i, pin)
    {
        const char *id = json_string_value(json_object_get(pin, "id"));
        if (id != NULL && strncmp(id, ID_PREFIX, strlen(ID_PREFIX)) == 0 &&
            strlen(id) < CHECKPOINT_ID_BYTES)
            add(all, id);
    }
}

bw_status checkpoints_begin(checkpoints *all, cli *c, const char *group)
{
    json_t *info;
    const bw_status status = report_first(c, "info", &info);
    if (status != BW_OK)
        return status;
    size_t i;
    const json_t *g;
    json_array_foreach(json_object_get(info, "groups"), i, g)
    {
        const char *name = json_string_value(json_object_get(g, "name"));
        if (name != NULL && strcmp(name, group) == 0)
            take(all, json_object_get(g, "pins"));
    }
    json_decref(info);
    return BW_OK;
}

bw_status checkpoints_step(checkpoints *all, uint64_t steps, int64_t timeout_ns,
                           bw_consumer *consumer, bw_error *error)
{
    if (all->every == 0 || steps % all->every != 0)
        return BW_OK;
    bw_cursor *cursor;
    bw_status status = bw_consumer_cursor(consumer, &cursor, error);
    if (status != BW_OK)
        return status;
    char id[CHECKPOINT_ID_BYTES];
    const char *old[CHECKPOINTS_MAX];
    uint32_t gone = 0;
    (void)snprintf(id, sizeof id, ID_PREFIX "%020" PRIu64, bw_cursor_step(cursor));
    /* After going back, checkpoints of steps ahead are of a future that did not happen: they go,
     * and do not count. */
    uint32_t older = 0;
    while (older < all->count && strcmp(all->ids[older], id) < 0)
        older++;
    uint32_t kept = 0;
    char keep[CHECKPOINTS_MAX][CHECKPOINT_ID_BYTES];
    for (uint32_t k = 0; k < all->count; k++)
        if (k < older && older - k < all->keep)
            memcpy(keep[kept++], all->ids[k], CHECKPOINT_ID_BYTES);
        else if (strcmp(all->ids[k], id) != 0)
            old[gone++] = all->ids[k];
    status = bw_consumer_pin(consumer, id, cursor, old, gone, timeout_ns, error);
    bw_cursor_free(cursor);
    if (status != BW_OK)
        return status;
    memcpy(all->ids, keep, kept * sizeof *keep);
    all->count = kept;
    add(all, id);
    return BW_OK;
}
