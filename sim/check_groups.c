// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Groups, pins, trim, swept and pages as the chain grows (G7, G8, docs/protocol.md), and what
 * trainers were told of them. Each version is judged against the one before it, the steps, and what
 * was asked for. */
#include "act.h"
#include "check.h"
#include "protocol/commit.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <string.h>

static bool is_text(view v, const char *text)
{
    return view_equal(v, view_text(text));
}

static const pin *find_pin(const group *g, const pin *wanted)
{
    for (uint32_t k = 0; g != NULL && k < g->pin_count; k++)
        if (view_equal(g->pins[k].id, wanted->id))
            return &g->pins[k];
    return NULL;
}

static bool same_pin(const pin *a, const pin *b)
{
    return a->nonce == b->nonce && a->step == b->step && a->item == b->item &&
           hash_equal(&a->cursor_hash, &b->cursor_hash);
}

/* W and F, by a loop of our own. False: there is no group. */
static bool bounds(const manifest *m, uint64_t *w, uint64_t *f)
{
    *w = *f = UINT64_MAX;
    for (uint32_t i = 0; i < m->group_count; i++) {
        const group *g = &m->groups[i];
        uint64_t low = g->hold;
        uint64_t high = low;
        for (uint32_t k = 0; k < g->pin_count; k++) {
            low = g->pins[k].step < low ? g->pins[k].step : low;
            high = g->pins[k].step > high ? g->pins[k].step : high;
        }
        *w = low < *w ? low : *w;
        *f = high < *f ? high : *f;
    }
    return m->group_count > 0;
}

static void check_limits(sim *s, const manifest *last, const manifest *now, uint64_t frontier)
{
    const genesis *g = &s->genesis;
    const uint64_t held = now->committed_bytes - now->swept_bytes;
    if (last == NULL || last->group_count == 0 || now->next == last->next)
        return;
    if (g->has_max_lag && now->next - frontier > g->max_lag)
        sim_violate(s, "G8",
                    "version %" PRIu64 " publishes step %" PRIu64 ", max_lag is %" PRIu64
                    " and the frontier %" PRIu64,
                    now->version, now->next - 1, g->max_lag, frontier);
    if (g->has_max_bytes && held > g->max_bytes)
        sim_violate(s, "G8", "version %" PRIu64 " holds %" PRIu64 " bytes of at most %" PRIu64,
                    now->version, held, g->max_bytes);
    MARK_IF(s, LIMIT_FULL, (g->has_max_lag && now->next - frontier == g->max_lag));
}

static void check_trim(sim *s, const manifest *last, const manifest *now)
{
    uint64_t w, f;
    const uint64_t before = last != NULL ? last->trim : 0;
    const bool any = bounds(now, &w, &f);
    const uint64_t expected = any && w > before ? w : before;
    if (any && w < before)
        sim_violate(s, "G7",
                    "version %" PRIu64 " keeps step %" PRIu64 " that is trimmed, trim "
                    "being %" PRIu64,
                    now->version, w, before);
    if (now->trim != expected)
        sim_violate(s, "G7", "version %" PRIu64 " has trim %" PRIu64 ", it should be %" PRIu64,
                    now->version, now->trim, expected);
    for (uint32_t i = 0; i < s->process_count && now->trim > before; i++) {
        const process *p = s->processes[i];
        MARK_IF(s, PIN_RACED_TRIM,
                p->role == &role_trainer && p->alive && p->machine.type == &commit_machine &&
                    !view_equal(now->committer, view_text(p->launch)));
    }
    check_limits(s, last, now, f);
}

/* ---- one group from one version to the next ---- */

static launch_note *find_launch(history *h, view launch)
{
    for (size_t i = h->launch_count; i > 0; i--)
        if (is_text(launch, h->launches[i - 1].launch))
            return &h->launches[i - 1];
    return NULL;
}

static bool keeps_pins(const group *from, const group *to)
{
    const uint32_t count = from != NULL ? from->pin_count : 0;
    if (to->pin_count != count)
        return false;
    for (uint32_t k = 0; k < count; k++)
        if (!view_equal(from->pins[k].id, to->pins[k].id) ||
            !same_pin(&from->pins[k], &to->pins[k]))
            return false;
    return true;
}

