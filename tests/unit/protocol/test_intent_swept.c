// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* swept: what leaves the manifest with the parts that are gone, and who moves to the page. */
#include "intent_bases.h"

#include <string.h>

/* Two producers have published twelve steps of 200 bytes, "a" the even ones; steps 0 – 3 and 4 – 7
 * stand in segments, the rest in the tail. Trim is 11. */
typedef struct scene {
    manifest base;
    producer_entry entries[3];
    segment_ref refs[2];
    descriptor steps[12];
    buf tail;
} scene;

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    s->entries[0] = entry_of("a", 1, &mine);
    s->entries[1] = entry_of("b", 1, &other);
    s->entries[2] = entry_of("c", 3, &other);
    for (uint32_t k = 0; k < 2; k++) {
        s->entries[k].seq = s->entries[k].offset = 6;
        s->entries[k].last_publish = 8;
        s->refs[k] = (segment_ref){.first = 4 * k, .last = 4 * k + 3, .bytes = 500};
    }
    s->base = base_of(s->entries, 3);
    for (uint32_t k = 0; k < 12; k++) {
        hash128 term;
        s->steps[k] = batch_of(k % 2 == 0 ? "a" : "b", k / 2 + 1, 200);
        if (k == 4)
            s->refs[1].sum_before = s->base.sum;
        assert_int_equal(descriptor_term(k, &s->steps[k], &term), BW_OK);
        hash_add(&s->base.sum, &term);
    }
    buf_init(&s->tail, 1u << 20);
    assert_int_equal(block_encode(NULL, 0, s->steps + 8, 4, &s->tail), BW_OK);
    assert_int_equal(block_decode(view_of(s->tail.data, s->tail.size), 1, &s->base.tail, NULL),
                     BW_OK);
    s->base.refs = s->refs;
    s->base.ref_count = 2;
    s->base.next = 12;
    s->base.trim = 11;
    s->base.committed_bytes = 12 * 200;
}

static void tear_down(scene *s)
{
    buf_free(&s->tail);
}

/* What a sweeper finds in steps [from, to): ids are sorted. */
static intent swept_of(swept_producer out[2], uint64_t from, uint64_t to)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < 2; p++) {
        const uint64_t before = (from + 1 - p) / 2, seq = (to + 1 - p) / 2;
        if (seq > before)
            out[count++] = (swept_producer){view_text(p == 0 ? "a" : "b"), seq, seq};
    }
    return (intent){.kind = INTENT_SWEPT,
                    .swept = {.from = from,
                              .step = to,
                              .bytes = 200 * (to - from),
                              .producers = out,
                              .producer_count = count}};
}

typedef struct swept_case {
    uint64_t step;
    uint32_t refs, records;
} swept_case;

static const swept_case cases[] = {
    {1, 2, 4}, {3, 2, 4}, {4, 1, 4}, {5, 1, 4}, {7, 1, 4}, {8, 0, 4}, {9, 0, 3}, {11, 0, 1},
};

static void check_swept(const scene *s, const manifest *m, const swept_case *t, uint64_t from)
{
    if (m->swept != t->step || m->ref_count != t->refs || m->tail.records != t->records)
        fail_msg("from %u to %u: swept %u, %u references, %u records", (unsigned)from,
                 (unsigned)t->step, (unsigned)m->swept, m->ref_count, m->tail.records);
    assert_int_equal(m->swept_bytes, 200 * t->step);
    assert_int_equal(m->committed_bytes, 12 * 200);
    assert_true(hash_equal(&m->sum, &s->base.sum));
    assert_int_equal(m->trim, 11);
    assert_int_equal(m->next, 12);
    for (uint32_t p = 0; p < 2; p++) {
        const uint64_t seq = (t->step + 1 - p) / 2;
        assert_int_equal(m->producers[p].swept_seq, seq);
        assert_int_equal(m->producers[p].swept_offset, seq);
        assert_int_equal(m->producers[p].seq, 6);
    }
    for (uint32_t k = 0; k < m->ref_count; k++)
        assert_memory_equal(&m->refs[k].hash, &s->refs[2 - m->ref_count + k].hash, HASH_BYTES);
    for (uint32_t k = 0; k < m->tail.records; k++) {
        descriptor d;
        const descriptor *was = &s->steps[12 - m->tail.records + k];
        block_descriptor(&m->tail, k, &d);
        assert_true(view_equal(d.id, was->id));
        assert_int_equal(d.record.seq, was->record.seq);
    }
}

