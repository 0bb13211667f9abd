// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/turn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "codec/fold.h"
#include <string.h>

/* Rule 1: the k-th of those who committed last is a member while that is at most so many versions
 * ago. One round is |A| versions, so it misses about one turn. */
#define AGE_PER_RANK 2u
#define AGE_SPARE 8u
/* Rule 4: every so many versions a window is left for guests. */
#define GUEST_EVERY 256u
#define GUEST_DOUBLINGS 4u
#define GUEST_WAIT_MIN 8
#define GUEST_WAIT_MAX_NS (120 * NS_PER_S)
/* Rule 6: after so many commit times without a version the chain is idle; at the latest after so
 * long, whatever a store that was slow for a while has made us expect. */
#define IDLE_COMMITS 20
#define IDLE_MAX_NS (10 * NS_PER_S)
/* Rule 9 */
#define LOOK_SHARE 0.8
#define WAKE_SHARE 0.9
#define POLL_MIN_NS NS_PER_MS
/* A store may answer faster than threads are woken. */
#define LATENCY_MIN_NS NS_PER_MS
/* What takes longer tells of a pause, of ours or of the store's, and not of its pace. */
#define LATENCY_MAX_NS (5 * NS_PER_S)
#define WAKE_MAX_NS (5 * NS_PER_MS)
#define INTERVAL_WEIGHT 0.3
/* Who heard nothing for so many rounds walks to the newest instead of asking for the next ones. */
#define STALE_ROUNDS 2
#define NEVER_SEEN INT64_MIN

/* ---- latencies ---- */

static void latency_add(turn_latency *l, int64_t ns)
{
    int64_t sorted[TURN_SAMPLES] = {0};
    MUST(ns >= 0);
    ns = ns < LATENCY_MAX_NS ? ns : LATENCY_MAX_NS;
    l->ns[l->count++ % TURN_SAMPLES] = ns > LATENCY_MIN_NS ? ns : LATENCY_MIN_NS;
    const uint32_t count = l->count < TURN_SAMPLES ? l->count : TURN_SAMPLES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > l->ns[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = l->ns[i];
    }
    l->median_ns = sorted[(count - 1) / 2];
    l->high_ns = sorted[count > 1 ? count - 2 : 0];
    MUST(l->median_ns <= l->high_ns);
}

static int64_t median(const turn_latency *l)
{
    MUST(l->median_ns >= LATENCY_MIN_NS);
    return l->median_ns;
}

/* The second largest: one slow request is no reason to give everybody a longer slot. */
static int64_t high(const turn_latency *l)
{
    MUST(l->high_ns >= LATENCY_MIN_NS);
    return l->high_ns;
}

/* S: noticing the predecessor's commit takes a GET and a half, its marker one, then the create; the
 * rest is for a request that takes long. It costs time only where the owner does not come. */
static int64_t slot(const turn *t)
{
    return high(&t->put) + 5 * high(&t->get);
}

/* t: one commit of somebody who holds the newest. */
static int64_t commit_time(const turn *t)
{
    return high(&t->put) + 2 * high(&t->get);
}

static int64_t idle_time(const turn *t)
{
    const int64_t ns = IDLE_COMMITS * commit_time(t);
    return ns < IDLE_MAX_NS ? ns : IDLE_MAX_NS;
}

/* L: the least that one turn takes. Sleeping on a mean instead makes everybody late now and then;
 * being late costs a slot, slots make the mean longer, and the chain stands still in the end. */
static int64_t least_turn(const turn *t)
{
    const int64_t own = median(&t->put) + median(&t->get) + median(&t->get) / 3;
    if (MUTANT(turn_sleeps_on_mean))
        return slot(t) > t->observed_ns ? slot(t) : t->observed_ns;
    MUST(t->interval_ns > 0);
    const int64_t least = own < t->interval_ns ? own : t->interval_ns;
    return (int64_t)(LOOK_SHARE * (double)least);
}

