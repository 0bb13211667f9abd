// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A training rank: follows the chain, looks steps up, reads its slices ahead, hands items out in
 * order, saves cursors; after a crash it goes on from a cursor, often an older one. */
#include "act.h"

#include "base/alloc.h"
#include "check.h"
#include "network.h"
#include "protocol/handout.h"
#include "protocol/launch.h"
#include "rank_cursor.h"
#include "tgb_maker.h"
#include "trainer.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLOTS_MAX 4u
#define CURSORS_KEPT 8u
#define ITEMS_MAX_HERE 2u
#define CACHE_BYTES 65536u
#define AGAIN_NS (10 * NS_PER_MS)
#define POLL_MAX_NS (60 * NS_PER_MS)
#define MISSES_MAX 6u
#define SEGMENT_READ 100u
#define NONCE_READ 200u

typedef enum slot_state {
    SLOT_FREE,
    SLOT_PLANNED,
    SLOT_PASSED, /* its tag is not wanted */
    SLOT_READING,
    SLOT_READY,
    SLOT_AGAIN
} slot_state;

typedef struct slot {
    slot_state state;
    uint64_t step;
    fetch_plan plan;
    object_key key;
    uint8_t *bytes;
    frame_item rows[ITEMS_MAX_HERE];
    uint32_t misses;
    uint64_t in_tail; /* version in whose tail it was found; 0: in a segment */
} slot;

typedef enum rank_phase { RANK_WALKS, RANK_STARTS, RANK_RUNS } rank_phase;

typedef struct rank {
    rank_phase phase;
    chain *chain;
    segment_cache *cache;
    handout *handout;
    slot slots[SLOTS_MAX]; /* a ring; the first is the cursor's step */
    uint32_t first, count;
    uint64_t plan_step;
    bool open, walking, reads_segment, begins, thinks, nonce_gone;
    bool behind;      /* the newest is yet to be found */
    const char *from; /* cursor that it goes on from */
    job *job;         /* it reads for; NULL: for nobody */
    uint64_t launch;
    segment_ref wanted;  /* scratch of a lookup */
    segment_ref reading; /* the segment that is being read */
    int64_t poll_ns, think_ns;
} rank;

/* What outlives a life: the training job's checkpoints. */
typedef struct checkpoints {
    char *json[CURSORS_KEPT];
    uint32_t count;
    uint64_t next; /* where the newest is written */
    bool ended;
    uint32_t slice;
    job *job;
} checkpoints;

static checkpoints *kept(const process *p)
{
    return p->keeps;
}

bool rank_ended(const process *p)
{
    return kept(p)->ended;
}

/* What it needs is gone: the rank starts anew, unless somebody promised to keep it. */
static void trimmed(process *p, rank *r, uint64_t step)
{
    if (r->phase == RANK_STARTS) {
        r->nonce_gone = check_trimmed(p, step);
        return;
    }
    const job *j = r->job;
    if (j != NULL && r->launch == j->launches && check_keeps(p->sim, j->name, j->launch, step))
        sim_violate(p->sim, "G7", "%s: step %" PRIu64 " is gone, its launch keeps it", p->name,
                    step);
    else if (check_trimmed(p, step))
        process_doom(p);
    kept(p)->count = 0;
}

static void begin_walk(process *p, rank *r, chain_goal goal)
{
    r->walking = true;
    chain_start(r->chain, goal, p->sim->now_ns);
    process_run(p, &chain_machine, r->chain, r->chain);
}

static const char *choose_cursor(process *p);

/* The cursor is told before the chain is opened: its version may be all that is needed. Now and
 * then the simulator writes one into it, or the way of another cursor, that must not be believed.
 */
static void resume_chain(process *p, rank *r)
{
    cursor c;
    resume_point at;
    bw_error error;
    r->from = choose_cursor(p);
    if (r->from == NULL || cursor_decode(view_text(r->from), &c, &error) != BW_OK)
        return;
    handout_resume_point(&c, &at);
    if (rng_below(&p->random, 4) == 0)
        at.version = rank_given_up(p, at.version);
    if (rng_below(&p->random, 8) == 0)
        rank_other_way(p, kept(p)->json[0], &at);
    chain_resume(r->chain, &at, r->cache);
    cursor_free(&c);
}

