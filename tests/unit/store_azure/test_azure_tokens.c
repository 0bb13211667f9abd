// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Where keys and tokens for Azure come from: variables, workload identity, managed identity. */
#include "azure_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY "UExBTlRFRC1rZXk=" /* PLANTED-key */

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

/* ---- the order ---- */

static void test_the_order(void **state)
{
    (void)state;
    const int64_t now_s = clock_wall_ms(clock_system()) / 1000;
    const script_step steps[] = {step(stand_token(1, 86400)),
                                 step(stand_token_until(2, now_s + 7200)),
                                 step(stand_token(3, 3600))};
    chain_stand t;
    stand_start(&t, steps, 3);
    assert_int_equal(stand_find_key(&t), BW_DENIED);
    stand_says(&t,
               "no key for the storage account. Looked at: AZURE_STORAGE_KEY is not set; "
               "AZURE_STORAGE_SAS_TOKEN is not set; AZURE_STORAGE_CONNECTION_STRING is not set; "
               "AZURE_FEDERATED_TOKEN_FILE is not set; IDENTITY_ENDPOINT is not set; the "
               "metadata service: cannot be reached");
    stand_says(&t, "anonymous=true");
    stand_machine(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_has_token(&t, 1, "the managed identity of the machine");
    stand_lasts(&t, 86400);
    stand_service(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_has_token(&t, 2, "the managed identity of App Service");
    stand_lasts(&t, 7200);
    stand_workload(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_has_token(&t, 3, "the workload identity of client client-1");
    assert_int_equal(t.keys.kind, NET_KEYS_LENT);
    stand_set(&t, "AZURE_STORAGE_CONNECTION_STRING",
              "AccountName=acct;SharedAccessSignature=sv=1&sig=" PLANTED "2");
    assert_int_equal(stand_find_key(&t), BW_OK);
    assert_string_equal(secret_text(&t.keys.token), "sv=1&sig=" PLANTED "2");
    assert_string_equal(t.keys.source, "AZURE_STORAGE_CONNECTION_STRING");
    stand_set(&t, "AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=" PLANTED);
    assert_int_equal(stand_find_key(&t), BW_OK);
    assert_string_equal(secret_text(&t.keys.token), "sv=1&sig=" PLANTED);
    assert_string_equal(t.keys.key_id, AZURE_SIGNATURE);
    assert_string_equal(t.keys.source, "AZURE_STORAGE_SAS_TOKEN");
    assert_int_equal(t.keys.kind, NET_KEYS_FIXED);
    stand_set(&t, "AZURE_STORAGE_KEY", KEY);
    assert_int_equal(stand_find_key(&t), BW_OK);
    assert_string_equal(secret_text(&t.keys.key), "PLANTED-key");
    assert_false(secret_is_set(&t.keys.token));
    assert_string_equal(t.keys.source, "AZURE_STORAGE_KEY");
    assert_int_equal(script_requests(t.server), 3);
    stand_stop(&t);
}

/* Said only where there is nothing else: the variable may be there for another program. */
static void test_what_others_take(void **state)
{
    (void)state;
    static const char *const names[] = {"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_SECRET"};
    const script_step steps[] = {
        step(ANSWER("400 x", "{\"error\":\"invalid_request\",\"error_description\":\"Identity not "
                             "found\"}")),
        step(stand_token(1, 3600))};
    char says[160];
    chain_stand t;
    stand_start(&t, steps, 2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        stand_set(&t, names[i], PLANTED);
        assert_int_equal(stand_find_key(&t), BW_UNSUPPORTED);
        (void)snprintf(says, sizeof says, "%s is set, and signing in with a client's secret",
                       names[i]);
        stand_says(&t, says);
        stand_says(&t, "Looked at: AZURE_STORAGE_KEY is not set; ");
        stand_says(&t, "Set AZURE_STORAGE_KEY, ");
    }
    assert_int_equal(script_requests(t.server), 0);
    stand_machine(&t); /* which has no identity, and then one */
    assert_int_equal(stand_find_key(&t), BW_UNSUPPORTED);
    stand_says(&t, "answered 400 invalid_request");
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_has_token(&t, 1, "the managed identity of the machine");
    stand_stop(&t);
}

/* ---- what is asked ---- */

static void test_a_workload(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)), step(stand_token(2, 3600))};
    char host[128];
    chain_stand t;
    stand_start(&t, steps, 2);
    stand_workload(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_heard(&t, 0, "POST /tenant-1/oauth2/v2.0/token HTTP/1.1\r\n");
    stand_heard(&t, 0,
                "\r\n\r\nclient_assertion=" PLANTED
                ".assertion&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-"
                "type%3Ajwt-bearer&client_id=client-1&grant_type=client_credentials&scope=https%3A"
                "%2F%2Fstorage.azure.com%2F.default");
    /* As Kubernetes sets it; and the file is read each time. */
    (void)snprintf(host, sizeof host, "%s/", t.url);
    stand_set(&t, "AZURE_AUTHORITY_HOST", host);
    (void)stand_file(&t, "federated", PLANTED ".other");
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_heard(&t, 1, "POST /tenant-1/oauth2/v2.0/token HTTP/1.1\r\n");
    stand_heard(&t, 1, "client_assertion=" PLANTED ".other&");
    stand_stop(&t);
}

static void test_managed_identities(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)), step(stand_token(2, 3600)),
                                 step(stand_token(3, 3600))};
    char url[128];
    chain_stand t;
    stand_start(&t, steps, 3);
    stand_machine(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_heard(&t, 0,
                "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2F"
                "storage.azure.com%2F HTTP/1.1\r\n");
    stand_heard(&t, 0, "\r\nmetadata: true\r\n");
    stand_set(&t, "AZURE_CLIENT_ID", "a&b");
    stand_service(&t);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_has_token(&t, 2, "the managed identity a&b of App Service");
    stand_heard(&t, 1,
                "GET /msi/token?api-version=2019-08-01&client_id=a%26b&resource=https%3A%2F%2F"
                "storage.azure.com%2F HTTP/1.1\r\n");
    stand_heard(&t, 1, "\r\nx-identity-header: " PLANTED "-header\r\n");
    (void)snprintf(url, sizeof url, "%s/?a=b", t.url);
    stand_set(&t, "IDENTITY_ENDPOINT", url);
    assert_int_equal(stand_find_key(&t), BW_OK);
    stand_heard(&t, 2, "GET /?a=b&api-version=2019-08-01&");
    stand_stop(&t);
}

