// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Random walks: every kind of intent on a chain of manifests, each candidate encoded, decoded and
 * the next base; some are applied late, to a base that has gone on since. Beside it a plain list of
 * all steps and a second account of the groups, kept by this test alone: both must agree with the
 * manifest after each step. What holds at any time:
 *
 *   trim never falls, trim ≤ every hold and pin, swept ≤ trim, W ≤ frontier; a group has a hold or
 *   a pin; references and tail describe [first ≤ swept, next) with the sums of the list; swept
 *   bytes, seqs and offsets are those of the list; whoever published stands in the map or on the
 *   page; an intent applied to what came of it is there already.
 */
#include "intent_bases.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "protocol/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCERS 4u
#define GROUPS 3u
#define STEPS_MAX 4096u
#define PINS_SEEN 64u
#define SLEEPERS 6u
#define PAGES_MAX 128u

static const char *const producer_ids[PRODUCERS] = {"pa", "pb", "pc", "pd"};
static const char *const group_names[GROUPS] = {"ga", "gb", "gc"};

typedef struct step {
    uint32_t producer;
    uint64_t seq, bytes, nonce;
    uint32_t epoch;
    hash128 sum_before;
} step;

/* The second account of a group. */
typedef struct plain_pin {
    char id[4];
    uint64_t nonce, step;
} plain_pin;
typedef struct plain_group {
    bool there, pinned;
    char launch[24];
    uint64_t number, hold;
    uint32_t pin_count;
    plain_pin pins[PINS_SEEN];
} plain_group;

/* An intent with all that it points to. */
typedef struct owned {
    intent i;
    char launch[24], pin_id[4], release_ids[4][4];
    pin pin;
    pin_key releases[4];
    cursor cursor;
    descriptor batches[8];
    view states[8];
    swept_producer swept[PRODUCERS];
    page page;
    page_ref page_ref;
    producer_entry page_entries[2 * PRODUCERS];
    hash128 page_base;
    uint32_t producer, group; /* whose */
    char seen[24];            /* launch: whose group it was at the first base; empty: nobody's */
} owned;

typedef struct walk {
    rng r;
    manifest *base;
    step *steps;
    hash128 sum;
    plain_group groups[GROUPS];
    token128 tokens[PRODUCERS]; /* of the newest incarnation */
    owned *sleepers;
    uint32_t sleeper_count;
    buf pages[PAGES_MAX]; /* objects; entries of `page` point into them */
    uint32_t page_count;
    page page;
    bool has_page;
    bool endless; /* never sealed */
    uint64_t launches, nonces;
    uint64_t kinds[INTENT_KINDS], refused[INTENT_KINDS], late, fenced, reused;
    uint64_t trims, emptied, moved, folds, merges;
} walk;

static uint64_t total[16];

/* ---- making intents ---- */

static uint64_t below(walk *w, uint64_t bound)
{
    return rng_below(&w->r, bound);
}

static const producer_entry *entry_in(walk *w, uint32_t p)
{
    const producer_entry *e = manifest_producer(w->base, view_text(producer_ids[p]));
    return e == NULL && w->has_page ? page_producer(&w->page, view_text(producer_ids[p])) : e;
}

static void make_open(walk *w, owned *o)
{
    o->producer = (uint32_t)below(w, PRODUCERS);
    o->i =
        (intent){.kind = INTENT_OPEN,
                 .open = {.id = view_text(producer_ids[o->producer]), .reopen = below(w, 2) == 0}};
    rng_bytes(&w->r, o->i.open.token.bytes, TOKEN_BYTES);
}

static void make_publish(walk *w, owned *o)
{
    o->producer = (uint32_t)below(w, PRODUCERS);
    const producer_entry *e = entry_in(w, o->producer);
    const uint64_t seq = e != NULL ? e->seq : 0;
    const uint32_t count = (uint32_t)below(w, 8);
    for (uint32_t k = 0; k < count; k++) {
        o->batches[k] = batch_of(producer_ids[o->producer], seq + 1 + k, 100 + below(w, 100));
        o->batches[k].record.nonce = ++w->nonces;
        o->batches[k].record.epoch = e != NULL ? e->epoch : 1;
        o->states[k] = view_text("at");
    }
    o->i = (intent){.kind = INTENT_PUBLISH,
                    .publish = {.id = view_text(producer_ids[o->producer]),
                                .token = w->tokens[o->producer],
                                .descriptors = o->batches,
                                .states = o->states,
                                .count = count,
                                .finish = count == 0 || below(w, 12) == 0}};
}