static void born(process *p)
{
    rank *r = sim_alloc(sizeof *r);
    p->state = r;
    r->job = kept(p)->ended ? NULL : kept(p)->job;
    if (chain_new(rng_u64(&p->random), NULL, &r->chain) != BW_OK ||
        segment_cache_new(CACHE_BYTES, &r->cache) != BW_OK)
        sim_defect("no memory");
    if (r->job == NULL)
        resume_chain(p, r);
    begin_walk(p, r, CHAIN_OPEN);
}

static void dead(process *p, bool killed)
{
    (void)killed;
    rank *r = p->state;
    job *j = r->job;
    if (j != NULL && r->launch > 0 && r->launch == j->launches) {
        if (kept(p)->ended)
            j->has_rank = false;
        else
            j->rank_died = true;
    }
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        mem_free(r->slots[i].bytes);
    handout_free(r->handout);
    segment_cache_free(r->cache);
    chain_free(r->chain);
    mem_free(r);
}

static void forget(process *p)
{
    for (uint32_t i = 0; i < CURSORS_KEPT; i++)
        mem_free(kept(p)->json[i]);
}

static slot *slot_at(rank *r, uint32_t i)
{
    return &r->slots[(r->first + i) % SLOTS_MAX];
}

/* ---- cursors ---- */

/* The best is the one in whose tail the next step stands; any other must do no harm. */
static uint64_t version_of(process *p, rank *r)
{
    const uint64_t held = chain_held(r->chain)->version, known = slot_at(r, 0)->in_tail;
    const uint64_t dice = rng_below(&p->random, 8);
    if (dice == 0)
        return 1 + rng_below(&p->random, 2 * held);
    return dice > 1 && r->count > 0 && known > 0 ? known : held;
}

static void save_cursor(process *p, rank *r)
{
    checkpoints *c = kept(p);
    cursor at;
    buf json;
    buf_init(&json, 1u << 12);
    if (handout_cursor(r->handout, version_of(p, r), &at) != BW_OK)
        sim_defect("a cursor that cannot be");
    if (at.version == chain_held(r->chain)->version)
        handout_way(chain_held(r->chain), r->cache, &at);
    if (cursor_encode(&at, &json) != BW_OK)
        sim_defect("a cursor that cannot be");
    check_cursor(p, at.step, at.item);
    char **text = &c->json[c->next++ % CURSORS_KEPT];
    mem_free(*text);
    *text = mem_strdup(buf_text(&json));
    if (c->count < CURSORS_KEPT)
        c->count++;
    buf_free(&json);
    cursor_free(&at);
}

/* One start for all ranks of a job. False: its launch is not at hand. */
static bool join_launch(process *p, rank *r)
{
    job *j = r->job;
    uint64_t step;
    uint32_t item;
    bw_error error;
    const manifest *m = chain_held(r->chain);
    if (j->launches == 0 || j->rank_died || m->version < j->launch_version)
        return false;
    const group *g = manifest_group(m, view_text(j->name));
    if (g == NULL || !view_equal(g->launch, view_text(j->launch)))
        return false;
    const bool given = j->how == LAUNCH_CURSOR || j->how == LAUNCH_TIP;
    const bw_status status =
        launch_take(g, j->how, given ? &j->given : &j->start, &step, &item, &error);
    if (status == BW_OK && (step != j->start.step || item != j->start.item))
        sim_violate(p->sim, "G2",
                    "%s takes step %" PRIu64 ", item %u from launch %s, not %" PRIu64 ", %u",
                    p->name, step, item, j->launch, j->start.step, j->start.item);
    else if (status != BW_OK && status != BW_LAUNCH_REUSED && status != BW_RANKS_DISAGREE)
        sim_violate(p->sim, "G2", "%s: %s", p->name, error.message);
    /* Where in a step it began only the pin tells that it was resumed from, and that may be gone.
     */
    else if (status == BW_RANKS_DISAGREE && !g->pinned && (given || j->start.item == 0))
        sim_violate(p->sim, "G2", "%s: %s", p->name, error.message);
    r->launch = j->launches;
    return !p->sim->violated;
}

