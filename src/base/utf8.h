// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** UTF-8 as Unicode has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Length of the sequence that the `left` bytes at `s` begin with, or 0 when they begin with none.
 */
size_t utf8_length(const uint8_t *s, size_t left);
bool utf8_is_valid(const void *bytes, size_t size);
/** Writes a code point that is no surrogate; the number of bytes, 1 … 4. */
size_t utf8_encode(uint32_t code, uint8_t out[4]);

#endif
