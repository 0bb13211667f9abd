// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tiny tails and parts, so that folds, several parts and states beside the manifest happen. */
const scene_shape scene_shapes[] = {
    {"plain", 2, 1, 1, 8, 300, 40, "raw", "64MiB", "256B", "zstd"},
    {"parts", 2, 2, 2, 6, 2500, 400, "raw", "4KiB", "256B", "none"},
    {"one", 1, 1, 1, 3, 64, 0, "raw", "64MiB", "8KiB", "none"},
    /* As far as a hint and an index. */
    {"long", 1, 1, 1, 44, 64, 0, "raw", "64MiB", "256B", "none"},
};
const uint32_t scene_shape_count = sizeof scene_shapes / sizeof scene_shapes[0];

void scene_wrong(scene *w, const char *format, ...)
{
    if (w->wrong[0] != '\0')
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(w->wrong, sizeof w->wrong, format, args);
    va_end(args);
}

void scene_begin(scene *w, const scene_shape *shape, const char *root)
{
    memset(w, 0, sizeof *w);
    w->shape = shape;
    w->timeout_ns = 600 * SECOND;
    (void)snprintf(w->root, sizeof w->root, "%s", root);
    (void)snprintf(w->url, sizeof w->url, "file://%s", root);
    w->error = bw_error_new();
}

void scene_close(scene *w)
{
    (void)bw_producer_close(w->producer, 0, NULL);
    bw_consumer_close(w->consumer);
    bw_space_close(w->reading);
    bw_space_close(w->space);
    bw_runtime_close(w->runtime);
    w->producer = NULL;
    w->consumer = NULL;
    w->reading = w->space = NULL;
    w->runtime = NULL;
}

void scene_end(scene *w)
{
    scene_close(w);
    bw_error_free(w->error);
    w->error = NULL;
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    (void)flag;
    (void)at;
    return remove(path);
}

void scene_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
