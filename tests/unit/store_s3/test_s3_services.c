// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Sources that ask a service: the token service, the endpoint of a container, an instance. */
#include "s3_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STS_ERROR(code, message)                                                                   \
    "<ErrorResponse><Error><Type>Sender</Type><Code>" code "</Code><Message>" message              \
    "</Message></Error></ErrorResponse>"

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

/* ---- web identity ---- */

static void set_web_identity(chain_stand *t)
{
    stand_set(t, "AWS_ENDPOINT_URL_STS", t->url);
    stand_set(t, "AWS_ROLE_ARN", "arn:aws:iam::1:role/pod+1");
    stand_set(t, "AWS_ROLE_SESSION_NAME", "me@x");
    stand_set(t, "AWS_WEB_IDENTITY_TOKEN_FILE",
              stand_file(t, "token", PLANTED ".web=identity/token\n"));
}

static void test_web_identity(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_sts("AssumeRoleWithWebIdentity", 1, 3600))};
    chain_stand t;
    stand_start(&t, steps, 1);
    set_web_identity(&t);
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ASIA1", PLANTED "+key1", PLANTED "-token1",
              "web identity of role arn:aws:iam::1:role/pod+1");
    stand_lasts(&t, 3600);
    stand_heard(&t, 0, "POST / HTTP/1.1\r\n");
    stand_heard(&t, 0, "content-type: application/x-www-form-urlencoded\r\n");
    stand_heard(&t, 0,
                "\r\n\r\nAction=AssumeRoleWithWebIdentity&"
                "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fpod%2B1&RoleSessionName=me%40x&"
                "Version=2011-06-15&WebIdentityToken=" PLANTED ".web%3Didentity%2Ftoken");
    assert_null(strcasestr(script_heard(t.server, 0), "authorization"));
    stand_stop(&t);
}

static void test_web_identity_that_fails(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *says;
        bw_status status;
        unsigned requests;
    } rows[] = {
        {ANSWER("400 x", STS_ERROR("InvalidIdentityToken", "no key for it")),
         "answered 400 InvalidIdentityToken: no key for it", BW_DENIED, 1},
        {ANSWER("403 x",
                STS_ERROR("AccessDenied", "what was sent: " PLANTED ".web=identity/token")),
         "answered 403 AccessDenied", BW_DENIED, 1},
        {ANSWER("200 x", "<html/>"), "no keys", BW_CORRUPT, 1},
        {ANSWER("200 x", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"), "no keys", BW_CORRUPT, 1},
        {ANSWER("302 x", ""), "answered 302", BW_DENIED, 1},
        {ANSWER("503 x", ""), "answered 503", BW_IO, 3},
        {"", "did not answer", BW_IO, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(rows[i].answer),
                                     step(rows[i].answer)};
        chain_stand t;
        stand_start(&t, steps, 3);
        set_web_identity(&t);
        const bw_status status = stand_find(&t, "");
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, "web identity of role arn:aws:iam::1:role/pod+1: ");
        stand_says(&t, rows[i].says);
        assert_int_equal(script_requests(t.server), rows[i].requests);
        stand_stop(&t);
    }
}

static void test_web_identity_without_a_token(void **state)
{
    (void)state;
    chain_stand t;
    stand_start(&t, NULL, 0);
    set_web_identity(&t);
    (void)stand_file(&t, "token", "\n");
    assert_int_equal(stand_find(&t, ""), BW_INVALID);
    stand_says(&t, "is empty");
    stand_set(&t, "AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token");
    assert_int_equal(stand_find(&t, ""), BW_INVALID);
    stand_says(&t, "there is no /nowhere/token");
    /* It would show the token to everybody on the way. */
    set_web_identity(&t);
    stand_set(&t, "AWS_ENDPOINT_URL_STS", "http://sts.example.org");
    assert_int_equal(stand_find(&t, ""), BW_INVALID);
    stand_says(&t, "plain http");
    assert_int_equal(script_requests(t.server), 0);
    stand_stop(&t);
}

/* ---- roles ---- */

