// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Lies that carry good checksums: each must be found under its code. */
#include "stand.h"

#include "base/alloc.h"
#include "client/reports.h"
#include "codec/small.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS 20u

typedef struct findings {
    char text[65536];
    size_t size;
    bool clean;
} findings;

static int keep(void *context, const char *json)
{
    findings *f = context;
    if (strncmp(json, "{\"summary\"", 10) == 0)
        f->clean = strstr(json, "\"clean\":true") != NULL;
    if (strncmp(json, "{\"finding\"", 10) == 0)
        f->size += (size_t)snprintf(f->text + f->size, sizeof f->text - f->size, "%.400s\n", json);
    return 0;
}

/* Opens anew, since what is open has read some of it already. */
static void run_verify(stand *s, findings *f)
{
    const report_options options = {.prefix = "", .deep = true, .timeout_ns = 10 * NS_PER_S};
    memset(f, 0, sizeof *f);
    bw_space *space = stand_space(s, "", false);
    const bw_status status = report_run(space, "verify", &options, keep, f, &s->error);
    stand_expect(s, status, f->clean ? BW_OK : BW_UNCLEAN);
    assert_true(f->clean == (f->size == 0));
    space_close(space);
}

static void expect_code(stand *s, const char *code)
{
    static findings f;
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "{\"finding\":\"%s\"", code);
    run_verify(s, &f);
    if (strstr(f.text, wanted) == NULL)
        fail_msg("no %s in:\n%s", code, f.text);
}

static void fill(stand *s)
{
    stand_open(s, 2, "", false);
    for (int k = 0; k < 2; k++) {
        bw_producer *p = stand_producer(s, s->space, k == 0 ? "p" : "q", "naive");
        for (uint64_t i = 1; i <= STEPS / 2; i++) {
            stand_put(s, p, "item", i);
            stand_expect(s, producer_flush(p, true, 10 * NS_PER_S, &s->error), BW_OK);
        }
        stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
    }
    findings *f = mem_zalloc(sizeof *f);
    assert_non_null(f);
    run_verify(s, f);
    assert_true(f->clean);
    mem_free(f);
}

static uint64_t newest(stand *s)
{
    return mem_space_count(s->contents, "manifest/");
}

typedef void (*change_fn)(manifest *m);