static uint64_t start_of(const launch_note *n, const manifest *last, const group *g, uint32_t *item)
{
    *item = 0;
    switch (n->start) {
    case LAUNCH_CURSOR:
        *item = n->cursor_item;
        return n->cursor_step;
    case LAUNCH_LATEST:
        return last->next;
    case LAUNCH_TIP:
        return n->cursor_step > last->next ? n->cursor_step : last->next;
    case LAUNCH_GROUP:
        break;
    case LAUNCH_EARLIEST:
        return last->trim;
    }
    if (g == NULL)
        return last->trim;
    const pin *newest = NULL;
    for (uint32_t k = 0; k < g->pin_count; k++)
        if (newest == NULL || g->pins[k].step > newest->step ||
            (g->pins[k].step == newest->step && g->pins[k].item > newest->item))
            newest = &g->pins[k];
    if (newest == NULL)
        return g->hold;
    *item = newest->item;
    return newest->step;
}

static void check_launch(sim *s, const manifest *last, const group *was, const group *is,
                         uint64_t version)
{
    launch_note *n = find_launch(s->history, is->launch);
    if (n == NULL || !is_text(is->name, n->group)) {
        sim_violate(s, "G7", "version %" PRIu64 " has a launch of nobody", version);
        return;
    }
    const bool saw = was != NULL ? n->base_there && n->base_number == was->launch_number &&
                                       is_text(was->launch, n->base_launch)
                                 : !n->base_there;
    if (!saw)
        sim_violate(s, "R7", "launch %s takes group %s from a launch that it never saw", n->launch,
                    n->group);
    if (is->launch_number != (was != NULL ? was->launch_number : 0) + 1)
        sim_violate(s, "R7", "launch %s has number %" PRIu64, n->launch, is->launch_number);
    n->step = start_of(n, last, was, &n->item);
    n->made_version = version;
    if (is->pinned || is->hold != n->step)
        sim_violate(s, "G7", "launch %s begins at step %" PRIu64 " and holds %" PRIu64, n->launch,
                    n->step, is->hold);
    if (n->step < last->trim || n->step > last->next)
        sim_violate(s, "G7", "launch %s begins at step %" PRIu64 " of %" PRIu64 " … %" PRIu64,
                    n->launch, n->step, last->trim, last->next);
    if (!keeps_pins(was, is))
        sim_violate(s, "G7", "launch %s changes the group's pins", n->launch);
    for (size_t i = 0; i < s->history->launch_count; i++) {
        const launch_note *o = &s->history->launches[i];
        MARK_IF(s, LAUNCH_RACED,
                o != n && o->made_version == 0 && strcmp(o->group, n->group) == 0 &&
                    s->processes[o->process]->alive && s->processes[o->process]->life == o->life);
    }
    MARK_IF(s, LAUNCH_RESUMED, was != NULL && n->start == LAUNCH_CURSOR);
    MARK_IF(s, LAUNCH_MID_STEP, n->item > 0);
    MARK_IF(s, LAUNCH_TO_TIP, n->start == LAUNCH_TIP && n->step > n->cursor_step);
}

static pin_note *find_pin_note(history *h, view group_name, uint64_t nonce)
{
    for (size_t i = h->pin_count; i > 0; i--)
        if (h->pins[i - 1].nonce == nonce && is_text(group_name, h->pins[i - 1].group))
            return &h->pins[i - 1];
    return NULL;
}

static void pin_made(sim *s, const manifest *last, const group *is, const pin *p, uint64_t version)
{
    pin_note *n = find_pin_note(s->history, is->name, p->nonce);
    const bool again = n != NULL && is_text(is->launch, n->again);
    if (n == NULL || !(again || is_text(is->launch, n->launch)) || !is_text(p->id, n->id) ||
        n->step != p->step || n->item != p->item || !hash_equal(&n->hash, &p->cursor_hash)) {
        sim_violate(s, "R7", "version %" PRIu64 " has a pin that its launch did not make", version);
        return;
    }
    if (n->made_version != 0 && !again)
        sim_violate(s, "G7", "pin %s is made twice", n->id);
    if (n->lost)
        sim_violate(s, "I7", "pin %s was reported as definitely not made", n->id);
    if (p->step < last->trim || p->step > last->next)
        sim_violate(s, "G7", "pin %s is at step %" PRIu64 " of %" PRIu64 " … %" PRIu64, n->id,
                    p->step, last->trim, last->next);
    n->made_version = version;
    MARK_IF(s, PIN_AT_TRIM, p->step == last->trim && p->step > 0);
}

