// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* forget: by the epoch that the operator saw. */
#include "intent_bases.h"

typedef struct forget_case {
    const char *name;
    const char *id;
    bool finished, forgotten, page;
    uint32_t epoch;
    intent_verdict verdict;
    bw_status status;
} forget_case;

/* "m" lives in the map, at epoch 4; "done" (finished, 3) and "lost" (forgotten, 7) on the page. */
static const forget_case cases[] = {
    {"as seen", "m", 0, 0, 1, 4, INTENT_CANDIDATE, BW_OK},
    {"as seen, the page unread", "m", 0, 0, 0, 4, INTENT_CANDIDATE, BW_OK},
    {"opened again since", "m", 0, 0, 1, 3, INTENT_REFUSED, BW_FENCED},
    {"not opened so often yet", "m", 0, 0, 1, 5, INTENT_REFUSED, BW_FENCED},
    {"forgotten already", "m", 0, 1, 1, 4, INTENT_ALREADY, BW_OK},
    {"forgotten, and opened again since", "m", 0, 1, 1, 3, INTENT_REFUSED, BW_FENCED},
    {"finished", "m", 1, 0, 1, 4, INTENT_REFUSED, BW_FINISHED},
    {"departed, the page unread", "lost", 0, 0, 0, 7, INTENT_NEED_PAGE, BW_OK},
    {"forgotten and departed", "lost", 0, 0, 1, 7, INTENT_ALREADY, BW_OK},
    {"forgotten and departed, another epoch", "lost", 0, 0, 1, 6, INTENT_REFUSED, BW_FENCED},
    {"finished and departed", "done", 0, 0, 1, 3, INTENT_REFUSED, BW_FINISHED},
    {"as it is", "m", 0, 0, 1, 0, INTENT_CANDIDATE, BW_OK},
    {"forgotten and departed, as it is", "lost", 0, 0, 1, 0, INTENT_ALREADY, BW_OK},
    {"finished and departed, as it is", "done", 0, 0, 1, 0, INTENT_REFUSED, BW_FINISHED},
    {"never there", "none", 0, 0, 1, 1, INTENT_REFUSED, BW_INVALID},
};

static void forget_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const forget_case *t = &cases[k];
        producer_entry gone[2] = {entry_of("done", 3, &other), entry_of("lost", 7, &other)};
        gone[0].finished = gone[1].forgotten = true;
        const page departed = {.version = 5, .count = 2, .entries = gone};
        producer_entry entries[2] = {entry_of("m", 4, &other), entry_of("n", 4, &other)};
        entries[0].finished = t->finished;
        entries[0].forgotten = t->forgotten;
        manifest base = base_of(entries, 2), draft;
        base.has_page = true;
        base.page = (page_ref){.version = 5, .entries = 2, .bytes = 1};
        base.finished_producers++;
        entries[0].seq = entries[0].offset = 70;
        entries[0].last_publish = 8;
        intent i = {.kind = INTENT_FORGET, .forget = {view_text(t->id), t->epoch}};
        intent_aid aid = aid_of();
        intent_result result;
        aid.page = t->page ? &departed : NULL;
        const intent_verdict verdict =
            intent_apply(&i, &base, &aid, bases_scratch, &draft, &result);
        if (verdict != t->verdict || result.status != t->status)
            fail_msg("%s: verdict %u, %s", t->name, verdict, bw_status_name(result.status));
        if (verdict != INTENT_CANDIDATE)
            continue;
        const producer_entry *e = manifest_producer(&draft, view_text("m"));
        assert_true(e->forgotten);
        assert_int_equal(e->epoch, 4);
        assert_int_equal(e->seq, 70);
        assert_true(token_equal(&e->token, &other));
        assert_int_equal(e->last_commit, 10);
        assert_false(draft.producers[1].forgotten);
        assert_int_equal(draft.finished_producers, base.finished_producers);
        harmless_again(&i, &draft, &base);
    }
}

/* The forgotten one is fenced, and goes on at the next epoch and the same offset. */
static void the_forgotten_may_come_back(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    base_publish(&base, &entries[0], 3);
    intent_result result;
    intent forget = {.kind = INTENT_FORGET, .forget = {view_text("m"), 1}};
    assert_int_equal(try_intent(&forget, &base, &draft, &result), INTENT_CANDIDATE);
    manifest *forgotten = next_of(&draft, &base);
    const descriptor d = batch_of("m", 4, 200);
    intent publish = {
        .kind = INTENT_PUBLISH,
        .publish = {.id = view_text("m"), .token = mine, .descriptors = &d, .count = 1}};
    assert_int_equal(try_intent(&publish, forgotten, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    intent open = {.kind = INTENT_OPEN, .open = {.id = view_text("m"), .token = other}};
    assert_int_equal(try_intent(&open, forgotten, &draft, &result), INTENT_CANDIDATE);
    assert_int_equal(result.epoch, 2);
    assert_int_equal(result.offset, 3);
    manifest *opened = next_of(&draft, forgotten);
    assert_int_equal(try_intent(&forget, opened, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
    manifest_unref(opened);
    manifest_unref(forgotten);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forget_table),
        cmocka_unit_test(the_forgotten_may_come_back),
    };
    return cmocka_run_group_tests_name("intent_forget", tests, bases_begin, bases_end);
}