/* Writes version `version` as version `to`, changed, with good checksums. */
static void change_to(stand *s, uint64_t version, uint64_t to, change_fn how)
{
    object_key key;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    manifest *m = NULL;
    buf out;
    key_manifest(&key, version);
    assert_true(mem_space_get(s->contents, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    stand_expect(s, manifest_decode(copy, size, 2, &m, &s->error), BW_OK);
    how(m);
    buf_init(&out, object_bytes_max(OBJECT_MANIFEST));
    assert_int_equal(manifest_encode(m, &out), BW_OK);
    key_manifest(&key, to);
    assert_int_equal(mem_space_set(s->contents, key.text, out.data, out.size), BW_OK);
    buf_free(&out);
    manifest_unref(m);
}

static void change(stand *s, uint64_t version, change_fn how)
{
    change_to(s, version, version, how);
}

static void two_further(manifest *m)
{
    m->version += 2;
}

static void more_offset(manifest *m)
{
    m->producers[0].offset += 5;
}

static void more_seq(manifest *m)
{
    m->producers[1].seq++;
}

static void other_id(manifest *m)
{
    m->producers[1].id = view_text("r");
}

static void more_bytes(manifest *m)
{
    m->committed_bytes += 64;
}

static void many_bytes(manifest *m)
{
    m->committed_bytes += 1u << 20; /* more than the version after it has */
}

static void other_sum(manifest *m)
{
    m->sum.bytes[3] ^= 1;
}

static void other_clock(manifest *m)
{
    m->clock_ms++;
}

static void other_version(manifest *m)
{
    m->version++;
}

static void other_uuid(manifest *m)
{
    m->uuid[0] ^= 1;
}

static void sealed_early(manifest *m)
{
    m->sealed = true;
}

static void other_token(manifest *m)
{
    m->producers[0].token.bytes[0] ^= 1;
}

static void other_reference_sum(manifest *m)
{
    m->refs[m->ref_count - 1].sum_before.bytes[0] ^= 1;
}

static void other_reference_hash(manifest *m)
{
    m->refs[m->ref_count - 1].hash.bytes[0] ^= 1;
}

static void test_lies_of_the_newest(void **state)
{
    (void)state;
    static const struct {
        change_fn how;
        const char *code;
    } cases[] = {
        {more_offset, "TILING"},
        {more_seq, "TILING"},
        {other_id, "PRODUCER"},
        {more_bytes, "TOTALS"},
        {other_sum, "SUM"},
        {other_reference_sum, "SUM"},
        {other_reference_hash, "SEGMENT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stand s;
        fill(&s);
        change(&s, newest(&s), cases[i].how);
        expect_code(&s, cases[i].code);
        stand_close(&s);
    }
}

static void test_lies_of_older_ones(void **state)
{
    (void)state;
    static const struct {
        change_fn how;
        const char *code;
    } cases[] = {
        {other_clock, "LINK"},   {other_version, "MANIFEST"},  {other_uuid, "MANIFEST"},
        {sealed_early, "ORDER"}, {other_token, "ORDER"},       {many_bytes, "ORDER"},
        {other_sum, "SUM"},      {other_reference_sum, "SUM"}, {other_reference_hash, "REFERENCE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stand s;
        fill(&s);
        change(&s, newest(&s) - 1, cases[i].how);
        expect_code(&s, cases[i].code);
        stand_close(&s);
    }
}

static void put_object(stand *s, const char *key, const void *bytes, size_t size)
{
    assert_int_equal(mem_space_set(s->contents, key, bytes, size), BW_OK);
}

static void test_chain_and_markers(void **state)
{
    (void)state;
    stand s;
    object_key key;
    uint8_t uuid[UUID_BYTES];
    buf marker;
    buf_init(&marker, 64);
    fill(&s);
    memcpy(uuid, s.space->genesis->uuid, UUID_BYTES);
    key_manifest(&key, 5);
    assert_true(mem_space_remove(s.contents, key.text));
    expect_code(&s, "GAP");
    stand_close(&s);

    fill(&s);
    change_to(&s, newest(&s), newest(&s) + 2, two_further);
    expect_code(&s, "GAP");
    stand_close(&s);

    fill(&s);
    memcpy(uuid, s.space->genesis->uuid, UUID_BYTES);
    assert_int_equal(marker_encode(uuid, 3, &marker), BW_OK);
    key_marker(&key, 0);
    put_object(&s, key.text, marker.data, marker.size); /* of another block */
    expect_code(&s, "MARKER");
    stand_close(&s);

    fill(&s);
    memcpy(uuid, s.space->genesis->uuid, UUID_BYTES);
    buf_reset(&marker);
    assert_int_equal(marker_encode(uuid, 2, &marker), BW_OK);
    key_marker(&key, 2);
    put_object(&s, key.text, marker.data, marker.size); /* without those of blocks 0 and 1 */
    expect_code(&s, "MARKER");
    stand_close(&s);
    buf_free(&marker);
}

/* ---- the page ---- */

static page departed;
static page_ref departed_ref;

static void with_page(manifest *m)
{
    m->has_page = true;
    m->page = departed_ref;
    m->finished_producers += departed.count;
}

/* Puts the page of these entries, for the newest version. */
static void put_page(stand *s, producer_entry *entries, uint32_t count, buf *object,
                     object_key *key)
{
    departed = (page){.version = newest(s), .count = count, .entries = entries};
    memcpy(departed.uuid, s->space->genesis->uuid, UUID_BYTES);
    buf_init(object, object_bytes_max(OBJECT_PAGE));
    assert_int_equal(page_encode(&departed, object), BW_OK);
    departed_ref = (page_ref){
        .version = departed.version, .nonce = 7, .bytes = object->size, .entries = count};
    assert_int_equal(hash_bytes(object->data, object->size, &departed_ref.hash), BW_OK);
    key_page(key, departed.version, 7);
    put_object(s, key->text, object->data, object->size);
}

static void expect_clean(stand *s)
{
    static findings f;
    run_verify(s, &f);
    if (!f.clean)
        fail_msg("%s", f.text);
}

static void test_page(void **state)
{
    (void)state;
    stand s;
    object_key key;
    buf object;
    fill(&s);
    producer_entry gone[2] = {
        {.id = view_text("a"), .epoch = 1, .finished = true, .last_commit = 1},
        {.id = view_text("b"), .epoch = 2, .finished = true, .last_commit = 2},
    };
    put_page(&s, gone, 2, &object, &key);
    change(&s, newest(&s), with_page);
    expect_clean(&s);
    object.data[30] ^= 1;
    put_object(&s, key.text, object.data, object.size);
    expect_code(&s, "PAGE");
    assert_true(mem_space_remove(s.contents, key.text));
    expect_code(&s, "PAGE");
    expect_code(&s, "TOTALS"); /* who finished is not known without it */
    buf_free(&object);
    stand_close(&s);
}

static void with_page_and_reopened(manifest *m)
{
    with_page(m);
    m->finished_producers = 1; /* p is back, and not counted */
    m->producers[0].epoch = 2;
    m->producers[0].token.bytes[0] ^= 1;
}

static void as_on_the_page(manifest *m)
{
    m->producers[0].epoch = 1;
    m->producers[0].token.bytes[0] ^= 1;
}

/* Who was opened again lives in the map, and on the page as it left. */
static void test_reopened(void **state)
{
    (void)state;
    stand s;
    object_key key;
    buf object;
    fill(&s);
    producer_entry gone[2] = {
        {.id = view_text("b"), .epoch = 2, .finished = true, .last_commit = 2},
        {.id = view_text("p"), .epoch = 1, .finished = true, .last_commit = 2},
    };
    put_page(&s, gone, 2, &object, &key);
    change(&s, newest(&s), with_page_and_reopened);
    expect_clean(&s);
    change(&s, newest(&s), as_on_the_page);
    expect_code(&s, "PRODUCER");
    buf_free(&object);
    stand_close(&s);
}

/* On the page is who has nothing left: also no batch that is not swept, and its resume state. */
static void test_departed_too_early(void **state)
{
    (void)state;
    stand s;
    object_key key;
    buf object;
    fill(&s);
    producer_entry gone[2] = {
        {.id = view_text("a"), .epoch = 1, .finished = true, .last_commit = 1},
        {.id = view_text("b"),
         .epoch = 1,
         .finished = true,
         .seq = 2,
         .offset = 9,
         .swept_seq = 1,
         .swept_offset = 4,
         .last_publish = 1,
         .last_commit = 1},
    };
    put_page(&s, gone, 2, &object, &key);
    change(&s, newest(&s), with_page);
    expect_code(&s, "PRODUCER");
    buf_free(&object);
    stand_close(&s);

    fill(&s);
    gone[1].swept_seq = 2;
    gone[1].swept_offset = 9;
    gone[1].state_is_object = true;
    gone[1].state_ref = (state_ref){.epoch = 1, .seq = 2, .nonce = 3, .bytes = 400};
    put_page(&s, gone, 2, &object, &key);
    change(&s, newest(&s), with_page);
    expect_code(&s, "STATE");
    buf_free(&object);
    stand_close(&s);
}

/* ---- groups ---- */

static group kept[1];

static void with_group(manifest *m)
{
    mem_free(m->groups);
    m->groups = mem_dup(kept, sizeof kept);
    assert_non_null(m->groups);
    m->group_count = 1;
    m->trim = 3;
}

/* Whatever a group keeps is a rule between versions: the trim step follows it, launches go on. */
static void test_groups(void **state)
{
    (void)state;
    stand s;
    fill(&s);
    kept[0] =
        (group){.name = view_text("g"), .launch = view_text("one"), .launch_number = 2, .hold = 3};
    change(&s, newest(&s), with_group);
    expect_clean(&s);
    kept[0].hold = 5; /* and the trim step is behind it */
    change(&s, newest(&s), with_group);
    expect_code(&s, "ORDER");
    kept[0].hold = 3;
    change(&s, newest(&s), with_group);
    kept[0].launch_number = 3;
    change(&s, newest(&s) - 1, with_group);
    expect_code(&s, "ORDER");
    stand_close(&s);
}

typedef struct part_found {
    char key[KEY_BYTES];
    size_t size;
} part_found;

static int first_part(void *context, const char *key, const uint8_t *bytes, size_t size)
{
    part_found *found = context;
    (void)bytes;
    (void)snprintf(found->key, sizeof found->key, "%s", key);
    found->size = size;
    return 1;
}

static void test_parts(void **state)
{
    (void)state;
    stand s;
    part_found part;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    fill(&s);
    assert_int_equal(mem_space_each(s.contents, "data/", first_part, &part), 1);
    assert_true(mem_space_get(s.contents, part.key, &bytes, &size));
    uint8_t *copy = mem_zalloc(size + 1);
    memcpy(copy, bytes, size);
    put_object(&s, part.key, copy, size + 1);
    expect_code(&s, "PART");
    put_object(&s, part.key, copy, size - 1);
    expect_code(&s, "PART");
    assert_true(mem_space_remove(s.contents, part.key));
    expect_code(&s, "PART");
    copy[70] ^= 1; /* the item table: its CRC says so */
    put_object(&s, part.key, copy, size);
    expect_code(&s, "SLICE");
    mem_free(copy);
    stand_close(&s);
}

/* Another batch's part under this name: every checksum is right, and it is still the wrong one. */
static void test_swapped_parts(void **state)
{
    (void)state;
    stand s;
    part_found part;
    fill(&s);
    assert_int_equal(mem_space_each(s.contents, "data/", first_part, &part), 1);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint8_t *own = NULL;
    assert_true(mem_space_get(s.contents, part.key, &bytes, &size));
    own = mem_dup(bytes, size);
    char other[KEY_BYTES];
    memcpy(other, part.key, sizeof other);
    assert_true(mem_space_remove(s.contents, part.key));
    assert_int_equal(mem_space_each(s.contents, "data/", first_part, &part), 1);
    assert_true(mem_space_get(s.contents, part.key, &bytes, &size));
    uint8_t *foreign = mem_dup(bytes, size);
    put_object(&s, other, foreign, size);
    expect_code(&s, "FOOTER");
    mem_free(own);
    mem_free(foreign);
    stand_close(&s);
}

/* A manifest that cannot be read is no finding: nothing is known of its bytes. */
static void test_unreadable(void **state)
{
    (void)state;
    stand s;
    findings *f = mem_zalloc(sizeof *f);
    assert_non_null(f);
    fill(&s);
    const report_options options = {.prefix = "", .timeout_ns = 10 * NS_PER_S};
    uint32_t refused = 0;
    bw_status status = BW_IO;
    for (uint32_t n = 1; status != BW_OK; n++) {
        char rule[64];
        bw_space *space = NULL;
        (void)snprintf(rule, sizeof rule, "fatal:get:manifest/:%u", n);
        memset(f, 0, sizeof *f);
        status = stand_try_space(&s, rule, false, &space);
        if (status == BW_OK) {
            status = report_run(space, "verify", &options, keep, f, &s.error);
            refused += status != BW_OK;
            space_close(space);
        }
        if (status != BW_OK)
            stand_expect(&s, status, BW_IO);
        assert_int_equal(f->size, 0);
    }
    assert_true(refused > 0);
    mem_free(f);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies_of_the_newest),
        cmocka_unit_test(test_lies_of_older_ones),
        cmocka_unit_test(test_chain_and_markers),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_reopened),
        cmocka_unit_test(test_departed_too_early),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_swapped_parts),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
