// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_credentials.h"

#include "tests/contract/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* The environment of a test: NAME, value, …, NULL. */
static const char *get(void *context, const char *name)
{
    const char *const *pairs = context;
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        if (strcmp(pairs[i], name) == 0)
            return pairs[i + 1];
    }
    return NULL;
}

static bw_status find(const char *const *pairs, const char *profile, bool anonymous,
                      s3_credentials *out, bw_error *error)
{
    const s3_environment environment = {get, (void *)(uintptr_t)pairs};
    return s3_credentials_find(profile, anonymous, &environment, out, error);
}

static void assert_keys(const s3_credentials *c, const char *key_id, const char *key,
                        const char *token, const char *source)
{
    assert_string_equal(c->key_id, key_id);
    assert_string_equal(secret_text(&c->key), key);
    assert_string_equal(secret_text(&c->token), token);
    if (strstr(c->source, source) == NULL)
        fail_msg("%s, not %s", c->source, source);
    assert_null(strstr(c->source, "secret"));
}

static void write_file(const char *root, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char *make_home(void)
{
    char path[512];
    char *root = scratch_make();
    (void)snprintf(path, sizeof path, "%s/.aws", root);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(root, ".aws/credentials",
               "# comment\n[default]\naws_access_key_id = ID1\r\n"
               "aws_secret_access_key=secret1=with/equals+\n\n"
               " [ two ]\naws_access_key_id=ID2\naws_secret_access_key=secret2\n"
               "aws_session_token = token2\n"
               "[half]\naws_access_key_id=ID3\n");
    write_file(root, ".aws/config",
               "[default]\nregion = eu-central-1\n[profile two]\nregion=us-west-2\n"
               "endpoint_url = https://two.example.org\nca_bundle=/two.pem\ns3 =\n  "
               "addressing_style = path\n"
               "  region = nested\n"
               "[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = two\n"
               "[profile sso]\nsso_session = s\nregion=eu-north-1\n[half]\nregion = unreachable\n"
               "[profile keys]\naws_access_key_id=ID4\naws_secret_access_key=secret4\n");
    return root;
}

static void test_the_environment(void **state)
{
    (void)state;
    char *home = make_home();
    const char *const pairs[] = {"HOME",
                                 home,
                                 "AWS_ACCESS_KEY_ID",
                                 "ENV",
                                 "AWS_SECRET_ACCESS_KEY",
                                 "secret0",
                                 "AWS_SESSION_TOKEN",
                                 "token0",
                                 "AWS_DEFAULT_REGION",
                                 "sa-east-1",
                                 "AWS_ENDPOINT_URL",
                                 "https://env.example.org",
                                 "AWS_CA_BUNDLE",
                                 "/env.pem",
                                 NULL};
    s3_credentials c;
    bw_error *error = bw_error_new();
    assert_int_equal(find(pairs, "", false, &c, error), BW_OK);
    assert_keys(&c, "ENV", "secret0", "token0", "the environment");
    assert_string_equal(c.region, "sa-east-1");
    assert_string_equal(c.endpoint, "https://env.example.org");
    assert_string_equal(c.ca_file, "/env.pem");
    s3_credentials_clear(&c);
    assert_false(secret_is_set(&c.key));
    /* A profile that is named goes before keys in the environment. */
    assert_int_equal(find(pairs, "two", false, &c, error), BW_OK);
    assert_keys(&c, "ID2", "secret2", "token2", "profile two");
    s3_credentials_clear(&c);
    bw_error_free(error);
    scratch_remove(home);
}

static void test_profiles(void **state)
{
    (void)state;
    char *home = make_home();
    const char *const pairs[] = {"HOME", home, "AWS_ACCESS_KEY_ID", "", NULL};
    const char *const two[] = {"HOME", home, "AWS_PROFILE", "two", NULL};
    s3_credentials c;
    bw_error *error = bw_error_new();
    assert_int_equal(find(pairs, "", false, &c, error), BW_OK);
    assert_keys(&c, "ID1", "secret1=with/equals+", "", "profile default");
    assert_string_equal(c.region, "eu-central-1");
    s3_credentials_clear(&c);
    assert_int_equal(find(two, "", false, &c, error), BW_OK);
    assert_keys(&c, "ID2", "secret2", "token2", ".aws/credentials");
    assert_string_equal(c.region, "us-west-2");
    assert_string_equal(c.endpoint, "https://two.example.org");
    assert_string_equal(c.ca_file, "/two.pem");
    s3_credentials_clear(&c);
    assert_int_equal(find(two, "keys", false, &c, error), BW_OK);
    assert_keys(&c, "ID4", "secret4", "", ".aws/config");
    s3_credentials_clear(&c);
    bw_error_free(error);
    scratch_remove(home);
}

static void test_refusals(void **state)
{
    (void)state;
    char *home = make_home();
    char odd[512];
    (void)snprintf(odd, sizeof odd, "%s/.aws", home);
    const struct {
        const char *pairs[8];
        const char *profile;
        bw_status status;
        const char *says;
    } rows[] = {
        {{"HOME", home, NULL}, "role", BW_UNSUPPORTED, "role_arn"},
        {{"HOME", home, NULL}, "sso", BW_UNSUPPORTED, "sso_session"},
        {{"HOME", home, NULL}, "half", BW_DENIED, "AWS_ACCESS_KEY_ID"},
        {{"HOME", home, NULL}, "absent", BW_INVALID, "no profile absent"},
        {{"HOME", "/nowhere/at/all", NULL}, "", BW_DENIED, "anonymous=true"},
        {{NULL}, "", BW_DENIED, "AWS_ACCESS_KEY_ID"},
        {{"AWS_ACCESS_KEY_ID", "x", NULL}, "", BW_INVALID, "belong together"},
        {{"AWS_SECRET_ACCESS_KEY", "secret9", NULL}, "", BW_INVALID, "belong together"},
        {{"AWS_SHARED_CREDENTIALS_FILE", odd, NULL}, "", BW_INVALID, "no file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s3_credentials c;
        bw_error *error = bw_error_new();
        assert_int_equal(find(rows[i].pairs, rows[i].profile, false, &c, error), rows[i].status);
        if (strstr(bw_error_message(error), rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", bw_error_message(error), rows[i].says);
        assert_null(strstr(bw_error_message(error), "secret9"));
        assert_false(secret_is_set(&c.key));
        bw_error_free(error);
    }
    scratch_remove(home);
}

static void test_anonymous_wants_no_keys(void **state)
{
    (void)state;
    char *home = make_home();
    const char *const pairs[] = {"HOME", home, "AWS_ACCESS_KEY_ID", "x", NULL};
    s3_credentials c;
    assert_int_equal(find(pairs, "two", true, &c, NULL), BW_OK);
    assert_false(secret_is_set(&c.key));
    assert_string_equal(c.key_id, "");
    assert_string_equal(c.region, "us-west-2");
    s3_credentials_clear(&c);
    scratch_remove(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_environment),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_anonymous_wants_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
