// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Writing whole files so that a reader, or the next start after a crash, sees the old content or
 * the new one, never a part.
 */
#ifndef INPUT_SAVEFILE_H
#define INPUT_SAVEFILE_H

#include <batchweave/error.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Writes a temporary file beside `path`, then renames it to `path`. `durable`: content and
 * directory are synced, so that it holds after a loss of power. `fault_name`: a fault point passed
 * between writing and renaming, or NULL. Several may write one path, from whatever process: each
 * has a temporary of its own, and the last rename stands. BW_IO, BW_NO_SPACE.
 */
bw_status savefile_write(const char *path, const void *bytes, size_t size, bool durable,
                         const char *fault_name, bw_error *error);
/** Whether savefile_write could write `path` now: BW_OK, or what it would answer. Writes nothing.
 */
bw_status savefile_try(const char *path, bw_error *error);
/**
 * Removes the temporary files that dead writers (kill -9, loss of power) have left in `folder`:
 * older than a minute and locked by nobody. What cannot be removed stays: it harms nothing.
 */
void savefile_sweep(const char *folder);
/** The same in the folder of `path`. */
void savefile_sweep_beside(const char *path);
/** Makes `path` and its parents. */
bw_status savefile_mkdir(const char *path, bw_error *error);
/** All that was written to the file system of directory `path` so far is durable on return. */
bw_status savefile_sync(const char *path, bw_error *error);
/**
 * Reads `path` whole (release with savefile_free). BW_NOT_FOUND, BW_TOO_LARGE above `size_max`,
 * BW_IO. The bytes end in a NUL not counted.
 */
bw_status savefile_read(const char *path, size_t size_max, char **bytes, size_t *size,
                        bw_error *error);
void savefile_free(char *bytes);

#endif