/* ---- what cannot be ---- */

static void test_variables_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        void (*set)(chain_stand *t);
        const char *name, *value, *says;
        bw_status status;
    } rows[] = {
        {NULL, "AZURE_STORAGE_KEY", PLANTED "!", "no base64", BW_INVALID},
        {NULL, "AZURE_STORAGE_SAS_TOKEN", "sig=" PLANTED "\r\nx", "line ends", BW_INVALID},
        {NULL, "AZURE_STORAGE_CONNECTION_STRING", "AccountName=other;AccountKey=" KEY,
         "of another account than acct", BW_INVALID},
        {NULL, "AZURE_STORAGE_CONNECTION_STRING", "AccountName=acct;x=" PLANTED, "has neither",
         BW_INVALID},
        {stand_workload, "AZURE_CLIENT_ID", "", "AZURE_CLIENT_ID or AZURE_TENANT_ID is not",
         BW_INVALID},
        {stand_workload, "AZURE_TENANT_ID", "", "AZURE_CLIENT_ID or AZURE_TENANT_ID is not",
         BW_INVALID},
        {stand_workload, "AZURE_TENANT_ID", "a/b", "no name of a tenant", BW_INVALID},
        {stand_workload, "AZURE_FEDERATED_TOKEN_FILE", "/nowhere/t", "there is no /nowhere/t",
         BW_INVALID},
        {stand_workload, "AZURE_AUTHORITY_HOST", "http://login.example.org",
         "do not travel over plain http", BW_INVALID},
        {stand_workload, "AZURE_AUTHORITY_HOST", "login.example.org", "endpoint", BW_INVALID},
        {stand_service, "IDENTITY_HEADER", "", "Azure Arc and Service Fabric", BW_UNSUPPORTED},
        {stand_service, "IDENTITY_SERVER_THUMBPRINT", "x", "Service Fabric", BW_UNSUPPORTED},
        {stand_service, "IDENTITY_HEADER", PLANTED "\r\nx: y", "IDENTITY_HEADER is none",
         BW_INVALID},
        {stand_service, "IDENTITY_ENDPOINT", "http://example.org/x", "plain http is for",
         BW_INVALID},
        {stand_service, "IDENTITY_ENDPOINT", "http://169.254.1.1.example.org/x",
         "plain http is for", BW_INVALID},
        {stand_service, "IDENTITY_ENDPOINT", "http://127.0.0.1/a b", "no URL", BW_INVALID},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_stand t;
        stand_start(&t, NULL, 0);
        if (rows[i].set != NULL)
            rows[i].set(&t);
        stand_set(&t, rows[i].name, rows[i].value);
        if (stand_find_key(&t) != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(t.error));
        stand_says(&t, rows[i].says);
        assert_int_equal(script_requests(t.server), 0);
        stand_stop(&t);
    }
}

