// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "s3_stand.h"
#include "tests/unit/store_net/memory_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static net_chain *make(chain_stand *t)
{
    s3_chain *c = stand_chain(t, "");
    return c != NULL ? &c->net : NULL;
}

static net_chain *make_named(chain_stand *t)
{
    s3_chain *c = stand_chain(t, "default");
    return c != NULL ? &c->net : NULL;
}

static void set_role(chain_stand *t)
{
    (void)stand_file(t, ".aws/config",
                     "[profile base]\naws_access_key_id=AKID\naws_secret_access_key=" PLANTED "\n"
                     "[default]\nrole_arn=arn:one\nsource_profile=base\nregion=eu-test-1\n");
    stand_set(t, "AWS_ENDPOINT_URL_STS", t->url);
}

static void set_web_identity(chain_stand *t)
{
    stand_set(t, "AWS_ENDPOINT_URL_STS", t->url);
    stand_set(t, "AWS_ROLE_ARN", "arn:one");
    stand_set(t, "AWS_WEB_IDENTITY_TOKEN_FILE", stand_file(t, "token", PLANTED));
}

static void set_process(chain_stand *t)
{
    char text[1024];
    const char *path = stand_file(t, "keys", stand_json("SessionToken", 1, 3600));
    (void)snprintf(text, sizeof text, "[default]\ncredential_process=cat %s\n", path);
    (void)stand_file(t, ".aws/config", text);
}

static void set_instance(chain_stand *t)
{
    stand_set(t, "AWS_EC2_METADATA_DISABLED", "");
    stand_set(t, "AWS_EC2_METADATA_SERVICE_ENDPOINT", t->url);
}

static void test_all_sources(void **state)
{
    (void)state;
    const script_step role[] = {step(stand_sts("AssumeRole", 1, 3600))};
    const script_step web[] = {step(stand_sts("AssumeRoleWithWebIdentity", 1, 3600))};
    const script_step instance[] = {step(ANSWER("200 x", PLANTED)), step(ANSWER("200 x", "role")),
                                    step(stand_answer(stand_json("Token", 1, 3600)))};
    memory_walk(role, 1, set_role, make_named);
    memory_walk(web, 1, set_web_identity, make);
    memory_walk(NULL, 0, set_process, make);
    memory_walk(instance, 3, set_instance, make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