uint16_t turn_slot_ms(const turn *t)
{
    const int64_t ns = slot(t) + high(&t->get) + high(&t->get) / 2;
    MUST(ns > slot(t));
    const int64_t ms = ns / NS_PER_MS + 1;
    MUST(ms > 0 && ms <= UINT16_MAX);
    return (uint16_t)ms;
}

/* ---- members ---- */

static bool is_active(const producer_entry *e)
{
    return !e->finished && !e->forgotten;
}

/* The version of its last commit. An open counts: who has just opened will publish, and would else
 * have to race the members for its first publish, as all would who open at one time. */
static uint64_t last_of(const producer_entry *e)
{
    return MUTANT(turn_joins_by_publish) ? e->last_publish : e->last_commit;
}

bool turn_is_member(const manifest *base, view id)
{
    const producer_entry *own = manifest_producer(base, id);
    uint64_t younger = 0;
    if (own == NULL || !is_active(own))
        return false;
    MUST(last_of(own) <= base->version);
    for (uint32_t i = 0; i < base->producer_count; i++)
        younger += is_active(&base->producers[i]) && last_of(&base->producers[i]) > last_of(own);
    MUST(younger < base->producer_count);
    return base->version - last_of(own) <= AGE_PER_RANK * (younger + 1) + AGE_SPARE;
}

/* The place in the map of the first id behind this one. */
static uint32_t place_behind(const manifest *m, view id)
{
    uint32_t low = 0, high = m->producer_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (view_compare(m->producers[middle].id, id) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    MUST(low <= m->producer_count);
    return low;
}

/* Who is too old for a member whoever else is there. */
#define NO_AGE UINT32_MAX

/* The age of each producer; and for each age how many have it, then whether they are members. */
static bw_status find_ages(turn *t, const manifest *m, uint32_t **of_age, uint32_t **age)
{
    const size_t count = m->producer_count, ages = AGE_PER_RANK * count + AGE_SPARE + 1;
    void *scratch = t->scratch;
    if (mem_grow(&scratch, &t->scratch_capacity, ages + count, sizeof *t->scratch) != 0)
        return BW_NOMEM;
    t->scratch = scratch;
    *of_age = t->scratch;
    *age = t->scratch + ages;
    memset(*of_age, 0, ages * sizeof **of_age);
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const producer_entry *e = &m->producers[i];
        MUST(last_of(e) <= m->version);
        const uint64_t old = m->version - last_of(e);
        (*age)[i] = is_active(e) && old < ages ? (uint32_t)old : NO_AGE;
        if ((*age)[i] == NO_AGE)
            continue;
        (*of_age)[old]++;
        oldest = old > oldest ? (uint32_t)old : oldest;
    }
    uint32_t members = 0, younger = 0;
    for (uint32_t old = 0; old <= oldest; old++) {
        const uint32_t so_old = (*of_age)[old];
        (*of_age)[old] = old <= AGE_PER_RANK * (younger + 1) + AGE_SPARE;
        members += (*of_age)[old] * so_old;
        younger += so_old;
    }
    MUST(members <= younger && younger <= count);
    t->members = members;
    return BW_OK;
}

/* Rules 1 and 2: who comes before us, from the first behind `turn` to ours, around. */
static bw_status count_members(turn *t, const manifest *m)
{
    uint32_t *is_member, *age;
    BW_TRY(find_ages(t, m, &is_member, &age));
    const producer_entry *own = manifest_producer(m, t->id);
    const uint32_t at = own != NULL ? (uint32_t)(own - m->producers) : 0;
    t->is_member = own != NULL && age[at] != NO_AGE && is_member[age[at]];
    t->before = 0;
    t->slots_ns = 0;
    if (own == NULL)
        return BW_OK;
    const int64_t own_slot = slot(t);
    const uint32_t count = m->producer_count, first = place_behind(m, m->turn);
    for (uint32_t i = first < count ? first : 0; i != at; i = i + 1 < count ? i + 1 : 0) {
        if (age[i] == NO_AGE || !is_member[age[i]])
            continue;
        const int64_t its = m->producers[i].slot_ms * NS_PER_MS;
        t->before++;
        t->slots_ns += its < own_slot ? own_slot : its > 8 * own_slot ? 8 * own_slot : its;
    }
    MUST(t->before <= t->members);
    if (!t->is_member)
        t->before = 0;
    return BW_OK;
}