/* ---- answers that are wrong ---- */

static void test_wrong_answers(void **state)
{
    (void)state;
    static void (*const kinds[])(chain_stand * t) = {stand_workload, stand_service, stand_machine};
    static const char *const names[] = {
        "workload identity of client client-1: ", "managed identity: ", "managed identity: "};
    char *huge = calloc(1, HTTP_ANSWER_BYTES_MAX + 256);
    (void)snprintf(huge, 128, "HTTP/1.1 200 x\r\n\r\n{\"x\":\"");
    memset(huge + strlen(huge), 'x', HTTP_ANSWER_BYTES_MAX);
    const struct {
        const char *answer, *says;
        bw_status status;
    } rows[] = {
        {ANSWER("200 x", "{\"access_token\":\"" PLANTED), "the answer is no JSON object",
         BW_CORRUPT},
        {ANSWER("200 x", "{\"expires_in\":\"1\"}"), "the answer has no token", BW_CORRUPT},
        {ANSWER("400 x", "{\"error\":\"invalid_request\",\"error_description\":\"Identity not "
                         "found\",\"error_codes\":[1]}"),
         "answered 400 invalid_request: Identity not found", BW_DENIED},
        {ANSWER("401 x", "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS700213: no "
                         "match\\r\\nTrace ID: " PLANTED "\"}"),
         "answered 401 invalid_client: AADSTS700213: no match", BW_DENIED},
        {ANSWER("403 x", "{\"error\":\"x\",\"error_description\":\"for " PLANTED ".assertion and "
                         "" PLANTED "-header\"}"),
         "answered 403 x", BW_DENIED},
        {ANSWER("500 x", "<html>" PLANTED), "answered 500", BW_IO},
        {"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\n{", "did not answer", BW_IO},
        {huge, "more than 65536 bytes", BW_TOO_LARGE},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            /* The metadata service is sent nothing that it could show. */
            if (kinds[k] == stand_machine && strstr(rows[i].says, "403") != NULL)
                continue;
            const script_step bad = step(rows[i].answer);
            const script_step steps[] = {bad, bad, bad};
            chain_stand t;
            stand_start(&t, steps, 3);
            kinds[k](&t);
            if (stand_find_key(&t) != rows[i].status)
                fail_msg("kind %zu, row %zu: %s", k, i, bw_error_message(t.error));
            stand_says(&t, rows[i].says);
            /* Whoever is at that address may be another cloud's: then all that was tried is told.
             */
            stand_says(&t, kinds[k] == stand_machine && rows[i].status == BW_DENIED
                               ? "no key for the storage account. Looked at: "
                               : names[k]);
            stand_stop(&t);
        }
    }
    free(huge);
}

/* A proxy would answer for another machine, and see what is said. Nobody is at these addresses. */
static void test_never_by_a_proxy(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600)), step(stand_token(1, 3600))};
    chain_stand t;
    stand_start(&t, steps, 2);
    assert_int_equal(setenv("http_proxy", t.url, 1) | setenv("all_proxy", t.url, 1), 0);
    stand_set(&t, "AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://192.0.2.1");
    assert_int_equal(stand_find_key(&t), BW_DENIED);
    stand_says(&t, "cannot be reached");
    stand_service(&t);
    stand_set(&t, "IDENTITY_ENDPOINT", "http://169.254.0.1/x");
    (void)stand_find_key(&t);
    assert_int_equal(script_requests(t.server), 0);
    assert_int_equal(unsetenv("http_proxy") | unsetenv("all_proxy"), 0);
    stand_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_others_take),
        cmocka_unit_test(test_the_order),
        cmocka_unit_test(test_a_workload),
        cmocka_unit_test(test_managed_identities),
        cmocka_unit_test(test_variables_that_are_wrong),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_never_by_a_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
