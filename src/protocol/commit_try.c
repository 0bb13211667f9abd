// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* From a proved base to the next attempt, and from a witness to a verdict. */
#include "protocol/commit_state.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/turn.h"

#define BUILD_SLACK_BYTES 4096u
/* Behind a lost race: the chain goes on as fast as before, whoever waits. docs/design/cadence.md
 * has what longer pauses do to pins. */
#define LOST_PAUSE_MAX_NS (128 * NS_PER_MS)

static intent_verdict apply(commit *c, manifest *draft, token128 *nonce)
{
    const manifest *base = chain_held(c->chain);
    MUST(base != NULL);
    MUST(c->intent != NULL);
    rng_bytes(&c->random, nonce->bytes, TOKEN_BYTES);
    if (c->intent->kind == INTENT_OPEN && MUTANT(open_token_per_try))
        c->intent->open.token = *nonce;
    const intent *i = c->intent;
    const bool takes_turn = i->kind == INTENT_PUBLISH && i->publish.takes_turn;
    const intent_aid aid = {
        .genesis = chain_genesis(c->chain),
        .nonce = *nonce,
        .clock_ms = c->options.clock != NULL ? (uint64_t)clock_wall_ms(c->options.clock) : 0,
        .committer = c->committer,
        .turn_member = (takes_turn && turn_is_member(base, i->publish.id)) ||
                       ((takes_turn || i->kind == INTENT_OPEN) && MUTANT(turn_moved_by_joins)),
        .durable_fold = commit_durable_fold(c, base),
        .durable_merge = commit_durable_merge(c, base),
        .page = commit_page(c, base),
    };
    return intent_apply(c->intent, base, &aid, c->scratch, draft, &c->report.result);
}

/* The step of `d` in the tail of a proved manifest. */
static bool find_in_tail(const manifest *m, const descriptor *d, uint64_t *step)
{
    MUST(m->tail.records <= m->next);
    for (uint32_t k = m->tail.records; k > 0; k--) {
        descriptor there;
        block_descriptor(&m->tail, k - 1, &there);
        if (there.record.nonce == d->record.nonce && there.record.seq == d->record.seq &&
            there.record.epoch == d->record.epoch && view_equal(there.id, d->id)) {
            *step = manifest_tail_first(m) + k - 1;
            MUST(*step < m->next);
            return true;
        }
    }
    return false;
}

static void end_already(commit *c)
{
    const manifest *base = chain_held(c->chain);
    const intent *i = c->intent;
    MUST(!c->attempt.open);
    MUST(c->report.end == COMMIT_RUNNING);
    MUST(c->report.result.status == BW_OK);
    MUST(c->report.result.published == 0);
    c->report.version = base->version;
    c->report.result.first_step = COMMIT_STEP_UNKNOWN;
    if (i->kind == INTENT_PUBLISH && i->publish.count > 0)
        (void)find_in_tail(base, &i->publish.descriptors[0], &c->report.result.first_step);
    commit_end_with(c, COMMIT_DONE, BW_OK);
}

/* May what the base says be taken back by a newer one? Entries of producers, seal and swept step
 * only go on; pins, launches and groups come and go. */
static bool comes_and_goes(const intent *i)
{
    return i->kind == INTENT_LAUNCH || i->kind == INTENT_PIN || i->kind == INTENT_GROUP_RM;
}

/* What a newer base may take back is told from a proved newest one only. */
static bool already_is_final(const commit *c)
{
    return c->fresh || !comes_and_goes(c->intent) || MUTANT(already_from_old_base);
}

static bool refusal_is_final(const commit *c)
{
    switch (c->report.result.status) {
    case BW_FENCED:
    case BW_INVALID:
        /* Another token is for ever; another launch, epoch or no producer may be news to come. */
        return c->fresh || c->intent->kind == INTENT_OPEN || c->intent->kind == INTENT_PUBLISH ||
               MUTANT(refused_from_old_base);
    case BW_NOMEM:
    case BW_BUG:
        return true;
    default:
        return c->fresh;
    }
}

static void refused(commit *c)
{
    MUST(c->report.result.status != BW_OK);
    if (!refusal_is_final(c)) {
        commit_walk(c, CHAIN_NEWEST);
        return;
    }
    error_copy(&c->report.error, &c->report.result.error);
    commit_end_with(c, COMMIT_REFUSED, c->report.result.status);
}

/* The next manifest as its readers will see it: encoded once, and decoded before anybody else can
 * be asked to. The same bytes are created until the attempt is closed. */
