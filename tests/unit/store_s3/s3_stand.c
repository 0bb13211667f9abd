// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "s3_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

s3_chain *stand_chain(chain_stand *t, const char *profile)
{
    s3_settings settings;
    net_environment *e = net_environment_copy(t->variables);
    if (s3_settings_find(profile, e, &settings, t->error) != BW_OK) {
        net_environment_free(e);
        return NULL;
    }
    (void)snprintf(settings.region, sizeof settings.region, "eu-test-1");
    return s3_chain_new(&settings, e);
}

bw_status stand_find(chain_stand *t, const char *profile)
{
    s3_chain *c = stand_chain(t, profile);
    return c != NULL ? stand_ask(t, &c->net) : bw_error_code(t->error);
}

static char *room(void)
{
    static char texts[16][2048];
    static unsigned next;
    return texts[next++ % 16];
}

static void end_in(int64_t seconds, char text[32])
{
    struct tm parts;
    const time_t end = (time_t)(clock_wall_ms(clock_system()) / 1000 + seconds);
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