static bool release_asked(const history *h, const group *g, const pin *p)
{
    for (size_t i = h->release_count; i > 0; i--) {
        const release_note *n = &h->releases[i - 1];
        if (n->nonce == p->nonce && is_text(g->launch, n->launch) && is_text(p->id, n->id))
            return true;
    }
    return false;
}

/* Where a pin stands that its launch found there and asked for all the same. */
static bool pinned_again(const sim *s, const group *g, uint64_t step)
{
    for (size_t i = 0; i < s->history->pin_count; i++) {
        const pin_note *n = &s->history->pins[i];
        if (n->step == step && is_text(g->launch, n->again) && is_text(g->name, n->group))
            return true;
    }
    return false;
}

static void check_pins(sim *s, const manifest *last, const group *was, const group *is,
                       uint64_t version)
{
    uint64_t hold = was->hold;
    bool pinned = was->pinned;
    for (uint32_t k = 0; k < was->pin_count; k++) {
        const pin *p = &was->pins[k], *still = find_pin(is, p);
        if (still != NULL && same_pin(still, p))
            continue;
        if (!release_asked(s->history, was, p))
            sim_violate(s, "G7",
                        "version %" PRIu64 " releases a pin at step %" PRIu64
                        " that its launch did not release",
                        version, p->step);
        MARK_IF(s, PIN_ID_REUSED, still != NULL);
    }
    for (uint32_t k = 0; k < is->pin_count; k++) {
        const pin *p = &is->pins[k], *old = find_pin(was, p);
        if (old != NULL && same_pin(old, p))
            continue;
        pin_made(s, last, is, p, version);
        MARK_IF(s, PIN_BELOW_HOLD, p->step < was->hold);
        pinned |= p->step >= was->hold;
        hold = p->step > hold ? p->step : hold;
    }
    MARK_IF(s, LAST_PIN_RELEASED, was->pin_count > 0 && is->pin_count == 0);
    if (hold == was->hold && is->hold > hold && pinned_again(s, is, is->hold)) {
        hold = is->hold;
        pinned = true;
        MARK(s, HOLD_RAISED_BY_OLD_PIN);
    }
    if (is->pinned != pinned || is->hold != hold || is->launch_number != was->launch_number)
        sim_violate(s, "G7", "version %" PRIu64 ": the hold should be %" PRIu64 " and is %" PRIu64,
                    version, hold, is->hold);
}

static void check_removed(sim *s, const group *was, uint64_t version)
{
    const history *h = s->history;
    for (size_t i = 0; i < h->removal_count; i++)
        if (is_text(was->launch, h->removals[i].launch) && is_text(was->name, h->removals[i].name))
            return;
    sim_violate(s, "G7", "version %" PRIu64 " is without a group that nobody removed", version);
}

static bool same_group(const group *a, const group *b)
{
    return view_equal(a->launch, b->launch) && a->launch_number == b->launch_number &&
           a->pinned == b->pinned && a->hold == b->hold && a->last_version == b->last_version &&
           hash_equal(&a->cursor_hash, &b->cursor_hash) && keeps_pins(a, b);
}

static uint32_t check_each_group(sim *s, const manifest *last, const manifest *now)
{
    uint32_t changed = 0;
    for (uint32_t i = 0; i < now->group_count; i++) {
        const group *is = &now->groups[i], *was = manifest_group(last, is->name);
        if (was != NULL && same_group(was, is))
            continue;
        changed++;
        if (is->last_version != now->version)
            sim_violate(s, "G7", "version %" PRIu64 " changes a group and says %" PRIu64,
                        now->version, is->last_version);
        if (was == NULL || !view_equal(was->launch, is->launch))
            check_launch(s, last, was, is, now->version);
        else
            check_pins(s, last, was, is, now->version);
    }
    for (uint32_t i = 0; i < last->group_count; i++) {
        if (manifest_group(now, last->groups[i].name) != NULL)
            continue;
        changed++;
        check_removed(s, &last->groups[i], now->version);
    }
    return changed;
}

/* ---- swept ---- */

