// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What processes put aside have in common: lines of memory, each kept once. */
#ifndef SCOPE_LINES_H
#define SCOPE_LINES_H

#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 64u

/** Its number, the same for equal lines; 0 for one of zeros. */
uint32_t lines_put(const uint8_t *line);
/** Until the next put. */
const uint8_t *lines_at(uint32_t number);
uint64_t lines_bytes(void);

#endif
