// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "contract.h"

#include "base/crc32c.h"
#include "base/rng.h"
#include "contract_cases.h"
#include "contract_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const contract_factory *contract_current;

static int set_up(void **state)
{
    contract_place *c = calloc(1, sizeof *c);
    c->place = contract_current->make();
    c->store = contract_current->open(c->place);
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    contract_place *c = *state;
    store_close(c->store);
    contract_current->destroy(c->place);
    free(c);
    return 0;
}

static store *store_of(void **state)
{
    return ((contract_place *)*state)->store;
}

/* ---- create and put ---- */

static void test_create_then_get(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_create(s, "manifest/1", "one"), STORE_CREATED);
    assert_content(s, "manifest/1", "one");
}

static void test_create_never_changes_what_exists(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_create(s, "k", "first"), STORE_CREATED);
    assert_int_equal(do_create(s, "k", "second, and longer"), STORE_EXISTS);
    assert_int_equal(do_create(s, "k", "first"), STORE_EXISTS);
    assert_content(s, "k", "first");
    assert_int_equal(do_put(s, "p", "put"), STORE_OK);
    assert_int_equal(do_create(s, "p", "created"), STORE_EXISTS);
    assert_content(s, "p", "put");
}

static void test_create_again_after_delete(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_create(s, "k", "first"), STORE_CREATED);
    assert_int_equal(do_delete(s, "k"), STORE_OK);
    assert_int_equal(do_create(s, "k", "second"), STORE_CREATED);
    assert_content(s, "k", "second");
}

static void test_put_replaces(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "hint", "a long first content"), STORE_OK);
    assert_content(s, "hint", "a long first content");
    assert_int_equal(do_put(s, "hint", "short"), STORE_OK);
    assert_content(s, "hint", "short");
    assert_int_equal(do_put(s, "hint", ""), STORE_OK);
    assert_content(s, "hint", "");
}

static void test_empty_object(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_create(s, "empty", ""), STORE_CREATED);
    assert_content(s, "empty", "");
    assert_int_equal(head_bytes(s, "empty"), 0);
    uint8_t byte = 0;
    assert_int_equal(do_read(s, "empty", 0, 1, &byte), STORE_FATAL);
}

static void test_big_object_of_many_pieces(void **state)
{
    enum { PIECES = 3000, PIECE_MAX = 7000 };
    store *s = store_of(state);
    rng random;
    rng_seed(&random, 17);
    uint8_t *bytes = malloc((size_t)PIECES * PIECE_MAX);
    rng_bytes(&random, bytes, (size_t)PIECES * PIECE_MAX);
    struct iovec *pieces = calloc(PIECES, sizeof *pieces);
    size_t size = 0;
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i].iov_base = bytes + size;
        pieces[i].iov_len = (size_t)rng_below(&random, PIECE_MAX); /* zero among them */
        size += pieces[i].iov_len;
    }
    store_op op;
    store_op_init(&op, STORE_CREATE, "big");
    op.pieces = pieces;
    op.piece_count = PIECES;
    /* Nothing landed: a store may have to learn which checksum the other side does not know. */
    store_outcome outcome = store_run(s, &op);
    if (outcome == STORE_RETRY)
        outcome = store_run(s, &op);
    assert_int_equal(outcome, STORE_CREATED);

    uint8_t *back = malloc(size);
    assert_int_equal(do_read(s, "big", 0, size, back), STORE_OK);
    assert_memory_equal(back, bytes, size);
    assert_int_equal(do_read(s, "big", size - 1, 1, back), STORE_OK);
    assert_int_equal(back[0], bytes[size - 1]);
    assert_int_equal(head_bytes(s, "big"), size);

    store_op_init(&op, STORE_GET, "big");
    buf_init(&op.out, size);
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_int_equal(op.out.size, size);
    assert_memory_equal(op.out.data, bytes, size);
    store_op_clear(&op);
    free(back);
    free(pieces);
    free(bytes);
}

