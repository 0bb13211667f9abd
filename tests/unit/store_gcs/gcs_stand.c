// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "gcs_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

bw_status stand_find_token(chain_stand *t)
{
    return stand_ask(t, gcs_chain_new(net_environment_copy(t->variables)));
}

void stand_has_token(const chain_stand *t, unsigned number, const char *source)
{
    char token[64];
    (void)snprintf(token, sizeof token, "Bearer " PLANTED ".token%u", number);
    assert_string_equal(secret_text(&t->keys.token), token);
    if (strstr(t->keys.source, source) == NULL)
        fail_msg("from %s, not %s", t->keys.source, source);
}

const char *stand_token(unsigned number, int64_t seconds)
{
    static char texts[16][512];
    static unsigned next;
    char *text = texts[next++ % 16];
    (void)snprintf(text, sizeof texts[0],
                   ANSWER("200 OK\r\nMetadata-Flavor: Google",
                          "{\"access_token\":\"" PLANTED ".token%u\",\"expires_in\":%lld,"
                          "\"token_type\":\"Bearer\"}"),
                   number, (long long)seconds);
    return text;
}

const char *stand_lent_token(unsigned number, const char *end)
{
    static char texts[16][512];
    static unsigned next;
    char *text = texts[next++ % 16];
    (void)snprintf(
        text, sizeof texts[0],
        ANSWER("200 OK", "{\"accessToken\":\"" PLANTED ".token%u\",\"expireTime\":\"%s\"}"), number,
        end);
    return text;
}

void stand_credentials(chain_stand *t, const char *text)
{
    stand_set(t, "GOOGLE_APPLICATION_CREDENTIALS", stand_file(t, "credentials.json", text));
}

void stand_service_account(chain_stand *t, rsa_key *key)
{
    char text[8192];
    int size = snprintf(text, sizeof text,
                        "{\"type\":\"service_account\",\"client_email\":\"me@p.iam.example.org\","
                        "\"private_key_id\":\"k1\",\"token_uri\":\"%s/token\",\"private_key\":\"",
                        t->url);
    for (const char *at = rsa_key_pem(key, NULL); *at != '\0'; at++)
        size += snprintf(text + size, sizeof text - (size_t)size, *at == '\n' ? "\\n" : "%c", *at);
    (void)snprintf(text + size, sizeof text - (size_t)size, "\"}");
    stand_credentials(t, text);
}

void stand_user(chain_stand *t)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"type\":\"authorized_user\",\"client_id\":\"id&1\",\"client_secret\":"
                   "\"" PLANTED "-secret\",\"refresh_token\":\"" PLANTED "-refresh\","
                   "\"universe_domain\":\"googleapis.com\",\"token_uri\":\"%s/token\"}",
                   t->url);
    stand_credentials(t, text);
}

void stand_external(chain_stand *t, const char *source, const char *more)
{
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "{\"type\":\"external_account\",\"audience\":\"//iam.example.org/pool\","
                   "\"subject_token_type\":\"urn:ietf:params:oauth:token-type:jwt\","
                   "\"token_url\":\"%s/v1/token\",\"credential_source\":{%s}%s}",
                   t->url, source, more);
    stand_credentials(t, text);
}

void stand_metadata(chain_stand *t)
{
    stand_set(t, "NO_GCE_CHECK", "");
    stand_set(t, "GCE_METADATA_HOST", t->url + strlen("http://"));
}