static bool build(commit *c, const manifest *draft, manifest **next)
{
    const manifest *base = chain_held(c->chain);
    size_t size;
    MUST(draft->version == base->version + 1);
    MUST(hash_equal(&draft->previous, &base->hash));
    buf_reset(&c->candidate);
    /* One allocation instead of a dozen doublings; a failure shows again below. */
    if (base->object_bytes + BUILD_SLACK_BYTES <= c->candidate.max)
        (void)buf_reserve(&c->candidate, base->object_bytes + BUILD_SLACK_BYTES);
    bw_status status = manifest_encode(draft, &c->candidate);
    if (status != BW_OK) {
        commit_fail(c, COMMIT_REFUSED, status, "version %llu cannot be encoded",
                    (unsigned long long)draft->version);
        return false;
    }
    uint8_t *object = buf_take(&c->candidate, &size);
    status = manifest_decode(object, size, genesis_slices(chain_genesis(c->chain)), next,
                             &c->report.error);
    MUST(status != BW_OK || (*next)->version == draft->version);
    MUST(status != BW_OK || (*next)->next == draft->next);
    if (status == BW_OK)
        return true;
    mem_free(object);
    if (status != BW_NOMEM) {
        error_prefix(&c->report.error, "a candidate breaks a rule of the format");
        status = c->report.error.code = BW_BUG;
    }
    commit_end_with(c, COMMIT_FAILED, status);
    return false;
}

static void attempt_draft(commit *c, const manifest *draft)
{
    const intent *i = c->intent;
    const intent_result *result = &c->report.result;
    const manifest *base = chain_held(c->chain);
    const bool publishes = i->kind == INTENT_PUBLISH;
    manifest *next;
    MUST_OR(!c->attempt.open, return );
    MUST(draft->trim >= base->trim);
    MUST(draft->next >= base->next);
    if (!build(c, draft, &next))
        return;
    c->attempt = (attempt){
        .open = true,
        .finish = publishes && i->publish.finish &&
                  result->already + result->published == i->publish.count,
        .next = next,
        .first_step = result->first_step,
        .already = result->already,
        .published = result->published,
        .folds = draft->refs != base->refs && commit_durable_fold(c, base) != NULL,
        .merges = draft->refs != base->refs && commit_durable_merge(c, base) != NULL,
    };
    c->report.nonce = next->nonce;
    c->report.open_version = next->version;
    commit_create(c);
    if (publishes)
        commit_put_early(c);
}

/* Not made; or, where a witness could not tell, in doubt for good. */
static void end_lost(commit *c)
{
    if (!c->doubt)
        commit_end_with(c, COMMIT_LOST, BW_OK);
    else
        commit_fail(c, COMMIT_FAILED, BW_UNKNOWN,
                    "version %llu was retired before it was known whether it was made",
                    (unsigned long long)c->report.open_version);
}

void commit_consider(commit *c)
{
    manifest draft;
    token128 nonce;
    MUST_OR(!c->attempt.open, return );
    MUST(!chain_machine.running(c->chain));
    MUST(c->report.end == COMMIT_RUNNING);
    switch (apply(c, &draft, &nonce)) {
    case INTENT_ALREADY:
        if (already_is_final(c))
            end_already(c);
        else
            commit_walk(c, CHAIN_NEWEST);
        break;
    case INTENT_REFUSED:
        refused(c);
        break;
    case INTENT_NEED_PAGE:
        commit_need_page(c);
        break;
    case INTENT_NEED_FOLD:
        commit_need_fold(c);
        break;
    case INTENT_NEED_MERGE:
        commit_need_merge(c);
        break;
    default: /* INTENT_CANDIDATE */
        if (c->now_ns < c->deadline_ns)
            attempt_draft(c, &draft);
        else if (c->report.conflicts > 0)
            end_lost(c);
        else
            commit_fail(c, COMMIT_FAILED, BW_IO, "the deadline passed before an attempt");
    }
}

static void witness_made(commit *c)
{
    const attempt *a = &c->attempt;
    intent_result *result = &c->report.result;
    MUST_OR(a->next != NULL, return );
    MUST(chain_held(c->chain)->version >= a->next->version);
    c->counts.witness_made++;
    c->report.version = a->next->version;
    if (c->intent->kind == INTENT_PUBLISH) {
        /* Made means that the chain has our candidate at its version, so its steps are those. */
        result->first_step = a->first_step;
        result->already = a->already;
        result->published = a->published;
    }
    commit_end_with(c, COMMIT_DONE, BW_OK);
}