/* Small, and larger than what is sent at once. */
static void test_a_checksum_of_other_bytes(void **state)
{
    enum { BIG = 3 << 20 };
    store *s = store_of(state);
    uint8_t *bytes = calloc(1, BIG);
    for (size_t size = 3; size <= BIG; size += BIG - 3) {
        const struct iovec piece = {bytes, size};
        store_op op;
        store_op_init(&op, STORE_PUT, "summed");
        op.pieces = &piece;
        op.piece_count = 1;
        op.has_crc = true;
        op.crc = crc32c(0, bytes, size) ^ 1;
        const store_outcome outcome = store_run(s, &op);
        assert_true(!contract_current->checks_crc || outcome == STORE_RETRY ||
                    outcome == STORE_FATAL);
        if (contract_current->checks_crc)
            assert_true(head_bytes(s, "summed") == UINT64_MAX);
        store_op_init(&op, STORE_CREATE, "created");
        op.pieces = &piece;
        op.piece_count = 1;
        op.has_crc = true;
        op.crc = crc32c(0, bytes, size);
        assert_int_equal(store_run(s, &op), STORE_CREATED);
        assert_int_equal(head_bytes(s, "created"), size);
        assert_int_equal(do_delete(s, "created"), STORE_OK);
    }
    free(bytes);
}

/* ---- get, read, head, map ---- */

static void test_missing_objects(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "data/there", "x"), STORE_OK);
    static const char *const keys[] = {"absent", "data/absent", "absent/deeper/still",
                                       "data/there0"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint8_t byte = 0;
        assert_int_equal(do_get(s, keys[i], NULL, 100), STORE_NOT_FOUND);
        assert_int_equal(do_read(s, keys[i], 0, 1, &byte), STORE_NOT_FOUND);
        store_op op;
        store_op_init(&op, STORE_HEAD, keys[i]);
        assert_int_equal(store_run(s, &op), STORE_NOT_FOUND);
        assert_int_equal(store_op_status(&op), BW_NOT_FOUND);
        if ((s->features & STORE_CAN_MAP) != 0) {
            store_op_init(&op, STORE_MAP, keys[i]);
            op.length = 1;
            assert_int_equal(store_run(s, &op), STORE_NOT_FOUND);
        }
    }
}

static void test_every_range(void **state)
{
    store *s = store_of(state);
    static const char content[] = "0123456789abcdef";
    enum { SIZE = sizeof content - 1 };
    assert_int_equal(do_put(s, "r", content), STORE_OK);
    for (uint64_t offset = 0; offset < SIZE; offset++) {
        for (uint64_t length = 1; offset + length <= SIZE; length++) {
            uint8_t bytes[SIZE + 1];
            memset(bytes, '#', sizeof bytes);
            assert_int_equal(do_read(s, "r", offset, length, bytes), STORE_OK);
            assert_memory_equal(bytes, content + offset, length);
            assert_int_equal(bytes[length], '#'); /* not one byte more */
        }
    }
}

static void test_range_beyond_the_end_is_damage(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "r", "0123456789"), STORE_OK);
    static const struct {
        uint64_t offset, length;
    } beyond[] = {{0, 11}, {9, 2}, {10, 1}, {11, 1}, {1u << 30, 1}, {0, 1u << 20}};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        uint8_t *bytes = malloc(1u << 20);
        store_op op;
        store_op_init(&op, STORE_READ, "r");
        op.offset = beyond[i].offset;
        op.length = beyond[i].length;
        op.dest = bytes;
        assert_int_equal(store_run(s, &op), STORE_FATAL);
        assert_int_equal(store_op_status(&op), BW_CORRUPT);
        assert_string_equal(op.error.key, "r");
        assert_non_null(strstr(op.error.message, "10"));
        free(bytes);
    }
}

static void test_ranges_that_make_no_sense(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "r", "0123456789"), STORE_OK);
    static const struct {
        uint64_t offset, length;
    } bad[] = {{0, 0}, {5, 0}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {INT64_MAX, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t byte = 0;
        assert_int_equal(do_read(s, "r", bad[i].offset, bad[i].length, &byte), STORE_FATAL);
    }
}

static void test_get_has_a_cap(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "g", "0123456789"), STORE_OK);
    assert_int_equal(do_get(s, "g", NULL, 10), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_GET, "g");
    buf_init(&op.out, 9);
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_TOO_LARGE);
    store_op_clear(&op);
}

