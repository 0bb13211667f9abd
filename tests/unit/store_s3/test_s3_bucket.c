// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a bucket is, and what it is set to, as S3 says it. */
#include "store_s3/s3_internal.h"

#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "planted-secret-key-0123456789"

static store *open_store(unsigned port, const char *prefix, bool anonymous)
{
    char endpoint[64];
    store *s = NULL;
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", port);
    const s3_options options = {.bucket = "bkt",
                                .prefix = prefix,
                                .endpoint = endpoint,
                                .region = "eu-test-1",
                                .profile = "",
                                .ca_file = "",
                                .anonymous = anonymous,
                                .request_timeout_ns = 5 * NS_PER_S};
    assert_int_equal(s3_store_open(&options, &s, NULL), BW_OK);
    return s;
}

static void test_what_a_store_is(void **state)
{
    (void)state;
    static const script_step step = {"HTTP/1.1 404 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                     "Content-Length: 0\r\n\r\n",
                                     SCRIPT_KEEP, false};
    script_server *server = script_start(&step, 1);
    store *s = open_store(script_port(server), "team/run", false);
    store_facts facts;
    assert_true(store_about(s, &facts));
    assert_int_equal(facts.cloud, STORE_CLOUD_S3);
    assert_string_equal(facts.name, "s3://bkt");
    assert_string_equal(facts.bucket, "bkt");
    assert_string_equal(facts.prefix, "team/run/");
    assert_string_equal(facts.region, "eu-test-1");
    assert_string_equal(facts.keys, "the environment");
    assert_memory_equal(facts.endpoint, "http://127.0.0.1:", 17);
    assert_false(facts.has_clock); /* nothing was asked yet */
    assert_int_equal(script_requests(server), 0);
    store_op op;
    store_op_init(&op, STORE_HEAD, "a");
    assert_int_equal(store_run(s, &op), STORE_NOT_FOUND);
    assert_true(store_about(s, &facts));
    assert_true(facts.has_clock);
    const int64_t then_ms = 784111777000;
    assert_in_range(clock_wall_ms(clock_system()) + facts.skew_ms, then_ms - 1000, then_ms + 1000);
    store_close(s);
    s = open_store(script_port(server), "", true);
    assert_true(store_about(s, &facts));
    assert_string_equal(facts.keys, "");
    assert_string_equal(facts.prefix, "");
    store_close(s);
    script_stop(server);
}

/* ---- settings ---- */

typedef struct setting {
    const char *versioning, *lifecycle; /* status and body; NULL: none comes */
    store_known versions, rules;
    bool old_end;
    const char *list; /* "D:prefix A:prefix M:prefix" */
} setting;

#define VERSIONS(status)                                                                           \
    "200 x|<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" status     \
    "</VersioningConfiguration>"
#define NO_VERSIONS VERSIONS("")
#define RULES(rules) "200 x|<LifecycleConfiguration>" rules "</LifecycleConfiguration>"
#define RULE(inside) "<Rule><Status>Enabled</Status>" inside "</Rule>"
#define EXPIRES "<Expiration><Days>30</Days></Expiration>"
#define NO_RULES "404 x|<Error><Code>NoSuchLifecycleConfiguration</Code></Error>"
#define DENIED "403 x|<Error><Code>AccessDenied</Code></Error>"

static const setting settings[] = {
    {NO_VERSIONS, NO_RULES, STORE_OFF, STORE_OFF, false, ""},
    {VERSIONS("<Status>Enabled</Status>"), NO_RULES, STORE_ON, STORE_OFF, false, ""},
    {VERSIONS("<Status>Suspended</Status>"), NO_RULES, STORE_OFF, STORE_OFF, false, ""},
    {NO_VERSIONS, RULES(RULE(EXPIRES)), STORE_OFF, STORE_ON, false, "D:"},
    {NO_VERSIONS, RULES(RULE("<Prefix>a/</Prefix>" EXPIRES)), STORE_OFF, STORE_ON, false, "D:a/"},
    {NO_VERSIONS,
     RULES(RULE("<Filter><Prefix>b</Prefix></Filter><Expiration><Date>2027-01-01T00:00:00Z</Date>"
                "</Expiration>")),
     STORE_OFF, STORE_ON, false, "D:b"},
    {NO_VERSIONS,
     RULES(RULE("<Filter><And><Prefix>c</Prefix><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>"
                "</And></Filter>" EXPIRES)),
     STORE_OFF, STORE_ON, false, "D:c"},
    /* Objects of ours have no tags. */
    {NO_VERSIONS,
     RULES(RULE("<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>" EXPIRES) RULE(
         "<Filter><And><Prefix>d</Prefix><Tag><Key>k</Key></Tag></And></Filter>" EXPIRES)),
     STORE_OFF, STORE_OFF, false, ""},
    {NO_VERSIONS, RULES("<Rule><Status>Disabled</Status>" EXPIRES "</Rule>"), STORE_OFF, STORE_OFF,
     false, ""},
    {VERSIONS("<Status>Enabled</Status>"),
     RULES(RULE("<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>"
                "</NoncurrentVersionExpiration><Expiration><ExpiredObjectDeleteMarker>true"
                "</ExpiredObjectDeleteMarker></Expiration>")),
     STORE_ON, STORE_OFF, true, ""},
    {NO_VERSIONS,
     RULES(RULE("<Transition><Days>1</Days><StorageClass>DEEP_ARCHIVE</StorageClass></Transition>"
                "<Transition><StorageClass>GLACIER</StorageClass></Transition>")
               RULE("<Prefix>e</Prefix><Transition><StorageClass>STANDARD_IA</StorageClass>"
                    "</Transition>")),
     STORE_OFF, STORE_ON, false, "A: M:e"},
    {NO_VERSIONS,
     RULES(RULE("<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"
                "</AbortIncompleteMultipartUpload>")),
     STORE_OFF, STORE_OFF, false, ""},
    {DENIED, NO_RULES, STORE_UNREADABLE, STORE_OFF, false, ""},
    {NO_VERSIONS, DENIED, STORE_OFF, STORE_UNREADABLE, false, ""},
    {NO_VERSIONS, "501 x|<Error><Code>NotImplemented</Code></Error>", STORE_OFF, STORE_UNREADABLE,
     false, ""},
    {NO_VERSIONS, "200 x|<LifecycleConfiguration><Rule>", STORE_OFF, STORE_UNREADABLE, false, ""},
    {"200 x|no XML", NO_RULES, STORE_UNREADABLE, STORE_OFF, false, ""},
};

