// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Two sweepers, three producers and a trainer on one namespace, request by request in any order:
 * answers are lost, requests come late or twice, anybody dies. After every few requests nothing
 * that can be reached is gone; in the end nothing else is left. */
#include "retained.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "protocol/reclaim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 100u /* each a life; BATCHWEAVE_LIVES asks for more */
#define EVENTS 9000u
#define PRODUCERS 3u
#define SWEEPERS 2u
#define HANDS (PRODUCERS + SWEEPERS + 1u)
#define TRAINER (PRODUCERS + SWEEPERS)
#define LATE_MAX 64u
#define WANTED_MAX 4u

/** Who has a machine, and the request of it that is on its way. */
typedef struct hand {
    const machine_type *type;
    void *self;
    bool sent;
    errand errand;
    uint32_t pace; /* of 8 */
} hand;

/** A pin that the trainer was told is there. */
typedef struct kept {
    char id[16];
    uint64_t nonce, step;
} kept;

typedef struct life {
    world w;
    rng dice;
    bool calm;
    hand hands[HANDS];
    actor producers[PRODUCERS], trainer;
    state_ref refs[PRODUCERS][64];
    bool opened[PRODUCERS], finished[PRODUCERS];
    uint32_t names; /* producers' ids so far */
    chain *chains[SWEEPERS];
    reclaim *sweepers[SWEEPERS];
    errand late[LATE_MAX];
    uint32_t late_count;

    bool launched;
    uint32_t launches, pins;
    char launch[16];
    cursor start;
    kept kept[WANTED_MAX], wanted;
    uint32_t kept_count;
    pin pin;
    pin_key gone;
    intent_kind asked;
} life;

/* What the lives saw, all together. */
static struct {
    uint64_t passes, overtaken, steps, segments, moved, orphans, blocks, fenced, kills, late;
} total;

static bool one_in(life *l, uint64_t n)
{
    return !l->calm && rng_below(&l->dice, n) == 0;
}

/* ---- producers ---- */

static void producer_born(life *l, uint32_t k, bool anew)
{
    char id[NAME_MAX_BYTES + 1];
    if (anew)
        (void)snprintf(id, sizeof id, "p%u", l->names++);
    else
        (void)snprintf(id, sizeof id, "%s", l->producers[k].id);
    if (l->hands[k].self != NULL)
        actor_stop(&l->producers[k]);
    actor_start(&l->producers[k], &l->w, id);
    l->opened[k] = l->finished[k] = false;
    l->hands[k].type = &commit_machine;
    l->hands[k].self = l->producers[k].commit;
}

static void producer_begins(life *l, uint32_t k)
{
    actor *a = &l->producers[k];
    if (l->finished[k])
        producer_born(l, k, one_in(l, 2));
    if (!l->opened[k]) {
        actor_begin_open(a, true);
        return;
    }
    const bool finish = one_in(l, 6);
    retained_begin_publish(a, 1 + (uint32_t)rng_below(&l->dice, 4), finish, l->refs[k]);
}

static void producer_ended(life *l, uint32_t k)
{
    actor *a = &l->producers[k];
    const commit_report *r = actor_report(a);
    if (r->end != COMMIT_DONE)
        fail_msg("producer %s: end %d: %s: %s", a->id, (int)r->end, bw_status_name(r->status),
                 r->error.message);
    const bool published = a->intent.kind == INTENT_PUBLISH;
    const bool whole = r->result.already + r->result.published == a->intent.publish.count;
    actor_settle(a);
    l->opened[k] = true;
    l->finished[k] = published && a->intent.publish.finish && whole;
}

/* ---- the trainer ---- */

static void trainer_asks(life *l, const intent *i)
{
    l->asked = i->kind;
    actor_begin_intent(&l->trainer, i);
}

static void launch(life *l)
{
    const bool resumes = l->kept_count > 0;
    (void)snprintf(l->launch, sizeof l->launch, "l%u", ++l->launches);
    l->start = (cursor){.dp = 1};
    if (resumes)
        l->start.step = l->kept[rng_below(&l->dice, l->kept_count)].step;
    trainer_asks(l, &(intent){.kind = INTENT_LAUNCH,
                              .launch = {.name = view_text("g"),
                                         .launch = view_text(l->launch),
                                         .start = resumes ? LAUNCH_CURSOR : LAUNCH_GROUP,
                                         .cursor = &l->start}});
}

