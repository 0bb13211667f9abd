// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Listing in pages, and reading whole objects for reports. LIST is a hint: no rule rests on it. */
#ifndef CLIENT_LISTING_H
#define CLIENT_LISTING_H

#include "codec/key.h"
#include "store/store.h"

typedef bw_status (*listing_fn)(void *context, const store_entry *entry, bw_error *error);
/** Each object below `prefix`, in the store's order, until `each` answers anything but BW_OK. */
bw_status listing_each(store *s, const char *prefix, listing_fn each, void *context,
                       bw_error *error);
/** The same with what has a name that no key can have, where the store can hold such (a directory):
 * `entry` is for showing only. */
bw_status listing_everything(store *s, const char *prefix, listing_fn each, void *context,
                             bw_error *error);
/** "manifest", … */
const char *key_kind_name(key_kind kind);

/** A whole object of at most `bytes_max`: BW_OK (release with mem_free), BW_NOT_FOUND,
 * BW_TOO_LARGE, or what the store says. */
bw_status listing_get(store *s, const char *key, size_t bytes_max, uint8_t **bytes, size_t *size,
                      bw_error *error);
/** Exactly [offset, offset + length) into `to`. A range beyond the object is BW_CORRUPT. */
bw_status listing_read(store *s, const char *key, uint64_t offset, uint64_t length, void *to,
                       bw_error *error);
bw_status listing_size(store *s, const char *key, uint64_t *bytes, bw_error *error);

#endif
