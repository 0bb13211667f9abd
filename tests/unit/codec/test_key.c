// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/key.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static key_fields parse(const char *text)
{
    key_fields f;
    key_parse(view_text(text), &f);
    return f;
}

static void names_are_strict(void **state)
{
    (void)state;
    char longest[66];
    memset(longest, 'a', sizeof longest);
    assert_true(name_is_valid(view_of(longest, 64)));
    assert_false(name_is_valid(view_of(longest, 65)));
    const char *const good[] = {"a", "0", "a.b-c_d", "a.", "a-", "p0.1.2"};
    const char *const bad[] = {"", ".a", "-a", "_a", "A", "a b", "a/b", "a..b", "a..", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(name_is_valid(view_text(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(name_is_valid(view_text(bad[i])));
    assert_false(name_is_valid(view_of("a\0b", 3)));
}

static void keys_are_spelled_as_the_page_says(void **state)
{
    (void)state;
    object_key key;
    const hash128 hash = {{0xab, 0xcd}};
    key_genesis(&key);
    assert_string_equal(key.text, "genesis");
    key_hint(&key);
    assert_string_equal(key.text, "hint");
    key_manifest(&key, 11);
    assert_string_equal(key.text, "manifest/00000000000000000011.manifest");
    key_marker(&key, UINT64_MAX);
    assert_string_equal(key.text, "retired/18446744073709551615");
    key_segment(&key, 1, 20, &hash);
    assert_string_equal(key.text, "segment/00000000000000000001-00000000000000000020-"
                                  "abcd0000000000000000000000000000");
    key_page(&key, 7, 0x1f);
    assert_string_equal(key.text, "page/00000000000000000007-000000000000001f");
    key_probe(&key, UINT64_MAX);
    assert_string_equal(key.text, "probe/ffffffffffffffff");
    /* The two digits are those that sha256sum gives for the rest. */
    key_part(&key, view_text("alpha"), 3, 9, 0x8000000000000001, 1);
    assert_string_equal(key.text, "data/8a"
                                  "/alpha/0000000003-00000000000000000009-8000000000000001.000001");
    key_state(&key, view_text("alpha"), 3, 9, 0x8000000000000001);
    assert_string_equal(key.text, "data/fa"
                                  "/alpha/0000000003-00000000000000000009-8000000000000001.state");
}

static void keys_parse_back(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 1);
    for (int i = 0; i < 500; i++) {
        object_key key;
        const uint64_t a = rng_u64(&r), b = rng_u64(&r), c = rng_u64(&r);
        hash128 hash;
        rng_bytes(&r, hash.bytes, HASH_BYTES);
        key_manifest(&key, a);
        key_fields f = parse(key.text);
        assert_int_equal(f.kind, KEY_MANIFEST);
        assert_true(f.number == a);
        key_marker(&key, a);
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_MARKER);
        assert_true(f.number == a);
        key_segment(&key, a, b, &hash);
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_SEGMENT);
        assert_true(f.number == a && f.last == b && hash_equal(&f.hash, &hash));
        key_page(&key, a, b);
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_PAGE);
        assert_true(f.number == a && f.nonce == b);
        key_probe(&key, c);
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_PROBE);
        assert_true(f.nonce == c);
        key_part(&key, view_text("a.state"), (uint32_t)a, b, c, (uint32_t)(a % 1000000));
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_PART);
        assert_true(f.epoch == (uint32_t)a && f.number == b && f.nonce == c &&
                    f.part == a % 1000000);
        assert_true(view_equal(f.producer, view_text("a.state")));
        key_state(&key, view_text("p"), (uint32_t)a, b, c);
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_STATE);
        assert_true(f.epoch == (uint32_t)a && f.number == b && f.nonce == c);
        /* Nothing but the whole key is one. */
        f = parse(key.text + 1);
        assert_int_equal(f.kind, KEY_FOREIGN);
        key_parse(view_of(key.text, rng_below(&r, strlen(key.text))), &f);
        assert_int_equal(f.kind, KEY_FOREIGN);
        /* Within `data/<xx>`: the digits follow from the rest. */
        key.text[rng_below(&r, 7)] ^= 1;
        f = parse(key.text);
        assert_int_equal(f.kind, KEY_FOREIGN);
    }
    assert_int_equal(parse("genesis").kind, KEY_GENESIS);
    assert_int_equal(parse("hint").kind, KEY_HINT);
    assert_int_equal(parse("tmp/x/y").kind, KEY_TMP);
}

