// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What Azure Blob Storage lets in: the account's key, a shared access signature, or a token of
 * Microsoft Entra ID for a workload or for the machine's managed identity.
 */
#ifndef STORE_AZURE_AZURE_CHAIN_H
#define STORE_AZURE_AZURE_CHAIN_H

#include "store_net/net_token.h"

#define AZURE_RESOURCE "https://storage.azure.com/"

typedef struct azure_chain {
    net_chain net;
    char account[32];
} azure_chain;

/** Takes over `environment`, whatever is returned; NULL when there is no memory. What it finds: the
 * bytes of the account's key in `key`; or a value of Authorization in `token`; or there a shared
 * access signature, as it stands in a query, and AZURE_SIGNATURE in `key_id`. */
net_chain *azure_chain_new(const char *account, net_environment *environment);

#define AZURE_SIGNATURE "sas"

/* The sources, in their order. */
bw_status azure_from_key(net_chain *c, net_keys *out, bw_error *error);
bw_status azure_from_signature(net_chain *c, net_keys *out, bw_error *error);
bw_status azure_from_connection(net_chain *c, net_keys *out, bw_error *error);
bw_status azure_from_workload(net_chain *c, net_keys *out, bw_error *error);
bw_status azure_from_service(net_chain *c, net_keys *out, bw_error *error); /* App Service */
bw_status azure_from_machine(net_chain *c, net_keys *out, bw_error *error);
bw_status azure_from_client(net_chain *c, net_keys *out, bw_error *error); /* refuses it */

static inline azure_chain *azure_chain_of(net_chain *c)
{
    return (azure_chain *)c;
}

#endif