static void test_one_operation_used_twice(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_put(s, "g", "content"), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_GET, "g");
    buf_init(&op.out, 100);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_run(s, &op), STORE_OK);
        assert_int_equal(op.out.size, 7); /* not appended */
        assert_int_equal(op.object_bytes, 7);
    }
    store_op_clear(&op);
}

static void test_map_equals_read(void **state)
{
    store *s = store_of(state);
    if ((s->features & STORE_CAN_MAP) == 0)
        return;
    enum { SIZE = 40000 };
    uint8_t *bytes = malloc(SIZE);
    rng random;
    rng_seed(&random, 3);
    rng_bytes(&random, bytes, SIZE);
    assert_int_equal(do_put_bytes(s, "data/m", bytes, SIZE), STORE_OK);
    static const struct {
        uint64_t offset, length;
    } ranges[] = {{0, SIZE}, {1, 1}, {4095, 2}, {4096, 4096}, {5000, 30000}, {SIZE - 1, 1}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        store_op op;
        store_op_init(&op, STORE_MAP, "data/m");
        op.offset = ranges[i].offset;
        op.length = ranges[i].length;
        assert_int_equal(store_run(s, &op), STORE_OK);
        assert_int_equal(op.mapping.size, ranges[i].length);
        assert_memory_equal(op.mapping.data, bytes + ranges[i].offset, ranges[i].length);
        store_op_clear(&op);
    }
    store_op op;
    store_op_init(&op, STORE_MAP, "data/m");
    op.offset = SIZE - 1;
    op.length = 2;
    assert_int_equal(store_run(s, &op), STORE_FATAL); /* touching it would be SIGBUS */
    assert_int_equal(store_op_status(&op), BW_CORRUPT);
    free(bytes);
}

static void test_mapping_outlives_object_and_handle(void **state)
{
    store *s = store_of(state);
    if ((s->features & STORE_CAN_MAP) == 0)
        return;
    store *other = NULL;
    assert_int_equal(store_clone(s, &other, NULL), BW_OK);
    assert_int_equal(do_put(s, "data/m", "mapped bytes"), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_MAP, "data/m");
    op.length = 12;
    assert_int_equal(store_run(other, &op), STORE_OK);
    assert_int_equal(do_delete(s, "data/m"), STORE_OK);
    store_close(other);
    assert_memory_equal(op.mapping.data, "mapped bytes", 12);
    store_op_clear(&op);
}

/* ---- keys ---- */

static void test_odd_but_legal_keys(void **state)
{
    store *s = store_of(state);
    const unsigned size =
        contract_current->key_max != 0 ? contract_current->key_max : STORE_KEY_MAX;
    char full[STORE_KEY_MAX + 1]; /* 1,024 in all, the first segment of 255 */
    memset(full, 'k', size);
    for (size_t i = 255; i < size; i += 256)
        full[i] = '/';
    full[size - 1] = 'z';
    full[size - 100] = '/';
    full[size] = '\0';
    const char *const keys[] = {"0",    "-dash",      "_",           ".hidden", "..a",
                                "a..b", "dir/...",    "dir/.x/-/_y", "dots.",   "x/0/1/2/3/4/5/6/7",
                                full,   "dir/a-b.c_d"};
    const size_t count = sizeof keys / sizeof keys[0];
    for (size_t i = 0; i < count; i++)
        assert_int_equal(do_create(s, keys[i], keys[i]), STORE_CREATED);
    for (size_t i = 0; i < count; i++) {
        assert_content(s, keys[i], keys[i]);
        assert_true(is_listed(s, keys[i]));
    }
    assert_int_equal(list_count(s, ""), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(do_delete(s, keys[i]), STORE_OK);
    assert_int_equal(list_count(s, ""), 0);
}

static void test_illegal_keys_are_refused(void **state)
{
    store *s = store_of(state);
    char long_key[STORE_KEY_MAX + 2];
    memset(long_key, 'k', sizeof long_key);
    for (size_t i = 255; i < STORE_KEY_MAX; i += 256)
        long_key[i] = '/';
    long_key[STORE_KEY_MAX + 1] = '\0';
    char long_segment[257];
    memset(long_segment, 's', sizeof long_segment);
    long_segment[256] = '\0';
    const char *const keys[] = {"",     "/a",    "a/", "a//b", ".",      "..",        "a/../b",
                                "../a", "a/./b", "A",  "a b",  "a%2f",   "a\\b",      "caf\xc3\xa9",
                                "a\nb", "a/..",  "~",  "a:b",  long_key, long_segment};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        store_op op;
        store_op_init(&op, STORE_CREATE, keys[i]);
        assert_int_equal(store_run(s, &op), STORE_FATAL);
        /* An empty key is one for whose hash memory ran out (codec/key.h), and is called that. */
        assert_int_equal(store_op_status(&op), i == 0 ? BW_NOMEM : BW_INVALID);
        assert_int_equal(do_put(s, keys[i], "x"), STORE_FATAL);
        assert_int_equal(do_get(s, keys[i], NULL, 10), STORE_FATAL);
        assert_int_equal(do_delete(s, keys[i]), STORE_FATAL);
    }
    assert_int_equal(list_count(s, ""), 0);
}

