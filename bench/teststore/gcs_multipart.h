// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Bodies of the JSON interface: a bucket's description, multipart/related uploads. */
#ifndef TESTSTORE_GCS_MULTIPART_H
#define TESTSTORE_GCS_MULTIPART_H

#include "exchange.h"

/** The bucket's name from the body; it becomes the container. */
failure gcs_read_bucket(exchange *x);
/** Description and media: the name, unless the query had it, and the payload. */
failure gcs_read_multipart(exchange *x);
/** CRC-32C of what is to be stored. */
uint32_t gcs_payload_crc(const exchange *x);
/** Frees what json_dumps returned; NULL does nothing. */
void gcs_free_text(char *text);

#endif