/* ---- what is held ---- */

/* Rule 4: a window for guests, longer now and then; and time to fold, which whoever comes next has
 * to do before its create. That one itself waits for nothing: it folds. */
static int64_t window(const turn *t, const manifest *m)
{
    const bool others_fold = t->before > 0 || !t->is_member || MUTANT(turn_waits_for_own_fold);
    int64_t ns = others_fold && fold_must(m, t->tail_cap) ? high(&t->put) : 0;
    if ((m->version + 1) % GUEST_EVERY == 0 && t->members > 1) {
        uint64_t n = (m->version + 1) / GUEST_EVERY;
        uint32_t doublings = 0;
        for (; n % 2 == 0 && doublings < GUEST_DOUBLINGS; n /= 2)
            doublings++;
        ns += slot(t) << doublings;
    }
    MUST(ns >= 0);
    return ns;
}

/* What was absent at some time took a turn, and each version after it another. */
static int64_t not_made_before(const turn *t)
{
    if (t->missed_ns == NEVER_SEEN || t->missed > t->version)
        return NEVER_SEEN;
    const int64_t turns = (int64_t)(t->version - t->missed);
    return t->missed_ns + turns * (MUTANT(turn_thinks_young) ? slot(t) : least_turn(t));
}

static bw_status hold(turn *t, const manifest *m, int64_t now_ns, rng *r)
{
    MUST_OR(m != NULL, return BW_BUG);
    if (m->version == t->version)
        return BW_OK;
    MUST(m->version > t->version);
    if (t->version > 0) {
        const int64_t each = (now_ns - t->known_ns) / (int64_t)(m->version - t->version);
        t->observed_ns += (int64_t)(INTERVAL_WEIGHT * (double)(each - t->observed_ns));
    }
    t->version = m->version;
    t->known_ns = now_ns;
    t->absent_ns = t->missed == m->version ? t->missed_ns : NEVER_SEEN;
    t->made_ns = not_made_before(t);
    BW_TRY(count_members(t, m));
    t->window_ns = window(t, m);
    const int64_t idle = idle_time(t);
    t->silence_ns = idle + (int64_t)rng_below(r, (uint64_t)idle + 1);
    return BW_OK;
}

void turn_open(turn *t, view id, uint32_t tail_cap, int64_t put_ns)
{
    *t = (turn){.id = id,
                .tail_cap = tail_cap,
                .absent_ns = NEVER_SEEN,
                .made_ns = NEVER_SEEN,
                .missed_ns = NEVER_SEEN};
    MUST(id.size > 0);
    MUST(put_ns >= 0);
    latency_add(&t->put, put_ns);
    latency_add(&t->get, put_ns / 2);
    t->interval_ns = t->observed_ns = slot(t);
}

void turn_close(turn *t)
{
    mem_free(t->scratch);
    t->scratch = NULL;
    t->scratch_capacity = 0;
}

/* Rule 9, after a version became known at about `since_ns`: ours comes `before` turns later. */
static void look_later(turn *t, int64_t since_ns)
{
    MUST(t->before <= t->members);
    t->look_ns = since_ns + (int64_t)t->before * least_turn(t) - median(&t->get);
    t->ahead = 0;
}