static void make_launch(walk *w, owned *o)
{
    o->group = (uint32_t)below(w, GROUPS);
    const plain_group *g = &w->groups[o->group];
    /* Now and then the launch that is there, with the same cursor or another one. */
    if (g->there && below(w, 6) == 0)
        (void)snprintf(o->launch, sizeof o->launch, "%s", g->launch);
    else
        (void)snprintf(o->launch, sizeof o->launch, "l%u", (unsigned)++w->launches);
    o->cursor = (cursor){.dp = 1, .step = below(w, w->base->next + 2), .item = 0};
    o->i = (intent){.kind = INTENT_LAUNCH,
                    .launch = {.name = view_text(group_names[o->group]),
                               .launch = view_text(o->launch),
                               .start = (launch_start)below(w, 4),
                               .cursor = &o->cursor}};
}

/* Mostly by the newest launch, mostly of what is there. */
static void make_pin(walk *w, owned *o)
{
    o->group = (uint32_t)below(w, GROUPS);
    const plain_group *g = &w->groups[o->group];
    uint32_t releases = (uint32_t)below(w, 4);
    (void)snprintf(o->launch, sizeof o->launch, "%s",
                   g->there && below(w, 10) > 0 ? g->launch : "zombie");
    for (uint32_t k = 0; k < releases; k++) {
        const plain_pin *p = g->pin_count > 0 ? &g->pins[below(w, g->pin_count)] : NULL;
        (void)snprintf(o->release_ids[k], sizeof o->release_ids[k], "%s", p != NULL ? p->id : "x");
        o->releases[k] =
            (pin_key){view_text(o->release_ids[k]), p != NULL && below(w, 8) > 0 ? p->nonce : 1};
    }
    o->i = (intent){.kind = INTENT_PIN,
                    .pin = {.group = view_text(group_names[o->group]),
                            .launch = view_text(o->launch),
                            .releases = o->releases,
                            .release_count = releases}};
    if (below(w, 4) == 0)
        return;
    (void)snprintf(o->pin_id, sizeof o->pin_id, "i%u", (unsigned)below(w, 9));
    const uint64_t low = w->base->trim > 0 ? w->base->trim - below(w, 2) : 0;
    o->pin = (pin){.id = view_text(o->pin_id),
                   .nonce = ++w->nonces,
                   .step = low + below(w, w->base->next - low + 2)};
    o->i.pin.pin = &o->pin;
}

static void make_group_rm(walk *w, owned *o)
{
    o->group = (uint32_t)below(w, GROUPS);
    (void)snprintf(o->launch, sizeof o->launch, "%s", w->groups[o->group].launch);
    o->i = (intent){.kind = INTENT_GROUP_RM,
                    .group_rm = {view_text(group_names[o->group]), view_text(o->launch)}};
}

static void make_forget(walk *w, owned *o)
{
    o->producer = (uint32_t)below(w, PRODUCERS);
    const producer_entry *e = entry_in(w, o->producer);
    o->i = (intent){.kind = INTENT_FORGET,
                    .forget = {view_text(producer_ids[o->producer]), e != NULL ? e->epoch : 1}};
}

static void list_swept(walk *w, owned *o)
{
    const uint64_t from = o->i.swept.from, to = o->i.swept.step;
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        uint64_t seq = 0;
        for (uint64_t k = from; k < to; k++)
            if (w->steps[k].producer == p)
                seq = w->steps[k].seq;
        if (seq > 0)
            o->swept[o->i.swept.producer_count++] =
                (swept_producer){view_text(producer_ids[p]), seq, seq};
    }
    for (uint64_t k = from; k < to; k++)
        o->i.swept.bytes += w->steps[k].bytes;
}

static uint64_t swept_of(walk *w, uint32_t p, uint64_t to)
{
    uint64_t seq = 0;
    for (uint64_t k = 0; k < to; k++)
        if (w->steps[k].producer == p)
            seq = w->steps[k].seq;
    return seq;
}