/* Something that only our attempt can have put there: a descriptor at its step, a pin. */
static bool left_a_trace(const commit *c)
{
    const manifest *base = chain_held(c->chain);
    const intent *i = c->intent;
    uint64_t step;
    if (i->kind == INTENT_PUBLISH)
        return c->attempt.published > 0 &&
               find_in_tail(base, &i->publish.descriptors[c->attempt.already], &step) &&
               step == c->attempt.first_step;
    const group *g = i->kind == INTENT_PIN && !MUTANT(pin_leaves_no_trace)
                         ? manifest_group(base, i->pin.group)
                         : NULL;
    for (uint32_t k = 0; g != NULL && i->pin.pin != NULL && k < g->pin_count; k++)
        if (g->pins[k].nonce == i->pin.pin->nonce && view_equal(g->pins[k].id, i->pin.pin->id))
            return true;
    return false;
}

/* R7: the incarnation is over, but the attempt may have been made before: only a trace of it
 * tells. */
static void witness_fenced(commit *c)
{
    MUST(c->attempt.open);
    if (left_a_trace(c)) {
        witness_made(c);
        return;
    }
    MUST(c->report.result.status != BW_OK);
    c->counts.witness_fenced++;
    c->report.open_unknown = !MUTANT(fenced_is_definite);
    error_copy(&c->report.error, &c->report.result.error);
    commit_end_with(c, COMMIT_REFUSED, c->report.result.status);
}

void commit_witness(commit *c)
{
    const manifest *base = chain_held(c->chain);
    const intent *i = c->intent;
    manifest draft;
    token128 nonce;
    MUST_OR(c->attempt.next != NULL, return );
    MUST_OR(base != NULL, return );
    if (base->version < c->attempt.next->version) {
        c->report.open_unknown = true;
        commit_fail(
            c, COMMIT_FAILED, BW_STORE_UNSAFE, "version %llu was retired and the newest is %llu",
            (unsigned long long)c->attempt.next->version, (unsigned long long)base->version);
        return;
    }
    const intent_verdict verdict = apply(c, &draft, &nonce);
    const bw_status status = c->report.result.status;
    MUST(verdict != INTENT_REFUSED || status != BW_OK);
    /* A sweep below ours was made: ours was not. */
    const bool fenced = status == BW_FENCED && i->kind != INTENT_SWEPT;
    if (verdict == INTENT_NEED_PAGE) {
        commit_need_page(c);
        return;
    }
    if (verdict == INTENT_REFUSED && (fenced || status == BW_BUG)) {
        witness_fenced(c);
        return;
    }
    if (verdict == INTENT_REFUSED && status == BW_NOMEM) {
        c->report.open_unknown = true;
        error_copy(&c->report.error, &c->report.result.error);
        commit_end_with(c, COMMIT_FAILED, status);
        return;
    }
    MUST(i->kind != INTENT_PUBLISH || c->attempt.finish || c->attempt.published > 0);
    const bool reached = i->kind == INTENT_PUBLISH && !c->attempt.finish &&
                         c->report.result.already >= c->attempt.already + c->attempt.published;
    const bool made = (verdict == INTENT_ALREADY || reached || MUTANT(witness_always_made)) &&
                      !MUTANT(witness_always_lost);
    if (made) {
        witness_made(c);
    } else {
        /* R8: what comes and goes may have been made, and be gone again. */
        c->doubt |= (i->kind == INTENT_LAUNCH || i->kind == INTENT_PIN) && !MUTANT(doubt_forgotten);
        c->counts.witness_lost++;
        commit_lost(c);
    }
}

void commit_lost(commit *c)
{
    commit_report *r = &c->report;
    MUST(r->end == COMMIT_RUNNING);
    commit_close_attempt(c);
    if (c->fold.state == PUT_DURABLE && MUTANT(loser_deletes))
        (void)ask_add(&c->asks, COMMIT_ASK_FOLD, STORE_DELETE, 0);
    c->crowd = CROWD_COMMITS;
    r->conflicts++;
    r->fragile_ns = c->now_ns - c->base_ns;
    const uint32_t retries = c->options.conflict_retries;
    if ((retries > 0 && r->conflicts >= retries && !c->doubt) || c->now_ns >= c->deadline_ns) {
        end_lost(c);
        return;
    }
    c->base_ns = c->now_ns;
    if (r->conflicts == 1) {
        commit_walk(c, CHAIN_POLL);
        return;
    }
    c->state = STATE_PAUSE;
    const int64_t pause_max_ns = c->options.backoff_max_ns < LOST_PAUSE_MAX_NS
                                     ? c->options.backoff_max_ns
                                     : LOST_PAUSE_MAX_NS;
    c->pause_ns = c->now_ns +
                  ask_jitter(&c->random, r->conflicts - 1, c->options.backoff_min_ns, pause_max_ns);
    MUST(c->pause_ns > c->now_ns);
}
