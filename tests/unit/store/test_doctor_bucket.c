// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The doctor in a bucket: on a store in memory that says of itself what the test wants, with one
 * fault after the other. The race has processes of its own (tests/cli). */
#include "store/doctor_bucket.h"

#include "store/decorators.h"
#include "store/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- a store that has something to say ---- */

static store_facts facts;
static store_bucket settings;
static store_driver talking;

static bool say_about(store *s, store_facts *out)
{
    (void)s;
    *out = facts;
    return true;
}

static void say_settings(store *s, store_bucket *out)
{
    (void)s;
    *out = settings;
}

static void reset_facts(void)
{
    facts = (store_facts){.cloud = STORE_CLOUD_S3,
                          .name = "s3://bkt",
                          .bucket = "bkt",
                          .prefix = "team/run/",
                          .endpoint = "https://example.org",
                          .keys = "the environment",
                          .has_clock = true};
    memset(&settings, 0, sizeof settings);
    settings.versions = settings.rules = STORE_OFF;
}

/* ---- what was found ---- */

#define FINDINGS_MAX 40u

static struct {
    doctor_finding list[FINDINGS_MAX];
    uint32_t count, stop_at;
    const char *stop_behind; /* NULL: nothing */
} found;

static int keep(void *context, const doctor_finding *f)
{
    (void)context;
    assert_true(found.count < FINDINGS_MAX);
    found.list[found.count++] = *f;
    const bool last = found.stop_behind != NULL && strcmp(f->check, found.stop_behind) == 0;
    return last || found.count == found.stop_at;
}

/** The first one of a check; one that is called "" when there is none. */
static const doctor_finding *finding(const char *check)
{
    static const doctor_finding none = {.check = ""};
    for (uint32_t i = 0; i < found.count; i++) {
        if (strcmp(found.list[i].check, check) == 0)
            return &found.list[i];
    }
    return &none;
}

static bool was_found(const char *check)
{
    return finding(check)->check[0] != '\0';
}

