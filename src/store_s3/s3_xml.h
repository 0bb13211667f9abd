// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What S3 says in XML, from servers that are not trusted: errors, pages of a listing, the outcome
 * of a batch delete. All of it bounded. */
#ifndef STORE_S3_S3_XML_H
#define STORE_S3_S3_XML_H

#include "base/buf.h"
#include "http/xml.h"
#include "store_net/net_store.h"

#define S3_PAGE_BYTES_MAX (16u << 20)

/** As far as `bytes` can be read: a cut document says what stood before the cut. */
void s3_error_parse(const void *bytes, size_t size, net_error *out);

/** A page of a listing. Zero it, set the list, feed the reader, and finish the page. */
typedef struct s3_page {
    store_list *list; /* names as they came, until the page is finished */

    bool whole; /* the root element was there */
    bool truncated;
    bool encoded;                 /* names are percent-encoded */
    char last[STORE_KEY_MAX + 1]; /* the last name that came, without the prefix */
    char *name;                   /* of the entry that is being read */
    uint64_t bytes;
    int64_t modified_ms;
    net_error error; /* a page that is an error after all */
} s3_page;

bw_status s3_page_new(s3_page *page, xml **out);
/** Decodes the names, takes the prefix off them, and leaves what is a key; `any`: every name. May
 * leave nothing of a page that was truncated. BW_CORRUPT when there is a name elsewhere. */
bw_status s3_page_finish(s3_page *page, const char *prefix, bool any);
void s3_page_clear(s3_page *page);

/** The outcome of a batch delete: the first name that could not be deleted. */
typedef struct s3_deleted {
    bool whole; /* the root element was there */
    uint32_t failed;
    net_error error; /* of the first; or of the request as a whole */
    net_error one;
} s3_deleted;

bw_status s3_deleted_new(s3_deleted *deleted, xml **out);
/** Appends what is asked of a batch delete. */
void s3_delete_body(buf *out, const char *prefix, const char *const *keys, uint32_t count);

#endif
