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

/** One rank reads the whole. */
static void read_slice(scene *w, bw_space *space, uint32_t d, uint32_t c, uint64_t steps)
{
    char d_text[16], c_text[16];
    (void)snprintf(d_text, sizeof d_text, "%u", d);
    (void)snprintf(c_text, sizeof c_text, "%u", c);
    bw_config *config = bw_config_new();
    bw_consumer *consumer = NULL;
    bw_status status = bw_config_set(config, "d", d_text, w->error);
    if (status == BW_OK)
        status = bw_config_set(config, "c", c_text, w->error);
    if (status == BW_OK)
        status = bw_consumer_open(space, NULL, config, NULL, 600 * SECOND, &consumer, w->error);
    for (uint64_t i = 0; status == BW_OK && i < steps * w->shape->items; i++) {
        bw_item *item = NULL;
        status = bw_consumer_next(consumer, 600 * SECOND, &item, w->error);
        if (status != BW_OK)
            break;
        content_check(w, item, i / w->shape->items, d, c, (uint32_t)(i % w->shape->items));
        bw_item_release(item);
    }
    if (status != BW_OK)
        scene_wrong(w, "slice (%u, %u) cannot be read: %s: %s", d, c, bw_status_name(status),
                    bw_error_message(w->error));
    bw_consumer_close(consumer);
    bw_config_free(config);
}

static void read_all(scene *w, bw_space *space, uint64_t steps)
{
    for (uint32_t d = 0; d < w->shape->dp; d++)
        for (uint32_t c = 0; c < w->shape->cp; c++)
            read_slice(w, space, d, c, steps);
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
        status = bw_config_set(deep, "threads", "2", w->error);
    if (status == BW_OK)
        status = bw_runtime_open(deep, &runtime, w->error);
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
