// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Memory, or the end of the program: a test server has nothing better to do without. */
#ifndef TESTSTORE_GRAB_H
#define TESTSTORE_GRAB_H

#include <stddef.h>

void *grab(size_t bytes);
void *grab_zeroed(size_t bytes);
char *grab_text(const char *text);
/** Room for `need` elements, doubling. */
void grab_grow(void **array, size_t *capacity, size_t need, size_t size);

#endif
