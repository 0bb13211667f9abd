// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** One-line operations for tests of stores. Any thread that owns the handle. */
#ifndef CONTRACT_OPS_H
#define CONTRACT_OPS_H

#include "store/store.h"

store_outcome do_create(store *s, const char *key, const char *content);
store_outcome do_put(store *s, const char *key, const char *content);
store_outcome do_put_bytes(store *s, const char *key, const void *bytes, size_t size);
/** `content` (may be NULL) gets the object with a NUL behind it and must have room for max + 1
 * bytes. */
store_outcome do_get(store *s, const char *key, char *content, size_t max);
store_outcome do_read(store *s, const char *key, uint64_t offset, uint64_t length, void *dest);
store_outcome do_delete(store *s, const char *key);
/** Size by head; UINT64_MAX when it is not answered OK. */
uint64_t head_bytes(store *s, const char *key);
/** Entries under a prefix, over all pages; fails the test when a page is not answered OK. */
size_t list_count(store *s, const char *prefix);
bool is_listed(store *s, const char *key);
/** Fails the test unless the object holds exactly `content`. */
void assert_content(store *s, const char *key, const char *content);

#endif