/* From here on it may be gone. */
static void give_back(life *l, intent *i)
{
    const uint32_t at = (uint32_t)rng_below(&l->dice, l->kept_count);
    static char id[16];
    memcpy(id, l->kept[at].id, sizeof id);
    l->gone = (pin_key){.id = view_text(id), .nonce = l->kept[at].nonce};
    l->kept[at] = l->kept[--l->kept_count];
    i->pin.releases = &l->gone;
    i->pin.release_count = 1;
}

static void trainer_begins(life *l)
{
    if (!l->launched || one_in(l, 12)) {
        launch(l);
        return;
    }
    if (one_in(l, 40)) {
        l->kept_count = 0;
        trainer_asks(
            l, &(intent){.kind = INTENT_GROUP_RM,
                         .group_rm = {.name = view_text("g"), .launch = view_text(l->launch)}});
        return;
    }
    const manifest *m = chain_held(l->trainer.chain);
    intent i = {.kind = INTENT_PIN,
                .pin = {.group = view_text("g"), .launch = view_text(l->launch)}};
    if (l->kept_count == WANTED_MAX || (l->kept_count > 0 && one_in(l, 3)))
        give_back(l, &i);
    if (l->kept_count < WANTED_MAX && (i.pin.release_count == 0 || !one_in(l, 3))) {
        const uint64_t low = m->trim + (m->next - m->trim) / 2;
        l->wanted.nonce = ++l->pins;
        l->wanted.step = low + rng_below(&l->dice, m->next - low + 1);
        (void)snprintf(l->wanted.id, sizeof l->wanted.id, "c%u", l->pins % 7);
        for (uint32_t k = 0; k < l->kept_count; k++)
            if (strcmp(l->kept[k].id, l->wanted.id) == 0)
                (void)snprintf(l->wanted.id, sizeof l->wanted.id, "c%u", 10 + l->pins);
        l->pin =
            (pin){.id = view_text(l->wanted.id), .nonce = l->wanted.nonce, .step = l->wanted.step};
        i.pin.pin = &l->pin;
    }
    trainer_asks(l, &i);
}

/* A trainer that died knows its checkpoints, and nothing of the call that it died in. */
static void trainer_forgets(life *l)
{
    l->launched = false;
}

static void trainer_ended(life *l)
{
    const commit_report *r = actor_report(&l->trainer);
    if (r->end == COMMIT_DONE) {
        l->launched = l->asked != INTENT_GROUP_RM;
        if (l->asked == INTENT_PIN && l->trainer.intent.pin.pin != NULL)
            l->kept[l->kept_count++] = l->wanted;
        return;
    }
    /* In doubt: a new launch sorts it out. Trimmed: the step lay below what others keep. */
    if (r->status != BW_UNKNOWN && r->status != BW_TRIMMED && r->status != BW_PIN_EXISTS &&
        r->status != BW_GROUP_GONE && r->status != BW_FENCED)
        fail_msg("trainer: end %d: %s: %s", (int)r->end, bw_status_name(r->status),
                 r->error.message);
    trainer_forgets(l);
}

/* ---- sweepers ---- */

static void sweeper_born(life *l, uint32_t k)
{
    static const uint64_t most[] = {0, 0, 1, 3, 9};
    const reclaim_options options = {.apply = true,
                                     .orphans = true,
                                     .steps_max = l->calm ? 0 : most[rng_below(&l->dice, 5)],
                                     .backoff_min_ns = NS_PER_MS,
                                     .backoff_max_ns = NS_PER_MS,
                                     .cache_bytes = rng_below(&l->dice, 2) ? 1 << 16 : 600,
                                     .seed = ++l->w.seed};
    reclaim_free(l->sweepers[k]);
    chain_free(l->chains[k]);
    assert_int_equal(chain_new(++l->w.seed, NULL, &l->chains[k]), BW_OK);
    assert_int_equal(reclaim_new(l->chains[k], &options, &l->sweepers[k]), BW_OK);
    l->hands[PRODUCERS + k].type = &reclaim_machine;
    l->hands[PRODUCERS + k].self = l->sweepers[k];
}

static void sweeper_ended(life *l, uint32_t k)
{
    const reclaim_report *r = reclaim_reported(l->sweepers[k]);
    if (r->status != BW_OK)
        fail_msg("sweeper: %s: %s", bw_status_name(r->status), r->error.message);
    total.passes++;
    total.overtaken += r->overtaken;
    total.fenced += r->steps > 0 && r->swept + r->steps != r->swept_to;
    total.steps += r->steps;
    total.segments += r->segments_deleted;
    total.moved += r->moved;
    total.orphans += r->orphans_deleted;
    total.blocks += r->manifests.blocks_retired;
}

