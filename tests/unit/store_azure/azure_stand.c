// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "azure_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

bw_status stand_find_key(chain_stand *t)
{
    return stand_ask(t, azure_chain_new("acct", net_environment_copy(t->variables)));
}

void stand_has_token(const chain_stand *t, unsigned number, const char *source)
{
    char token[64];
    (void)snprintf(token, sizeof token, "Bearer " PLANTED ".token%u", number);
    assert_string_equal(secret_text(&t->keys.token), token);
    assert_false(secret_is_set(&t->keys.key));
    assert_string_equal(t->keys.key_id, "");
    assert_string_equal(t->keys.source, source);
}

static char *room(void)
{
    static char texts[16][512];
    static unsigned next;
    return texts[next++ % 16];
}

const char *stand_token(unsigned number, int64_t seconds)
{
    char *text = room();
    (void)snprintf(text, 512,
                   ANSWER("200 OK",
                          "{\"token_type\":\"Bearer\",\"expires_in\":%lld,"
                          "\"ext_expires_in\":1,\"access_token\":\"" PLANTED ".token%u\"}"),
                   (long long)seconds, number);
    return text;
}

const char *stand_token_until(unsigned number, int64_t unix_s)
{
    char *text = room();
    (void)snprintf(text, 512,
                   ANSWER("200 OK", "{\"access_token\":\"" PLANTED ".token%u\",\"expires_on\":"
                                    "\"%lld\",\"resource\":\"r\",\"token_type\":\"Bearer\"}"),
                   number, (long long)unix_s);
    return text;
}

void stand_workload(chain_stand *t)
{
    stand_set(t, "AZURE_AUTHORITY_HOST", t->url);
    stand_set(t, "AZURE_CLIENT_ID", "client-1");
    stand_set(t, "AZURE_TENANT_ID", "tenant-1");
    stand_set(t, "AZURE_FEDERATED_TOKEN_FILE", stand_file(t, "federated", PLANTED ".assertion\n"));
}

void stand_service(chain_stand *t)
{
    char url[128];
    (void)snprintf(url, sizeof url, "%s/msi/token", t->url);
    stand_set(t, "IDENTITY_ENDPOINT", url);
    stand_set(t, "IDENTITY_HEADER", PLANTED "-header");
}

void stand_machine(chain_stand *t)
{
    stand_set(t, "AZURE_POD_IDENTITY_AUTHORITY_HOST", t->url);
}
