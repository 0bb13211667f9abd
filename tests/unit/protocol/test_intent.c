// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Intents as what they are: pure functions of a base. Bases are drafts filled by hand; what comes
 * out is encoded and decoded. */
#include "intent_bases.h"

#include "base/alloc.h"
#include <string.h>

static intent open_of(const char *id, bool reopen)
{
    return (intent){.kind = INTENT_OPEN,
                    .open = {.id = view_text(id), .token = mine, .reopen = reopen}};
}

static intent publish_of(const char *id, const descriptor *d, uint32_t count, bool finish)
{
    return (intent){.kind = INTENT_PUBLISH,
                    .publish = {.id = view_text(id),
                                .token = mine,
                                .descriptors = d,
                                .count = count,
                                .finish = finish,
                                .slot_ms = 3}};
}

typedef struct open_case {
    const char *name;
    bool there, finished, forgotten, own, sealed, reopen;
    uint32_t fixed; /* epoch fixed by an earlier base */
    intent_verdict verdict;
    bw_status status;
    uint32_t epoch;
} open_case;

static const open_case open_cases[] = {
    {"new id", 0, 0, 0, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 1},
    {"next epoch", 1, 0, 0, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 5},
    {"our own, once more", 1, 0, 0, 1, 0, 0, 4, INTENT_ALREADY, BW_OK, 4},
    {"our own, though sealed", 1, 0, 0, 1, 1, 0, 4, INTENT_ALREADY, BW_OK, 4},
    {"map's epoch below ours", 1, 0, 0, 0, 0, 0, 6, INTENT_CANDIDATE, BW_OK, 6},
    {"map's epoch is ours, another's token", 1, 0, 0, 0, 0, 0, 4, INTENT_REFUSED, BW_FENCED, 4},
    {"map's epoch above ours", 1, 0, 0, 0, 0, 0, 3, INTENT_REFUSED, BW_FENCED, 4},
    {"finished", 1, 1, 0, 0, 0, 0, 0, INTENT_REFUSED, BW_FINISHED, 4},
    {"finished and sealed", 1, 1, 0, 0, 1, 0, 0, INTENT_REFUSED, BW_FINISHED, 4},
    {"finished, reopen", 1, 1, 0, 0, 0, 1, 0, INTENT_CANDIDATE, BW_OK, 5},
    {"reopen in a sealed namespace", 1, 1, 0, 0, 1, 1, 0, INTENT_REFUSED, BW_SEALED, 4},
    {"forgotten", 1, 0, 1, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 5},
    {"sealed", 0, 0, 0, 0, 1, 0, 0, INTENT_REFUSED, BW_SEALED, 0},
    {"sealed, id known", 1, 0, 0, 0, 1, 0, 0, INTENT_REFUSED, BW_SEALED, 4},
};

static void open_table(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof open_cases / sizeof *open_cases; k++) {
        const open_case *t = &open_cases[k];
        producer_entry entries[3] = {entry_of("aa", 1, &other), entry_of("m", 4, &other),
                                     entry_of("zz", 1, &other)};
        entries[1].finished = t->finished;
        entries[1].forgotten = t->forgotten;
        entries[1].seq = entries[1].offset = 70;
        entries[1].last_publish = 8;
        if (t->own)
            entries[1].token = mine;
        if (!t->there)
            entries[1] = entries[2];
        manifest base = base_of(entries, t->there ? 3 : 2), draft;
        base.sealed = t->sealed;
        intent i = open_of("m", t->reopen);
        i.open.epoch = t->fixed;
        const intent_aid aid = aid_of();
        intent_result result;
        const intent_verdict verdict =
            intent_apply(&i, &base, &aid, bases_scratch, &draft, &result);
        if (verdict != t->verdict || result.status != t->status || result.epoch != t->epoch)
            fail_msg("%s: verdict %u, %s, epoch %u", t->name, verdict,
                     bw_status_name(result.status), result.epoch);
        assert_int_equal(result.offset, t->there ? 70 : 0);
        if (verdict != INTENT_CANDIDATE)
            continue;
        const producer_entry *e = manifest_producer(&draft, view_text("m"));
        assert_non_null(e);
        assert_true(token_equal(&e->token, &mine));
        assert_false(e->finished || e->forgotten);
        assert_int_equal(e->last_commit, 10);
        assert_int_equal(e->seq, t->there ? 70 : 0);
        assert_int_equal(draft.finished_producers, 0);
        assert_int_equal(draft.producer_count, 3);
        assert_int_equal(manifest_producer(&draft, view_text("zz"))->epoch, 1);
        sound(&draft, &base);
    }
}