bw_status turn_looked(turn *t, uint64_t version, int64_t sent_ns, int64_t now_ns,
                      const manifest *held, rng *r)
{
    MUST(now_ns >= sent_ns);
    const uint64_t old = t->version;
    t->heard_ns = now_ns;
    BW_TRY(hold(t, held, now_ns, r));
    if (held->version > old) {
        if (t->absent_ns != NEVER_SEEN) {
            look_later(t, t->absent_ns);
        } else {
            t->ahead = t->before > 2 ? (t->before + 1) / 2 : 1;
            t->look_ns = now_ns;
        }
        return BW_OK;
    }
    latency_add(&t->get, now_ns - sent_ns);
    MUST(version > old);
    const uint64_t ahead = version - old;
    MUST_OR(ahead > 0, return BW_BUG);
    t->missed = version;
    t->missed_ns = sent_ns;
    /* What was absent then leaves so many turns at least. */
    const int64_t left = (int64_t)t->before - (int64_t)ahead;
    t->look_ns = left > 0 ? sent_ns + left * least_turn(t) : now_ns;
    t->ahead = 0;
    if (t->look_ns <= now_ns) {
        t->ahead = ahead / 2 > 0 ? ahead / 2 : 1;
        const int64_t gap = median(&t->put) / 8;
        t->look_ns = now_ns + (ahead > 1 ? 0 : gap > POLL_MIN_NS ? gap : POLL_MIN_NS);
    }
    return BW_OK;
}

bw_status turn_committed(turn *t, int64_t create_ns, int64_t now_ns, const manifest *held, rng *r)
{
    BW_TRY(hold(t, held, now_ns, r));
    latency_add(&t->put, create_ns);
    t->absent_ns = t->made_ns = now_ns - create_ns - high(&t->get);
    if (t->own_version > 0 && held->version > t->own_version) {
        int64_t each = (now_ns - t->own_ns) / (int64_t)(held->version - t->own_version);
        each = each < slot(t) ? each : slot(t);
        t->interval_ns += (int64_t)(INTERVAL_WEIGHT * (double)(each - t->interval_ns));
    }
    MUST(held->version >= t->own_version);
    t->own_version = held->version;
    t->own_ns = t->heard_ns = now_ns;
    t->conflicts = 0;
    MUST(t->interval_ns > 0);
    look_later(t, now_ns);
    return BW_OK;
}

bw_status turn_caught_up(turn *t, int64_t now_ns, const manifest *held, rng *r)
{
    BW_TRY(hold(t, held, now_ns, r));
    MUST(t->version == held->version);
    t->absent_ns = t->made_ns = NEVER_SEEN;
    t->ahead = 1;
    t->look_ns = t->heard_ns = now_ns;
    return BW_OK;
}

bw_status turn_lost(turn *t, int64_t now_ns, const manifest *held, rng *r)
{
    BW_TRY(turn_caught_up(t, now_ns, held, r));
    t->conflicts++;
    MUST(t->conflicts > 0);
    /* Rule 12: who is no member backs off, so far that all of the map together attempt about once
     * in a commit's time: more would keep the members from their turns, until they are members no
     * more.
     */
    int64_t most_ns = commit_time(t);
    const int64_t enough_ns = commit_time(t) * (GUEST_WAIT_MIN + held->producer_count);
    for (uint32_t i = 0; i < t->conflicts && most_ns < enough_ns; i++)
        most_ns *= 2;
    most_ns = most_ns < GUEST_WAIT_MAX_NS ? most_ns : GUEST_WAIT_MAX_NS;
    t->guest_ns = now_ns + (int64_t)rng_below(r, (uint64_t)most_ns + 1);
    return BW_OK;
}

/* ---- what to do ---- */

/* Rule 6: turns that hardly ever meet are not worth a look more than others pay. */
static bool is_quiet(const turn *t)
{
    MUST(t->is_member);
    MUST(t->members > 0);
    return t->members == 1 || t->observed_ns >= idle_time(t);
}

