// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What drivers and decorators share. Nothing here is for users of a store. */
#ifndef STORE_DRIVER_H
#define STORE_DRIVER_H

#include "store/store.h"

/** The longest segment of a key; what file systems allow, asked of every store so that all agree.
 */
#define STORE_SEGMENT_MAX 255u

/** Segments of `[a-z0-9._-]`, none empty, `.` or `..`, ≤ 255 bytes each and ≤ 1,024 in all. */
bool store_key_is_valid(const char *key);
/** The start of a valid key; "" too. */
bool store_prefix_is_valid(const char *prefix);
bool store_has_prefix(const char *key, const char *prefix);

/** For drivers, before each application: forgets earlier results and counts the attempt. */
void store_op_restart(store_op *op);
/** Checks kind, keys and ranges; false after ending the operation FATAL BW_INVALID. */
bool store_op_check(store_op *op);
/** Bytes of all pieces. */
uint64_t store_op_bytes(const store_op *op);
/** CRC-32C of all pieces: what the caller says, else read. */
uint32_t store_op_crc(const store_op *op);

/** Operations in the order they came, linked by `next`. */
typedef struct op_queue {
    store_op *head, *tail;
    size_t count;
} op_queue;

void op_queue_push(op_queue *queue, store_op *op);
store_op *op_queue_pop(op_queue *queue);
/** false when it is not there. */
bool op_queue_remove(op_queue *queue, store_op *op);
/** Moves up to `max` from the front to `done`. */
size_t op_queue_drain(op_queue *queue, store_op **done, size_t max);

/** The probe as four plain operations on `s`; what drivers and decorators name as theirs. */
bw_status store_probe_by_ops(store *s, uint64_t nonce, bw_error *error);

#endif
