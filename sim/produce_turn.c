// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A producer that takes turns: it looks ahead and trusts what it found, as the client's committer
 * does. In hasty seeds it does so at other times too: whatever is looked at, and whenever a base is
 * trusted, that may only cost time. */
#include "producer.h"

/* Beyond the next block, so that looks go over blocks that are retired at once. */
#define HASTY_AHEAD 8u
#define HASTY_ONE_IN 4u
/* Long enough that what is looked at next has been retired. */
#define OVERSLEEP_NS (6 * NS_PER_S)

void turns_open(process *p, int64_t put_ns)
{
    producer *d = p->state;
    turn_open(&d->turn, view_text(d->name), p->sim->genesis.tail_cap, put_ns);
    if (turn_caught_up(&d->turn, p->sim->now_ns, chain_held(d->chain), &p->random) != BW_OK)
        sim_defect("no memory");
}

static turn_advice hasty_look(process *p, const producer *d)
{
    return (turn_advice){.act = TURN_LOOK,
                         .version = chain_held(d->chain)->version + 1 +
                                    rng_below(&p->random, HASTY_AHEAD)};
}

static turn_advice hasty(process *p, producer *d)
{
    switch (rng_below(&p->random, 8)) {
    case 0:
    case 1:
        return (turn_advice){.act = TURN_COMMIT};
    case 2:
        return (turn_advice){.act = TURN_CATCH_UP};
    case 3:
        d->overslept = true;
        d->not_before_ns = p->sim->now_ns + (int64_t)rng_below(&p->random, OVERSLEEP_NS);
        return (turn_advice){.act = TURN_WAIT, .at_ns = d->not_before_ns};
    default:
        return hasty_look(p, d);
    }
}

int64_t turns_due(process *p)
{
    producer *d = p->state;
    const int64_t now_ns = p->sim->now_ns;
    const bool is_hasty = p->sim->plan.hasty && p->sim->phase == PHASE_SAFETY;
    if (d->not_before_ns > now_ns)
        return d->not_before_ns;
    if (is_hasty && d->overslept) {
        d->overslept = false;
        d->advice = hasty_look(p, d);
    } else if (is_hasty && rng_below(&p->random, HASTY_ONE_IN) == 0) {
        d->advice = hasty(p, d);
    } else {
        d->advice = turn_ask(&d->turn, d->staged_ns, now_ns);
    }
    /* With a put under way it does not look: the process drives one machine at a time. */
    const bool looks = d->advice.act == TURN_LOOK || d->advice.act == TURN_CATCH_UP;
    if (looks && process_busy(p))
        d->advice.act = TURN_VISIT;
    return d->advice.act == TURN_WAIT ? d->advice.at_ns : now_ns;
}

void turns_look(process *p)
{
    producer *d = p->state;
    d->looking = true;
    d->looked_ns = p->sim->now_ns;
    d->looked_from = chain_held(d->chain)->version;
    if (d->advice.act == TURN_LOOK)
        chain_look(d->chain, d->advice.version, p->sim->now_ns);
    else
        chain_start(d->chain, CHAIN_NEWEST, p->sim->now_ns);
    process_run(p, &chain_machine, d->chain, d->chain);
}

static void look_ended(process *p, const producer *d)
{
    sim *s = p->sim;
    const uint64_t asked = d->advice.version, held = chain_held(d->chain)->version;
    const bool retired = vstore_is_retired(s, asked);
    if (held < asked)
        check_missed(p, asked);
    if (held > d->looked_from)
        check_found(p, held);
    MARK_IF(s, LOOK_FOUND, held == asked && asked == d->looked_from + 1);
    MARK_IF(s, LOOK_AHEAD, held == asked && asked > d->looked_from + 1);
    MARK_IF(s, LOOK_NOTHING, held == d->looked_from);
    MARK_IF(s, LOOK_RETIRED, held == d->looked_from && retired);
    MARK_IF(s, LOOK_OVERTAKEN, held < asked && !retired && vstore_newest(s->store) >= asked);
    MARK_IF(s, LOOK_GHOST, retired && chain_counted(d->chain)->ghosts_met > p->counted.ghosts_met);
}

/* Where it fails, an ordinary commit finds out why. */
void turns_looked(process *p)
{
    producer *d = p->state;
    sim *s = p->sim;
    bw_error error;
    manifest *m = chain_held(d->chain);
    bw_status status = chain_result(d->chain, &error);
    d->looking = false;
    check_proved(p, m, chain_is_newest(d->chain));
    if (status == BW_OK && d->advice.act == TURN_LOOK)
        look_ended(p, d);
    process_count_chain(p);
    MARK_IF(s, LOOK_FAILED, status != BW_OK);
    if (status != BW_OK) {
        d->look_failed = act_may_pass(p, status, &error);
        return;
    }
    status = d->advice.act == TURN_LOOK
                 ? turn_looked(&d->turn, d->advice.version, d->looked_ns, s->now_ns, m, &p->random)
                 : turn_caught_up(&d->turn, s->now_ns, m, &p->random);
    if (status != BW_OK)
        sim_defect("no memory");
}

void turns_commit(process *p)
{
    producer *d = p->state;
    const uint64_t held = chain_held(d->chain)->version;
    MARK_IF(p->sim, HINT_UNDER_WAY, process_busy(p) && !commit_puts_segment(d->commit));
    MARK_IF(p->sim, SEGMENT_UNDER_WAY, commit_puts_segment(d->commit));
    if (d->advice.act != TURN_COMMIT)
        return;
    d->trusted_newest = held == vstore_newest(p->sim->store);
    MARK_IF(p->sim, TRUST_OLD, !d->trusted_newest);
    commit_trust_base(d->commit);
}

void turns_committed(process *p, const commit_report *r)
{
    producer *d = p->state;
    sim *s = p->sim;
    const commit_counts *c = commit_counted(d->commit), *old = &d->counted;
    const manifest *m = chain_held(d->chain);
    bw_status status;
    if (d->advice.act == TURN_COMMIT) {
        MARK_IF(s, TRUST_LOST, d->trusted_newest && c->exists_other > old->exists_other);
        MARK_IF(s, TRUST_RETIRED,
                c->marker_after_created + c->marker_after_exists >
                    old->marker_after_created + old->marker_after_exists);
    }
    d->advice = (turn_advice){.act = TURN_VISIT};
    if (r->end == COMMIT_DONE && r->result.published > 0)
        status = turn_committed(&d->turn, r->create_ns, s->now_ns, m, &p->random);
    else if (r->end == COMMIT_LOST)
        status = turn_lost(&d->turn, s->now_ns, m, &p->random);
    else
        status = turn_caught_up(&d->turn, s->now_ns, m, &p->random);
    if (status != BW_OK)
        sim_defect("no memory");
}

void turns_forget(process *p, bool killed)
{
    producer *d = p->state;
    MARK_IF(p->sim, LOOK_KILLED, killed && d->looking && p->sim->phase != PHASE_OVER);
    turn_close(&d->turn);
}