static void open_refuses_what_cannot_be(void **state)
{
    (void)state;
    producer_entry entries[1] = {entry_of("m", UINT32_MAX, &other)};
    manifest base = base_of(entries, 1), draft;
    const intent_aid aid = aid_of();
    intent_result result;
    intent i = open_of("No", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_INVALID);
    i = open_of("m", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_TOO_LARGE);
    /* A manifest so large that no publish would fit is refused before anything is staged. */
    base.object_bytes = object_bytes_max(OBJECT_MANIFEST) - 1000;
    i = open_of("new", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_MANIFEST_FULL);
    i.kind = INTENT_KINDS;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BUG);
}

/* Departed ids are looked up on the page, which is read first; a reopened one lives in the map. */
static void open_looks_at_the_page(void **state)
{
    (void)state;
    producer_entry gone[2] = {entry_of("done", 3, &other), entry_of("lost", 7, &other)};
    gone[0].finished = true;
    gone[0].seq = gone[0].offset = 40;
    gone[0].last_publish = gone[1].last_publish = 3;
    gone[1].forgotten = true;
    gone[1].seq = gone[1].offset = 50;
    const page departed = {.version = 5, .count = 2, .entries = gone};
    producer_entry entries[1] = {entry_of("m", 4, &other)};
    manifest base = base_of(entries, 1), draft;
    base.has_page = true;
    base.page = (page_ref){.version = 5, .entries = 2, .bytes = 1};
    base.finished_producers = 1;
    intent_aid aid = aid_of();
    intent_result result;
    intent i = open_of("done", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_NEED_PAGE);
    aid.page = &departed;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FINISHED);
    assert_int_equal(result.offset, 40);
    i = open_of("done", true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.epoch, 4);
    assert_int_equal(draft.finished_producers, 0);
    sound(&draft, &base);
    i = open_of("lost", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.epoch, 8);
    assert_int_equal(result.offset, 50);
    assert_int_equal(draft.producer_count, 2);
    assert_true(draft.has_page);
    sound(&draft, &base);
    i = open_of("new", false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.epoch, 1);
    base.finished_producers = 0; /* a total that does not count it: our own bug, reported */
    i = open_of("done", true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BUG);

    /* R7: no entry in the map: the page is read before FENCED; a finish already made is found
     * there. */
    gone[0].token = mine;
    aid.page = NULL;
    i = publish_of("done", NULL, 0, true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_NEED_PAGE);
    aid.page = &departed;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_ALREADY);
    i = publish_of("none", NULL, 0, true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_FENCED);
}

typedef struct publish_case {
    const char *name;
    uint64_t at; /* seq and offset of the map */
    uint32_t count;
    bool finish, finished, forgotten, fenced, sealed;
    intent_verdict verdict;
    bw_status status;
    uint32_t already, published;
} publish_case;

