// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Directories of a test's own, beneath $TMPDIR or /tmp. */
#ifndef SCRATCH_H
#define SCRATCH_H

/** A new empty directory; release with scratch_remove. Ends the test program when there is none to
 * be had. */
char *scratch_make(void);
/** Removes the directory with all that is in it, and frees `path`. */
void scratch_remove(char *path);

#endif