/** One visit with these faults (store/decorators.h); the objects that are left. */
static size_t visit(const char *rules, bw_status expected)
{
    static const doctor_job job = {.ranks = 8, .producers = 2, .step_ms = 1000};
    doctor d = {.tell = keep};
    mem_space *space = NULL;
    store *s = NULL, *faulty = NULL;
    found.count = 0;
    assert_int_equal(mem_space_new(&space), BW_OK);
    assert_int_equal(store_mem_open(space, &s, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(s, rules, &faulty, NULL), BW_OK);
    talking = *faulty->driver;
    talking.about = say_about;
    talking.bucket = say_settings;
    faulty->driver = &talking;
    assert_int_equal(doctor_bucket(&d, faulty, "s3://bkt/team/run", &job, NULL), expected);
    store_close(faulty);
    const size_t left = mem_space_count(space, "");
    mem_space_free(space);
    return left;
}

/** What comes later takes long, and is not what the test is about. */
static void visit_until(const char *check)
{
    found.stop_behind = check;
    assert_int_equal(visit("", BW_INTERRUPTED), 0);
    found.stop_behind = NULL;
}

static void assert_verdict(const char *check, doctor_verdict verdict, const char *says)
{
    const doctor_finding *f = finding(check);
    assert_string_equal(f->check, check);
    if (f->verdict != verdict || strstr(f->text, says) == NULL)
        fail_msg("%s: verdict %d, %s", check, (int)f->verdict, f->text);
}

static void test_a_good_store(void **state)
{
    (void)state;
    static const char *const checks[] = {
        "place",    "clock",      "may_put", "may_create", "may_get",
        "may_list", "may_delete", "bucket",  "condition",  "read_after_write",
        "absence",  "list",       "range",   "race",       "throughput",
        "pace",     "pace",       "pace",    "pace",       "pace",
        "pace",     "pace",       "estimate"};
    reset_facts();
    assert_int_equal(visit("", BW_OK), 0);
    assert_int_equal(found.count, sizeof checks / sizeof checks[0]);
    for (uint32_t i = 0; i < found.count; i++) {
        const doctor_finding *f = &found.list[i];
        assert_string_equal(f->check, checks[i]);
        if (strcmp(f->check, "race") != 0 && f->verdict != DOCTOR_OK)
            fail_msg("%s: %s", f->check, f->text);
    }
    assert_verdict("race", DOCTOR_WARNING, "not run");
    assert_verdict("place", DOCTOR_OK, "the environment");
}

/* `left`: what nobody may delete stays. */
static void test_rights(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *check;
        doctor_verdict verdict;
        bw_status status;
        store_op_kind denied;
        bool stays;
    } rows[] = {
        {"denied:put::0", "may_put", DOCTOR_FAULT, BW_DENIED, STORE_PUT, false},
        {"denied:create::0", "may_create", DOCTOR_FAULT, BW_DENIED, STORE_CREATE, false},
        {"denied:get::0", "may_get", DOCTOR_FAULT, BW_DENIED, STORE_GET, false},
        /* That of an absent name alone, as where nobody may list: the first get is of one. */
        {"denied:get:tmp:3", "may_get", DOCTOR_FAULT, BW_DENIED, STORE_GET, false},
        {"denied:list::0", "may_list", DOCTOR_WARNING, BW_OK, STORE_LIST, false},
        {"denied:delete::0", "may_delete", DOCTOR_WARNING, BW_OK, STORE_DELETE, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_facts();
        const size_t left = visit(rows[i].rules, rows[i].status);
        assert_int_equal(left > 0, rows[i].stays);
        const doctor_finding *f = finding(rows[i].check);
        assert_string_equal(f->check, rows[i].check);
        assert_int_equal(f->verdict, rows[i].verdict);
        assert_non_null(f->denied_by);
        assert_int_equal(f->denied, rows[i].denied);
        assert_int_equal(was_found("left"), rows[i].stays);
        /* What follows is tried where it can be. */
        assert_int_equal(was_found("condition"), rows[i].status == BW_OK);
        assert_true(was_found("bucket"));
    }
}

static void test_faults_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *check, *says;
        bw_status status;
    } rows[] = {
        {"fatal:get::1", "place", "", BW_IO},
        {"flip:get::4", "condition", "changed the object", BW_STORE_UNSAFE},
        {"not-found:get::2", "may_get", "just written is not there", BW_STORE_UNSAFE},
        {"not-found:get::5", "read_after_write", "not read back at once", BW_STORE_UNSAFE},
        {"flip:get::6", "read_after_write", "reads as before", BW_STORE_UNSAFE},
        {"not-found:head::2", "absence", "remembered", BW_STORE_UNSAFE},
        {"flip:read::2", "range", "other bytes", BW_STORE_UNSAFE},
        {"fatal:create::3", "condition", "", BW_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_facts();
        assert_int_equal(visit(rows[i].rules, rows[i].status), 0);
        assert_verdict(rows[i].check, DOCTOR_FAULT, rows[i].says);
    }
}

/* Answers that may pass are asked again, and a create that was in doubt is looked at. */
static void test_what_passes(void **state)
{
    (void)state;
    reset_facts();
    assert_int_equal(visit("retry-before:get::2;retry-after:put::1;unknown-after:create::1;"
                           "unknown-before:create::4",
                           BW_OK),
                     0);
    assert_verdict("may_create", DOCTOR_OK, "");
    assert_verdict("condition", DOCTOR_OK, "honoured");
}

static void test_times_that_fail(void **state)
{
    (void)state;
    reset_facts();
    (void)visit("retry-before:read::20", BW_OK);
    assert_verdict("pace", DOCTOR_OK, "put");
    uint32_t failed = 0;
    for (uint32_t i = 0; i < found.count; i++) {
        const doctor_finding *f = &found.list[i];
        if (strcmp(f->check, "pace") == 0 && f->verdict == DOCTOR_WARNING) {
            failed++;
            assert_string_equal(f->words[0].text, "read");
            assert_int_equal(f->figures[1].value, 1);
        }
    }
    assert_int_equal(failed, 1);
}