static const char *answer_of(const char *text, char answer[2048])
{
    const char *bar = strchr(text, '|');
    (void)snprintf(answer, 2048, "HTTP/1.1 %.*s\r\nContent-Length: %zu\r\n\r\n%s",
                   (int)(bar - text), text, strlen(bar + 1), bar + 1);
    return answer;
}

static void describe(const store_bucket *b, char *text, size_t capacity)
{
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < b->rule_count; i++)
        size += (size_t)snprintf(text + size, capacity - size, "%s%c:%s", i > 0 ? " " : "",
                                 "DAM"[b->list[i].does], b -> list[i].prefix);
}

static void test_what_a_bucket_is_set_to(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const setting *row = &settings[i];
        char versioning[2048], lifecycle[2048], list[512];
        const script_step steps[] = {{answer_of(row->versioning, versioning), SCRIPT_KEEP, false},
                                     {answer_of(row->lifecycle, lifecycle), SCRIPT_KEEP, false}};
        script_server *server = script_start(steps, 2);
        store *s = open_store(script_port(server), "run", false);
        store_bucket b;
        assert_true((s->features & STORE_TELLS_BUCKET) != 0);
        store_bucket_ask(s, &b);
        describe(&b, list, sizeof list);
        if (b.versions != row->versions || b.rules != row->rules || b.old_end != row->old_end ||
            strcmp(list, row->list) != 0)
            fail_msg("row %zu: versions %d, rules %d, old %d, %s (%s)", i, b.versions, b.rules,
                     b.old_end, list, b.why);
        assert_int_equal(b.why[0] != '\0',
                         b.versions == STORE_UNREADABLE || b.rules == STORE_UNREADABLE);
        assert_null(strstr(b.why, SECRET));
        assert_memory_equal(script_heard(server, 0), "GET /bkt?versioning= HTTP/1.1\r\n", 31);
        assert_memory_equal(script_heard(server, 1), "GET /bkt?lifecycle= HTTP/1.1\r\n", 30);
        store_close(s);
        script_stop(server);
    }
}

/* There is room for so many; the others are as good as those. */
static void test_many_rules(void **state)
{
    (void)state;
    static store_bucket b;
    s3_rules rules;
    xml *x = NULL;
    static const char head[] = "<LifecycleConfiguration>", foot[] = "</LifecycleConfiguration>";
    static const char rule[] = RULE("<ID>long</ID><Prefix>a</Prefix>" EXPIRES);
    assert_int_equal(s3_rules_new(&rules, &b, &x), BW_OK);
    assert_int_equal(xml_feed(x, head, sizeof head - 1), BW_OK);
    for (size_t i = 0; i < STORE_RULES_MAX + 3; i++)
        assert_int_equal(xml_feed(x, rule, sizeof rule - 1), BW_OK);
    assert_int_equal(xml_feed(x, foot, sizeof foot - 1), BW_OK);
    assert_int_equal(xml_end(x), BW_OK);
    xml_free(x);
    assert_int_equal(b.rule_count, STORE_RULES_MAX);
    assert_string_equal(b.list[STORE_RULES_MAX - 1].name, "long");
}

static int set_environment(void **state)
{
    (void)state;
    static const char *const off[] = {"AWS_PROFILE", "AWS_ENDPOINT_URL",   "AWS_ENDPOINT_URL_S3",
                                      "AWS_REGION",  "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE",
                                      "HOME",        "AWS_SESSION_TOKEN"};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        (void)unsetenv(off[i]);
    return setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1) | setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_store_is),
        cmocka_unit_test(test_what_a_bucket_is_set_to),
        cmocka_unit_test(test_many_rules),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