static const char roles[] =
    "[profile base]\naws_access_key_id=AKID\naws_secret_access_key=" PLANTED "-base\n"
    "aws_session_token=" PLANTED "-base-token\n"
    "[profile one]\nrole_arn=arn:one\nsource_profile=base\nexternal_id=" PLANTED "-x\n"
    "duration_seconds=900\n"
    "[profile two]\nrole_arn=arn:two\nsource_profile=one\nrole_session_name=second\n"
    "[profile self]\nrole_arn=arn:self\nsource_profile=self\naws_access_key_id=SELF\n"
    "aws_secret_access_key=" PLANTED "\n"
    "[profile circle]\nrole_arn=arn:c\nsource_profile=circle\n"
    "[profile env]\nrole_arn=arn:e\ncredential_source=Environment\n"
    "[profile box]\nrole_arn=arn:b\ncredential_source=EcsContainer\n"
    "[profile ec2]\nrole_arn=arn:i\ncredential_source=Ec2InstanceMetadata\n"
    "[profile odd]\nrole_arn=arn:o\ncredential_source=Elsewhere\n"
    "[profile alone]\nrole_arn=arn:a\n"
    "[profile mfa]\nrole_arn=arn:m\nsource_profile=base\nmfa_serial=arn:mfa\n"
    "[profile lost]\nrole_arn=arn:l\nsource_profile=nobody\n"
    "[profile bare]\nregion=x\n[profile poor]\nrole_arn=arn:p\nsource_profile=bare\n";

static void set_roles(chain_stand *t)
{
    (void)stand_file(t, ".aws/config", roles);
    stand_set(t, "AWS_ENDPOINT_URL_STS", t->url);
}

static void test_a_role(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_sts("AssumeRole", 1, 900))};
    chain_stand t;
    stand_start(&t, steps, 1);
    set_roles(&t);
    assert_int_equal(stand_find(&t, "one"), BW_OK);
    stand_has(&t, "ASIA1", PLANTED "+key1", PLANTED "-token1", "role arn:one of profile one");
    stand_lasts(&t, 900);
    stand_heard(&t, 0,
                "\r\n\r\nAction=AssumeRole&DurationSeconds=900&ExternalId=" PLANTED
                "-x&RoleArn=arn%3Aone&RoleSessionName=batchweave&Version=2011-06-15");
    stand_heard(&t, 0, "\r\nx-amz-security-token: " PLANTED "-base-token\r\n");
    stand_heard(&t, 0, "\r\nauthorization: AWS4-HMAC-SHA256 Credential=AKID/");
    stand_heard(&t, 0,
                "/eu-test-1/sts/aws4_request,SignedHeaders=content-type;host;x-amz-date;"
                "x-amz-security-token,Signature=");
    assert_null(strstr(script_heard(t.server, 0), PLANTED "-base\r"));
    stand_stop(&t);
}

/* AWS_PROFILE names it too, and then a role goes before web identity. */
static void test_a_role_by_a_role(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_sts("AssumeRole", 1, 900)),
                                 step(stand_sts("AssumeRole", 2, 900))};
    chain_stand t;
    stand_start(&t, steps, 2);
    set_web_identity(&t);
    set_roles(&t);
    stand_set(&t, "AWS_PROFILE", "two");
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ASIA2", PLANTED "+key2", PLANTED "-token2", "role arn:two of profile two");
    stand_heard(&t, 0, "Credential=AKID/");
    stand_heard(&t, 1, "Credential=ASIA1/");
    stand_heard(&t, 1, "\r\nx-amz-security-token: " PLANTED "-token1\r\n");
    stand_heard(&t, 1, "RoleSessionName=second");
    stand_stop(&t);
}

static void test_a_role_with_keys_of_its_own_profile(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_sts("AssumeRole", 1, 900)),
                                 step(stand_sts("AssumeRole", 2, 900))};
    chain_stand t;
    stand_start(&t, steps, 2);
    set_roles(&t);
    assert_int_equal(stand_find(&t, "self"), BW_OK);
    stand_heard(&t, 0, "Credential=SELF/");
    stand_set(&t, "AWS_ACCESS_KEY_ID", "ENV");
    stand_set(&t, "AWS_SECRET_ACCESS_KEY", PLANTED);
    assert_int_equal(stand_find(&t, "env"), BW_OK);
    stand_heard(&t, 1, "Credential=ENV/");
    assert_null(strstr(script_heard(t.server, 1), "x-amz-security-token"));
    stand_stop(&t);
}

