// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory runs out anywhere while keys are looked for: it says BW_NOMEM or finds them, owns nothing
 * afterwards (the leak checker looks), and shows nothing. */
#include "s3_stand.h"

#include "base/alloc.h"
#include "store_net/net_keyring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t left; /* requests until one fails, once or for good; 0: none does */
static bool for_good;
static bool failed;

static bool fails(void)
{
    if (left == 0 || left-- > 1)
        return false;
    left = for_good ? 1 : 0;
    return failed = true;
}

/* The linker gives these names. */
void *__real_mem_alloc(size_t bytes);
void *__real_mem_zalloc(size_t bytes);
void *__real_mem_realloc(void *memory, size_t bytes);
char *__real_mem_strdup(const char *text);
void *__wrap_mem_alloc(size_t bytes);
void *__wrap_mem_zalloc(size_t bytes);
void *__wrap_mem_realloc(void *memory, size_t bytes);
char *__wrap_mem_strdup(const char *text);

void *__wrap_mem_alloc(size_t bytes)
{
    return fails() ? NULL : __real_mem_alloc(bytes);
}

void *__wrap_mem_zalloc(size_t bytes)
{
    return fails() ? NULL : __real_mem_zalloc(bytes);
}

void *__wrap_mem_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_mem_realloc(memory, bytes);
}

char *__wrap_mem_strdup(const char *text)
{
    return fails() ? NULL : __real_mem_strdup(text);
}

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

/* The n-th request fails, for each n until there are fewer. */
static void walk(const script_step *steps, size_t count, void (*set)(chain_stand *t),
                 const char *profile)
{
    uint32_t all = 0;
    for (int good = 0; good < 2; good++) {
        failed = true;
        for (uint32_t n = 1; failed; n++) {
            chain_stand t;
            net_keyring *ring = NULL;
            stand_start(&t, steps, count);
            set(&t);
            s3_chain *chain = stand_chain(&t, profile);
            assert_non_null(chain);
            failed = false;
            for_good = good == 1;
            left = n;
            const bw_status status = net_keyring_open(&chain->net, &ring, t.error);
            left = 0;
            if (status != (failed ? BW_NOMEM : BW_OK) && !(failed && status == BW_OK))
                fail_msg("request %u: %s", n, bw_error_message(t.error));
            assert_null(status == BW_OK ? NULL : strstr(bw_error_message(t.error), PLANTED));
            assert_true((status == BW_OK) == (ring != NULL));
            net_keyring_free(ring);
            stand_stop(&t);
            all += failed;
        }
    }
    assert_true(all > 10);
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
    walk(role, 1, set_role, "default");
    walk(web, 1, set_web_identity, "");
    walk(NULL, 0, set_process, "");
    walk(instance, 3, set_instance, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
