// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Deletes of many in one request, as Azure and Google have them: multipart/mixed, each part a
 * request. */
#ifndef TESTSTORE_BATCHES_H
#define TESTSTORE_BATCHES_H

#include "exchange.h"

/** The names that the parts delete, all of one container, into the operation. `stem`: what a target
 * begins with before the container; `between`: what is between container and name. */
failure batch_read(exchange *x, const char *stem, const char *between, size_t max);
/** An answer for each. */
void batch_answer(exchange *x);

#endif