/* The entries that are gone by then, and those of the page before, in order. */
static void make_page(walk *w, owned *o)
{
    const uint64_t to = o->i.swept.step;
    uint32_t count = 0, moved = 0;
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        const view id = view_text(producer_ids[p]);
        const producer_entry *e = manifest_producer(w->base, id);
        const producer_entry *old = w->has_page ? page_producer(&w->page, id) : NULL;
        const bool departs =
            e != NULL && (e->finished || e->forgotten) && swept_of(w, p, to) == e->seq;
        if (!departs && old == NULL)
            continue;
        o->page_entries[count] = departs ? *e : *old;
        o->page_entries[count].id = id;
        if (departs) {
            o->page_entries[count].swept_seq = e->seq;
            o->page_entries[count].swept_offset = e->offset;
            o->page_entries[count].state = view_text("at");
            moved++;
        }
        count++;
    }
    if (moved == 0)
        return;
    o->page = (page){.version = w->base->version + 1, .count = count, .entries = o->page_entries};
    o->page_ref = (page_ref){.version = w->base->version + 1,
                             .nonce = ++w->nonces,
                             .bytes = 100,
                             .entries = count,
                             .hash = {.bytes = {(uint8_t)w->nonces, (uint8_t)(w->nonces >> 8)}}};
    o->i.swept.page = &o->page;
    o->i.swept.page_ref = &o->page_ref;
    if (w->base->has_page) {
        o->page_base = w->base->page.hash;
        o->i.swept.page_base = &o->page_base;
    }
}

static void make_swept(walk *w, owned *o)
{
    const uint64_t from = w->base->swept, to = from + below(w, w->base->trim - from + 1);
    o->i =
        (intent){.kind = INTENT_SWEPT, .swept = {.from = from, .step = to, .producers = o->swept}};
    list_swept(w, o);
    if (to > from && below(w, 3) > 0)
        make_page(w, o);
}

/* In place: what an intent points to lies beside it. */
static void make(walk *w, owned *o)
{
    static const uint8_t dice[] = {INTENT_OPEN,    INTENT_OPEN,    INTENT_PUBLISH, INTENT_PUBLISH,
                                   INTENT_PUBLISH, INTENT_PUBLISH, INTENT_PUBLISH, INTENT_LAUNCH,
                                   INTENT_LAUNCH,  INTENT_PIN,     INTENT_PIN,     INTENT_PIN,
                                   INTENT_PIN,     INTENT_PIN,     INTENT_SWEPT,   INTENT_SWEPT};
    memset(o, 0, sizeof *o);
    if (!w->endless && below(w, 600) == 0) { /* the end: groups, pins, sweeps and forget go on */
        o->i = (intent){.kind = INTENT_SEAL, .seal = {.force = true}};
        return;
    }
    const uint64_t rare = below(w, 60);
    switch (rare == 0 ? INTENT_GROUP_RM : rare == 1 ? INTENT_FORGET : dice[below(w, sizeof dice)]) {
    case INTENT_OPEN:
        make_open(w, o);
        break;
    case INTENT_PUBLISH:
        make_publish(w, o);
        break;
    case INTENT_LAUNCH:
        make_launch(w, o);
        break;
    case INTENT_PIN:
        make_pin(w, o);
        break;
    case INTENT_GROUP_RM:
        make_group_rm(w, o);
        break;
    case INTENT_FORGET:
        make_forget(w, o);
        break;
    default:
        make_swept(w, o);
    }
}

/* ---- the second account ---- */

static plain_pin *plain_find(plain_group *g, view id)
{
    for (uint32_t k = 0; k < g->pin_count; k++)
        if (view_equal(view_text(g->pins[k].id), id))
            return &g->pins[k];
    return NULL;
}

static void account_pin(plain_group *g, const owned *o)
{
    for (uint32_t k = 0; k < o->i.pin.release_count; k++) {
        plain_pin *p = plain_find(g, o->releases[k].id);
        if (p == NULL || p->nonce != o->releases[k].nonce)
            continue;
        *p = g->pins[--g->pin_count];
    }
    const pin *wanted = o->i.pin.pin;
    if (wanted != NULL && plain_find(g, wanted->id) == NULL) {
        plain_pin *p = &g->pins[g->pin_count++];
        *p = (plain_pin){.nonce = wanted->nonce, .step = wanted->step};
        memcpy(p->id, wanted->id.data, wanted->id.size);
        g->pinned |= wanted->step >= g->hold;
    }
    if (wanted != NULL && wanted->step > g->hold) {
        g->pinned = true;
        g->hold = wanted->step;
    }
}

