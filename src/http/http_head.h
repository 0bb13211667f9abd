// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The head of an answer, line by line, from a server that is not trusted: what drivers use of it.
 * Whatever is malformed counts as absent.
 */
#ifndef HTTP_HTTP_HEAD_H
#define HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_BYTES_MAX 65536u

typedef struct http_head {
    int status; /* 0: no status line yet */
    bool has_length;
    uint64_t length;
    bool chunked;
    bool framed;    /* HTTP/2: a body that is cut is told, whatever the head says */
    bool has_range; /* Content-Range: bytes first-last/total */
    uint64_t range_first, range_last;
    bool has_total; /* also of `bytes *` + `/total` */
    uint64_t range_total;
    int64_t date_ms, modified_ms; /* unix; 0: unknown */
    int64_t retry_after_s;        /* -1: not said */
    char request_id[64];
    char error_code[64]; /* x-ms-error-code */
    char region[32];     /* x-amz-bucket-region */
    bool is_google;      /* Metadata-Flavor: Google */
    bool has_crc32c;     /* of the whole object: x-amz-checksum-crc32c, x-goog-hash */
    uint32_t crc32c;
    bool has_md5; /* Content-MD5 */
    uint8_t md5[16];
    size_t bytes;
} http_head;

void http_head_init(http_head *head);
/** One line, with or without its line end. A status line begins anew: an interim answer, or a
 * proxy's, is forgotten. false: the head is too large. */
bool http_head_line(http_head *head, const char *line, size_t size);
/** Sun, 06 Nov 1994 08:49:37 GMT as unix ms; 0 when it is anything else. */
int64_t http_date_ms(const char *text, size_t size);

#endif