/* Rules 5 and 6. */
static int64_t due(const turn *t, int64_t ready_ns)
{
    const int64_t open_ns = t->known_ns + t->window_ns;
    const int64_t idle = idle_time(t);
    int64_t due_ns = open_ns + t->slots_ns;
    MUST(t->members > 0);
    if (t->members == 1 || ready_ns >= open_ns + idle)
        return ready_ns;
    if (t->observed_ns >= idle)
        return ready_ns > t->known_ns ? ready_ns : t->known_ns;
    if (ready_ns > due_ns + high(&t->get)) {
        /* Our slot passed with nothing staged; another comes in each round. */
        const int64_t round = (int64_t)t->members * slot(t);
        due_ns += (ready_ns - due_ns + round - 1) / round * round;
    }
    const int64_t silent_ns = open_ns + t->silence_ns;
    return silent_ns < due_ns && silent_ns >= ready_ns ? silent_ns : due_ns;
}

static turn_advice look_at(const turn *t, uint64_t ahead)
{
    MUST(ahead > 0);
    return (turn_advice){.act = TURN_LOOK, .version = t->version + ahead};
}

/* A 404 for the next version that says something about now. */
static bool just_missed(const turn *t, int64_t since_ns, int64_t now_ns)
{
    MUST(now_ns >= t->known_ns);
    const int64_t spare_ns = high(&t->get) / 5 > WAKE_MAX_NS ? high(&t->get) / 5 : WAKE_MAX_NS;
    return t->missed == t->version + 1 && t->missed_ns >= since_ns &&
           now_ns - t->missed_ns <= high(&t->get) + spare_ns;
}

/* Rule 12: at once on a version that is new, or when nobody took the slot after it. */
static turn_advice ask_as_guest(const turn *t, int64_t now_ns)
{
    const bool fresh = t->absent_ns != NEVER_SEEN && now_ns - t->absent_ns <= slot(t) &&
                       now_ns - t->known_ns <= high(&t->get);
    MUST(!t->is_member);
    if (fresh || just_missed(t, t->known_ns + (t->members > 0 ? slot(t) : 0), now_ns))
        return (turn_advice){.act = TURN_COMMIT};
    if (now_ns < t->look_ns)
        return (turn_advice){.act = TURN_WAIT, .at_ns = t->look_ns};
    return look_at(t, 1);
}

turn_advice turn_ask(turn *t, int64_t ready_ns, int64_t now_ns)
{
    MUST(ready_ns <= now_ns);
    MUST(t->version > 0);
    if (!t->is_member && now_ns < t->guest_ns)
        return (turn_advice){.act = TURN_WAIT, .at_ns = t->guest_ns};
    /* Rule 12: after a long pause one version after the other would take as long again. */
    if (t->conflicts > 0 && !t->is_member && now_ns - t->heard_ns > slot(t) &&
        !MUTANT(turn_guest_walks))
        return (turn_advice){.act = TURN_CATCH_UP};
    if (now_ns - t->heard_ns > STALE_ROUNDS * (t->window_ns + (int64_t)(t->members + 1) * slot(t)))
        return (turn_advice){.act = t->is_member && is_quiet(t) ? TURN_VISIT : TURN_CATCH_UP};
    if (!t->is_member)
        return ask_as_guest(t, now_ns);
    const int64_t due_ns = due(t, ready_ns);
    if (now_ns >= due_ns) {
        const bool next = t->before == 0 && t->made_ns != NEVER_SEEN &&
                          now_ns - t->made_ns <= slot(t) + t->window_ns;
        return t->members == 1 || next || just_missed(t, due_ns, now_ns)
                   ? (turn_advice){.act = TURN_COMMIT}
                   : look_at(t, 1);
    }
    if (now_ns < t->look_ns)
        return (turn_advice){.act = TURN_WAIT, .at_ns = t->look_ns < due_ns ? t->look_ns : due_ns};
    uint64_t ahead = t->ahead;
    if (ahead == 0) {
        MUST(t->interval_ns > 0);
        ahead = (uint64_t)(WAKE_SHARE * (double)(now_ns - t->known_ns) / (double)t->interval_ns);
        ahead = ahead < t->before ? ahead : t->before;
    }
    return look_at(t, ahead > 0 ? ahead : 1);
}