static void account_publish(walk *w, const owned *o, const intent_result *result)
{
    for (uint32_t k = 0; k < result->published; k++) {
        const descriptor *d = &o->batches[result->already + k];
        step *s = &w->steps[w->base->next + k];
        hash128 term;
        *s = (step){.producer = o->producer,
                    .seq = d->record.seq,
                    .bytes = d->shape.total_bytes,
                    .nonce = d->record.nonce,
                    .epoch = d->record.epoch,
                    .sum_before = w->sum};
        assert_int_equal(descriptor_term(w->base->next + k, d, &term), BW_OK);
        hash_add(&w->sum, &term);
    }
}

/* The page of a swept commit is now the chain's: kept as its readers see it. */
static void account_page(walk *w, const owned *o, const manifest *next)
{
    if (!next->has_page || o->i.swept.page == NULL || next->page.nonce != o->page_ref.nonce)
        return;
    assert_true(w->page_count < PAGES_MAX);
    buf *object = &w->pages[w->page_count++];
    bw_error error;
    buf_init(object, 1u << 20);
    assert_int_equal(page_encode(&o->page, object), BW_OK);
    if (w->has_page)
        page_free(&w->page);
    assert_int_equal(page_decode(view_of(object->data, object->size), &w->page, &error), BW_OK);
    w->has_page = true;
    w->moved++;
}

/* What a candidate may stand on: its key, by the second account. */
static void check_key(walk *w, const owned *o)
{
    const plain_group *g = &w->groups[o->group];
    const char *launch = g->there ? g->launch : "";
    if (o->i.kind == INTENT_LAUNCH)
        assert_string_equal(o->seen, launch);
    if (o->i.kind == INTENT_PIN || o->i.kind == INTENT_GROUP_RM)
        assert_string_equal(o->launch, launch);
    if (o->i.kind == INTENT_FORGET)
        assert_int_equal(entry_in(w, o->producer)->epoch, o->i.forget.epoch);
    if (o->i.kind == INTENT_SWEPT)
        assert_int_equal(o->i.swept.from, w->base->swept);
}

static void account(walk *w, const owned *o, const intent_result *result, const manifest *next)
{
    plain_group *g = &w->groups[o->group];
    check_key(w, o);
    switch (o->i.kind) {
    case INTENT_OPEN:
        w->tokens[o->producer] = o->i.open.token;
        break;
    case INTENT_PUBLISH:
        account_publish(w, o, result);
        break;
    case INTENT_LAUNCH:
        g->number = g->there ? g->number + 1 : 1;
        if (!g->there)
            g->pin_count = 0;
        g->there = true;
        g->pinned = false;
        g->hold = result->start_step;
        memcpy(g->launch, o->launch, sizeof g->launch);
        break;
    case INTENT_PIN:
        account_pin(g, o);
        w->emptied += g->pin_count == 0;
        break;
    case INTENT_GROUP_RM:
        g->there = false;
        break;
    case INTENT_SWEPT:
        account_page(w, o, next);
        break;
    default:
        break;
    }
    w->trims += next->trim > w->base->trim;
}

/* ---- what must hold ---- */

static void check_groups(walk *w, const manifest *m)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < GROUPS; k++) {
        plain_group *plain = &w->groups[k];
        const group *g = manifest_group(m, view_text(group_names[k]));
        assert_int_equal(g != NULL, plain->there);
        if (g == NULL)
            continue;
        count++;
        assert_true(view_equal(g->launch, view_text(plain->launch)));
        assert_int_equal(g->launch_number, plain->number);
        assert_int_equal(g->pinned, plain->pinned);
        assert_int_equal(g->hold, plain->hold);
        assert_true(g->hold >= m->trim);
        assert_int_equal(g->pin_count, plain->pin_count);
        for (uint32_t p = 0; p < g->pin_count; p++) {
            const plain_pin *other_account = plain_find(plain, g->pins[p].id);
            assert_true(other_account != NULL && g->pins[p].nonce == other_account->nonce &&
                        g->pins[p].step == other_account->step);
            assert_true(g->pins[p].step >= m->trim && g->pins[p].step <= m->next);
        }
    }
    assert_int_equal(m->group_count, count);
    assert_true(manifest_w(m) <= manifest_frontier(m));
    assert_true(m->trim >= manifest_w(m) || m->group_count == 0);
}