static const publish_case publish_cases[] = {
    {"all new", 0, 3, 0, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 0, 3},
    {"one is in", 1, 3, 0, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 1, 2},
    {"all are in", 3, 3, 0, 0, 0, 0, 0, INTENT_ALREADY, BW_OK, 3, 0},
    {"all are in and more", 5, 3, 0, 0, 0, 0, 0, INTENT_ALREADY, BW_OK, 3, 0},
    {"all are in, to finish", 3, 3, 1, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 3, 0},
    {"only finish", 3, 0, 1, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 0, 0},
    {"finished already", 3, 3, 1, 1, 0, 0, 0, INTENT_ALREADY, BW_OK, 3, 0},
    {"publish and finish", 0, 2, 1, 0, 0, 0, 0, INTENT_CANDIDATE, BW_OK, 0, 2},
    {"after finish", 0, 2, 0, 1, 0, 0, 0, INTENT_REFUSED, BW_FINISHED, 0, 0},
    {"another's token", 0, 2, 0, 0, 0, 1, 0, INTENT_REFUSED, BW_FENCED, 0, 0},
    {"forgotten", 0, 2, 0, 0, 1, 0, 0, INTENT_REFUSED, BW_FENCED, 0, 0},
    {"forgotten, but all are in", 2, 2, 0, 0, 1, 0, 0, INTENT_ALREADY, BW_OK, 2, 0},
    {"sealed", 1, 2, 0, 0, 0, 0, 1, INTENT_REFUSED, BW_SEALED, 1, 0},
    {"sealed, but all are in", 2, 2, 0, 0, 0, 0, 1, INTENT_ALREADY, BW_OK, 2, 0},
};

static void publish_table(void **state)
{
    (void)state;
    const descriptor d[3] = {batch_of("m", 1, 200), batch_of("m", 2, 200), batch_of("m", 3, 200)};
    const view states[3] = {view_text("a"), view_text("b"), view_text("c")};
    for (size_t k = 0; k < sizeof publish_cases / sizeof *publish_cases; k++) {
        const publish_case *t = &publish_cases[k];
        producer_entry entries[2] = {entry_of("m", 1, t->fenced ? &other : &mine),
                                     entry_of("n", 1, &other)};
        entries[0].seq = entries[0].offset = t->at;
        entries[0].finished = t->finished;
        entries[0].forgotten = t->forgotten;
        manifest base = base_of(entries, 2), draft;
        base.sealed = t->sealed;
        intent i = publish_of("m", d, t->count, t->finish);
        i.publish.states = states;
        const intent_aid aid = aid_of();
        intent_result result;
        const intent_verdict verdict =
            intent_apply(&i, &base, &aid, bases_scratch, &draft, &result);
        if (verdict != t->verdict || result.status != t->status || result.already != t->already ||
            result.published != t->published)
            fail_msg("%s: verdict %u, %s, already %u, published %u", t->name, verdict,
                     bw_status_name(result.status), result.already, result.published);
        if (verdict != INTENT_CANDIDATE)
            continue;
        const producer_entry *e = manifest_producer(&draft, view_text("m"));
        assert_int_equal(e->seq, t->at + t->published);
        assert_int_equal(e->offset, t->at + t->published);
        assert_int_equal(e->finished, t->finish);
        assert_int_equal(e->last_commit, 10);
        assert_int_equal(e->last_publish, t->published > 0 ? 10 : 0);
        assert_int_equal(e->slot_ms, 3);
        assert_int_equal(draft.next, t->published);
        assert_int_equal(draft.committed_bytes, 200 * t->published);
        assert_int_equal(draft.finished_producers, t->finish);
        if (t->published > 0) {
            assert_true(view_equal(e->state, states[t->count - 1]));
            sound(&draft, &base);
        } else {
            assert_true(view_equal(e->state, view_text("s")));
        }
    }
}

/* A resume state of its own is referred to; one that is missing is empty. */
static void publish_takes_the_last_state(void **state)
{
    (void)state;
    const descriptor d[2] = {batch_of("m", 1, 200), batch_of("m", 2, 200)};
    const view states[2] = {view_text("a"), {0}};
    const state_ref refs[2] = {{0}, {.epoch = 1, .seq = 2, .nonce = 5, .bytes = 300}};
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    const intent_aid aid = aid_of();
    intent_result result;
    intent i = publish_of("m", d, 2, false);
    i.publish.states = states;
    i.publish.state_refs = refs;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_true(draft.producers[0].state_is_object);
    assert_int_equal(draft.producers[0].state_ref.nonce, 5);
    sound(&draft, &base);
    i.publish.states = NULL;
    i.publish.state_refs = NULL;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_false(draft.producers[0].state_is_object);
    assert_int_equal(draft.producers[0].state.size, 0);
    i.publish.states = states; /* the last is no text, and no object either */
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_false(draft.producers[0].state_is_object);
    assert_int_equal(draft.producers[0].state.size, 0);
}

