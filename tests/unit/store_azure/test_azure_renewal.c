// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Tokens that end, under a store of Azure. */
#include "azure_stand.h"

#include "store_azure/azure_store.h"
#include "tests/unit/store_net/renewal.h"

#include <stdio.h>

static bw_status open_store(const char *endpoint, store **out, bw_error *error)
{
    const azure_options options = {.account = "acct",
                                   .container = "box",
                                   .prefix = "",
                                   .endpoint = endpoint,
                                   .ca_file = "",
                                   .request_timeout_ns = 5 * NS_PER_S};
    return azure_store_open(&options, out, error);
}

static void set_key(chain_stand *t)
{
    stand_set(t, "AZURE_STORAGE_KEY", "UExBTlRFRC1rZXk=");
}

static void heard(const chain_stand *there, unsigned request, unsigned number)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\r\nauthorization: Bearer " PLANTED ".token%u\r\n", number);
    stand_heard(there, request, "PUT /box/a HTTP/1.1\r\n");
    stand_heard(there, request, line);
    stand_heard(there, request, "\r\nx-ms-date: ");
    stand_heard(there, request, "\r\nx-ms-version: 20");
}

int main(void)
{
    static const renewal azure = {
        .open = open_store,
        .sources = {{stand_workload, "the workload identity of client client-1"},
                    {stand_machine, "the managed identity of the machine"},
                    {stand_service, "the managed identity of App Service"}},
        .fixed = {set_key, "AZURE_STORAGE_KEY"},
        .keys = stand_token,
        .heard = heard,
        .fine = EMPTY("201 x"),
        .expired = EMPTY("401 x\r\nx-ms-error-code: InvalidAuthenticationInfo"),
        .denied = EMPTY("403 x\r\nx-ms-error-code: AuthenticationFailed"),
        .refused = {EMPTY("401 x\r\nx-ms-error-code: InvalidAuthenticationInfo"),
                    EMPTY("403 x\r\nx-ms-error-code: AuthenticationFailed")},
        .no_keys = ANSWER("403 x", PLANTED),
        .why = "new ones did not come: ",
    };
    return renewal_test(&azure);
}