static void check_swept(sim *s, model *m, const manifest *now)
{
    const manifest *last = m->last;
    if (now->swept < last->swept || now->swept > last->trim) {
        sim_violate(s, "G7", "version %" PRIu64 " has swept to %" PRIu64 ", trim is %" PRIu64,
                    now->version, now->swept, last->trim);
        return;
    }
    for (uint64_t k = last->swept; k < now->swept; k++) {
        const tgb *t = m->steps[k].tgb;
        for (uint32_t i = 0; i < t->parts; i++)
            if (t->objects[i] != NULL && !t->objects[i]->was_deleted)
                sim_violate(s, "G9",
                            "version %" PRIu64 " has swept step %" PRIu64
                            ", of which a part was never deleted",
                            now->version, k);
        MARK_IF(s, STATE_KEPT,
                t->state_object != NULL && t->state_object->now != NULL &&
                    check_state_needed(s, t->state_object));
        m->swept_bytes += t->total_bytes;
        m->ids[t->id].swept_seq = t->seq;
        m->ids[t->id].swept_offset = t->end;
    }
    if (now->swept_bytes != m->swept_bytes)
        sim_violate(s, "I18", "version %" PRIu64 " has swept %" PRIu64 " bytes, not %" PRIu64,
                    now->version, now->swept_bytes, m->swept_bytes);
    const uint64_t first = now->ref_count > 0 ? now->refs[0].first : manifest_tail_first(now);
    if (first > now->swept)
        sim_violate(s, "G7",
                    "version %" PRIu64 " describes steps from %" PRIu64
                    " on, the first needed is %" PRIu64,
                    now->version, first, now->swept);
}

/* ---- the page ---- */

static void check_page(sim *s, model *m, const manifest *now)
{
    const manifest *last = m->last;
    if (!now->has_page && !last->has_page)
        return;
    if (last->has_page && now->has_page && now->page.nonce == last->page.nonce &&
        now->page.version == last->page.version)
        return;
    object_key key;
    hash128 hash;
    key_page(&key, now->page.version, now->page.nonce);
    const object *o = vstore_object(s->store, &key, vstore_key_hash(key.text));
    if (!now->has_page || now->page.version != now->version || o->now == NULL ||
        hash_bytes(o->now->bytes, o->now->size, &hash) != BW_OK ||
        !hash_equal(&hash, &now->page.hash)) {
        sim_violate(s, "I1", "version %" PRIu64 " refers to a page that is not there",
                    now->version);
        return;
    }
    if (m->has_page)
        page_free(&m->page);
    /* The object may be written again, late: what was decoded stays in these bytes. */
    blob_unref(m->page_object);
    m->page_object = blob_ref(o->now);
    m->has_page = page_decode(view_of(o->now->bytes, o->now->size), &m->page, NULL) == BW_OK;
    if (!m->has_page)
        sim_violate(s, "I1", "version %" PRIu64 " refers to a page that cannot be read",
                    now->version);
    MARK(s, PAGE_MADE);
}

bool check_on_page(sim *s, model *m, const manifest *now, uint32_t id)
{
    const char name[2] = {(char)('a' + id), '\0'};
    const model_id *w = &m->ids[id];
    const producer_entry *e =
        now->has_page && m->has_page ? page_producer(&m->page, view_text(name)) : NULL;
    if (e == NULL)
        return false;
    if (!(w->finished || w->forgotten) || e->finished != w->finished ||
        e->forgotten != w->forgotten || e->seq != w->seq || e->offset != w->offset ||
        e->epoch != w->epoch || e->swept_seq != w->swept_seq || e->swept_seq != e->seq)
        sim_violate(s, "I5", "version %" PRIu64 ": %s is on the page and not as it stands",
                    now->version, name);
    return true;
}

void check_groups(sim *s, model *m, const manifest *now, uint64_t steps)
{
    if (m->last == NULL) {
        if (now->group_count > 0 || now->trim > 0 || now->swept > 0 || now->has_page)
            sim_violate(s, "I2", "version 1 is not empty");
        return;
    }
    const uint32_t changed = check_each_group(s, m->last, now);
    if (changed > 1 || (changed > 0 && steps > 0))
        sim_violate(s, "R3", "version %" PRIu64 " does more than one thing", now->version);
    if (!s->violated)
        check_trim(s, m->last, now);
    if (!s->violated)
        check_swept(s, m, now);
    if (!s->violated)
        check_page(s, m, now);
}

/* ---- what is deleted ---- */

/* Of entries on the page only those that the map does not have: who came back stands there. */
static bool names_state(const producer_entry *entries, uint32_t count, const manifest *map,
                        const object *o)
{
    for (uint32_t k = 0; k < count; k++) {
        object_key key;
        const producer_entry *e = &entries[k];
        if (!e->state_is_object || (map != NULL && manifest_producer(map, e->id) != NULL))
            continue;
        key_state(&key, e->id, e->state_ref.epoch, e->state_ref.seq, e->state_ref.nonce);
        if (strcmp(key.text, o->key.text) == 0)
            return true;
    }
    return false;
}

