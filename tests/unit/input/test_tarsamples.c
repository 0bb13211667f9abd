// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarsamples.h"

#include "input/filelist.h"
#include "readall.h"
#include "tarmaker.h"

static documents docs;
static readout got;

static void write_tar(const char *name, buf *archive)
{
    scratch_file(name, archive->data, archive->size);
    buf_free(archive);
}

static reader *open_samples(const char *pattern, uint32_t shard, uint32_t shards, uint32_t max)
{
    const char *const path = scratch_path(pattern);
    reader *r;
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    const reader_options options = {
        .files = &docs, .shard = shard, .shards = shards, .record_bytes_max = max};
    assert_int_equal(tarsamples_open(&options, &r, NULL), BW_OK);
    const record_place start = {0};
    assert_int_equal(r->seek(r, start, NULL), BW_OK);
    return r;
}

static void read_samples(const char *pattern, uint32_t shard, uint32_t shards, uint32_t max)
{
    reader *r = open_samples(pattern, shard, shards, max);
    read_all(r, false, &got);
    assert_int_equal(got.status, BW_END);
    r->close(r);
    documents_free(&docs);
}

/** Each wanted text is the end of what the record's begins with, behind the scratch directory. */
static void expect(const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < got.count && i < count; i++) {
        const char *text = strstr(got.texts[i], scratch) + strlen(scratch) + 1;
        const bool bad = got.texts[i][0] == '!';
        if (bad != (wanted[i][0] == '!') ||
            strncmp(text, wanted[i] + bad, strlen(wanted[i] + bad)) != 0)
            fail_msg("record %zu: %s, not %s", i, got.texts[i], wanted[i]);
    }
    assert_int_equal(got.count, count);
    readout_free(&got);
}

static buf empty(void)
{
    buf b;
    buf_init(&b, SIZE_MAX);
    return b;
}

static void test_groups(void **state)
{
    (void)state;
    buf a = empty();
    tar_put(&a, "./", '5', NULL, 0);
    tar_file(&a, "./x/a.cls", "1");
    tar_put(&a, "./x/", '5', NULL, 0);
    tar_file(&a, "./x/a.seg.png", "png");
    tar_file(&a, "x/a.b.json", "{}");
    tar_file(&a, "y/a.cls", "2");
    tar_file(&a, "x.y/b.cls", "");
    tar_file(&a, "a.cls", "4");
    tar_file(&a, "ab.cls", "5");
    tar_file(&a, "\xc3\xa4.cls", "6");
    tar_end(&a);
    write_tar("g.tar", &a);
    read_samples("g.tar", 0, 1, 1000);
    static const char *const wanted[] = {
        "g.tar:x/a{__key__=x/a,cls=1,seg.png=png,b.json={}}",
        "g.tar:y/a{__key__=y/a,cls=2}",
        "g.tar:x.y/b{__key__=x.y/b,cls=}",
        "g.tar:a{__key__=a,cls=4}",
        "g.tar:ab{__key__=ab,cls=5}",
        "g.tar:\xc3\xa4{__key__=<c3><a4>,cls=6}",
    };
    expect(wanted, 6);
}

static void bad_name(const char *name, char type, const char *needle)
{
    buf a = empty();
    tar_file(&a, "1.cls", "1");
    tar_put(&a, name, type, NULL, 0);
    tar_file(&a, "2.cls", "2");
    tar_end(&a);
    write_tar("n.tar", &a);
    read_samples("n.tar", 0, 1, 1000);
    /* With the sample that it stands in: who knows whether it was whole. */
    assert_int_equal(got.count, 2);
    if (strstr(got.texts[0], needle) == NULL || got.texts[0][0] != '!')
        fail_msg("%s", got.texts[0]);
    assert_non_null(strstr(got.texts[0], "n.tar at byte 1024: member "));
    assert_non_null(strstr(got.texts[1], "n.tar:2{"));
    readout_free(&got);
}

