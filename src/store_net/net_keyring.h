// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The keys of one backend, shared by its clones, and new ones before they end. A thread that lives
 * as long as one fetch brings them: at most one at a time, from a few minutes before the end on,
 * and only while there are requests. They go on with the old keys until then. A fetch that fails is
 * repeated, and told when the keys have ended.
 */
#ifndef STORE_NET_NET_KEYRING_H
#define STORE_NET_NET_KEYRING_H

#include "store_net/net_chain.h"

typedef struct net_keyring net_keyring;

/** Keys as they were at some time; they do not change, and stay until they are given back. */
typedef struct net_keyset {
    net_keys keys;
    uint64_t number;  /* 1, 2, …: which keys of the ring */
    int64_t since_ns; /* when they came */
    atomic_uint references;
} net_keyset;

/** Takes over `chain`, whatever is returned; NULL: there was no memory for it. Waits for the first
 * keys. */
bw_status net_keyring_open(net_chain *chain, net_keyring **out, bw_error *error);
/** No set may be out. Ends a fetch that is under way. NULL is fine. */
void net_keyring_free(net_keyring *r);

/** The keys as they are; any thread. A fetch begins when it is time. */
net_keyset *net_keyring_take(net_keyring *r);
void net_keyset_give(net_keyset *set); /* NULL is fine */

/** The store says that `set` has expired: true when there are other keys, or will be. `why` says
 * what became of the last fetch; "" when nothing is wrong with it. */
bool net_keyring_expired(net_keyring *r, const net_keyset *set, char *why, size_t capacity);

#endif