/* No part of a name is cut, and no number: it would be the name of something else. */
static void what_has_no_room_is_no_key(void **state)
{
    (void)state;
    char name[KEY_BYTES];
    object_key key;
    memset(name, 'a', sizeof name);
    /* What stands beside the producer: data/xx/ and /, and 10-20-16 with .state or .000000 */
    const size_t most = KEY_BYTES - 1 - 8 - 1 - 48;
    key_state(&key, view_of(name, most - 6), 1, 1, 1);
    assert_int_equal(strlen(key.text), KEY_BYTES - 1);
    key_state(&key, view_of(name, most - 5), 1, 1, 1);
    assert_string_equal(key.text, "");
    key_part(&key, view_of(name, most - 7), 1, 1, 1, 1);
    assert_int_equal(strlen(key.text), KEY_BYTES - 1);
    for (size_t size = most - 6; size <= sizeof name; size++) {
        key_part(&key, view_of(name, size), 1, 1, 1, 1);
        assert_string_equal(key.text, "");
    }
    key_part(&key, view_text("a"), 1, 1, 1, 999999);
    assert_int_equal(parse(key.text).part, 999999);
    key_part(&key, view_text("a"), 1, 1, 1, 1000000);
    assert_string_equal(key.text, "");
}

static void other_spellings_are_foreign(void **state)
{
    (void)state;
    const char *const foreign[] = {
        "",
        "genesis2",
        "genesi",
        "hint/",
        "tmp/",
        "tmp",
        "manifest/",
        "manifest/0000000000000000011.manifest",
        "manifest/000000000000000000011.manifest",
        "manifest/00000000000000000011",
        "manifest/00000000000000000011.manifests",
        "manifest/18446744073709551616.manifest",
        "manifest/99999999999999999999.manifest",
        "manifest/0000000000000000001a.manifest",
        "manifest/ 0000000000000000011.manifest",
        "retired/00000000000000000003/",
        "segment/00000000000000000001-00000000000000000020-ABCD0000000000000000000000000000",
        "segment/00000000000000000001_00000000000000000020-abcd0000000000000000000000000000",
        "page/00000000000000000007-00000000000001f",
        "page/00000000000000000007-000000000000001F",
        "probe/ffffffffffffffff0",
        "data/",
        "data/00/",
        "data/00/alpha",
        "data/zz/alpha/0000000003-00000000000000000009-8000000000000001.000001",
        /* epoch above 32 bits */
        "data/00/alpha/9999999999-00000000000000000009-8000000000000001.000001",
        "other/key",
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_int_equal(parse(foreign[i]).kind, KEY_FOREIGN);
    /* The right digits over a producer that is no name. */
    object_key key;
    key_part(&key, view_text("a..b"), 1, 1, 1, 0);
    assert_int_equal(parse(key.text).kind, KEY_FOREIGN);
    char huge[1100];
    memset(huge, 'a', sizeof huge);
    memcpy(huge, "tmp/", 4);
    key_fields f;
    key_parse(view_of(huge, 1024), &f);
    assert_int_equal(f.kind, KEY_TMP);
    key_parse(view_of(huge, 1025), &f);
    assert_int_equal(f.kind, KEY_FOREIGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_strict),
        cmocka_unit_test(keys_are_spelled_as_the_page_says),
        cmocka_unit_test(keys_parse_back),
        cmocka_unit_test(what_has_no_room_is_no_key),
        cmocka_unit_test(other_spellings_are_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