/* R3: never beyond F + max_lag or max_bytes, a share of the room each, at least one TGB. Without a
 * group there is no limit. */
static void limits_hold_producers_back(void **state)
{
    (void)state;
    descriptor d[8];
    for (uint32_t k = 0; k < 8; k++)
        d[k] = batch_of("m", k + 1, 100);
    producer_entry entries[3] = {entry_of("m", 1, &mine), entry_of("n", 1, &other),
                                 entry_of("old", 1, &other)};
    entries[0].last_commit = entries[1].last_commit = 9;
    pin pins[1] = {{.id = view_text("p"), .step = 0}};
    group groups[1] = {{.name = view_text("g"),
                        .launch = view_text("l"),
                        .launch_number = 1,
                        .pins = pins,
                        .pin_count = 1}};
    manifest base = base_of(entries, 3), draft;
    base.version = 100;
    entries[0].last_commit = entries[1].last_commit = 99;
    base.groups = groups;
    const intent_aid aid = aid_of();
    intent_result result;
    intent i = publish_of("m", d, 8, true);

    bases_genesis.has_max_lag = true;
    bases_genesis.max_lag = 5;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.published, 8);
    base.group_count = 1;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.published, 3); /* ⌈5 / 2 active⌉, and the finish waits */
    assert_false(manifest_producer(&draft, view_text("m"))->finished);
    groups[0].pins[0].step = 4; /* F = max(hold, pins) */
    base.next = 9;
    base.trim = 0;
    entries[0].last_commit = 0;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BLOCKED);
    base.next = 8;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.published, 1);

    bases_genesis.has_max_lag = false;
    bases_genesis.has_max_bytes = true;
    bases_genesis.max_bytes = 1000;
    base.next = 0;
    groups[0].pins[0].step = 0;
    entries[0].last_commit = 99;
    base.committed_bytes = 500;
    base.swept_bytes = 100;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.published, 3); /* half of 600 */
    base.committed_bytes = 1000;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(result.published, 1); /* at least one that fits the whole room */
    base.committed_bytes = 1050;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BLOCKED);
    bases_genesis.has_max_bytes = false;
}

/* A commit takes 1 MiB of its own at most, and no more records than a block can have; the rest goes
 * next time. */
static void a_commit_has_its_caps(void **state)
{
    (void)state;
    const uint32_t many = 70000;
    descriptor *d = mem_array(many, sizeof *d);
    assert_non_null(d);
    for (uint32_t k = 0; k < many; k++)
        d[k] = batch_of("m", k + 1, 100);
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    const intent_aid aid = aid_of();
    intent_result result;
    intent i = publish_of("m", d, many, true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_in_range(result.published, 5000, (1u << 20) / RECORD_BYTES);
    assert_true(draft.tail.bytes.size <= 1u << 20);
    assert_false(draft.producers[0].finished);
    sound(&draft, &base);

    base.object_bytes = object_bytes_max(OBJECT_MANIFEST) - 500;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_MANIFEST_FULL);
    base.object_bytes = 0;
    base.tail.records = BLOCK_RECORDS_MAX;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_MANIFEST_FULL);
    mem_free(d);
}

