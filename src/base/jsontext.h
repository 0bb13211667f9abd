// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Strict reading of JSON text (RFC 8259) where it lies: nothing is allocated, nothing recurses, and
 * what is no JSON, no UTF-8 or half of a surrogate pair is refused with what and where.
 *
 * After a failure `bad` says what is wrong, `at` is the place, and every further call is false.
 */
#ifndef BASE_JSONTEXT_H
#define BASE_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Arrays and objects may be nested so deep. */
#define JSONTEXT_DEPTH_MAX 512u

typedef struct jsontext {
    const uint8_t *begin, *at, *end;
    const char *bad; /* static text, NULL while nothing is */
} jsontext;

/** What stands between the quotes of a string, as written. */
typedef struct jsonstring {
    const uint8_t *raw;
    size_t raw_bytes;
} jsonstring;

void jsontext_open(jsontext *t, const void *bytes, size_t size);
/** The next byte behind white space, not taken; 0 at the end. */
uint8_t jsontext_peek(jsontext *t);
/** Takes `c` behind white space. */
bool jsontext_take(jsontext *t, char c);
/** Passes over one whole value of any kind. */
bool jsontext_value(jsontext *t);
/** True when nothing but white space is left. */
bool jsontext_done(jsontext *t);
bool jsontext_string(jsontext *t, jsonstring *s);
/** A plain decimal within 64 bits: no sign, leading zero, point or exponent. */
bool jsontext_u64(jsontext *t, uint64_t *value);
/** Refuses what the caller does not like; false. */
bool jsontext_fail(jsontext *t, const char *what);

/**
 * Takes one character of a string that jsontext_string accepted: its UTF-8 goes to `out`, the
 * number of bytes is returned, 0 at the end.
 */
size_t jsonstring_next(jsonstring *s, uint8_t out[4]);
/** As texts, whatever of them is written as escapes: <0, 0, >0 by bytes. */
int jsonstring_compare(jsonstring a, jsonstring b);
/** Whether the text is these bytes. */
bool jsonstring_is(jsonstring s, const void *text, size_t size);

#endif
