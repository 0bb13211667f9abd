// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The keys of one backend, shared by its clones, and new ones before they end. A thread that lives
 * as long as one fetch brings them: at most one at a time, from a few minutes before the end on,
 * and only while there are requests. They go on with the old keys until then. A fetch that fails is
 * repeated, and told when the keys have ended.
 */
#ifndef STORE_S3_S3_KEYRING_H
#define STORE_S3_S3_KEYRING_H

#include "store_s3/s3_chain.h"

typedef struct s3_keyring s3_keyring;

/** Keys as they were at some time; they do not change, and stay until they are given back. */
typedef struct s3_keyset {
    s3_keys keys;
    uint64_t number;  /* 1, 2, …: which keys of the ring */
    int64_t since_ns; /* when they came */
    atomic_uint references;
} s3_keyset;

/** Takes over `environment`, whatever is returned. Waits for the first keys; `chain` is copied but
 * for its environment and stop. */
bw_status s3_keyring_open(const s3_chain *chain, s3_environment *environment, s3_keyring **out,
                          bw_error *error);
/** No set may be out. Ends a fetch that is under way. NULL is fine. */
void s3_keyring_free(s3_keyring *r);

/** The keys as they are; any thread. A fetch begins when it is time. */
s3_keyset *s3_keyring_take(s3_keyring *r);
void s3_keyset_give(s3_keyset *set); /* NULL is fine */

/** The store says that `set` has expired: true when there are other keys, or will be. `why` says
 * what became of the last fetch; "" when nothing is wrong with it. */
bool s3_keyring_expired(s3_keyring *r, const s3_keyset *set, char *why, size_t capacity);

#endif