bool check_state_needed(const sim *s, const object *o)
{
    const model *m = model_of(s);
    return m->last != NULL &&
           (names_state(m->last->producers, m->last->producer_count, NULL, o) ||
            (m->has_page && names_state(m->page.entries, m->page.count, m->last, o)));
}

bool check_over(const model *m, const tgb *t)
{
    const model_id *id = &m->ids[t->id];
    return m->sealed || id->epoch > t->epoch || id->finished || id->forgotten || t->seq <= id->seq;
}

void check_data_deleted(sim *s, const object *o)
{
    const model *m = model_of(s);
    const tgb *t = history_find(s->history, o->nonce);
    if (t == NULL || m->last == NULL) {
        sim_violate(s, "G9", "%s is deleted and nobody made it", o->key.text);
        return;
    }
    if (o->kind == KEY_STATE && check_state_needed(s, o))
        sim_violate(s, "G7", "%s is deleted, a resume state that is needed", o->key.text);
    if (t->on_chain && t->step >= m->last->trim)
        sim_violate(s, "G7", "%s of step %" PRIu64 " is deleted, trim is %" PRIu64, o->key.text,
                    t->step, m->last->trim);
    if (!t->on_chain && !check_over(m, t))
        sim_violate(s, "G9", "%s is deleted and may still be published", o->key.text);
    MARK_IF(s, ORPHAN_DELETED, !t->on_chain && o->now != NULL);
    MARK_IF(s, ORPHAN_OF_OLD_EPOCH,
            !t->on_chain && o->now != NULL && t->epoch < m->ids[t->id].epoch);
    MARK_IF(s, PART_DELETED, t->on_chain && o->now != NULL);
}

void check_segment_deleted(sim *s, const object *o)
{
    const model *m = model_of(s);
    if (m->last == NULL || o->last >= m->last->swept)
        sim_violate(s, "G7", "%s is deleted, swept is %" PRIu64, o->key.text,
                    m->last != NULL ? m->last->swept : 0);
    MARK_IF(s, SEGMENT_DELETED, o->now != NULL);
}

void check_page_deleted(sim *s, const object *o)
{
    const model *m = model_of(s);
    if (m->last == NULL || o->number > m->last->version ||
        (m->last->has_page && m->last->page.version == o->number &&
         m->last->page.nonce == o->nonce))
        sim_violate(s, "G7", "%s is deleted and may be referred to", o->key.text);
    MARK_IF(s, PAGE_LOST, o->now != NULL);
}

void check_retained(sim *s)
{
    const model *m = model_of(s);
    if (m->last == NULL)
        return;
    for (size_t k = (size_t)m->last->trim; k < m->step_count; k++) {
        const tgb *t = m->steps[k].tgb;
        for (uint32_t i = 0; i < t->parts; i++)
            if (t->objects[i] == NULL || t->objects[i]->now == NULL)
                sim_violate(s, "G7", "a part of step %zu is gone, trim is %" PRIu64, k,
                            m->last->trim);
    }
}

bool check_let_go(const sim *s, const object *o)
{
    if (o->kind != KEY_PART && o->kind != KEY_STATE)
        return true;
    tgb *t = history_find(s->history, o->nonce);
    if (t == NULL)
        return true;
    const process *owner = s->processes[t->process];
    if (owner->alive && owner->life == t->life)
        return false;
    for (uint32_t i = 0; i < t->parts; i++) {
        if (t->objects[i] != o)
            continue;
        t->objects[i] = NULL;
        blob_unref(t->contents[i]);
        t->contents[i] = NULL;
    }
    if (t->state_object == o) {
        t->state_object = NULL;
        blob_unref(t->state);
        t->state = NULL;
    }
    return true;
}

/* Once all is over: is there anything that no reader and no producer can reach? */
bool check_unreachable(const sim *s, const object *o)
{
    const model *m = model_of(s);
    if (o->now == NULL || m->last == NULL)
        return false;
    const tgb *t;
    switch (o->kind) {
    case KEY_PART:
    case KEY_STATE:
        t = history_find(s->history, o->nonce);
        if (o->kind == KEY_STATE && check_state_needed(s, o))
            return false;
        return t == NULL || (t->on_chain ? t->step < m->last->swept : check_over(m, t));
    case KEY_SEGMENT:
        return o->last < m->last->swept;
    case KEY_PAGE:
        return o->number <= m->last->version &&
               !(m->last->has_page && m->last->page.nonce == o->nonce);
    default:
        return false;
    }
}

