// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_azure/azure_chain.h"

#include <stdio.h>

static const net_source_fn rows[] = {
    azure_from_key,     azure_from_signature, azure_from_connection, azure_from_workload,
    azure_from_service, azure_from_machine,   azure_from_client,
};

static const net_sources sources = {
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .what = "key for the storage account",
    .advice = "Set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, "
              "or give the machine an identity",
};

net_chain *azure_chain_new(const char *account, net_environment *environment)
{
    azure_chain *c = azure_chain_of(net_chain_new(sizeof *c, &sources, environment));
    if (c == NULL)
        return NULL;
    (void)snprintf(c->account, sizeof c->account, "%s", account);
    return &c->net;
}