/* Every step that can follow from every step. */
static void swept_table(void **state)
{
    (void)state;
    const size_t count = sizeof cases / sizeof *cases;
    scene s;
    set_up(&s);
    for (size_t from = 0; from < count; from++) {
        swept_producer first[2], second[2];
        manifest draft;
        intent_result result;
        intent i = swept_of(first, 0, cases[from].step);
        assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
        harmless_again(&i, &draft, &s.base);
        manifest *next = next_of(&draft, &s.base);
        check_swept(&s, next, &cases[from], 0);
        for (size_t to = from + 1; to < count; to++) {
            intent more = swept_of(second, cases[from].step, cases[to].step);
            assert_int_equal(try_intent(&more, next, &draft, &result), INTENT_CANDIDATE);
            harmless_again(&more, &draft, next);
            manifest *last = next_of(&draft, next);
            check_swept(&s, last, &cases[to], cases[from].step);
            manifest_unref(last);
        }
        manifest_unref(next);
    }
    tear_down(&s);
}

static void refused_with(intent *i, const manifest *base, bw_status status)
{
    manifest draft;
    intent_result result;
    assert_int_equal(try_intent(i, base, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, status);
}

static void what_cannot_be(void **state)
{
    (void)state;
    scene s;
    manifest draft;
    intent_result result;
    swept_producer who[2];
    set_up(&s);
    intent i = swept_of(who, 0, 12);
    refused_with(&i, &s.base, BW_BUG); /* above trim */
    i = swept_of(who, 0, 8);
    s.base.swept_bytes = 2000;
    refused_with(&i, &s.base, BW_BUG); /* more bytes than there are */
    s.base.swept_bytes = 0;
    who[0].seq = 7;
    refused_with(&i, &s.base, BW_BUG); /* more batches than there are */
    who[0].seq = 4;
    who[0].offset = 7;
    refused_with(&i, &s.base, BW_BUG);
    who[0].offset = 4;
    who[1].id = view_text("z");
    refused_with(&i, &s.base, BW_BUG); /* of nobody, behind all */
    who[1].id = view_text("b");
    who[0].id = view_text("aa");
    refused_with(&i, &s.base, BW_BUG); /* of nobody */
    who[0] = who[1];
    who[1].id = view_text("a");
    refused_with(&i, &s.base, BW_BUG); /* not sorted */
    i = swept_of(who, 0, 8);
    s.entries[0].swept_seq = 5;
    refused_with(&i, &s.base, BW_BUG); /* back */
    s.entries[0].swept_seq = 0;
    s.entries[0].swept_offset = 5;
    refused_with(&i, &s.base, BW_BUG);
    s.entries[0].swept_offset = 0;
    assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
    manifest *next = next_of(&draft, &s.base);
    intent shorter = swept_of(who, 0, 3);
    assert_int_equal(try_intent(&shorter, next, &draft, &result), INTENT_ALREADY);
    intent longer = swept_of(who, 0, 9);
    assert_int_equal(try_intent(&longer, next, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    assert_int_equal(result.swept, 8);
    manifest_unref(next);
    tear_down(&s);
}

typedef struct page_case {
    const char *name;
    uint64_t step;
    bool a_finished, c_forgotten, a_reopened, moved_says_swept;
    uint64_t version;
    bool base_has_page, knows_page, another_page;
    uint32_t page_min;
    bool moves;
} page_case;

/* The page has "a" and "c"; "c" has published nothing. */
static const page_case page_cases[] = {
    {"both are gone", 11, 1, 1, 0, 1, 10, 0, 0, 0, 2, true},
    {"after another page", 11, 1, 1, 0, 1, 10, 1, 1, 0, 2, true},
    {"fewer than page_min", 11, 1, 1, 0, 1, 10, 0, 0, 0, 3, false},
    {"one was opened again: one is too few", 11, 1, 1, 1, 1, 10, 0, 0, 0, 2, false},
    {"one was opened again: it stays", 11, 1, 1, 1, 1, 10, 0, 0, 0, 1, true},
    {"not wholly swept", 9, 1, 1, 0, 1, 10, 0, 0, 0, 2, false},
    {"not finished", 11, 0, 1, 0, 1, 10, 0, 0, 0, 2, false},
    {"not forgotten", 11, 1, 0, 0, 1, 10, 0, 0, 0, 2, false},
    {"the page says less is swept", 11, 1, 1, 0, 0, 10, 0, 0, 0, 2, false},
    {"made for a version before", 11, 1, 1, 0, 1, 9, 0, 0, 0, 2, false},
    {"there is a page since", 11, 1, 1, 0, 1, 10, 1, 0, 0, 2, false},
    {"there is none any more", 11, 1, 1, 0, 1, 10, 0, 1, 0, 2, false},
    {"there is another page since", 11, 1, 1, 0, 1, 10, 1, 1, 1, 2, false},
};

static void page_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof page_cases / sizeof *page_cases; k++) {
        const page_case *t = &page_cases[k];
        scene s;
        set_up(&s);
        s.entries[0].finished = t->a_finished;
        s.entries[2].forgotten = t->c_forgotten;
        s.base.finished_producers = t->a_finished;
        s.base.has_page = t->base_has_page;
        s.base.page = (page_ref){.version = 3, .entries = 1, .bytes = 9};
        producer_entry departing[2] = {s.entries[0], s.entries[2]};
        departing[0].finished = departing[1].forgotten = true;
        if (t->moved_says_swept)
            departing[0].swept_seq = departing[0].swept_offset = 6;
        if (t->a_reopened) {
            s.entries[0].epoch = 2;
            s.entries[0].finished = false;
            s.base.finished_producers = 0;
        }
        const page p = {.version = 10, .count = 2, .entries = departing};
        const page_ref ref = {.version = t->version, .nonce = 4, .entries = 2, .bytes = 9};
        const hash128 before = {.bytes = {t->another_page ? 1 : 0}};
        swept_producer who[2];
        /* "a" published the even steps: all of its are below step 11. */
        intent i = swept_of(who, 0, t->step);
        i.swept.page = &p;
        i.swept.page_ref = &ref;
        i.swept.page_base = t->knows_page ? &before : NULL;
        bases_genesis.page_min = t->page_min;
        manifest draft;
        intent_result result;
        assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
        const bool moved = draft.has_page && draft.page.nonce == 4;
        if (moved != t->moves || draft.producer_count != (t->moves ? (t->a_reopened ? 2 : 1) : 3))
            fail_msg("%s: %u producers stay, page %u", t->name, draft.producer_count, moved);
        assert_int_equal(draft.swept, t->step);
        assert_int_equal(draft.finished_producers, s.base.finished_producers);
        assert_non_null(manifest_producer(&draft, view_text("b")));
        harmless_again(&i, &draft, &s.base);
        tear_down(&s);
    }
    bases_genesis.page_min = 2;
}

/* Whoever is on the page must be there as the base has him; else he stays in the map, and with one
 * too few nobody moves. */
static void the_page_has_entries_as_they_are(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 6; k++) {
        scene s;
        set_up(&s);
        s.entries[0].finished = s.entries[2].forgotten = true;
        s.base.finished_producers = 1;
        producer_entry departing[2] = {s.entries[0], s.entries[2]};
        departing[0].swept_seq = departing[0].swept_offset = 6;
        if (k == 1)
            departing[0].token = other;
        if (k == 2)
            departing[0].epoch++;
        if (k == 3)
            departing[0].seq--;
        if (k == 4)
            departing[0].forgotten = true;
        if (k == 5) { /* alike, and both at work */
            departing[0].finished = s.entries[0].finished = false;
            s.base.finished_producers = 0;
        }
        const page p = {.version = 10, .count = 2, .entries = departing};
        const page_ref ref = {.version = 10, .nonce = 4, .entries = 2, .bytes = 9};
        swept_producer who[2];
        intent i = swept_of(who, 0, 11);
        i.swept.page = &p;
        i.swept.page_ref = &ref;
        manifest draft;
        intent_result result;
        assert_int_equal(try_intent(&i, &s.base, &draft, &result), INTENT_CANDIDATE);
        assert_int_equal(draft.has_page, k == 0);
        assert_int_equal(draft.producer_count, k == 0 ? 1 : 3);
        tear_down(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swept_table),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(page_table),
        cmocka_unit_test(the_page_has_entries_as_they_are),
    };
    return cmocka_run_group_tests_name("intent_swept", tests, bases_begin, bases_end);
}
