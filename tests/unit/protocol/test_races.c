// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * A small simulator: producers (two ids, several incarnations), readers and sweepers race over a
 * network that delays, loses replies, applies writes late and twice; actors freeze and are killed.
 * Everything follows from a seed.
 *
 * Checked all the way: two proved manifests of one version are the same (G2), equal `next` means
 * equal sum. Checked at the end: what was acknowledged is at the step that was told (G4), what
 * failed definitely is nowhere (G5), ranges tile (G3), and once faults stop everybody gets through
 * (G11).
 */
#include "world.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTORS 6u
#define ITEMS_IN_FLIGHT 256u
#define LATE_WRITES 64u
#define VERSIONS 4096u
#define FATES 16384u

typedef enum role { ROLE_PRODUCER, ROLE_READER, ROLE_SWEEPER } role;

typedef struct player {
    role role;
    bool alive, opened, reads;
    uint32_t life; /* replies to an earlier life are not delivered */
    uint32_t frozen_until;
    actor actor;  /* producer */
    chain *chain; /* reader, sweeper */
    sweep *sweep;
} player;

typedef struct item {
    bool used, applied, deliverable;
    uint32_t player, life;
    uint32_t not_before;
    machine_request request;
    uint8_t *bytes;
    object_key *keys;
    machine_reply reply;
    store_list list;
} item;

/* What became of a descriptor, by its nonce. */
typedef struct fate {
    uint64_t nonce;
    bool acknowledged;
    uint64_t step;
} fate;

typedef struct sim {
    world w;
    rng r;
    uint32_t now;
    bool faults;
    player players[ACTORS];
    item items[ITEMS_IN_FLIGHT];
    late_write late[LATE_WRITES];
    uint32_t late_count;
    hash128 proved[VERSIONS];
    hash128 sums[VERSIONS];
    bool has_proved[VERSIONS], has_sum[VERSIONS];
    fate fates[FATES];
    uint32_t fate_count;
    uint64_t ghosts, reopens, kills, commits, witness, lost_replies, retired;
} sim;

static bool chance(sim *s, uint32_t per_mille)
{
    return rng_below(&s->r, 1000) < per_mille;
}

/* ---- machines ---- */

static machine machine_of(player *p)
{
    if (p->role == ROLE_PRODUCER)
        return (machine){&commit_machine, p->actor.commit};
    if (p->role == ROLE_READER)
        return (machine){&chain_machine, p->chain};
    return (machine){&sweep_machine, p->sweep};
}

static chain *chain_of(player *p)
{
    return p->role == ROLE_PRODUCER ? p->actor.chain : p->chain;
}

static void be_born(sim *s, player *p)
{
    static const char *const ids[] = {"p0", "p1"};
    const uint32_t index = (uint32_t)(p - s->players);
    const sweep_options options = {.apply = true,
                                   .backoff_min_ns = NS_PER_MS,
                                   .backoff_max_ns = 10 * NS_PER_MS,
                                   .seed = ++s->w.seed};
    p->alive = true;
    p->opened = p->reads = false;
    p->life++;
    p->frozen_until = 0;
    if (p->role == ROLE_PRODUCER) {
        actor_start(&p->actor, &s->w, ids[index % 2]);
        return;
    }
    assert_int_equal(chain_new(++s->w.seed, NULL, &p->chain), BW_OK);
    if (p->role == ROLE_SWEEPER)
        assert_int_equal(sweep_new(p->chain, &options, &p->sweep), BW_OK);
}

static void count_up(sim *s, player *p)
{
    const chain_counts *c = chain_counted(chain_of(p));
    s->ghosts += c->ghosts_met;
    s->reopens += c->reopens;
    if (p->role == ROLE_PRODUCER) {
        const commit_counts *n = commit_counted(p->actor.commit);
        s->witness += n->witness_made + n->witness_lost + n->witness_fenced;
        s->lost_replies += n->exists_ours;
    }
}

static void die(sim *s, player *p)
{
    count_up(s, p);
    p->alive = false;
    if (p->role == ROLE_PRODUCER)
        actor_stop(&p->actor);
    if (p->role == ROLE_SWEEPER)
        sweep_free(p->sweep);
    if (p->role != ROLE_PRODUCER)
        chain_free(p->chain);
}

