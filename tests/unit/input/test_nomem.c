// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out: whichever allocation of listing, reading and shuffling fails, once or from
 * then on, the answer is BW_NOMEM or the right records, and nothing leaks. */
#include "indexmaker.h"
#include "input/filelist.h"
#include "input/jsonlines.h"
#include "input/mixer.h"
#include "input/tarsamples.h"
#include "input/tokens.h"
#include "readall.h"
#include "tarmaker.h"
#include "tests/unit/scarcity.h"

static int make_inputs(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    buf archive;
    const uint32_t lengths[] = {9, 0, 20};
    buf_init(&archive, SIZE_MAX);
    tar_put(&archive, "pax", 'x', "12 path=p.a\n", 12);
    tar_file(&archive, "cut", "one");
    tar_put(&archive, "././@LongLink", 'L', "q.a", 4);
    tar_file(&archive, "cut", "two");
    tar_put(&archive, "pax", 'g', "13 mtime=1.5\n", 13);
    for (unsigned i = 0; i < 5; i++) {
        char name[] = "0.a";
        name[0] = (char)('0' + i);
        tar_file(&archive, name, "more");
    }
    tar_end(&archive);
    scratch_file("n.tar", archive.data, archive.size);
    buf_reset(&archive);
    index_make(&archive, 8, 2, lengths, 3, NULL, 0);
    scratch_file("n.idx", archive.data, archive.size);
    buf_free(&archive);
    tokens_file("n.bin", 29, 2);
    scratch_file("n.jsonl", "1\n[2]\n\"3\"\n4\n5\n6\n7\n8\n", 21);
    return 0;
}

static const char *const names[] = {"n.jsonl", "n.tar", "n.idx"};

static bw_status open_reader(unsigned what, documents *docs, reader **r)
{
    const reader_options o = {.files = docs, .shards = 1, .record_bytes_max = 1000};
    if (what == 0)
        return jsonlines_open(&o, r, NULL);
    return what == 1 ? tarsamples_open(&o, r, NULL)
                     : tokens_open(docs, 0, 1, 4, TOKEN_U16, r, NULL);
}

/** Lists, reads and shuffles one input; the number of records, and how it ended. */
static bw_status read_input(unsigned what, size_t *count)
{
    documents docs;
    reader *r = NULL;
    mixer *m = NULL;
    const char *const path = scratch_path(names[what]);
    const record *given;
    *count = 0;
    bw_status status = filelist_expand(&path, 1, &docs, NULL);
    if (status == BW_OK)
        status = open_reader(what, &docs, &r);
    const mixer_options options = {
        .from = r, .record_bytes_max = 4096, .window = 3, .seed = 1, .epochs = 2, .skip_bad = true};
    if (status == BW_OK)
        status = mixer_open(&options, (mixer_position){0}, &m, NULL);
    while (status == BW_OK && (status = mixer_next(m, &given, NULL)) == BW_OK)
        (*count)++;
    mixer_close(m);
    if (r != NULL)
        r->close(r);
    documents_free(&docs);
    return status;
}

static void test_every_allocation(void **state)
{
    (void)state;
    for (unsigned what = 0; what < 3; what++) {
        size_t whole, count;
        uint64_t refused = 0;
        scarcity = (struct scarcity){.scarce = true};
        assert_int_equal(read_input(what, &whole), BW_END);
        const uint64_t all = scarcity.seen;
        assert_true(whole >= 14 && all > 20);
        for (uint64_t n = 1; n <= all; n++)
            for (unsigned mode = 0; mode < 2; mode++) {
                scarcity.nth = n;
                scarcity.ever = mode != 0;
                const int64_t before = scarcity.live;
                const bw_status status = read_input(what, &count);
                scarcity.nth = 0;
                assert_int_equal(scarcity.live, before);
                assert_true(status == BW_NOMEM || (status == BW_END && count == whole));
                refused += status == BW_NOMEM;
            }
        assert_true(refused > all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, make_inputs, scratch_remove);
}