/* The newest one, or after a loss an older one. */
static const char *choose_cursor(process *p)
{
    checkpoints *c = kept(p);
    if (c->count == 0)
        return NULL;
    uint64_t back = 0;
    if (rng_below(&p->random, 2) == 0) {
        back = rng_below(&p->random, c->count);
        MARK_IF(p->sim, ROLLBACK, back > 0);
        p->sim->history->rollbacks += back > 0;
    }
    c->next -= back; /* what was saved after it is forgotten */
    c->count -= (uint32_t)back;
    return c->json[(c->next - 1) % CURSORS_KEPT];
}

static uint64_t first_unskipped(const sim *s, uint64_t step)
{
    return step == 0 ? check_next_step(s, UINT64_MAX) : check_next_step(s, step - 1);
}

static void resume(process *p, rank *r, const char *json)
{
    cursor c;
    bw_error error;
    if (cursor_decode(view_text(json), &c, &error) != BW_OK) {
        sim_violate(p->sim, "I11", "%s: a cursor that was saved cannot be read: %s", p->name,
                    error.message);
        return;
    }
    const bw_status status = handout_resume(r->handout, chain_held(r->chain), &c, &error);
    if (status == BW_TRIMMED)
        trimmed(p, r, c.item > 0 ? c.step : first_unskipped(p->sim, c.step));
    else if (status != BW_OK)
        sim_violate(p->sim, "I11", "%s cannot go on from step %" PRIu64 ": %s", p->name, c.step,
                    error.message);
    else if (handout_step(r->handout) != (c.item > 0 ? c.step : first_unskipped(p->sim, c.step)) ||
             handout_item(r->handout) != c.item)
        sim_violate(p->sim, "I11", "%s goes on at step %" PRIu64 ", its cursor says %" PRIu64,
                    p->name, handout_step(r->handout), c.step);
    MARK_IF(p->sim, ROLLBACK_MID_STEP, c.item > 0);
    story(p->sim, p, "goes on from step %" PRIu64 ", item %u", c.step, c.item);
    cursor_free(&c);
}

static void start(process *p, rank *r)
{
    sim *s = p->sim;
    bw_error error;
    const manifest *m = chain_held(r->chain);
    const uint32_t slice = kept(p)->slice;
    const position at = {slice / s->genesis.cp, slice % s->genesis.cp};
    if (handout_new(chain_genesis(r->chain), at, s->genesis.dp, MODE_SAME_BATCH, &r->handout,
                    &error) != BW_OK) {
        sim_violate(s, "I9", "%s: %s", p->name, error.message);
        return;
    }
    const char *json = r->from;
    MARK_IF(s, RANK_LATE, json == NULL && m->next > 50);
    buf first;
    buf_init(&first, 1u << 12);
    if (r->job != NULL) {
        rank_job_cursor(p->sim, r->job, &first);
        json = buf_text(&first);
    } else if (json == NULL && (s->plan.skip_count > 0 || s->plan.tagged)) {
        rank_first_cursor(p->sim, chain_held(r->chain), &first);
        json = buf_text(&first);
    }
    if (json != NULL)
        resume(p, r, json);
    else if (handout_start(r->handout, m, START_EARLIEST, 0, &error) != BW_OK)
        sim_violate(s, "I11", "%s cannot start: %s", p->name, error.message);
    buf_free(&first);
    r->plan_step = handout_reading(r->handout);
    r->begins = true;
    r->behind = !chain_is_newest(r->chain) && !s->plan.polls_only;
    r->phase = RANK_STARTS;
    p->moved = true;
}

/* ---- steps ---- */

static void read_segment(process *p, rank *r)
{
    if (r->reads_segment)
        return;
    object_key key;
    r->reads_segment = true;
    r->reading = r->wanted;
    segment_ref_key(&r->reading, &key);
    MARK_IF(p->sim, RANK_SEGMENT, r->wanted.level == 0);
    MARK_IF(p->sim, RANK_INDEX, r->wanted.level > 0);
    const machine_request request = {.id = SEGMENT_READ, .kind = STORE_GET, .key = key};
    network_send(p, &request, true, 0, 0);
}

/* False: not now. */
static bool look_up(process *p, rank *r, uint64_t step, descriptor *d)
{
    switch (lookup_step(chain_held(r->chain), r->cache, step, d, &r->wanted)) {
    case LOOKUP_FOUND:
        return true;
    case LOOKUP_NEED:
        read_segment(p, r);
        return false;
    case LOOKUP_BEYOND:
        return false;
    default:
        trimmed(p, r, step);
        return false;
    }
}

