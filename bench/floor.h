// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The floor of a commit on a local file system: the fewest calls that publish bytes under a name
 * that must be new. Temporary file, write, fdatasync, link, unlink, fsync of the directory; without
 * the two syncs when not durable.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "bench.h"

typedef struct floor_dir {
    int target, temporary; /* directories */
    bool durable;
    uint64_t published;
} floor_dir;

/** Makes parent/name with the two directories in it. */
bw_status floor_open(const char *parent, const char *name, bool durable, floor_dir *floor,
                     bw_error *error);
void floor_close(floor_dir *floor);
/** One publish of `size` bytes under the next name. */
bw_status floor_publish(floor_dir *floor, const void *bytes, size_t size, bw_error *error);

#endif