/* ---- everybody ---- */

static void begins(life *l, uint32_t k)
{
    if (k < PRODUCERS)
        producer_begins(l, k);
    else if (k == TRAINER)
        trainer_begins(l);
    else
        reclaim_start(l->sweepers[k - PRODUCERS], l->w.now_ns, l->w.now_ns + 3600 * NS_PER_S);
}

static void ended(life *l, uint32_t k)
{
    if (k < PRODUCERS)
        producer_ended(l, k);
    else if (k == TRAINER)
        trainer_ended(l);
    else
        sweeper_ended(l, k - PRODUCERS);
}

static void comes_late(life *l, const errand *e)
{
    if (l->late_count == LATE_MAX)
        errand_drop(&l->late[--l->late_count]);
    l->late[l->late_count++] = *e;
}

static void dies(life *l, uint32_t k)
{
    hand *h = &l->hands[k];
    total.kills++;
    if (h->sent) {
        if (one_in(l, 2))
            errand_late(&l->w, &h->errand);
        comes_late(l, &h->errand);
        h->sent = false;
    }
    if (k < PRODUCERS) {
        producer_born(l, k, false);
    } else if (k == TRAINER) {
        actor_stop(&l->trainer);
        actor_start(&l->trainer, &l->w, "trainer");
        h->self = l->trainer.commit;
        trainer_forgets(l);
    } else {
        sweeper_born(l, k - PRODUCERS);
    }
}

/* The request happens, or does not, or twice, and is answered, or is not. */
static void happens(life *l, hand *h)
{
    machine_reply reply;
    store_list list = {0};
    errand e = h->errand;
    h->sent = false;
    const bool lost = one_in(l, 40), unheard = one_in(l, 40);
    if (one_in(l, 24))
        errand_late(&l->w, &e);
    if (lost || unheard) {
        if (unheard)
            errand_late(&l->w, &e);
        const bool doubt = e.request.kind == STORE_CREATE && (unheard || one_in(l, 2));
        reply = (machine_reply){
            .id = e.request.id, .outcome = doubt ? STORE_UNKNOWN : STORE_RETRY, .code = BW_IO};
    } else {
        errand_apply(&l->w, &e, &reply, &list);
    }
    errand_answer(&l->w, h->type, h->self, &reply);
    const bool writes = e.request.kind == STORE_CREATE || e.request.kind == STORE_PUT ||
                        e.request.kind == STORE_DELETE;
    if (writes && one_in(l, 12))
        comes_late(l, &e);
    else
        errand_drop(&e);
}

/* False: nothing left to do, in a calm world. */
static bool event(life *l, uint32_t k)
{
    hand *h = &l->hands[k];
    machine_request request;
    if (h->sent && one_in(l, 500)) {
        dies(l, k);
        return true;
    }
    if (h->sent) {
        happens(l, h);
    } else if (!h->type->running(h->self)) {
        if (l->calm)
            return false;
        begins(l, k);
    } else if (h->type->next(h->self, &request)) {
        errand_keep(&h->errand, &request);
        h->sent = true;
        /* A search asks by the dozen: not what this is about. */
        if (request.kind == STORE_HEAD)
            happens(l, h);
    } else {
        const int64_t due = h->type->due(h->self);
        assert_true(due != TIME_NEVER);
        l->w.now_ns = due > l->w.now_ns ? due : l->w.now_ns;
        h->type->tick(h->self, l->w.now_ns);
    }
    if (!h->sent && !h->type->running(h->self))
        ended(l, k);
    return true;
}

static void some_come_late(life *l)
{
    if (l->late_count == 0 || !one_in(l, 60))
        return;
    const uint32_t at = (uint32_t)rng_below(&l->dice, l->late_count);
    total.late++;
    errand_late(&l->w, &l->late[at]);
    if (one_in(l, 2)) {
        errand_drop(&l->late[at]);
        l->late[at] = l->late[--l->late_count];
    }
}

