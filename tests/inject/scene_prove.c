// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene.h"
#include "scene_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct found_lines {
    char first[256]; /* a finding */
    uint64_t next_step;
    bool summary, sealed;
} found_lines;

static int verify_line(void *context, const char *json)
{
    found_lines *found = context;
    if (strncmp(json, "{\"finding\"", 10) == 0 && found->first[0] == '\0')
        (void)snprintf(found->first, sizeof found->first, "%s", json);
    const char *next = strstr(json, "\"next_step\":");
    if (strstr(json, "\"summary\":true") != NULL && next != NULL) {
        found->summary = true;
        found->next_step = strtoull(next + strlen("\"next_step\":"), NULL, 10);
        found->sealed = strstr(json, "\"sealed\":true") != NULL;
    }
    return 0;
}

static void read_all(scene *w, bw_space *space, uint64_t steps)
{
    const scene_shape *shape = w->shape;
    for (uint64_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < shape->dp * shape->cp * shape->items; i++) {
            const uint32_t index = i % shape->items, slice = i / shape->items;
            bw_item *item = NULL;
            const bw_status status =
                bw_space_item(space, step, slice / shape->cp, slice % shape->cp, index,
                              600 * SECOND, &item, w->error);
            if (status != BW_OK) {
                scene_wrong(w, "step %" PRIu64 " cannot be read: %s", step,
                            bw_error_message(w->error));
                return;
            }
            content_check(w, item, step, slice / shape->cp, slice % shape->cp, index);
            bw_item_release(item);
        }
    }
}

void scene_prove(scene *w, bool complete)
{
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    bw_config *deep = bw_config_new();
    found_lines found = {.next_step = 0};
    bw_status status = bw_config_set(deep, "deep", "true", w->error);
    if (status == BW_OK)
        status = bw_config_set(deep, "report_timeout", "1000s", w->error);
    if (status == BW_OK)
        status = bw_runtime_open(NULL, &runtime, w->error);
    if (status == BW_OK)
        status = bw_space_open(runtime, w->url, NULL, 600 * SECOND, &space, w->error);
    if (status == BW_OK)
        status = bw_space_report(space, "verify", deep, verify_line, &found, w->error);
    if (status != BW_OK)
        scene_wrong(w, "verify: %s: %s %s", bw_status_name(status), bw_error_message(w->error),
                    found.first);
    else if (found.first[0] != '\0' || !found.summary)
        scene_wrong(w, "verify: %s", found.first);
    else if (found.next_step < w->acknowledged || found.next_step > w->shape->batches)
        scene_wrong(w, "%" PRIu64 " steps, but %u were acknowledged", found.next_step,
                    w->acknowledged);
    else if (complete && found.next_step != w->shape->batches)
        scene_wrong(w, "%" PRIu64 " steps at the end", found.next_step);
    else if (w->sealed && !found.sealed)
        scene_wrong(w, "the seal was acknowledged and is lost");
    else
        read_all(w, space, found.next_step);
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(deep);
}
