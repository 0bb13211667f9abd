// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Counts what the program has allocated, by --wrap of the C allocator (the layers are linked
 * statically; what shared libraries allocate for themselves is not seen).
 */
#ifndef TESTS_FUZZ_METER_H
#define TESTS_FUZZ_METER_H

#include <stddef.h>

/** The peak starts anew at what is allocated now. Any thread may allocate meanwhile. */
void meter_start(void);
/** Bytes above those at the start, at the worst moment since. */
size_t meter_peak(void);
/** Makes jansson allocate through the wrapped functions, so that its values are counted too. */
void meter_jansson(void);

#endif
