// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What Google's chain adds to the stand of chains. */
#ifndef GCS_STAND_H
#define GCS_STAND_H

#include "store_gcs/gcs_chain.h"
#include "tests/unit/http/rsa_key.h"
#include "tests/unit/store_net/chain_stand.h"

/** Asks the chain. */
bw_status stand_find_token(chain_stand *t);
/** The token is that of `number`, and from there. */
void stand_has_token(const chain_stand *t, unsigned number, const char *source);
/** An answer with the token of `number`, which lasts `seconds`; static, sixteen of them. */
const char *stand_token(unsigned number, int64_t seconds);
/** The same, of the service that lends tokens of service accounts. */
const char *stand_lent_token(unsigned number, const char *end);
/** GOOGLE_APPLICATION_CREDENTIALS names a file of that text. */
void stand_credentials(chain_stand *t, const char *text);

/* Files of credentials, for which the server is the token service; and the server as the metadata
 * service. */
void stand_service_account(chain_stand *t, rsa_key *key);
void stand_user(chain_stand *t);
/** `source`: what is in credential_source; `more`: ",…" behind it, or "". */
void stand_external(chain_stand *t, const char *source, const char *more);
void stand_metadata(chain_stand *t);

#endif