static void test_a_role_of_a_container(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 900))),
                                 step(stand_sts("AssumeRole", 2, 900))};
    char url[128];
    chain_stand t;
    stand_start(&t, steps, 2);
    set_roles(&t);
    (void)snprintf(url, sizeof url, "%s/v1", t.url);
    stand_set(&t, "AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    assert_int_equal(stand_find(&t, "box"), BW_OK);
    stand_heard(&t, 1, "Credential=ASIA1/");
    stand_stop(&t);
}

static void test_roles_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *profile, *says;
        bw_status status;
    } rows[] = {
        {"circle", "from role to role", BW_INVALID},
        {"env", "AWS_ACCESS_KEY_ID is not set", BW_DENIED},
        {"box", "_FULL_URI are not set", BW_DENIED},
        {"ec2", "AWS_EC2_METADATA_DISABLED", BW_DENIED},
        {"odd", "credential_source is", BW_INVALID},
        {"alone", "neither source_profile", BW_INVALID},
        {"mfa", "mfa_serial", BW_UNSUPPORTED},
        {"lost", "no profile nobody", BW_INVALID},
        {"poor", "profile bare, which source_profile names, has no keys", BW_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        set_roles(&t);
        const bw_status status = stand_find(&t, rows[i].profile);
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        assert_int_equal(script_requests(t.server), 0);
        stand_stop(&t);
    }
}

/* What the service writes of a signature that is wrong has the token in it. */
static void test_what_a_refusal_shows(void **state)
{
    (void)state;
    const script_step steps[] = {
        step(ANSWER("403 x", STS_ERROR("SignatureDoesNotMatch",
                                       "The signature does not match.\n\nThe Canonical String was "
                                       "'POST\n/\nx-amz-security-token:" PLANTED "-base-token'"))),
        step(ANSWER("403 x", STS_ERROR("Odd", "token " PLANTED "-base-token"))),
        step(ANSWER("403 x", STS_ERROR("Odd", "secret " PLANTED "-base")))};
    chain_stand t;
    stand_start(&t, steps, 3);
    set_roles(&t);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stand_find(&t, "one"), BW_DENIED);
        stand_says(&t, i == 0 ? "SignatureDoesNotMatch: The signature does not match." : "403 Odd");
        stand_says(&t, "role arn:one of profile one, assumed with profile base of");
    }
    stand_stop(&t);
}

/* A clock that is wrong is corrected by what the service says, and keys last by its clock. */
static void test_skew(void **state)
{
    (void)state;
    static const char keys[] =
        "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId>"
        "<SecretAccessKey>" PLANTED "</SecretAccessKey><SessionToken>" PLANTED "</SessionToken>"
        "<Expiration>1994-11-06T09:49:37Z</Expiration></Credentials></AssumeRoleResult>"
        "</AssumeRoleResponse>";
    char good[1024];
    (void)snprintf(good, sizeof good,
                   "HTTP/1.1 200 x\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT\r\nConnection: "
                   "close\r\n\r\n%s",
                   keys);
    const script_step steps[] = {
        step("HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n"
             "\r\n" STS_ERROR("SignatureDoesNotMatch", "Signature expired")),
        step(good)};
    chain_stand t;
    stand_start(&t, steps, 2);
    set_roles(&t);
    assert_int_equal(stand_find(&t, "one"), BW_OK);
    stand_heard(&t, 1, "\r\nx-amz-date: 19941106T0849");
    stand_lasts(&t, 3600);
    stand_stop(&t);
}

/* A service whose clock says something else each time is asked twice. */
static void test_skew_ends(void **state)
{
    (void)state;
    const script_step steps[] = {
        step("HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n"),
        step("HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1996 08:49:37 GMT\r\nConnection: close\r\n\r\n"),
        step("HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1998 08:49:37 GMT\r\nConnection: close\r\n\r\n")};
    chain_stand t;
    stand_start(&t, steps, 3);
    set_roles(&t);
    assert_int_equal(stand_find(&t, "one"), BW_DENIED);
    assert_int_equal(script_requests(t.server), 2);
    stand_stop(&t);
}

/* ---- containers ---- */

static void set_container(chain_stand *t)
{
    char url[128];
    (void)snprintf(url, sizeof url, "%s/v1/keys?a=b", t->url);
    stand_set(t, "AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    stand_set(t, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic " PLANTED "-auth");
}