/* ---- what trainers are told ---- */

void check_launched(process *p, const char *launch, uint64_t step, uint32_t item)
{
    const launch_note *n = find_launch(p->sim->history, view_text(launch));
    if (n == NULL || n->made_version == 0)
        sim_violate(p->sim, "I6", "%s was told that launch %s is made", p->name, launch);
    else if (n->step != step || n->item != item)
        sim_violate(p->sim, "G2",
                    "%s was told to begin at step %" PRIu64 ", item %u, not %" PRIu64 ", %u",
                    p->name, step, item, n->step, n->item);
}

void check_pinned(process *p, const char *group_name, uint64_t nonce)
{
    const pin_note *n = find_pin_note(p->sim->history, view_text(group_name), nonce);
    if (n == NULL || n->made_version == 0)
        sim_violate(p->sim, "I6", "%s was told of a pin that is not on the chain", p->name);
}

void check_pin_lost(process *p, const char *group_name, uint64_t nonce)
{
    pin_note *n = find_pin_note(p->sim->history, view_text(group_name), nonce);
    if (n == NULL)
        return;
    n->lost = true;
    if (n->made_version != 0)
        sim_violate(p->sim, "I7", "%s was told that pin %s is not made, it is in version %" PRIu64,
                    p->name, n->id, n->made_version);
}

bool check_refused(process *p, bw_status status, const char *group_name, const char *launch,
                   uint64_t step)
{
    sim *s = p->sim;
    const manifest *last = model_of(s)->last;
    const group *g = last != NULL ? manifest_group(last, view_text(group_name)) : NULL;
    const history *h = s->history;
    bool removed = false;
    for (size_t i = 0; i < h->removal_count; i++)
        removed |= strcmp(h->removals[i].name, group_name) == 0;
    bool true_told = false;
    switch (status) {
    case BW_FENCED: /* somebody else's, or gone since */
        true_told = g == NULL ? removed : !is_text(g->launch, launch);
        break;
    case BW_GROUP_GONE:
        true_told = removed;
        break;
    case BW_TRIMMED:
        true_told = last != NULL && step < last->trim;
        break;
    default:
        return false;
    }
    if (!true_told)
        sim_violate(s, "R7", "%s was told %s of group %s, launch %s, step %" PRIu64, p->name,
                    bw_status_name(status), group_name, launch, step);
    return true;
}

void check_blocked(process *p, const manifest *base, const descriptor *d, uint32_t count)
{
    const genesis *g = &p->sim->genesis;
    const producer_entry *e = manifest_producer(base, d[0].id);
    uint64_t w, f;
    const bool any = bounds(base, &w, &f);
    uint32_t at = 0;
    while (e != NULL && at < count && d[at].record.seq <= e->seq)
        at++;
    if (at == count)
        return; /* a later base has them all */
    const uint64_t bytes = base->committed_bytes - base->swept_bytes + d[at].shape.total_bytes;
    const bool lag = g->has_max_lag && any && base->next - f >= g->max_lag;
    const bool full = g->has_max_bytes && any && bytes > g->max_bytes;
    if (!lag && !full)
        sim_violate(p->sim, "G8",
                    "%s was told that it stands at a limit: version %" PRIu64 ", next %" PRIu64
                    ", frontier %" PRIu64,
                    p->name, base->version, base->next, f);
}

bool check_keeps(const sim *s, const char *group_name, const char *launch, uint64_t step)
{
    const manifest *last = model_of(s)->last;
    const group *g = last != NULL ? manifest_group(last, view_text(group_name)) : NULL;
    if (g == NULL || !is_text(g->launch, launch))
        return false;
    bool keeps = g->hold <= step;
    for (uint32_t k = 0; k < g->pin_count; k++)
        keeps |= g->pins[k].step <= step;
    return keeps;
}

bool check_trimmed(process *p, uint64_t step)
{
    const manifest *last = model_of(p->sim)->last;
    if (last != NULL && step < last->trim) {
        MARK(p->sim, TOLD_TRIMMED);
        return true;
    }
    sim_violate(p->sim, "G7", "%s: step %" PRIu64 " is gone and not trimmed", p->name, step);
    return false;
}
