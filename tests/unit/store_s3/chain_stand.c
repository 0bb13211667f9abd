// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "chain_stand.h"

#include "tests/contract/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

void stand_start(chain_stand *t, const script_step *steps, size_t count)
{
    char path[512];
    memset(t, 0, sizeof *t);
    t->server = script_start(steps, count);
    t->home = scratch_make();
    t->error = bw_error_new();
    (void)snprintf(t->url, sizeof t->url, "http://127.0.0.1:%u", script_port(t->server));
    (void)snprintf(path, sizeof path, "%s/.aws", t->home);
    assert_int_equal(mkdir(path, 0700), 0);
    stand_set(t, "HOME", t->home);
    stand_set(t, "PATH", "/usr/bin:/bin");
    stand_set(t, "AWS_EC2_METADATA_DISABLED", "TRUE");
}

static void forget(chain_stand *t)
{
    s3_keys_clear(&t->keys);
    s3_environment_free(t->environment);
    t->environment = NULL;
}

void stand_stop(chain_stand *t)
{
    forget(t);
    for (size_t i = 0; t->variables[i] != NULL; i++)
        free(t->variables[i]);
    bw_error_free(t->error);
    scratch_remove(t->home);
    script_stop(t->server);
}

void stand_set(chain_stand *t, const char *name, const char *value)
{
    const size_t size = strlen(name);
    size_t at = 0;
    while (t->variables[at] != NULL &&
           (strncmp(t->variables[at], name, size) != 0 || t->variables[at][size] != '='))
        at++;
    assert_true(at < STAND_VARIABLES_MAX);
    char text[2048];
    (void)snprintf(text, sizeof text, "%s=%s", name, value != NULL ? value : "");
    free(t->variables[at]);
    t->variables[at] = strdup(text);
}

const char *stand_file(chain_stand *t, const char *name, const char *text)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", t->home, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

bw_status stand_find(chain_stand *t, const char *profile)
{
    forget(t);
    t->environment = s3_environment_copy(t->variables);
    t->chain = (s3_chain){.environment = t->environment};
    bw_status status = s3_settings_find(profile, t->environment, &t->chain.settings, t->error);
    if (status == BW_OK) {
        (void)snprintf(t->chain.settings.region, sizeof t->chain.settings.region, "eu-test-1");
        status = s3_chain_find(&t->chain, &t->keys, t->error);
    }
    assert_null(strstr(t->keys.source, PLANTED));
    assert_null(strstr(t->chain.looked, PLANTED));
    assert_true((status == BW_OK) == secret_is_set(&t->keys.key));
    if (status != BW_OK && strstr(bw_error_message(t->error), PLANTED) != NULL)
        fail_msg("a secret is in: %s", bw_error_message(t->error));
    return status;
}

void stand_says(const chain_stand *t, const char *text)
{
    if (strstr(bw_error_message(t->error), text) == NULL)
        fail_msg("'%s' does not say '%s'", bw_error_message(t->error), text);
}

void stand_has(const chain_stand *t, const char *key_id, const char *key, const char *token,
               const char *source)
{
    assert_string_equal(t->keys.key_id, key_id);
    assert_string_equal(secret_text(&t->keys.key), key);
    assert_string_equal(secret_text(&t->keys.token), token);
    if (strstr(t->keys.source, source) == NULL)
        fail_msg("from %s, not %s", t->keys.source, source);
}

void stand_heard(const chain_stand *t, unsigned request, const char *line)
{
    const char *heard = script_heard(t->server, request);
    if (strstr(heard, line) == NULL)
        fail_msg("request %u: not heard: %s\nin: %s", request, line, heard);
}

/* ---- answers ---- */

static char *room(void)
{
    static char texts[16][2048];
    static unsigned next;
    return texts[next++ % 16];
}

static void end_in(int64_t seconds, char text[32])
{
    struct tm parts;
    const time_t end = time(NULL) + (time_t)seconds;
    assert_non_null(gmtime_r(&end, &parts));
    assert_true(strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0);
}

const char *stand_json(const char *token_name, unsigned number, int64_t seconds)
{
    char *text = room();
    char end[32];
    end_in(seconds, end);
    (void)snprintf(text, 2048,
                   "{\"Code\": \"Success\", \"Version\": 1, \"Odd\": [1, {\"a\": null}],"
                   "\"AccessKeyId\": \"ASIA%u\", \"SecretAccessKey\": \"" PLANTED "\\u002bkey%u\","
                   "\"%s\": \"" PLANTED "-token%u\", \"Expiration\": \"%s\"}\n",
                   number, number, token_name, number, end);
    return text;
}

const char *stand_sts(const char *action, unsigned number, int64_t seconds)
{
    char *text = room();
    char end[32];
    end_in(seconds, end);
    (void)snprintf(text, 2048,
                   "<%sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><%sResult>"
                   "<AssumedRoleUser><Arn>arn</Arn></AssumedRoleUser><Credentials>"
                   "<AccessKeyId>ASIA%u</AccessKeyId><SecretAccessKey>" PLANTED
                   "+key%u</SecretAccessKey><SessionToken>" PLANTED "-token%u</SessionToken>"
                   "<Expiration>%s</Expiration></Credentials></%sResult></%sResponse>",
                   action, action, number, number, number, end, action, action);
    return stand_answer(text);
}

const char *stand_answer(const char *body)
{
    static char texts[16][2048];
    static unsigned next;
    char *text = texts[next++ % 16];
    (void)snprintf(text, sizeof texts[0], ANSWER("200 OK", "%s"), body);
    return text;
}
