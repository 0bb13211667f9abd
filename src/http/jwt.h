// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** JSON Web Tokens, signed with an RSA key (RS256: RFC 7515, 7518). */
#ifndef HTTP_JWT_H
#define HTTP_JWT_H

#include "base/error.h"
#include "http/secret.h"

/** The token that says `claims`, JSON. `pem` is the private key, without a password; `key_id` may
 * be
 * "", and has neither quote nor backslash. BW_INVALID when it is no RSA key; BW_NOMEM. */
bw_status jwt_sign(const secret *pem, const char *key_id, const char *claims, secret *out,
                   bw_error *error);

#endif