/* ---- what must hold ---- */

static void see_proved(sim *s, const manifest *m)
{
    if (m == NULL)
        return;
    assert_true(m->version < VERSIONS && m->next < VERSIONS);
    if (s->has_proved[m->version])
        assert_memory_equal(&s->proved[m->version], &m->hash, sizeof m->hash);
    if (s->has_sum[m->next])
        assert_memory_equal(&s->sums[m->next], &m->sum, sizeof m->sum);
    s->has_proved[m->version] = s->has_sum[m->next] = true;
    s->proved[m->version] = m->hash;
    s->sums[m->next] = m->sum;
}

static void note(sim *s, const descriptor *d, bool acknowledged, uint64_t step)
{
    assert_true(s->fate_count < FATES);
    s->fates[s->fate_count++] =
        (fate){.nonce = d->record.nonce, .acknowledged = acknowledged, .step = step};
}

static void publish_ended(sim *s, player *p, const commit_report *r)
{
    actor *a = &p->actor;
    if (r->end == COMMIT_DONE) {
        assert_int_equal(r->result.already, 0);
        for (uint32_t k = 0; k < r->result.published; k++)
            note(s, &a->batch[k], true, r->result.first_step + k);
        for (uint32_t k = r->result.published; k < a->intent.publish.count; k++)
            note(s, &a->batch[k], false, 0);
        s->commits++;
    } else if (!r->open_unknown) {
        for (uint32_t k = 0; k < a->intent.publish.count; k++)
            note(s, &a->batch[k], false, 0);
    }
}

static void producer_ended(sim *s, player *p)
{
    const commit_report *r = actor_report(&p->actor);
    assert_true(r->end != COMMIT_RUNNING);
    assert_true(r->status != BW_BUG && r->status != BW_STORE_UNSAFE &&
                r->status != BW_CHAIN_BLOCKED && r->status != BW_CORRUPT);
    assert_true(!r->open_unknown || r->status == BW_FENCED);
    if (p->actor.intent.kind == INTENT_PUBLISH)
        publish_ended(s, p, r);
    else if (r->end == COMMIT_DONE)
        p->opened = true;
    actor_settle(&p->actor);
    if (r->status == BW_FENCED)
        die(s, p);
}

static void ended(sim *s, player *p)
{
    see_proved(s, chain_held(chain_of(p)));
    if (p->role == ROLE_PRODUCER) {
        producer_ended(s, p);
    } else if (p->role == ROLE_READER) {
        const bw_status status = chain_result(p->chain, NULL);
        assert_true(status == BW_OK || status == BW_IO);
        p->opened |= status == BW_OK;
    } else {
        const sweep_report *report = sweep_reported(p->sweep);
        assert_true(report->status == BW_OK || report->status == BW_IO ||
                    report->status == BW_UNKNOWN);
        s->retired += report->blocks_retired;
    }
}

/* ---- the network ---- */

static void send(sim *s, uint32_t from, const machine_request *request)
{
    uint32_t i = 0;
    while (i < ITEMS_IN_FLIGHT && s->items[i].used)
        i++;
    assert_true(i < ITEMS_IN_FLIGHT);
    item *t = &s->items[i];
    *t = (item){.used = true,
                .deliverable = true,
                .player = from,
                .life = s->players[from].life,
                .not_before = s->now,
                .request = *request};
    if (request->size > 0) {
        t->bytes = mem_dup(request->bytes, request->size);
        assert_non_null(t->bytes);
        t->request.bytes = t->bytes;
    }
    if (request->key_count > 0) {
        t->keys = mem_dup(request->keys, request->key_count * sizeof *t->keys);
        assert_non_null(t->keys);
        t->request.keys = t->keys;
    }
    if (s->faults && chance(s, request->kind == STORE_CREATE ? 50 : 2))
        t->not_before += (uint32_t)rng_below(&s->r, 2000);
}

static void drop(item *t)
{
    mem_free(t->bytes);
    mem_free(t->keys);
    mem_free(t->reply.bytes);
    store_list_free(&t->list);
    *t = (item){0};
}

