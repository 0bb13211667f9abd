// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Tokens that end, under a store of Google Cloud. */
#include "gcs_stand.h"

#include "store_gcs/gcs_store.h"
#include "tests/unit/store_net/renewal.h"

#include <stdio.h>

#define EXPIRED                                                                                    \
    ANSWER("401 x", "{\"error\":{\"errors\":[{\"reason\":\"authError\"}],\"message\":\"Invalid "   \
                    "Credentials\"}}")

static bw_status open_store(const char *endpoint, store **out, bw_error *error)
{
    const gcs_options options = {.bucket = "bkt",
                                 .prefix = "",
                                 .endpoint = endpoint,
                                 .ca_file = "",
                                 .request_timeout_ns = 5 * NS_PER_S};
    return gcs_store_open(&options, out, error);
}

static void set_token(chain_stand *t)
{
    stand_set(t, "GOOGLE_OAUTH_ACCESS_TOKEN", PLANTED ".token1");
}

static void heard(const chain_stand *there, unsigned request, unsigned number)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\r\nauthorization: Bearer " PLANTED ".token%u\r\n", number);
    stand_heard(there, request, line);
}

int main(void)
{
    static const renewal gcs = {
        .open = open_store,
        .sources = {{stand_user, "the user of "},
                    {stand_user, "the user of "},
                    {stand_user, "the user of "}},
        .fixed = {set_token, "GOOGLE_OAUTH_ACCESS_TOKEN"},
        .keys = stand_token,
        .heard = heard,
        .fine = EMPTY("200 OK"),
        .expired = EXPIRED,
        .denied = EMPTY("403 x"),
        .refused = {EXPIRED, EMPTY("403 x")},
        .no_keys = ANSWER("400 x", "{\"error\":\"invalid_grant\",\"error_description\":\"Token "
                                   "has been revoked\"}"),
        .why = "answered 400 invalid_grant: Token has been revoked",
    };
    return renewal_test(&gcs);
}