static void read_slice(process *p, rank *r, slot *at)
{
    at->state = SLOT_READING;
    const machine_request request = {
        .id = (uint32_t)(at - r->slots), .kind = STORE_READ, .key = at->key};
    network_send(p, &request, true, at->plan.where.offset, at->plan.where.bytes);
}

static bool plan(process *p, rank *r, slot *at)
{
    descriptor d;
    bw_error error;
    if (!look_up(p, r, at->step, &d))
        return false;
    const manifest *m = chain_held(r->chain);
    at->in_tail = at->step >= manifest_tail_first(m) ? m->version : 0;
    if (handout_passes(r->handout, at->step, d.shape.tag)) {
        MARK(p->sim, STEP_PASSED);
        at->state = SLOT_PASSED;
        return true;
    }
    if (handout_plan(r->handout, at->step, 0, &d, &at->plan, &error) != BW_OK ||
        at->plan.needs_footer) {
        sim_violate(p->sim, "I11", "%s cannot read step %" PRIu64 ": %s", p->name, at->step,
                    error.message);
        return false;
    }
    key_part(&at->key, at->plan.id, at->plan.record.epoch, at->plan.record.seq,
             at->plan.record.nonce, at->plan.where.part);
    read_slice(p, r, at);
    return true;
}

static void leave_front(rank *r)
{
    *slot_at(r, 0) = (slot){.state = SLOT_FREE};
    r->first = (r->first + 1) % SLOTS_MAX;
    r->count--;
}

/* All before the first slot was handed out or passed. */
static bool pass_front(rank *r)
{
    bool passed = false;
    for (; r->count > 0 && slot_at(r, 0)->state == SLOT_PASSED; passed = true)
        leave_front(r);
    handout_reach(r->handout, r->count > 0 ? slot_at(r, 0)->step : r->plan_step);
    return passed;
}

static void look_further(process *p, rank *r)
{
    const manifest *m = chain_held(r->chain);
    while (r->count < p->sim->plan.prefetch && r->plan_step < m->next) {
        slot *at = slot_at(r, r->count++);
        *at = (slot){.state = SLOT_PLANNED, .step = r->plan_step};
        r->plan_step = handout_after(r->handout, r->plan_step);
    }
    for (uint32_t i = 0; i < r->count && !p->doomed && !p->sim->violated; i++)
        if (slot_at(r, i)->state == SLOT_PLANNED && !plan(p, r, slot_at(r, i)))
            break;
}

static void look_ahead(process *p, rank *r)
{
    do
        look_further(p, r);
    while (!p->doomed && !p->sim->violated && pass_front(r));
}

/* True: whole, and the slice that was asked for. */
static bool is_whole(slot *at, const machine_reply *reply)
{
    const frame_head expected = {.nonce = at->plan.record.nonce,
                                 .slice = at->plan.slice,
                                 .items = at->plan.shape.items,
                                 .framed_bytes = at->plan.where.bytes,
                                 .kind = at->plan.shape.kind};
    return reply->size == at->plan.where.bytes &&
           frame_verify(view_of(reply->bytes, reply->size), &expected, at->rows, ITEMS_MAX_HERE,
                        NULL) == BW_OK;
}

static void slice_answered(process *p, rank *r, slot *at, machine_reply *reply)
{
    if (reply->outcome == STORE_NOT_FOUND) {
        trimmed(p, r, at->step);
    } else if (reply->outcome == STORE_OK && is_whole(at, reply)) {
        MARK_IF(p->sim, DAMAGED_READ_MASKED, at->misses > 0);
        at->state = SLOT_READY;
        at->bytes = reply->bytes;
        reply->bytes = NULL;
    } else {
        at->misses += reply->outcome == STORE_OK;
        if (reply->outcome == STORE_OK && act_damaged(p, at->key.text) == 0)
            sim_violate(p->sim, "I21", "%s: %s is damaged", p->name, at->key.text);
        at->state = SLOT_AGAIN;
        act_rest(p, AGAIN_NS);
    }
}