static void check(life *l)
{
    retained_whole(&l->w);
    chain *c = world_chain(&l->w);
    for (uint32_t k = 0; k < l->kept_count; k++)
        if (chain_held(c)->trim > l->kept[k].step)
            fail_msg("trim %llu passed pin %s at step %llu",
                     (unsigned long long)chain_held(c)->trim, l->kept[k].id,
                     (unsigned long long)l->kept[k].step);
    chain_free(c);
}

static void born(life *l, uint64_t seed)
{
    memset(l, 0, sizeof *l);
    rng_seed(&l->dice, seed);
    world_open(&l->w, &(world_options){.block_size = 4, .tail_cap = 256});
    l->w.seed = seed << 20;
    for (uint32_t k = 0; k < PRODUCERS; k++)
        producer_born(l, k, true);
    for (uint32_t k = 0; k < SWEEPERS; k++)
        sweeper_born(l, k);
    actor_start(&l->trainer, &l->w, "trainer");
    l->hands[TRAINER].type = &commit_machine;
    l->hands[TRAINER].self = l->trainer.commit;
    for (uint32_t k = 0; k < HANDS; k++)
        l->hands[k].pace = 1 + (uint32_t)rng_below(&l->dice, 8);
}

static void passes(life *l)
{
    for (uint32_t n = 0; n < 3; n++) {
        sweeper_born(l, 0);
        begins(l, PRODUCERS);
        assert_true(world_run(&l->w, &reclaim_machine, l->sweepers[0]));
        sweeper_ended(l, 0);
        retained_whole(&l->w);
    }
    retained_only(&l->w);
}

/* Faults stop, everybody ends what he began; the namespace is sealed, so that nothing is in
 * flight. */
static void ends(life *l)
{
    l->calm = true;
    for (uint32_t k = 0; k < HANDS; k++)
        while (event(l, k)) {
        }
    check(l);
    passes(l);
    actor seal;
    actor_start(&seal, &l->w, "seal");
    actor_begin_seal(&seal, true);
    assert_true(actor_drive(&seal));
    assert_int_equal(actor_report(&seal)->end, COMMIT_DONE);
    actor_stop(&seal);
    passes(l);
    for (uint32_t k = 0; k < l->late_count; k++) {
        errand_late(&l->w, &l->late[k]);
        errand_drop(&l->late[k]);
    }
    check(l);
    passes(l);
}

static void buried(life *l)
{
    for (uint32_t k = 0; k < SWEEPERS; k++) {
        reclaim_free(l->sweepers[k]);
        chain_free(l->chains[k]);
    }
    for (uint32_t k = 0; k < PRODUCERS; k++)
        actor_stop(&l->producers[k]);
    actor_stop(&l->trainer);
    world_close(&l->w);
}

static uint64_t asked(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void nothing_reachable_goes_and_nothing_else_stays(void **state)
{
    (void)state;
    const uint64_t first = asked("BATCHWEAVE_LIVES_FROM", 1);
    const uint64_t count = asked("BATCHWEAVE_LIVES", SEEDS);
    for (uint64_t seed = first; seed < first + count; seed++) {
        life *l = mem_zalloc(sizeof *l);
        assert_non_null(l);
        print_message("\rlife %llu", (unsigned long long)seed);
        born(l, seed);
        for (uint32_t n = 0; n < EVENTS; n++) {
            const uint32_t k = (uint32_t)rng_below(&l->dice, HANDS);
            if (rng_below(&l->dice, 8) < l->hands[k].pace)
                (void)event(l, k);
            some_come_late(l);
            if (n % 40 == 0)
                check(l);
        }
        ends(l);
        buried(l);
        mem_free(l);
    }
    print_message("\r%llu passes, %llu fenced, %llu overtaken; %llu steps, %llu segments, %llu "
                  "moved, %llu orphans, %llu blocks; %llu deaths, %llu late requests\n",
                  (unsigned long long)total.passes, (unsigned long long)total.fenced,
                  (unsigned long long)total.overtaken, (unsigned long long)total.steps,
                  (unsigned long long)total.segments, (unsigned long long)total.moved,
                  (unsigned long long)total.orphans, (unsigned long long)total.blocks,
                  (unsigned long long)total.kills, (unsigned long long)total.late);
    /* A world in which it does not happen proves nothing. */
    if (count >= SEEDS) {
        assert_true(total.fenced > 0 && total.overtaken > 0 && total.moved > 0);
        assert_true(total.steps > 0 && total.segments > 0 && total.orphans > 0 && total.blocks > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_reachable_goes_and_nothing_else_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