/* ---- list ---- */

/* In byte order of the whole key: '-' and '.' come before '/', digits and letters after it. */
static const char *const listed[] = {"a",     "d-x",   "d.x",   "d/-",        "d/0",
                                     "d/e-f", "d/e/1", "d/e/2", "d/ef",       "d/f/1",
                                     "d0",    "da",    "e",     "manifest/1", "manifest/2"};
#define LISTED_COUNT (sizeof listed / sizeof listed[0])

static void put_listed(store *s)
{
    rng random;
    rng_seed(&random, 5);
    size_t order[LISTED_COUNT] = {0};
    for (size_t i = 0; i < LISTED_COUNT; i++) {
        const size_t at = (size_t)rng_below(&random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < LISTED_COUNT; i++)
        assert_int_equal(do_put(s, listed[order[i]], listed[order[i]]), STORE_OK);
}

/** Lists in pages of `page`, from after `after`, and compares with what `listed` says. */
static void assert_list(store *s, const char *prefix, const char *after, uint32_t page)
{
    size_t next = 0;
    char from[STORE_KEY_MAX + 1];
    (void)snprintf(from, sizeof from, "%s", after);
    for (bool more = true; more;) {
        store_op op;
        store_op_init(&op, STORE_LIST, prefix);
        op.list_max = page;
        memcpy(op.after, from, strlen(from) + 1);
        assert_int_equal(store_run(s, &op), STORE_OK);
        assert_true(page == 0 || op.list.count <= page);
        assert_true(!op.list.more || op.list.count > 0);
        for (size_t i = 0; i < op.list.count; i++) {
            while (next < LISTED_COUNT && (strncmp(listed[next], prefix, strlen(prefix)) != 0 ||
                                           strcmp(listed[next], after) <= 0))
                next++;
            if (next == LISTED_COUNT) {
                fail_msg("%s is too much", op.list.entries[i].key);
                return;
            }
            assert_string_equal(op.list.entries[i].key, listed[next]);
            assert_int_equal(op.list.entries[i].bytes, strlen(listed[next]));
            (void)snprintf(from, sizeof from, "%s", listed[next++]);
        }
        more = op.list.more;
        store_op_clear(&op);
    }
    for (; next < LISTED_COUNT; next++)
        assert_true(strncmp(listed[next], prefix, strlen(prefix)) != 0 ||
                    strcmp(listed[next], after) <= 0);
}

/** Every key of the prefix once, whatever the order and the page. */
static void assert_listed_once(store *s, const char *prefix, uint32_t page)
{
    unsigned seen[LISTED_COUNT] = {0};
    char from[STORE_KEY_MAX + 1] = "";
    for (bool more = true; more;) {
        store_op op;
        store_op_init(&op, STORE_LIST, prefix);
        op.list_max = page;
        memcpy(op.after, from, strlen(from) + 1);
        assert_int_equal(store_run(s, &op), STORE_OK);
        assert_true(page == 0 || op.list.count <= page);
        assert_true(!op.list.more || op.list.count > 0);
        for (size_t i = 0; i < op.list.count; i++) {
            const char *key = op.list.entries[i].key;
            (void)snprintf(from, sizeof from, "%s", key);
            for (size_t k = 0; k < LISTED_COUNT; k++)
                seen[k] += strcmp(listed[k], key) == 0;
        }
        more = op.list.more;
        store_op_clear(&op);
    }
    for (size_t k = 0; k < LISTED_COUNT; k++) {
        if (seen[k] != (strncmp(listed[k], prefix, strlen(prefix)) == 0))
            fail_msg("'%s' in pages of %u: %s is listed %u times", prefix, page, listed[k],
                     seen[k]);
    }
}

static void test_list_in_order_by_prefix_and_page(void **state)
{
    store *s = store_of(state);
    put_listed(s);
    static const char *const prefixes[] = {"",  "d",  "d/",   "d/e",       "d/e/",        "d0",
                                           "x", "d/", "mani", "manifest/", "manifest/10", "d/x/",
                                           "a"};
    static const char *const afters[] = {"",      "a",      "d",   "d/",         "d/e",
                                         "d/e/1", "d/e/10", "d/z", "manifest/2", "zz"};
    static const uint32_t pages[] = {0, 1, 2, 3, 7, 15, 16};
    if (contract_current->any_order) {
        for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
            for (size_t n = 0; n < sizeof pages / sizeof pages[0]; n++)
                assert_listed_once(s, prefixes[p], pages[n]);
        }
        return;
    }
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        for (size_t a = 0; a < sizeof afters / sizeof afters[0]; a++) {
            for (size_t n = 0; n < sizeof pages / sizeof pages[0]; n++)
                assert_list(s, prefixes[p], afters[a], pages[n]);
        }
    }
}

