// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What requests are signed or sent with: keys and tokens, whichever a store takes. */
#ifndef STORE_NET_NET_KEYS_H
#define STORE_NET_NET_KEYS_H

#include "base/clock.h"
#include "base/error.h"
#include "http/secret.h"

#define NET_TEXT_MAX 256u

/** What becomes of keys that end. */
typedef enum net_keys_kind {
    NET_KEYS_LENT,   /* there are new ones where they came from */
    NET_KEYS_STORED, /* in a file that somebody may write anew */
    NET_KEYS_FIXED,  /* nothing */
} net_keys_kind;

/** The dialect says which of them are set. */
typedef struct net_keys {
    net_keys_kind kind;
    char key_id[NET_TEXT_MAX];
    secret key, token;
    int64_t expires_ns;        /* monotonic; 0: nothing is known of an end */
    char source[NET_TEXT_MAX]; /* where they are from, for messages */
} net_keys;

void net_keys_clear(net_keys *k);
bool net_keys_are_set(const net_keys *k);
/** When they end, by a clock that shows `now_ms`; 0: nothing is known of it. BW_DENIED when they
 * have. */
bw_status net_keys_set_end(net_keys *k, int64_t end_ms, int64_t now_ms, bw_error *error);
/** The token as the value of Authorization. BW_CORRUPT when it has a byte that no header can have;
 * BW_NOMEM. */
bw_status net_keys_set_bearer(net_keys *k, const char *token, bw_error *error);

/** What ends up in a header: visible ASCII. */
bool net_is_plain(const char *text);

#endif
