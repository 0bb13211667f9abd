// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "base/alloc.h"
#include "client/listing.h"
#include "store/decorators.h"
#include <stdio.h>
#include <string.h>

#define KEYS 2500 /* more than one page of any store */

typedef struct fixture {
    mem_space *contents;
    store *store;
    bw_error error;
} fixture;

static void open_with(fixture *f, const char *rules)
{
    store *plain = NULL;
    memset(f, 0, sizeof *f);
    assert_int_equal(mem_space_new(&f->contents), BW_OK);
    assert_int_equal(store_mem_open(f->contents, &plain, &f->error), BW_OK);
    assert_int_equal(store_fault_wrap(plain, rules, &f->store, &f->error), BW_OK);
}

static void close_all(fixture *f)
{
    store_close(f->store);
    mem_space_free(f->contents);
}

typedef struct walk {
    char last[64];
    uint32_t count, stop_at;
} walk;

static bw_status note(void *context, const store_entry *entry, bw_error *error)
{
    walk *w = context;
    assert_true(strcmp(w->last, entry->key) < 0);
    (void)snprintf(w->last, sizeof w->last, "%s", entry->key);
    if (++w->count == w->stop_at)
        return error_set(error, BW_NOT_EMPTY, "enough");
    return BW_OK;
}

static void test_every_page(void **state)
{
    (void)state;
    fixture f;
    open_with(&f, "");
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%s/%06d", i % 5 == 0 ? "b" : "a", i);
        assert_int_equal(mem_space_set(f.contents, key, "x", 1), BW_OK);
    }
    walk all = {.stop_at = 0}, some = all, none = all, first = {.stop_at = 3};
    assert_int_equal(listing_each(f.store, "", note, &all, &f.error), BW_OK);
    assert_int_equal(all.count, KEYS);
    assert_int_equal(listing_each(f.store, "b/", note, &some, &f.error), BW_OK);
    assert_int_equal(some.count, KEYS / 5);
    assert_int_equal(listing_each(f.store, "c", note, &none, &f.error), BW_OK);
    assert_int_equal(none.count, 0);
    assert_int_equal(listing_each(f.store, "", note, &first, &f.error), BW_NOT_EMPTY);
    assert_int_equal(first.count, 3);
    assert_string_equal(f.error.message, "enough");
    close_all(&f);
}

static void test_a_listing_that_fails(void **state)
{
    (void)state;
    fixture f;
    open_with(&f, "denied:list::0");
    walk w = {.stop_at = 0};
    assert_int_equal(mem_space_set(f.contents, "a", "x", 1), BW_OK);
    assert_int_equal(listing_each(f.store, "", note, &w, &f.error), BW_DENIED);
    assert_int_equal(f.error.code, BW_DENIED);
    assert_int_equal(w.count, 0);
    close_all(&f);
}

static void test_whole_objects(void **state)
{
    (void)state;
    fixture f;
    uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t object_bytes = 0;
    open_with(&f, "");
    assert_int_equal(mem_space_set(f.contents, "k", "12345", 5), BW_OK);
    assert_int_equal(mem_space_set(f.contents, "empty", "", 0), BW_OK);
    assert_int_equal(listing_get(f.store, "k", 5, &bytes, &size, &f.error), BW_OK);
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "12345", 5);
    mem_free(bytes);
    assert_int_equal(listing_get(f.store, "k", 4, &bytes, &size, &f.error), BW_TOO_LARGE);
    assert_null(bytes);
    assert_string_equal(bw_error_key(&f.error), "k");
    assert_int_equal(listing_get(f.store, "empty", 5, &bytes, &size, &f.error), BW_OK);
    assert_int_equal(size, 0);
    assert_non_null(bytes);
    mem_free(bytes);
    assert_int_equal(listing_get(f.store, "none", 5, &bytes, &size, &f.error), BW_NOT_FOUND);
    assert_string_equal(bw_error_key(&f.error), "none");
    assert_int_equal(listing_size(f.store, "k", &object_bytes, &f.error), BW_OK);
    assert_int_equal(object_bytes, 5);
    assert_int_equal(listing_size(f.store, "none", &object_bytes, &f.error), BW_NOT_FOUND);
    close_all(&f);
}

static void test_ranges(void **state)
{
    (void)state;
    fixture f;
    char to[4] = "";
    open_with(&f, "");
    assert_int_equal(mem_space_set(f.contents, "k", "12345", 5), BW_OK);
    assert_int_equal(listing_read(f.store, "k", 2, 3, to, &f.error), BW_OK);
    assert_string_equal(to, "345");
    assert_int_equal(listing_read(f.store, "k", 3, 3, to, &f.error), BW_CORRUPT);
    assert_string_equal(bw_error_key(&f.error), "k");
    assert_int_equal(listing_read(f.store, "none", 0, 1, to, &f.error), BW_NOT_FOUND);
    close_all(&f);
}

static void test_names_of_kinds(void **state)
{
    (void)state;
    for (int i = 0; i <= KEY_FOREIGN; i++) {
        assert_non_null(key_kind_name((key_kind)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(key_kind_name((key_kind)i), key_kind_name((key_kind)k));
    }
    assert_string_equal(key_kind_name(KEY_MANIFEST), "manifest");
    assert_string_equal(key_kind_name(KEY_FOREIGN), "foreign");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_page),     cmocka_unit_test(test_a_listing_that_fails),
        cmocka_unit_test(test_whole_objects),  cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_names_of_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
