// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "chain_stand.h"

#include "tests/contract/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

void stand_start(chain_stand *t, const script_step *steps, size_t count)
{
    memset(t, 0, sizeof *t);
    t->server = script_start(steps, count);
    t->home = scratch_make();
    t->error = bw_error_new();
    (void)snprintf(t->url, sizeof t->url, "http://127.0.0.1:%u", script_port(t->server));
    stand_set(t, "HOME", t->home);
    stand_set(t, "PATH", "/usr/bin:/bin");
    stand_set(t, "AWS_EC2_METADATA_DISABLED", "TRUE");
    stand_set(t, "NO_GCE_CHECK", "true");
    stand_set(t, "AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1"); /* nobody is there */
}

void stand_stop(chain_stand *t)
{
    net_keys_clear(&t->keys);
    net_chain_free(t->chain);
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
    for (char *slash = strchr(path + strlen(t->home) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

bw_status stand_ask(chain_stand *t, net_chain *chain)
{
    net_keys_clear(&t->keys);
    net_chain_free(t->chain);
    t->chain = chain;
    assert_non_null(chain);
    const bw_status status = net_chain_find(t->chain, &t->keys, t->error);
    assert_null(strstr(t->keys.source, PLANTED));
    assert_null(strstr(t->chain->looked, PLANTED));
    assert_true((status == BW_OK) == net_keys_are_set(&t->keys));
    if (status != BW_OK && strstr(bw_error_message(t->error), PLANTED) != NULL)
        fail_msg("a secret is in: %s", bw_error_message(t->error));
    return status;
}

void stand_lasts(const chain_stand *t, int64_t seconds)
{
    const int64_t left_ns = t->keys.expires_ns - clock_now(clock_system());
    if (left_ns > seconds * NS_PER_S || left_ns < (seconds - 100) * NS_PER_S)
        fail_msg("%lld ns left", (long long)left_ns);
}

void stand_publish(const chain_stand *t, bool on)
{
    for (size_t i = 0; t->variables[i] != NULL; i++) {
        char name[128];
        const char *equals = strchr(t->variables[i], '=');
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - t->variables[i]), t->variables[i]);
        if (on)
            assert_int_equal(setenv(name, equals + 1, 1), 0);
        else if (strcmp(name, "PATH") != 0)
            assert_int_equal(unsetenv(name), 0);
    }
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

const char *stand_answer(const char *body)
{
    static char texts[16][2048];
    static unsigned next;
    char *text = texts[next++ % 16];
    (void)snprintf(text, sizeof texts[0], ANSWER("200 OK", "%s"), body);
    return text;
}
