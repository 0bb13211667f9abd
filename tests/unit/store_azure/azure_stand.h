// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What Azure's chain adds to the stand of chains. */
#ifndef AZURE_STAND_H
#define AZURE_STAND_H

#include "store_azure/azure_chain.h"
#include "tests/unit/store_net/chain_stand.h"

/** Asks the chain of the account acct. */
bw_status stand_find_key(chain_stand *t);
/** The token is that of `number`, and from there. */
void stand_has_token(const chain_stand *t, unsigned number, const char *source);
/** An answer with the token of `number`, which lasts `seconds`, as the token service writes it;
 * static, sixteen of them. */
const char *stand_token(unsigned number, int64_t seconds);
/** The same, with the end as App Service writes it: a point in time, in a string. */
const char *stand_token_until(unsigned number, int64_t unix_s);

/* The server is the token service, App Service's endpoint, the metadata service. */
void stand_workload(chain_stand *t);
void stand_service(chain_stand *t);
void stand_machine(chain_stand *t);

#endif