/* Section 15: only a publish of batches must fold; a fold of another tail is refused as a bug. */
static void a_publish_folds_what_is_durable(void **state)
{
    (void)state;
    descriptor d[40];
    for (uint32_t k = 0; k < 40; k++)
        d[k] = batch_of("m", k + 1, 100);
    producer_entry entries[1] = {entry_of("m", 1, &mine)};
    manifest base = base_of(entries, 1), draft;
    buf tail, object;
    buf_init(&tail, 1u << 20);
    buf_init(&object, 1u << 20);
    assert_int_equal(block_encode(NULL, 0, d, 39, &tail), BW_OK);
    assert_int_equal(block_decode(view_of(tail.data, tail.size), 1, &base.tail, NULL), BW_OK);
    base.next = 39;
    base.object_bytes = 4000;
    entries[0].seq = entries[0].offset = 39;
    entries[0].last_publish = 9;
    intent_aid aid = aid_of();
    intent_result result;
    intent i = publish_of("m", d + 39, 1, false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_NEED_FOLD);
    segment_ref ref;
    assert_int_equal(fold_build(&base, &object, &ref), BW_OK);
    aid.durable_fold = &ref;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(draft.ref_count, 1);
    assert_int_equal(draft.tail.records, 1);
    assert_int_equal(draft.next, 40);
    sound(&draft, &base);
    ref.last = 37;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BUG);
    ref.last = 38;
    ref.first = 1;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_BUG);
    aid.durable_fold = NULL;
    i = publish_of("m", NULL, 0, true);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_int_equal(draft.tail.records, 39);

    segment_ref rows[32];
    memset(rows, 0, sizeof rows);
    base.refs = rows;
    base.ref_count = 32;
    base.tail.bytes.size = 20;
    i = publish_of("m", d + 39, 1, false);
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_NEED_MERGE);
    buf_free(&tail);
    buf_free(&object);
}

static void seal_table(void **state)
{
    (void)state;
    const intent_aid aid = aid_of();
    intent_result result;
    manifest draft;
    producer_entry entries[2] = {entry_of("a", 1, &other), entry_of("b", 1, &other)};
    manifest base = base_of(entries, 2);
    intent i = {.kind = INTENT_SEAL};
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_SEAL_REFUSED);
    assert_non_null(strstr(result.error.message, "2 producers"));
    entries[0].finished = true;
    entries[1].forgotten = true;
    base.finished_producers = 1;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    assert_true(draft.sealed);
    sound(&draft, &base);
    bases_genesis.expected_producers = 2;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_REFUSED);
    assert_int_equal(result.status, BW_SEAL_REFUSED);
    i.seal.force = true;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_CANDIDATE);
    base.sealed = true;
    assert_int_equal(intent_apply(&i, &base, &aid, bases_scratch, &draft, &result), INTENT_ALREADY);
    bases_genesis.expected_producers = 0;
}

/* trim = max(trim, W), everything else verbatim, `turn` only for a member. */
static void the_next_manifest_copies_the_rest(void **state)
{
    (void)state;
    group groups[2] = {
        {.name = view_text("g"), .launch = view_text("l"), .launch_number = 1, .hold = 7},
        {.name = view_text("h"), .launch = view_text("l"), .launch_number = 4, .hold = 5}};
    manifest base = base_of(NULL, 0), draft;
    base.next = 9;
    base.trim = 3;
    base.swept = 2;
    base.turn = view_text("who");
    base.groups = groups;
    base.group_count = 2;
    base.swept_bytes = 3;
    base.committed_bytes = 8;
    intent_aid aid = aid_of();
    manifest_succeed(&base, &bases_genesis, NULL, &aid, &draft);
    assert_int_equal(draft.trim, 5);
    assert_int_equal(draft.swept, 2);
    assert_int_equal(draft.clock_ms, 77);
    assert_ptr_equal(draft.groups, groups);
    assert_true(view_equal(draft.turn, view_text("who")));
    assert_true(view_equal(draft.committer, view_text("me")));
    base.trim = 6; /* never down, whatever the groups say */
    manifest_succeed(&base, &bases_genesis, NULL, &aid, &draft);
    assert_int_equal(draft.trim, 6);
    base.trim = 3;
    aid.turn_member = true;
    base.group_count = 0;
    manifest_succeed(&base, &bases_genesis, NULL, &aid, &draft);
    assert_int_equal(draft.trim, 3);
    assert_true(view_equal(draft.turn, view_text("me")));
}