static void check_steps(walk *w, const manifest *m)
{
    uint64_t at = m->ref_count > 0 ? m->refs[0].first : manifest_tail_first(m);
    assert_true(at <= m->swept && m->swept <= m->trim && m->trim <= m->next);
    for (uint32_t k = 0; k < m->ref_count; k++) {
        assert_int_equal(m->refs[k].first, at);
        assert_true(m->refs[k].last >= m->swept);
        assert_true(hash_equal(&m->refs[k].sum_before, &w->steps[at].sum_before));
        at = m->refs[k].last + 1;
    }
    assert_int_equal(at, manifest_tail_first(m));
    for (uint32_t k = 0; k < m->tail.records; k++) {
        descriptor d;
        const step *s = &w->steps[at + k];
        block_descriptor(&m->tail, k, &d);
        assert_int_equal(d.record.nonce, s->nonce);
        assert_int_equal(d.record.seq, s->seq);
        assert_int_equal(d.record.epoch, s->epoch);
        assert_true(view_equal(d.id, view_text(producer_ids[s->producer])));
    }
    assert_int_equal(at + m->tail.records, m->next);
    assert_true(hash_equal(&m->sum, &w->sum));
}

static void check_producers(walk *w, const manifest *m)
{
    uint64_t bytes = 0, swept_bytes = 0, finished = 0;
    uint64_t seqs[PRODUCERS] = {0}, swept[PRODUCERS] = {0};
    for (uint64_t k = 0; k < m->next; k++) {
        const step *s = &w->steps[k];
        bytes += s->bytes;
        seqs[s->producer] = s->seq;
        if (k >= m->swept)
            continue;
        swept_bytes += s->bytes;
        swept[s->producer] = s->seq;
    }
    assert_int_equal(m->committed_bytes, bytes);
    assert_int_equal(m->swept_bytes, swept_bytes);
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        const view id = view_text(producer_ids[p]);
        const producer_entry *e = manifest_producer(m, id);
        if (e == NULL && w->has_page)
            e = page_producer(&w->page, id);
        assert_true(e != NULL || seqs[p] == 0);
        if (e == NULL)
            continue;
        assert_int_equal(e->seq, seqs[p]);
        assert_int_equal(e->offset, seqs[p]);
        assert_int_equal(e->swept_seq, swept[p]);
        assert_int_equal(e->swept_offset, swept[p]);
        assert_true(token_equal(&e->token, &w->tokens[p]));
        finished += e->finished;
    }
    assert_int_equal(m->finished_producers, finished);
}

/* ---- the walk ---- */

typedef struct put {
    buf object;
    segment_ref ref;
} put;

static intent_verdict apply(walk *w, owned *o, const manifest *base, manifest *draft,
                            intent_result *result)
{
    const plain_group *g = &w->groups[o->group];
    if (o->i.kind == INTENT_LAUNCH && o->i.launch.number == 0 && g->there)
        (void)snprintf(o->seen, sizeof o->seen, "%s", g->launch);
    intent_aid aid = aid_of();
    put fold, merge;
    buf_init(&fold.object, 1u << 20);
    buf_init(&merge.object, 1u << 20);
    rng_bytes(&w->r, aid.nonce.bytes, TOKEN_BYTES);
    intent_verdict verdict;
    for (;;) {
        verdict = intent_apply(&o->i, base, &aid, bases_scratch, draft, result);
        if (verdict == INTENT_NEED_PAGE) {
            assert_true(base->has_page && aid.page == NULL);
            aid.page = &w->page;
        } else if (verdict == INTENT_NEED_FOLD) {
            assert_int_equal(fold_build(base, &fold.object, &fold.ref), BW_OK);
            aid.durable_fold = &fold.ref;
            w->folds++;
        } else if (verdict == INTENT_NEED_MERGE) {
            assert_int_equal(merge_build(base, &merge.object, &merge.ref), BW_OK);
            aid.durable_merge = &merge.ref;
            w->merges++;
        } else {
            break;
        }
    }
    buf_free(&fold.object);
    buf_free(&merge.object);
    return verdict;
}

