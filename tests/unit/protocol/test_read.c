// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/read.h"

#include "base/alloc.h"
#include "world.h"
#include <string.h>

/* Version 1 and one of a producer's, as they lie in the store. */
typedef struct fixture {
    world world;
    actor actor;
    hash128 first_hash; /* of version 1 */
    bw_error error;
} fixture;

static void open_all(fixture *f)
{
    memset(f, 0, sizeof *f);
    world_open(&f->world, &(world_options){.block_size = 8});
    actor_start(&f->actor, &f->world, "p");
    actor_open(&f->actor);
    assert_true(world_has_manifest(&f->world, 2));
    object_key key;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    key_manifest(&key, 1);
    assert_true(mem_space_get(f->world.space, key.text, &bytes, &size));
    assert_int_equal(hash_bytes(bytes, size, &f->first_hash), 0);
}

static void close_all(fixture *f)
{
    actor_stop(&f->actor);
    world_close(&f->world);
}

static machine_reply reply_with(fixture *f, uint64_t version)
{
    object_key key;
    const uint8_t *bytes = NULL;
    machine_reply reply = {.outcome = STORE_OK};
    key_manifest(&key, version);
    assert_true(mem_space_get(f->world.space, key.text, &bytes, &reply.size));
    reply.bytes = mem_dup(bytes, reply.size);
    assert_non_null(reply.bytes);
    return reply;
}

/* Refused with the manifest's key; what was read is still the driver's unless it was decoded. */
static void refused(fixture *f, machine_reply *reply, const genesis *g, uint64_t version,
                    const hash128 *previous, bw_status expected)
{
    manifest *m = NULL;
    object_key key;
    key_manifest(&key, version);
    assert_int_equal(manifest_read(reply, g, version, previous, &m, &f->error), expected);
    assert_null(m);
    assert_string_equal(bw_error_key(&f->error), key.text);
    mem_free(reply->bytes);
    reply->bytes = NULL;
}

static void test_the_one_that_was_asked_for(void **state)
{
    (void)state;
    fixture f;
    open_all(&f);
    for (uint64_t version = 1; version <= 2; version++) {
        manifest *m = NULL;
        machine_reply reply = reply_with(&f, version);
        assert_int_equal(manifest_read(&reply, &f.world.genesis, version,
                                       version == 2 ? &f.first_hash : NULL, &m, &f.error),
                         BW_OK);
        assert_null(reply.bytes); /* the manifest's */
        assert_int_equal(m->version, version);
        manifest_unref(m);
    }
    close_all(&f);
}

static void test_another_one(void **state)
{
    (void)state;
    fixture f;
    open_all(&f);
    genesis other = f.world.genesis;
    other.uuid[3] ^= 1u;
    machine_reply reply = reply_with(&f, 2);
    refused(&f, &reply, &other, 2, NULL, BW_WRONG_NAMESPACE);
    reply = reply_with(&f, 2);
    refused(&f, &reply, &f.world.genesis, 3, NULL, BW_CORRUPT);
    hash128 previous = f.first_hash;
    previous.bytes[0] ^= 1u;
    reply = reply_with(&f, 2);
    refused(&f, &reply, &f.world.genesis, 2, &previous, BW_CORRUPT);
    assert_non_null(strstr(f.error.message, "does not follow version 1"));
    close_all(&f);
}