/* Each way in which batches fail to continue what the chain has is our own defect, and said so. */
static void batches_must_continue_the_entry(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t seq, start, end;
        uint32_t epoch;
        const char *id;
    } cases[] = {
        {"a hole in seq", 5, 4, 5, 1, "p"},   {"a hole in offsets", 4, 5, 6, 1, "p"},
        {"an overlap", 4, 3, 5, 1, "p"},      {"an end before its start", 4, 4, 3, 1, "p"},
        {"another's epoch", 4, 4, 5, 2, "p"}, {"another's id", 4, 4, 5, 1, "q"},
    };
    producer_entry e = entry_of("p", 1, &mine);
    e.seq = 2;
    e.offset = 3;
    const manifest base = base_of(&e, 1);
    const intent_aid aid = aid_of();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        descriptor d[2] = {batch_of("p", 3, 200), batch_of(cases[i].id, 4, 200)};
        d[0].record.start = 3;
        d[0].record.end = 4;
        d[1].record.seq = cases[i].seq;
        d[1].record.start = cases[i].start;
        d[1].record.end = cases[i].end;
        d[1].record.epoch = cases[i].epoch;
        intent publish = publish_of("p", d, 2, false);
        manifest draft;
        intent_result result;
        const intent_verdict verdict =
            intent_apply(&publish, &base, &aid, bases_scratch, &draft, &result);
        if (verdict != INTENT_REFUSED || result.status != BW_BUG)
            fail_msg("%s: verdict %d, %s", cases[i].name, (int)verdict,
                     bw_status_name(result.status));
    }
}

/* Numbers end below 2^63, sums of bytes below 2^64. */
static void totals_end_somewhere(void **state)
{
    (void)state;
    producer_entry e = entry_of("p", 1, &mine);
    manifest base = base_of(&e, 1), draft;
    const intent_aid aid = aid_of();
    const descriptor d = batch_of("p", 1, 200);
    intent publish = publish_of("p", &d, 1, false);
    intent_result result;
    base.committed_bytes = UINT64_MAX - 100;
    assert_int_equal(intent_apply(&publish, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_REFUSED);
    assert_int_equal(result.status, BW_TOO_LARGE);
    base.committed_bytes = 0;
    base.next = NUMBER_MAX;
    assert_int_equal(intent_apply(&publish, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_REFUSED);
    assert_int_equal(result.status, BW_TOO_LARGE);
    base.next = 0;
    e.seq = NUMBER_MAX;
    descriptor last = batch_of("p", 1, 200);
    last.record.seq = e.seq + 1;
    last.record.start = 0;
    publish.publish.descriptors = &last;
    assert_int_equal(intent_apply(&publish, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_REFUSED);
    assert_int_equal(result.status, BW_TOO_LARGE);
}

static void nothing_is_freed_twice(void **state)
{
    (void)state;
    intent_scratch_free(NULL);
    const manifest base = base_of(NULL, 0);
    const intent_aid aid = aid_of();
    intent unknown = {.kind = INTENT_KINDS};
    manifest draft;
    intent_result result;
    assert_int_equal(intent_apply(&unknown, &base, &aid, bases_scratch, &draft, &result),
                     INTENT_REFUSED);
    assert_int_equal(result.status, BW_BUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_must_continue_the_entry),
        cmocka_unit_test(totals_end_somewhere),
        cmocka_unit_test(nothing_is_freed_twice),
        cmocka_unit_test(open_table),
        cmocka_unit_test(open_refuses_what_cannot_be),
        cmocka_unit_test(open_looks_at_the_page),
        cmocka_unit_test(publish_table),
        cmocka_unit_test(publish_takes_the_last_state),
        cmocka_unit_test(limits_hold_producers_back),
        cmocka_unit_test(a_commit_has_its_caps),
        cmocka_unit_test(a_publish_folds_what_is_durable),
        cmocka_unit_test(seal_table),
        cmocka_unit_test(the_next_manifest_copies_the_rest),
    };
    return cmocka_run_group_tests_name("intent", tests, bases_begin, bases_end);
}
