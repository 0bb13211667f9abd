// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Figures as people say them. Each writes into `out` and returns it. */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stdint.h>

#define HUMAN_BYTES 64u

/** "1.5 MB" and the like. */
const char *human_bytes(double bytes, char out[HUMAN_BYTES]);
/** "14 s", "3 min", "2.5 h", "8 days"; a negative age, of a clock that is ahead, is "0 s". */
const char *human_age(int64_t ms, char out[HUMAN_BYTES]);
/** "2026-11-29 17:40:46 UTC", of unix milliseconds. */
const char *human_time(int64_t ms, char out[HUMAN_BYTES]);
/** "1 step", "no steps", "12 steps". */
const char *human_count(int64_t count, const char *noun, char out[HUMAN_BYTES]);

#endif