static void test_list_of_nothing(void **state)
{
    store *s = store_of(state);
    assert_int_equal(list_count(s, ""), 0);
    assert_int_equal(list_count(s, "manifest/"), 0);
    store_op op;
    store_op_init(&op, STORE_LIST, "../x");
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_INVALID);
}

static void test_list_of_more_than_a_page(void **state)
{
    store *s = store_of(state);
    enum { COUNT = 2500 };
    for (int i = 0; i < COUNT; i++) {
        char key[40];
        (void)snprintf(key, sizeof key, "manifest/%020d.manifest", i);
        assert_int_equal(do_create(s, key, "m"), STORE_CREATED);
    }
    assert_int_equal(list_count(s, "manifest/"), COUNT);
}

/* ---- delete ---- */

static void test_delete_is_idempotent(void **state)
{
    store *s = store_of(state);
    assert_int_equal(do_delete(s, "absent"), STORE_OK);
    assert_int_equal(do_delete(s, "absent/deeper"), STORE_OK);
    assert_int_equal(do_put(s, "data/x", "x"), STORE_OK);
    assert_int_equal(do_put(s, "data/y", "y"), STORE_OK);
    assert_int_equal(do_delete(s, "data/x"), STORE_OK);
    assert_int_equal(do_delete(s, "data/x"), STORE_OK);
    assert_int_equal(do_get(s, "data/x", NULL, 10), STORE_NOT_FOUND);
    assert_content(s, "data/y", "y");
}

static void test_delete_many(void **state)
{
    store *s = store_of(state);
    char keys[STORE_DELETE_MAX][32];
    const char *pointers[STORE_DELETE_MAX + 1];
    for (uint32_t i = 0; i < STORE_DELETE_MAX; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "data/%02x/p/%u", i % 256, i);
        pointers[i] = keys[i];
        if (i % 3 != 0) /* a third was never there */
            assert_int_equal(do_put(s, keys[i], "x"), STORE_OK);
    }
    pointers[STORE_DELETE_MAX] = "one-more";
    assert_int_equal(do_put(s, "data/kept", "kept"), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = pointers;
    op.key_count = STORE_DELETE_MAX + 1;
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(list_count(s, "data/"), STORE_DELETE_MAX * 2 / 3 + 1);
    store_op_init(&op, STORE_DELETE, "");
    op.keys = pointers;
    op.key_count = STORE_DELETE_MAX;
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_int_equal(list_count(s, ""), 1);
    assert_content(s, "data/kept", "kept");
}