static void once(walk *w, owned *o)
{
    manifest draft, again;
    intent_result result, second;
    const intent_verdict verdict = apply(w, o, w->base, &draft, &result);
    if (verdict == INTENT_REFUSED) {
        w->refused[o->i.kind]++;
        w->fenced += result.status == BW_FENCED;
        w->reused += result.status == BW_LAUNCH_REUSED;
        assert_int_not_equal(result.status, BW_NOMEM);
        if (result.status == BW_BUG)
            assert_int_equal(o->i.kind, INTENT_PUBLISH); /* applied late, to others' batches */
        return;
    }
    if (verdict == INTENT_ALREADY)
        return;
    assert_int_equal(verdict, INTENT_CANDIDATE);
    w->kinds[o->i.kind]++;
    manifest *next = next_of(&draft, w->base);
    account(w, o, &result, next);
    manifest_unref(w->base);
    w->base = next;
    check_groups(w, next);
    check_steps(w, next);
    check_producers(w, next);
    assert_int_equal(apply(w, o, next, &again, &second), INTENT_ALREADY);
}

/* What an intent points to lies in `o` itself: one that sleeps is made where it sleeps. */
static void go(walk *w, uint64_t seed, uint32_t moves)
{
    static owned now;
    rng_seed(&w->r, seed);
    for (uint32_t k = 0; k < moves && w->base->next < STEPS_MAX - 16; k++) {
        const uint64_t fate = below(w, 10);
        if (fate == 0 && w->sleeper_count < SLEEPERS) {
            /* It loses its first race, or sleeps before it: number or epoch are fixed. */
            manifest draft;
            intent_result result;
            owned *o = &w->sleepers[w->sleeper_count++];
            make(w, o);
            (void)apply(w, o, w->base, &draft, &result);
        } else if (fate == 1 && w->sleeper_count == SLEEPERS) {
            w->late += SLEEPERS;
            for (uint32_t s = 0; s < SLEEPERS; s++)
                once(w, &w->sleepers[s]);
            w->sleeper_count = 0;
        } else {
            make(w, &now);
            once(w, &now);
        }
    }
}

static void count_up(const walk *w)
{
    for (uint32_t k = 0; k < INTENT_KINDS; k++)
        total[k] += w->kinds[k];
    total[8] += w->late;
    total[9] += w->fenced;
    total[10] += w->reused;
    total[11] += w->trims;
    total[12] += w->emptied;
    total[13] += w->moved;
    total[14] += w->folds;
    total[15] += w->merges;
}

static void walk_of(uint64_t seed, uint32_t moves, bool endless)
{
    static walk w;
    producer_entry none[1];
    memset(&w, 0, sizeof w);
    w.endless = endless;
    w.steps = mem_array(STEPS_MAX, sizeof *w.steps);
    w.sleepers = mem_array(SLEEPERS, sizeof *w.sleepers);
    assert_true(w.steps != NULL && w.sleepers != NULL);
    const manifest first = base_of(none, 0);
    manifest draft;
    const intent_aid aid = aid_of();
    manifest_succeed(&first, &bases_genesis, NULL, &aid, &draft);
    w.base = next_of(&draft, &first);
    go(&w, seed, moves);
    count_up(&w);
    manifest_unref(w.base);
    if (w.has_page)
        page_free(&w.page);
    for (uint32_t k = 0; k < w.page_count; k++)
        buf_free(&w.pages[k]);
    mem_free(w.steps);
    mem_free(w.sleepers);
}

/* BATCHWEAVE_WALKS: how many, instead of the usual number. */
static void random_walks(void **state)
{
    (void)state;
    const char *wanted = getenv("BATCHWEAVE_WALKS");
    const uint64_t walks = wanted != NULL ? strtoull(wanted, NULL, 10) : 3000;
    bases_genesis.tail_cap = 512;
    bases_genesis.page_min = 1;
    for (uint64_t seed = 1; seed <= walks; seed++)
        walk_of(seed, 160, false);
    static const char *const names[16] = {
        "open", "publish", "seal",   "launch", "pin",     "group rm", "forget", "swept",
        "late", "fenced",  "reused", "trims",  "emptied", "moved",    "folds",  "merges"};
    for (uint32_t k = 0; k < 16; k++)
        print_message("%s %llu\n", names[k], (unsigned long long)total[k]);
    for (uint32_t k = 0; k < 15; k++)
        assert_true(total[k] > 0); /* it all happened */
}

/* A long one reaches indexes of the next level. */
static void a_long_walk(void **state)
{
    (void)state;
    bases_genesis.tail_cap = 64;
    bases_genesis.page_min = 2;
    walk_of(7, 4000, true);
    print_message("merges %llu\n", (unsigned long long)total[15]);
    assert_true(total[15] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_walks),
        cmocka_unit_test(a_long_walk),
    };
    return cmocka_run_group_tests_name("intent_walk", tests, bases_begin, bases_end);
}