static void test_clocks(void **state)
{
    (void)state;
    static const struct {
        bool has_clock;
        int64_t skew_ms;
        doctor_verdict verdict;
        const char *says;
    } rows[] = {
        {true, -59000, DOCTOR_OK, "the same"},
        {true, 61000, DOCTOR_WARNING, "61 s ahead of"},
        {true, -61000, DOCTOR_WARNING, "61 s behind"},
        {true, 901000, DOCTOR_WARNING, "corrected"},
        {false, 0, DOCTOR_WARNING, "does not tell"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_facts();
        facts.has_clock = rows[i].has_clock;
        facts.skew_ms = rows[i].skew_ms;
        visit_until("clock");
        assert_verdict("clock", rows[i].verdict, rows[i].says);
    }
}

typedef struct row {
    store_rule_does does;
    const char *prefix;
    doctor_verdict verdict;
    const char *says;
} row;

static void test_rules_of_the_bucket(void **state)
{
    (void)state;
    static const row rows[] = {
        {STORE_RULE_DELETES, "", DOCTOR_FAULT, "deletes objects by their age"},
        {STORE_RULE_DELETES, "team/", DOCTOR_FAULT, "deletes"},
        {STORE_RULE_DELETES, "team/run/data/", DOCTOR_FAULT, "deletes"},
        {STORE_RULE_DELETES, "team/run/tmp/", DOCTOR_OK, "no lifecycle rule"},
        {STORE_RULE_DELETES, "team/run/probe/", DOCTOR_OK, "no lifecycle rule"},
        {STORE_RULE_DELETES, "team/run2/", DOCTOR_OK, "no lifecycle rule"},
        {STORE_RULE_DELETES, "tmp/", DOCTOR_OK, "no lifecycle rule"},
        {STORE_RULE_ARCHIVES, "team", DOCTOR_FAULT, "archive"},
        {STORE_RULE_MOVES, "\x1b[2J", DOCTOR_OK, "no lifecycle rule"},
        {STORE_RULE_MOVES, "", DOCTOR_WARNING, "another class"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_facts();
        settings.rules = STORE_ON;
        store_bucket_add(&settings, STORE_RULE_MOVES, "elsewhere", "other/");
        store_bucket_add(&settings, rows[i].does, "the-rule", rows[i].prefix);
        visit_until("bucket");
        assert_verdict("bucket", rows[i].verdict, rows[i].says);
    }
}

static void test_versions_of_the_bucket(void **state)
{
    (void)state;
    static const struct {
        store_known versions, rules;
        bool old_end;
        uint64_t kept_s;
        doctor_verdict verdict;
        const char *says;
    } rows[] = {
        {STORE_OFF, STORE_OFF, false, 0, DOCTOR_OK, "no versions are kept"},
        {STORE_ON, STORE_OFF, false, 0, DOCTOR_WARNING, "versioning is on"},
        {STORE_ON, STORE_OFF, true, 0, DOCTOR_OK, "deleted by a rule"},
        {STORE_UNREADABLE, STORE_OFF, false, 0, DOCTOR_WARNING, "not readable: versioning;"},
        {STORE_OFF, STORE_UNREADABLE, false, 0, DOCTOR_WARNING, "not readable: lifecycle;"},
        {STORE_UNREADABLE, STORE_UNREADABLE, false, 0, DOCTOR_WARNING,
         "not readable: versioning and lifecycle;"},
        {STORE_OFF, STORE_OFF, false, 604800, DOCTOR_WARNING, "for 7 days"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_facts();
        settings.versions = rows[i].versions;
        settings.rules = rows[i].rules;
        settings.old_end = rows[i].old_end;
        settings.kept_s = rows[i].kept_s;
        visit_until("bucket");
        assert_verdict("bucket", rows[i].verdict, rows[i].says);
    }
}

/* Wherever it is stopped, it cleans up. */
static void test_stopped(void **state)
{
    (void)state;
    reset_facts();
    for (uint32_t k = 1; k <= 23; k++) {
        found.stop_at = k;
        assert_int_equal(visit("", BW_INTERRUPTED), 0);
        assert_int_equal(found.count, k);
    }
    found.stop_at = 0;
}

static void test_stores_with_nothing_to_say(void **state)
{
    (void)state;
    mem_space *space = NULL;
    store *s = NULL;
    store_facts none;
    store_bucket unread;
    assert_int_equal(mem_space_new(&space), BW_OK);
    assert_int_equal(store_mem_open(space, &s, NULL), BW_OK);
    assert_false(store_about(s, &none));
    assert_string_equal(none.name, "");
    store_bucket_ask(s, &unread);
    assert_int_equal(unread.rules, STORE_UNREADABLE);
    assert_int_equal(unread.versions, STORE_UNREADABLE);
    store_close(s);
    mem_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_store),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_faults_are_told),
        cmocka_unit_test(test_what_passes),
        cmocka_unit_test(test_times_that_fail),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_rules_of_the_bucket),
        cmocka_unit_test(test_versions_of_the_bucket),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_stores_with_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