static void keep_late(sim *s, const item *t)
{
    if (t->request.kind != STORE_CREATE || s->late_count == LATE_WRITES)
        return;
    late_write *late = &s->late[s->late_count++];
    late->request = t->request;
    late->bytes = mem_dup(t->bytes, t->request.size);
    assert_non_null(late->bytes);
    late->request.bytes = late->bytes;
}

static void apply(sim *s, item *t)
{
    if (t->request.kind == STORE_LIST)
        world_list(&s->w, &t->request, &t->reply, &t->list);
    else
        world_execute(&s->w, &t->request, &t->reply);
    t->applied = true;
}

/* Lies that the store may tell about what it did. */
static void distort(sim *s, item *t)
{
    const bool creates = t->request.kind == STORE_CREATE;
    if (!s->faults || !chance(s, 30))
        return;
    if (creates && !t->applied && chance(s, 300)) {
        t->reply.outcome = STORE_RETRY; /* nothing landed, and nothing will */
        t->applied = true;
        return;
    }
    if (chance(s, 500))
        keep_late(s, t);
    if (!t->applied && chance(s, 500)) {
        apply(s, t);
    } else if (!t->applied && creates) {
        keep_late(s, t);
    }
    t->applied = true;
    t->reply.outcome = creates ? STORE_UNKNOWN : STORE_RETRY;
}

static void progress(sim *s, item *t)
{
    player *p = &s->players[t->player];
    const bool known = p->alive && p->life == t->life && t->deliverable;
    distort(s, t);
    if (!t->applied) {
        apply(s, t);
        if (known && s->faults && chance(s, 200)) {
            t->not_before = s->now + (uint32_t)rng_below(&s->r, 100);
            return;
        }
    }
    if (known && p->frozen_until > s->now)
        return; /* it waits for the process to thaw */
    if (known) {
        const machine m = machine_of(p);
        t->reply.id = t->request.id;
        m.type->reply(m.self, s->w.now_ns, &t->reply);
        if (!m.type->running(m.self))
            ended(s, p);
    }
    drop(t);
}

/* ---- the schedule ---- */

static void begin(sim *s, player *p)
{
    if (p->role == ROLE_PRODUCER && !p->opened)
        actor_begin_open(&p->actor, false);
    else if (p->role == ROLE_PRODUCER)
        actor_begin_publish(&p->actor, 1 + (uint32_t)rng_below(&s->r, 3), false);
    else if (p->role == ROLE_READER)
        chain_start(p->chain,
                    !p->opened       ? CHAIN_OPEN
                    : chance(s, 500) ? CHAIN_POLL
                                     : CHAIN_NEWEST,
                    s->w.now_ns);
    else
        sweep_start(p->sweep, s->w.now_ns, s->w.now_ns + NS_PER_S);
}

static void act(sim *s, uint32_t index)
{
    player *p = &s->players[index];
    if (!p->alive) {
        /* The second incarnations of the two ids are rare: each fences the first. */
        const bool rival = p->role == ROLE_PRODUCER && index >= 2;
        if (chance(s, rival ? 4 : 50))
            be_born(s, p);
        return;
    }
    if (p->frozen_until > s->now)
        return;
    const machine m = machine_of(p);
    machine_request request;
    if (!m.type->running(m.self)) {
        begin(s, p);
        if (!m.type->running(m.self))
            ended(s, p); /* decided without asking anybody */
        return;
    }
    if (m.type->next(m.self, &request))
        send(s, index, &request);
    else if (m.type->due(m.self) <= s->w.now_ns)
        m.type->tick(m.self, s->w.now_ns);
}

static void disturb(sim *s)
{
    player *p = &s->players[rng_below(&s->r, ACTORS)];
    if (chance(s, 1))
        p->frozen_until = s->now + (uint32_t)rng_below(&s->r, 2500);
    if (chance(s, 1) && p->alive) {
        s->kills++;
        die(s, p);
    }
    if (s->late_count > 0 && chance(s, 20)) {
        late_write *late = &s->late[rng_below(&s->r, s->late_count)];
        (void)world_apply_late(&s->w, late);
    }
}

static void step(sim *s)
{
    s->now++;
    s->w.now_ns += (int64_t)rng_below(&s->r, 2 * NS_PER_MS);
    if (s->faults)
        disturb(s);
    for (uint32_t k = 0; k < 3; k++)
        act(s, (uint32_t)rng_below(&s->r, ACTORS));
    for (uint32_t k = 0; k < ITEMS_IN_FLIGHT; k++) {
        item *t = &s->items[k];
        if (t->used && t->not_before <= s->now && chance(s, 400))
            progress(s, t);
    }
}