static void test_damaged_or_too_large(void **state)
{
    (void)state;
    fixture f;
    open_all(&f);
    machine_reply reply = reply_with(&f, 2);
    reply.bytes[reply.size / 2] ^= 1u;
    refused(&f, &reply, &f.world.genesis, 2, NULL, BW_CORRUPT);
    reply = (machine_reply){.outcome = STORE_FATAL, .code = BW_TOO_LARGE};
    assert_true(reply_damaged(&reply));
    refused(&f, &reply, &f.world.genesis, 2, NULL, BW_CORRUPT);
    reply.code = BW_CORRUPT; /* no regular file, and no word why */
    refused(&f, &reply, &f.world.genesis, 2, NULL, BW_CORRUPT);
    assert_true(f.error.message[0] != '\0');
    reply.message = "a directory";
    assert_true(reply_damaged(&reply));
    refused(&f, &reply, &f.world.genesis, 2, NULL, BW_CORRUPT);
    assert_string_equal(f.error.message, "a directory");
    reply.code = BW_IO;
    assert_false(reply_damaged(&reply));
    reply = (machine_reply){.outcome = STORE_RETRY, .code = BW_TOO_LARGE};
    assert_false(reply_damaged(&reply));
    close_all(&f);
}

/* Two departed producers, as an object, and what a manifest says of it. */
static void make_page(page_ref *ref, uint8_t **bytes, size_t *size)
{
    const producer_entry entries[] = {{.id = view_text("a"), .epoch = 1, .finished = true},
                                      {.id = view_text("b"), .epoch = 2, .finished = true}};
    const page p = {.version = 4, .count = 2, .entries = (producer_entry *)(uintptr_t)entries};
    buf out;
    buf_init(&out, object_bytes_max(OBJECT_PAGE));
    assert_int_equal(page_encode(&p, &out), BW_OK);
    *bytes = buf_take(&out, size);
    *ref = (page_ref){.version = 4, .nonce = 7, .bytes = *size, .entries = 2};
    assert_int_equal(hash_bytes(*bytes, *size, &ref->hash), BW_OK);
}

static void test_the_page_that_is_meant(void **state)
{
    (void)state;
    page_ref ref;
    page p;
    uint8_t *object = NULL;
    bw_error error;
    machine_reply reply = {.outcome = STORE_OK};
    make_page(&ref, &reply.bytes, &reply.size);
    const uint8_t *bytes = reply.bytes;
    assert_int_equal(page_read(&reply, &ref, &p, &object, &error), BW_OK);
    assert_null(reply.bytes);
    assert_ptr_equal(object, bytes);
    assert_int_equal(p.count, 2);
    page_free(&p);
    mem_free(object);
}

static void no_page(machine_reply *reply, const page_ref *ref, const char *why)
{
    page p;
    uint8_t *object = NULL;
    bw_error error;
    const uint8_t *bytes = reply->bytes;
    assert_int_equal(page_read(reply, ref, &p, &object, &error), BW_CORRUPT);
    assert_null(object);
    assert_ptr_equal(reply->bytes, bytes); /* still the driver's */
    assert_non_null(strstr(error.message, why));
}

static void test_another_page_or_none(void **state)
{
    (void)state;
    page_ref ref, other;
    machine_reply reply = {.outcome = STORE_OK}, none = {.outcome = STORE_NOT_FOUND};
    make_page(&ref, &reply.bytes, &reply.size);
    other = ref;
    other.hash.bytes[5] ^= 1u;
    no_page(&reply, &other, "not the page");
    other = ref;
    other.bytes++;
    no_page(&reply, &other, "not the page");
    reply.bytes[reply.size / 2] ^= 1u;
    no_page(&reply, &ref, "not the page");
    /* The object that a manifest refers to, and no page for all that. */
    assert_int_equal(hash_bytes(reply.bytes, reply.size, &ref.hash), BW_OK);
    no_page(&reply, &ref, "");
    mem_free(reply.bytes);
    no_page(&none, &ref, "missing");
    none = (machine_reply){.outcome = STORE_FATAL, .code = BW_TOO_LARGE};
    no_page(&none, &ref, "larger than a page can be");
    none = (machine_reply){.outcome = STORE_FATAL, .code = BW_CORRUPT, .message = "a directory"};
    no_page(&none, &ref, "a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_one_that_was_asked_for),
        cmocka_unit_test(test_another_one),
        cmocka_unit_test(test_damaged_or_too_large),
        cmocka_unit_test(test_the_page_that_is_meant),
        cmocka_unit_test(test_another_page_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