static void test_a_container(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 3600))),
                                 step(stand_answer(stand_json("Token", 2, 3600)))};
    chain_stand t;
    stand_start(&t, steps, 2);
    set_container(&t);
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ASIA1", PLANTED "+key1", PLANTED "-token1", "endpoint of the container");
    stand_lasts(&t, 3600);
    stand_heard(&t, 0, "GET /v1/keys?a=b HTTP/1.1\r\n");
    stand_heard(&t, 0, "\r\nauthorization: Basic " PLANTED "-auth\r\n");
    /* A file goes before the variable: it is kept fresh. */
    stand_set(&t, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
              stand_file(&t, "auth", PLANTED "-of-file\n"));
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_heard(&t, 1, "\r\nauthorization: " PLANTED "-of-file\r\n");
    stand_stop(&t);
}

static void test_containers_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *says;
        bw_status status;
        unsigned requests;
    } rows[] = {
        {ANSWER("403 x", "{\"message\":\"" PLANTED "\"}"), "answered 403", BW_DENIED, 1},
        {ANSWER("500 x", PLANTED), "answered 500", BW_IO, 3},
        {ANSWER("200 x", PLANTED), "no JSON object", BW_CORRUPT, 1},
        {ANSWER("200 x", "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}"),
         "answered AssumeRoleUnauthorizedAccess", BW_DENIED, 1},
        {ANSWER("200 x", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"" PLANTED
                         "\",\"Token\":\"" PLANTED "\\r\\nx\"}"),
         "the session token is none", BW_INVALID, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(rows[i].answer),
                                     step(rows[i].answer)};
        chain_stand t;
        stand_start(&t, steps, 3);
        set_container(&t);
        const bw_status status = stand_find(&t, "");
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, "keys of the container: ");
        stand_says(&t, rows[i].says);
        assert_int_equal(script_requests(t.server), rows[i].requests);
        stand_stop(&t);
    }
}

/* Nobody else gets the token, whatever the variable says. */
static void test_hosts_of_containers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } rows[] = {
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", "plain http is for"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.2.example.org/x", "plain http"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.169.254/x", "plain http"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "ftp://127.0.0.1/x", "endpoint"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1@example.org/x", "FULL_URI"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "127.0.0.1", "endpoint"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/a b", "no URL"},
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ".example.org/x", "slash"},
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.org/x", "slash"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        stand_set(&t, rows[i].name, rows[i].value);
        stand_set(&t, "AWS_CONTAINER_AUTHORIZATION_TOKEN", PLANTED);
        if (stand_find(&t, "") != BW_INVALID)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        stand_stop(&t);
    }
    chain_stand t;
    stand_start(&t, NULL, 0);
    set_container(&t);
    stand_set(&t, "AWS_CONTAINER_AUTHORIZATION_TOKEN", PLANTED "\r\nx: y");
    assert_int_equal(stand_find(&t, ""), BW_INVALID);
    stand_says(&t, "line ends");
    stand_stop(&t);
}

/* ---- instances ---- */

static void set_instance(chain_stand *t)
{
    stand_set(t, "AWS_EC2_METADATA_DISABLED", "false");
    stand_set(t, "AWS_EC2_METADATA_SERVICE_ENDPOINT", t->url);
}

static void test_an_instance(void **state)
{
    (void)state;
    const script_step steps[] = {
        step(ANSWER("200 x", PLANTED "-session==")), step(ANSWER("200 x", "the role\n")),
        step(ANSWER("200 x", PLANTED "-session==")), step(ANSWER("200 x", "the+role\n")),
        step(stand_answer(stand_json("Token", 1, 21600)))};
    chain_stand t;
    stand_start(&t, steps, 5);
    set_instance(&t);
    assert_int_equal(stand_find(&t, ""), BW_DENIED); /* no name of a role */
    assert_int_equal(stand_find(&t, ""), BW_OK);
    stand_has(&t, "ASIA1", PLANTED "+key1", PLANTED "-token1", "role the+role of the EC2 instance");
    stand_lasts(&t, 21600);
    stand_heard(&t, 2, "PUT /latest/api/token HTTP/1.1\r\n");
    stand_heard(&t, 2, "\r\nx-aws-ec2-metadata-token-ttl-seconds: 21600\r\n");
    stand_heard(&t, 3, "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n");
    stand_heard(&t, 3, "\r\nx-aws-ec2-metadata-token: " PLANTED "-session==\r\n");
    stand_heard(&t, 4, "GET /latest/meta-data/iam/security-credentials/the%2Brole HTTP/1.1\r\n");
    stand_heard(&t, 4, "\r\nx-aws-ec2-metadata-token: " PLANTED "-session==\r\n");
    stand_stop(&t);
}