static void check_fates(sim *s)
{
    chain *c = world_chain(&s->w);
    const manifest *m = chain_held(c);
    uint64_t *nonces = world_nonces(&s->w, m);
    for (uint32_t i = 0; i < s->fate_count; i++) {
        uint64_t at = 0;
        while (at < m->next && nonces[at] != s->fates[i].nonce)
            at++;
        assert_int_equal(at < m->next, s->fates[i].acknowledged);
        if (at < m->next)
            assert_int_equal(at, s->fates[i].step);
    }
    mem_free(nonces);
    chain_free(c);
}

/* Runs until every producer id has published some more, which must happen soon when there are no
 * faults. */
static void settle(sim *s)
{
    s->faults = false;
    for (uint32_t i = 0; i < ACTORS; i++)
        s->players[i].frozen_until = 0;
    const uint64_t goal = s->commits + 10;
    for (uint32_t k = 0; s->commits < goal; k++) {
        assert_true(k < 20000);
        step(s);
    }
}

static void play(uint64_t seed, uint32_t steps, sim *total)
{
    sim *s = mem_zalloc(sizeof *s);
    assert_non_null(s);
    rng_seed(&s->r, seed);
    const uint32_t cap = chance(s, 500) ? 256 : 4096;
    world_open(&s->w, &(world_options){.block_size = chance(s, 500) ? 2 : 4, .tail_cap = cap});
    s->w.seed = seed << 20;
    s->w.conflict_retries = (uint32_t)rng_below(&s->r, 3);
    s->w.patience_ns = chance(s, 500) ? 0 : 50 * NS_PER_MS;
    s->faults = true;
    for (uint32_t i = 0; i < ACTORS; i++) {
        s->players[i].role = i < 4 ? ROLE_PRODUCER : i == 4 ? ROLE_READER : ROLE_SWEEPER;
        be_born(s, &s->players[i]);
    }
    for (uint32_t k = 0; k < steps; k++)
        step(s);
    settle(s);
    (void)world_check(&s->w);
    check_fates(s);
    for (uint32_t i = 0; i < ACTORS; i++)
        if (s->players[i].alive)
            die(s, &s->players[i]);
    for (uint32_t i = 0; i < ITEMS_IN_FLIGHT; i++)
        if (s->items[i].used)
            drop(&s->items[i]);
    for (uint32_t i = 0; i < s->late_count; i++)
        late_free(&s->late[i]);
    world_close(&s->w);
    total->ghosts += s->ghosts;
    total->reopens += s->reopens;
    total->kills += s->kills;
    total->commits += s->commits;
    total->witness += s->witness;
    total->lost_replies += s->lost_replies;
    total->retired += s->retired;
    mem_free(s);
}

/* BW_RACES_SEED runs one seed, BW_RACES_COUNT more of them. */
static void races_end_well(void **state)
{
    (void)state;
    sim *total = mem_zalloc(sizeof *total);
    assert_non_null(total);
    const char *one = getenv("BW_RACES_SEED"), *count = getenv("BW_RACES_COUNT");
    const uint64_t first = one != NULL ? strtoull(one, NULL, 10) : 1;
    const uint64_t seeds = one != NULL ? 1 : count != NULL ? strtoull(count, NULL, 10) : 60;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        print_message("seed %" PRIu64 "\n", seed);
        play(seed, 8000, total);
    }
    print_message("%" PRIu64 " commits, %" PRIu64 " kills, %" PRIu64 " blocks retired, %" PRIu64
                  " ghosts, %" PRIu64 " reopens, %" PRIu64 " witnesses, %" PRIu64 " lost replies\n",
                  total->commits, total->kills, total->retired, total->ghosts, total->reopens,
                  total->witness, total->lost_replies);
    if (one == NULL) {
        assert_true(total->kills > 0 && total->retired > 0 && total->ghosts > 0);
        assert_true(total->witness > 0 && total->lost_replies > 0);
    }
    mem_free(total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(races_end_well),
    };
    return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
