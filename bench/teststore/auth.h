// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Signatures, checked the way the servers of each dialect check them; only where the command line
 * gave the server keys to check against. */
#ifndef TESTSTORE_AUTH_H
#define TESTSTORE_AUTH_H

#include "exchange.h"

/** SigV4 by the Authorization header. */
failure auth_s3(const exchange *x);
/** That the body is the one whose SHA-256 was signed. */
failure auth_s3_body(const exchange *x);
/** SharedKey, or a bearer token. */
failure auth_azure(const exchange *x);
failure auth_bearer(const exchange *x);

#endif