static void segment_answered(process *p, rank *r, machine_reply *reply)
{
    bw_error error;
    object_key key;
    r->reads_segment = false;
    if (reply->outcome == STORE_NOT_FOUND) {
        trimmed(p, r, r->reading.last);
        return;
    }
    if (reply->outcome == STORE_OK) {
        uint8_t *bytes = reply->bytes;
        reply->bytes = NULL;
        const bw_status status =
            segment_cache_add(r->cache, &r->reading, chain_genesis(r->chain)->uuid,
                              genesis_slices(&p->sim->genesis), bytes, reply->size, &error);
        if (status == BW_OK)
            return;
        segment_ref_key(&r->reading, &key);
        if (act_damaged(p, key.text) == 0)
            sim_violate(p->sim, "I21", "%s: a segment is damaged: %s", p->name, error.message);
    }
    act_rest(p, AGAIN_NS);
}

static void answered(process *p, machine_reply *reply)
{
    rank *r = p->state;
    if (reply->id == SEGMENT_READ)
        segment_answered(p, r, reply);
    else
        slice_answered(p, r, &r->slots[reply->id], reply);
}

/* ---- handing out ---- */

static void hand_out(process *p, rank *r, slot *at)
{
    sim *s = p->sim;
    const uint32_t item = handout_item(r->handout);
    const frame_item *row = &at->rows[item];
    const tgb *t = history_find(s->history, at->plan.record.nonce);
    delivery *d = history_delivery(s->history);
    *d = (delivery){.process = p->index,
                    .life = p->life,
                    .slice = at->plan.slice,
                    .item = item,
                    .step = at->step,
                    .nonce = at->plan.record.nonce,
                    .content = row->pad ? 0 : tgb_hash(at->bytes + row->offset, row->stored_bytes),
                    .begins = r->begins};
    r->begins = false;
    if (at->plan.slice != kept(p)->slice)
        sim_violate(s, "I9", "%s reads slice %u", p->name, at->plan.slice);
    if (at->step != handout_reading(r->handout))
        sim_violate(s, "I11", "%s hands out step %" PRIu64 ", it stands at %" PRIu64, p->name,
                    at->step, handout_reading(r->handout));
    if (t != NULL && !row->pad &&
        !tgb_item_is(t, at->plan.slice, item, at->bytes + row->offset, row->stored_bytes))
        sim_violate(s, "I10", "%s: item %u of step %" PRIu64 " has wrong bytes", p->name, item,
                    at->step);
    check_delivered(p, d);
    handout_advance(r->handout, at->plan.shape.items, at->plan.record.nonce);
    if (rng_below(&p->random, 12) == 0)
        save_cursor(p, r);
    if (handout_step(r->handout) == at->step)
        return;
    mem_free(at->bytes);
    leave_front(r);
    (void)pass_front(r);
}

static void hand_out_ready(process *p, rank *r)
{
    sim *s = p->sim;
    while (r->count > 0 && slot_at(r, 0)->state == SLOT_READY && !s->violated) {
        if (r->think_ns > s->now_ns) {
            if (r->think_ns < p->timer_ns)
                p->timer_ns = r->think_ns;
            return;
        }
        hand_out(p, r, slot_at(r, 0));
        r->think_ns = s->now_ns + sim_pace(s, (int64_t)rng_below(&p->random, 8 * NS_PER_MS));
    }
}

static void read_again(process *p, rank *r)
{
    for (uint32_t i = 0; i < r->count && !p->doomed; i++)
        if (slot_at(r, i)->state == SLOT_AGAIN)
            read_slice(p, r, slot_at(r, i));
}

/* ---- the chain ---- */

static bool walked(process *p, rank *r)
{
    sim *s = p->sim;
    bw_error error;
    const bw_status status = chain_result(r->chain, &error);
    r->walking = false;
    process_count_chain(p);
    p->machine = (machine){0};
    if (chain_held(r->chain) != NULL)
        check_proved(p, chain_held(r->chain), status == BW_OK && chain_is_newest(r->chain));
    if (status == BW_OK)
        return true;
    MARK_IF(s, NOT_READY, status == BW_NOT_READY);
    if (status == BW_TRIMMED)
        trimmed(p, r, chain_held(r->chain)->next);
    else if (status != BW_NO_NAMESPACE && status != BW_NOT_READY)
        (void)act_may_pass(p, status, &error);
    else if (p->newest_at_start > 0)
        sim_violate(s, "I3", "%s finds no namespace", p->name);
    r->poll_ns = s->now_ns + sim_pace(s, POLL_MAX_NS);
    return false;
}

