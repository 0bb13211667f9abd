// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "gcs_stand.h"
#include "tests/unit/store_net/memory_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static rsa_key *key;

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static net_chain *make(chain_stand *t)
{
    return gcs_chain_new(net_environment_copy(t->variables));
}

static void set_variable(chain_stand *t)
{
    stand_set(t, "GOOGLE_OAUTH_ACCESS_TOKEN", PLANTED);
}

static void set_service_account(chain_stand *t)
{
    stand_service_account(t, key);
}

/* All that there is: a URL with a header, JSON, a service account behind it. */
static void set_external(chain_stand *t)
{
    char source[512];
    char more[256];
    (void)snprintf(source, sizeof source,
                   "\"url\":\"%s/\",\"headers\":{\"a\":\"" PLANTED
                   "\"},\"format\":{\"type\":\"json\","
                   "\"subject_token_field_name\":\"v\"}",
                   t->url);
    (void)snprintf(more, sizeof more, ",\"service_account_impersonation_url\":\"%s/\"", t->url);
    stand_external(t, source, more);
}

static void test_all_sources(void **state)
{
    (void)state;
    const script_step one[] = {step(stand_token(1, 3600))};
    const script_step external[] = {step(ANSWER("200 x", "{\"v\":\"" PLANTED "\"}")),
                                    step(stand_token(1, 3600)),
                                    step(stand_lent_token(2, "2099-01-01T00:00:00Z"))};
    const script_step machine[] = {step(stand_token(1, 3600)), step(ANSWER("200 x", "me@x"))};
    memory_walk(NULL, 0, set_variable, make);
    memory_walk(one, 1, set_service_account, make);
    memory_walk(one, 1, stand_user, make);
    memory_walk(external, 3, set_external, make);
    memory_walk(machine, 2, stand_metadata, make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sources)};
    key = rsa_key_new();
    const int status = cmocka_run_group_tests(tests, NULL, NULL);
    rsa_key_free(key);
    return status;
}