/* Whatever comes instead of a token: nothing is asked without one. */
static void test_never_version_1(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *says;
    } rows[] = {
        {ANSWER("404 x", ""), "no token of version 2: it answered 404"},
        {ANSWER("403 x", ""), "answered 403"},
        {ANSWER("405 x", ""), "answered 405"},
        {ANSWER("200 x", ""), "answered 200"},
        {"", "hop limit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(rows[i].answer), step(ANSWER("200 x", "role"))};
        chain_stand t;
        stand_start(&t, steps, 2);
        set_instance(&t);
        assert_int_equal(stand_find(&t, ""), BW_DENIED);
        stand_says(&t, rows[i].says);
        stand_says(&t, "no keys for S3");
        assert_int_equal(script_requests(t.server), 1);
        stand_stop(&t);
    }
}

static void test_instances_that_have_none(void **state)
{
    (void)state;
    static const struct {
        const char *role, *keys, *says;
        bw_status status;
    } rows[] = {
        {ANSWER("404 x", ""), NULL, "attach an instance profile", BW_DENIED},
        {ANSWER("401 x", ""), NULL, "answered 401", BW_DENIED},
        {ANSWER("200 x", "r"), ANSWER("404 x", PLANTED), "answered 404", BW_DENIED},
        {ANSWER("200 x", "r"), ANSWER("200 x", "{\"Code\":\"Failed\",\"Message\":\"" PLANTED "\"}"),
         "it answered Failed", BW_DENIED},
        {ANSWER("200 x", "r"), ANSWER("200 x", "[" PLANTED "]"), "no JSON object", BW_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {step(ANSWER("200 x", PLANTED "-session")), step(rows[i].role),
                                     step(rows[i].keys != NULL ? rows[i].keys : "")};
        chain_stand t;
        stand_start(&t, steps, 3);
        set_instance(&t);
        const bw_status status = stand_find(&t, "");
        if (status != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        stand_stop(&t);
    }
}

/* A proxy would answer for another machine, and see what is said. Nobody is at these addresses. */
static void test_never_by_a_proxy(void **state)
{
    (void)state;
    const script_step steps[] = {step(ANSWER("200 x", PLANTED)), step(ANSWER("200 x", PLANTED))};
    chain_stand t;
    stand_start(&t, steps, 2);
    assert_int_equal(setenv("http_proxy", t.url, 1) | setenv("all_proxy", t.url, 1), 0);
    set_instance(&t);
    stand_set(&t, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://192.0.2.1");
    assert_int_equal(stand_find(&t, ""), BW_DENIED);
    stand_says(&t, "hop limit");
    stand_set(&t, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://[fd00:ec2::23]/v1");
    (void)stand_find(&t, "");
    assert_int_equal(script_requests(t.server), 0);
    assert_int_equal(unsetenv("http_proxy") | unsetenv("all_proxy"), 0);
    stand_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_web_identity),
        cmocka_unit_test(test_web_identity_that_fails),
        cmocka_unit_test(test_web_identity_without_a_token),
        cmocka_unit_test(test_a_role),
        cmocka_unit_test(test_a_role_by_a_role),
        cmocka_unit_test(test_a_role_with_keys_of_its_own_profile),
        cmocka_unit_test(test_a_role_of_a_container),
        cmocka_unit_test(test_roles_that_cannot_be),
        cmocka_unit_test(test_what_a_refusal_shows),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_skew_ends),
        cmocka_unit_test(test_a_container),
        cmocka_unit_test(test_containers_that_fail),
        cmocka_unit_test(test_hosts_of_containers),
        cmocka_unit_test(test_an_instance),
        cmocka_unit_test(test_never_version_1),
        cmocka_unit_test(test_instances_that_have_none),
        cmocka_unit_test(test_never_by_a_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