static void follow(process *p, rank *r)
{
    sim *s = p->sim;
    if (!r->walking && r->behind) {
        r->behind = false;
        begin_walk(p, r, CHAIN_NEWEST);
    }
    if (r->walking || r->plan_step + s->plan.prefetch < chain_held(r->chain)->next)
        return;
    if (r->poll_ns <= s->now_ns) {
        r->poll_ns = s->now_ns + 1 + sim_pace(s, (int64_t)rng_below(&p->random, POLL_MAX_NS));
        const bool newest = !s->plan.polls_only && rng_below(&p->random, 16) == 0;
        begin_walk(p, r, newest ? CHAIN_NEWEST : CHAIN_POLL);
    } else if (r->poll_ns < p->timer_ns) {
        p->timer_ns = r->poll_ns;
    }
}

/* A cursor that names the TGB it read last is checked where that step is described. */
static bool check_nonce(process *p, rank *r)
{
    uint64_t step;
    descriptor d;
    bw_error error;
    if (!handout_nonce_step(r->handout, chain_held(r->chain), &step))
        return true;
    if (r->nonce_gone) /* swept since: nothing is to be checked */
        return true;
    if (!look_up(p, r, step, &d))
        return r->nonce_gone;
    if (handout_check_nonce(r->handout, step, d.record.nonce, &error) != BW_OK)
        sim_violate(p->sim, "I11", "%s: %s", p->name, error.message);
    return true;
}

static void at_end(process *p, rank *r)
{
    sim *s = p->sim;
    if (!handout_at_end(r->handout, chain_held(r->chain)))
        return;
    check_stream_end(p, handout_reading(r->handout));
    kept(p)->ended = true;
    p->left = s->phase == PHASE_LIVENESS;
    story(s, p, "is at the end, step %" PRIu64, handout_step(r->handout));
    process_end(p, false);
}

static void advance(process *p)
{
    rank *r = p->state;
    if (r->walking) {
        if (process_busy(p))
            goto on;
        r->open |= walked(p, r);
    }
    /* Only a walk that succeeded gives a place to start from. */
    if (!r->open) {
        if (r->poll_ns <= p->sim->now_ns)
            begin_walk(p, r, CHAIN_OPEN);
        else
            p->timer_ns = r->poll_ns;
        return;
    }
    if (r->phase == RANK_WALKS && r->job != NULL && !join_launch(p, r)) {
        act_rest(p, POLL_MAX_NS);
        begin_walk(p, r, CHAIN_NEWEST);
        return;
    }
    if (r->phase == RANK_WALKS) {
        start(p, r);
        return;
    }
on:
    if (r->job != NULL && r->phase != RANK_WALKS) {
        if (r->launch != r->job->launches) { /* its job has started again */
            process_end(p, false);
            return;
        }
        r->job->rank_step = handout_step(r->handout);
    }
    if (r->phase == RANK_STARTS && (r->walking || !check_nonce(p, r)))
        return;
    if (r->phase == RANK_WALKS || p->sim->violated)
        return;
    r->phase = RANK_RUNS;
    hand_out_ready(p, r);
    if (p->timer_ns == TIME_NEVER)
        read_again(p, r);
    look_ahead(p, r);
    if (p->doomed || p->sim->violated)
        return;
    at_end(p, r);
    if (p->alive)
        follow(p, r);
}

const role role_rank = {.name = "rank",
                        .kind = ROLE_READER,
                        .born = born,
                        .dead = dead,
                        .advance = advance,
                        .answered = answered,
                        .forget = forget,
                        .rest_ns = NS_PER_S};

void act_rank(sim *s, uint32_t index)
{
    char name[24];
    (void)snprintf(name, sizeof name, "rank %u", index + 1);
    process *p = process_add(s, &role_rank, name);
    p->keeps = sim_alloc(sizeof(checkpoints));
    kept(p)->slice = s->plan.rank_slices[index];
    if (index == 0 && s->jobs[0] != NULL && s->plan.skip_count == 0 && !s->plan.tagged) {
        kept(p)->job = s->jobs[0];
        s->jobs[0]->has_rank = true;
    }
    process_birth_at(p, (int64_t)rng_below(&s->random, index == 0 ? NS_PER_S : 8 * NS_PER_S));
}
