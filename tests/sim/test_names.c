// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Names that come and go, listed: as a scan over all of them says, page by page. */
#include "base/alloc.h"
#include "base/rng.h"
#include "names.h"
#include "vstore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ALL 600u
#define ROUNDS 4000u
#define PAGE 7u

static object all[ALL];
static bool is_live[ALL];

static int by_name(const void *a, const void *b)
{
    return strcmp(((const object *)a)->key.text, ((const object *)b)->key.text);
}

/* Of all kinds, in the order of their names. */
static void make_all(rng *r)
{
    hash128 hash = {{0}};
    for (uint32_t i = 0; i < ALL; i++) {
        object *o = &all[i];
        *o = (object){0};
        const uint64_t number = 1 + i;
        rng_bytes(r, hash.bytes, sizeof hash.bytes);
        if (i % 6 == 0)
            key_manifest(&o->key, number);
        else if (i % 6 == 1)
            key_marker(&o->key, number);
        else if (i % 6 == 2)
            key_segment(&o->key, number, number + 1, &hash);
        else if (i % 6 == 3)
            key_page(&o->key, number, rng_u64(r));
        else if (i % 6 == 4)
            key_part(&o->key, view_text("a"), 1, number, rng_u64(r), 0);
        else
            key_state(&o->key, view_text("a"), 1, number, rng_u64(r));
        key_fields fields;
        key_parse(view_text(o->key.text), &fields);
        o->kind = fields.kind;
        o->number = fields.number;
    }
    qsort(all, ALL, sizeof *all, by_name);
}

/* The next page by a scan; returns where it ends. */
static uint32_t scan(const char *prefix, uint32_t from, const object **out, uint32_t max,
                     uint32_t *count)
{
    *count = 0;
    uint32_t i = from;
    for (; i < ALL && *count < max; i++)
        if (is_live[i] && strncmp(all[i].key.text, prefix, strlen(prefix)) == 0)
            out[(*count)++] = &all[i];
    return i;
}

static void compare(const live_names *n, const char *prefix, uint32_t from)
{
    const object *found[PAGE], *expected[PAGE];
    uint64_t numbers[PAGE];
    uint32_t expected_count, rest;
    bool more;
    const char *after = from > 0 ? all[from - 1].key.text : "";
    const uint32_t end = scan(prefix, from, expected, PAGE, &expected_count);
    const object *next;
    (void)scan(prefix, end, &next, 1, &rest);
    assert_int_equal(names_list(n, prefix, after, found, PAGE, &more), expected_count);
    assert_int_equal(more, rest > 0);
    for (uint32_t i = 0; i < expected_count; i++)
        assert_ptr_equal(found[i], expected[i]);
    if (strcmp(prefix, "manifest/") != 0)
        return;
    assert_int_equal(names_numbers(n, KEY_MANIFEST, after, numbers, PAGE, &more), expected_count);
    assert_int_equal(more, rest > 0);
    for (uint32_t i = 0; i < expected_count; i++)
        assert_int_equal(numbers[i], expected[i]->number);
}

static void lists_what_a_scan_finds(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"",         "data/",    "data/7", "manifest/",
                                           "retired/", "segment/", "z"};
    rng r;
    rng_seed(&r, 5);
    make_all(&r);
    live_names n = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t i = (uint32_t)rng_below(&r, ALL);
        if (is_live[i])
            names_remove(&n, &all[i]);
        else
            names_add(&n, &all[i]);
        is_live[i] = !is_live[i];
        compare(&n, prefixes[rng_below(&r, sizeof prefixes / sizeof *prefixes)],
                (uint32_t)rng_below(&r, ALL + 1));
    }
    names_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_what_a_scan_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
