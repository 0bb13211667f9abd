// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** S3's XML. */
#ifndef TESTSTORE_S3_DOCUMENTS_H
#define TESTSTORE_S3_DOCUMENTS_H

#include "exchange.h"

/** The body of DeleteObjects into the operation's names. */
failure s3_read_deletes(exchange *x);
void s3_put_deleted(exchange *x);
void s3_put_listing(exchange *x);
/** Location and versioning of a bucket. */
void s3_put_probe(exchange *x);

#endif