static void test_names_are_checked(void **state)
{
    (void)state;
    bad_name("../a.cls", '0', "segment");
    bad_name("x/../a.cls", '0', "segment");
    bad_name("/etc/passwd.x", '0', "segment");
    bad_name("x//a.cls", '0', "segment");
    bad_name("x/./a.cls", '0', "segment");
    bad_name("README", '0', "no key and extension");
    bad_name("x/.hidden", '0', "no key and extension");
    bad_name("x/a.", '0', "no key and extension");
    bad_name("a\x01.cls", '0', "control characters");
    bad_name("a\xff.cls", '0', "not UTF-8");
    bad_name("a.cls", '2', "only regular files");
    bad_name("a.cls", '1', "only regular files");
    bad_name("a.cls", '3', "only regular files");
    bad_name("a.cls", 'S', "only regular files");
}

static void test_bad_samples_are_passed_over(void **state)
{
    (void)state;
    buf a = empty();
    tar_file(&a, "1.a", "1");
    tar_file(&a, "2.a", "1");
    tar_file(&a, "2.a", "2");
    tar_file(&a, "2.b", "3");
    tar_file(&a, "odd", "3");
    tar_file(&a, "2.c", "4");
    tar_file(&a, "3.a", "5");
    tar_file(&a, "4.a", "0123456789012345678901234567890123456789");
    tar_file(&a, "4.b", "7");
    tar_file(&a, "5.a", "8");
    tar_end(&a);
    write_tar("p.tar", &a);
    read_samples("p.tar", 0, 1, 40);
    static const char *const wanted[] = {
        "p.tar:1{__key__=1,a=1}",
        "!p.tar at byte 2048: member 2.a: the sample has this extension twice",
        "p.tar:3{__key__=3,a=5}",
        "!p.tar at byte 7168: member 4.a: the sample is larger",
        "p.tar:5{__key__=5,a=8}",
    };
    expect(wanted, 5);
}

static void test_damaged_archives_end_there(void **state)
{
    (void)state;
    buf a = empty();
    tar_file(&a, "1.a", "1");
    tar_file(&a, "2.a", "2");
    write_tar("d0.tar", &a); /* no end: 2 is not known to be whole */
    a = empty();
    tar_file(&a, "3.a", "3");
    tar_file(&a, "4.a", "4");
    a.size -= 512;
    write_tar("d1.tar", &a);
    a = empty();
    tar_file(&a, "5.a", "5");
    tar_end(&a);
    write_tar("d2.tar", &a);
    read_samples("d{0..2}.tar", 0, 1, 40);
    static const char *const wanted[] = {
        "d0.tar:1{", "!d0.tar at byte 2048: the archive ends without its end-of-archive block",
        "d1.tar:3{", "!d1.tar at byte 1536: the archive ends within the data of a member",
        "d2.tar:5{"};
    expect(wanted, 5);
    read_samples("d{0..2}.tar", 1, 2, 40);
    static const char *const second[] = {"d1.tar:3{", "!d1.tar"};
    expect(second, 2);
    read_samples("d{0..2}.tar", 4, 5, 40);
    expect(NULL, 0);
}

static void test_places_of_other_shards_are_refused(void **state)
{
    (void)state;
    buf a = empty();
    tar_end(&a);
    write_tar("e0.tar", &a);
    a = empty();
    tar_end(&a);
    write_tar("e1.tar", &a);
    reader *r = open_samples("e{0,1}.tar", 0, 2, 40);
    const record_place other = {.file = 1, .at = 512}, beyond = {.file = 4, .at = 1};
    const record_place behind = {.file = 2}, far = {.at = 4096};
    assert_int_equal(r->seek(r, other, NULL), BW_INPUT_CHANGED);
    assert_int_equal(r->seek(r, beyond, NULL), BW_INPUT_CHANGED);
    assert_int_equal(r->seek(r, behind, NULL), BW_OK);
    read_all(r, true, &got);
    assert_int_equal(got.status, BW_END);
    assert_int_equal(r->seek(r, far, NULL), BW_OK);
    read_all(r, true, &got);
    assert_int_equal(got.status, BW_INPUT_CHANGED);
    r->close(r);
    documents_free(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_names_are_checked),
        cmocka_unit_test(test_bad_samples_are_passed_over),
        cmocka_unit_test(test_damaged_archives_end_there),
        cmocka_unit_test(test_places_of_other_shards_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
