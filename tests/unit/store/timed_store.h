// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A store whose answers come when and as a script says. Time is virtual and moves in polls only:
 * one that waits goes to the next answer at once. With `real` it is the machine's, for tests with
 * threads.
 *
 * Reads hold timed_byte(key, offset); while one is on its way its memory is scribbled over, again
 * with each poll of any handle, so that whoever gave it back too early is seen.
 */
#ifndef TIMED_STORE_H
#define TIMED_STORE_H

#include "store/store.h"
#include <stdatomic.h>

typedef struct timed_answer {
    int64_t after_ns;
    store_outcome outcome;
    bool throttled;
    int64_t retry_after_ns;
} timed_answer;

/** `number`: of the request, from 1, over all handles. Any thread, one at a time. */
typedef timed_answer (*timed_script)(void *context, const store_op *op, uint64_t number);

typedef struct timed_space {
    timed_script script;
    void *context;
    bool real;
    uint32_t features; /* STORE_TAKES_BACK unless it says otherwise */
    int64_t now_ns;    /* virtual */
    clock_source clock;
    atomic_uint_least64_t sent[STORE_OP_KINDS], all;
    atomic_uint_least64_t in_flight, in_flight_max, taken_back;
} timed_space;

/** Before the first store: `s` may have its script, `real` and features set. */
void timed_init(timed_space *s, timed_script script, void *context);
store *timed_open(timed_space *s);
uint8_t timed_byte(const char *key, uint64_t offset);
/** Fails the test unless these are the bytes of the range. */
void assert_timed_bytes(const char *key, uint64_t offset, const void *bytes, size_t size);

#endif