/* ---- handles ---- */

static void test_read_after_write_across_handles(void **state)
{
    contract_place *c = *state;
    store *clone = NULL;
    assert_int_equal(store_clone(c->store, &clone, NULL), BW_OK);
    store *other = contract_current->open(c->place);
    store *const readers[] = {clone, other};
    for (int i = 0; i < 100; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "manifest/%d", i);
        for (size_t r = 0; r < 2; r++)
            assert_int_equal(do_get(readers[r], key, NULL, 100), STORE_NOT_FOUND);
        assert_int_equal(do_create(c->store, key, key), STORE_CREATED);
        for (size_t r = 0; r < 2; r++)
            assert_content(readers[r], key, key);
    }
    store_close(clone);
    store_close(other);
}

static void test_many_in_flight(void **state)
{
    store *s = store_of(state);
    enum { COUNT = 40 };
    store_op *ops = calloc(COUNT, sizeof *ops);
    char keys[COUNT][16];
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "data/%zu", i);
        assert_int_equal(do_put(s, keys[i], keys[i]), STORE_OK);
    }
    for (size_t i = 0; i < COUNT; i++) {
        store_op_init(&ops[i], STORE_GET, keys[i]);
        buf_init(&ops[i].out, 100);
        ops[i].owner = keys[i];
        store_submit(s, &ops[i]);
    }
    size_t seen = 0;
    while (seen < COUNT) {
        store_op *done[7];
        const size_t count = store_poll(s, done, 7, TIME_NEVER);
        assert_true(count <= 7);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(done[i]->outcome, STORE_OK);
            assert_non_null(done[i]->owner);
            assert_memory_equal(done[i]->out.data, done[i]->owner, done[i]->out.size);
            done[i]->owner = NULL; /* each comes back once */
            store_op_clear(done[i]);
        }
        seen += count;
    }
    store_op *none = NULL;
    assert_int_equal(store_poll(s, &none, 1, 0), 0);
    assert_int_equal(store_poll(s, &none, 1, TIME_NEVER), 0); /* nothing in flight: no wait */
    free(ops);
}

static void test_probe_leaves_nothing(void **state)
{
    store *s = store_of(state);
    bw_error *error = bw_error_new();
    for (uint64_t nonce = 0; nonce < 3; nonce++)
        assert_int_equal(store_probe(s, nonce, error), BW_OK);
    assert_int_equal(list_count(s, ""), 0);
    bw_error_free(error);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int contract_run(const contract_factory *f)
{
    const struct CMUnitTest tests[] = {
        CASE(test_create_then_get),
        CASE(test_create_never_changes_what_exists),
        CASE(test_create_again_after_delete),
        CASE(test_put_replaces),
        CASE(test_empty_object),
        CASE(test_big_object_of_many_pieces),
        CASE(test_a_checksum_of_other_bytes),
        CASE(test_missing_objects),
        CASE(test_every_range),
        CASE(test_range_beyond_the_end_is_damage),
        CASE(test_ranges_that_make_no_sense),
        CASE(test_get_has_a_cap),
        CASE(test_one_operation_used_twice),
        CASE(test_map_equals_read),
        CASE(test_mapping_outlives_object_and_handle),
        CASE(test_odd_but_legal_keys),
        CASE(test_illegal_keys_are_refused),
        CASE(test_list_in_order_by_prefix_and_page),
        CASE(test_list_of_nothing),
        CASE(test_list_of_more_than_a_page),
        CASE(test_delete_is_idempotent),
        CASE(test_delete_many),
        CASE(test_read_after_write_across_handles),
        CASE(test_many_in_flight),
        CASE(test_probe_leaves_nothing),
        CASE(test_one_winner_among_threads),
        CASE(test_one_winner_among_processes),
        CASE(test_reads_are_whole_while_written),
    };
    contract_current = f;
    return _cmocka_run_group_tests(f->name, tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
