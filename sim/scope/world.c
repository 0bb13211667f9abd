// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What may happen, and what it does to the store. What it means is judged in verdict.c. */
#include "world.h"

#include "arena.h"
#include "verdict.h"
#include <stdio.h>
#include <string.h>

static world_plan plan;
static world first;

#define SWEEPER IDS
#define HEIR (IDS + 1)
/* Who is killed counts on from 1, who takes over from here. */
#define HEIR_LIFE 4u
/* A late write: what it is, and of what. */
#define LATE_KIND_SHIFT 28

void world_setup(const world_plan *p)
{
    plan = *p;
    genesis g = {.created_ms = 1,
                 .dp = 1,
                 .cp = 1,
                 .items_default = 1,
                 .expected_producers = p->producers,
                 .block_size = p->block_size,
                 .tail_cap = p->tail_cap,
                 .part_bytes = 4096,
                 .page_min = 2};
    memset(g.uuid, 7, sizeof g.uuid);
    contents_found(&g);
    actor_plan actors = {.passes = 1, .blocks_max = VERSIONS_MAX / p->block_size};
    memcpy(actors.commits, p->commits, sizeof actors.commits);
    actor_setup(&actors);
}

const world_plan *world_planned(void)
{
    return &plan;
}

void world_begin(world *w)
{
    memset(w, 0, sizeof *w);
    w->head = 1;
    w->faults = (uint8_t)plan.faults;
    for (uint32_t id = 0; id < plan.producers; id++) {
        actor_new_producer(id, 1, false);
        w->local[id] = locals_put();
    }
    for (uint32_t i = 0; i < plan.sweepers; i++) {
        actor_new_sweeper(1, false);
        w->local[SWEEPER + i] = locals_put();
    }
    first = *w;
}

/* ---- small ordered sets ---- */

static void set_add(uint32_t *set, uint32_t size, uint32_t value, bool once, const char *what)
{
    uint32_t at = 0;
    while (at < size && set[at] != 0 && set[at] < value)
        at++;
    if (once && at < size && set[at] == value)
        return;
    if (set[size - 1] != 0)
        scope_defect(what);
    memmove(set + at + 1, set + at, (size - 1 - at) * sizeof *set);
    set[at] = value;
}

static void set_remove(uint32_t *set, uint32_t size, uint32_t at)
{
    memmove(set + at, set + at + 1, (size - 1 - at) * sizeof *set);
    set[size - 1] = 0;
}

/* ---- the store ---- */

static uint32_t ghost_at(const world *w, uint32_t version)
{
    for (uint32_t i = 0; i < GHOSTS_MAX && w->ghosts[i] != 0; i++)
        if (contents_at(w->ghosts[i])->version == version)
            return i;
    return GHOSTS_MAX;
}

static uint32_t stored(const world *w, uint32_t version)
{
    const content *head = contents_at(w->head);
    if (version == 0 || version > head->version)
        return 0;
    if ((w->gone & 1u << version) == 0)
        return head->chain[version];
    const uint32_t at = ghost_at(w, version);
    return at < GHOSTS_MAX ? w->ghosts[at] : 0;
}

/* True: created. */
static bool apply_create(world *w, uint32_t number)
{
    const content *c = contents_at(number);
    if (c->version == 0 || c->version > VERSIONS_MAX) {
        violate("%s", c->fault);
        return false;
    }
    if (stored(w, c->version) != 0)
        return false;
    if (c->version > contents_at(w->head)->version) {
        verdict_extended(w, number);
        w->head = number;
    } else {
        verdict_ghost(w, number);
        set_add(w->ghosts, GHOSTS_MAX, number, false, "too many ghosts");
    }
    return true;
}

static bool apply_marker(world *w, uint32_t retired)
{
    if ((w->markers & 1u << retired) != 0)
        return false;
    verdict_marked(w, retired);
    w->markers |= 1u << retired;
    return true;
}

static void apply_delete(world *w, uint32_t versions)
{
    for (uint32_t v = 1; v <= VERSIONS_MAX; v++) {
        if ((versions & 1u << v) == 0 || stored(w, v) == 0)
            continue;
        verdict_deleted(w, v);
        const uint32_t at = ghost_at(w, v);
        if (at < GHOSTS_MAX)
            set_remove(w->ghosts, GHOSTS_MAX, at);
        w->gone |= 1u << v;
    }
}

static uint32_t names(const world *w, bool old)
{
    uint32_t versions = 0;
    for (uint32_t v = 1; v <= contents_at(w->head)->version; v++)
        if (old || stored(w, v) != 0)
            versions |= 1u << v;
    return versions;
}

static void add_late(world *w, const errand *e)
{
    set_add(w->late, LATE_MAX, (uint32_t)e->kind << LATE_KIND_SHIFT | e->number, false,
            "too many late writes");
}

static void apply_late(world *w, uint32_t which)
{
    const uint32_t kind = w->late[which] >> LATE_KIND_SHIFT;
    const uint32_t number = w->late[which] & ((1u << LATE_KIND_SHIFT) - 1);
    set_remove(w->late, LATE_MAX, which);
    if (kind == ERRAND_CREATE)
        (void)apply_create(w, number);
    else if (kind == ERRAND_CREATE_MARKER)
        (void)apply_marker(w, number);
    else
        apply_delete(w, number);
}

/* ---- choices ---- */

static bool is_write(errand_kind kind)
{
    return kind == ERRAND_CREATE || kind == ERRAND_CREATE_MARKER || kind == ERRAND_DELETE ||
           kind == ERRAND_PUT;
}

static bool is_head(errand_kind kind)
{
    return kind == ERRAND_HEAD_MANIFEST || kind == ERRAND_HEAD_MARKER;
}

typedef struct choosing {
    const world *w;
    choice *choices;
    uint32_t count;
} choosing;

static void add(choosing *c, uint32_t process, uint32_t at, how h, uint32_t which)
{
    const bool fault = (FAULTS_ALL & 1u << h) != 0;
    if (fault && (c->w->faults == 0 || (plan.fault_classes & 1u << h) == 0))
        return;
    if (c->count == CHOICES_MAX)
        scope_defect("too many choices");
    c->choices[c->count++] = (choice){(uint8_t)process, (uint8_t)at, (uint8_t)h, (uint8_t)which};
}

/* The names of a delete go one by one, in any order; the last one is its answer. */
static void choose_delete(choosing *c, uint32_t process, uint32_t at, uint32_t versions)
{
    uint32_t left = 0, index = 0;
    for (uint32_t v = 1; v <= VERSIONS_MAX; v++)
        if ((versions & 1u << v) != 0)
            left += (c->w->deleted[process] & 1u << index++) == 0;
    if (left <= 1)
        return;
    index = 0;
    for (uint32_t v = 1; v <= VERSIONS_MAX; v++)
        if ((versions & 1u << v) != 0 && (c->w->deleted[process] & 1u << index++) == 0)
            add(c, process, at, HOW_IN_PART, v);
}

static bool splits(const world *w, uint32_t process, uint32_t versions)
{
    return (uint32_t)__builtin_popcount(versions) >
           (uint32_t)__builtin_popcount(w->deleted[process]) + 1;
}

static void choose_errand(choosing *c, uint32_t process, uint32_t at, const errand *e)
{
    const bool part = e->kind == ERRAND_DELETE && splits(c->w, process, e->number);
    if (part)
        choose_delete(c, process, at, e->number);
    else
        add(c, process, at, HOW_TRULY, 0);
    add(c, process, at, HOW_REFUSED, 0);
    if (e->kind == ERRAND_CREATE || e->kind == ERRAND_CREATE_MARKER) {
        add(c, process, at, HOW_REPLY_LOST, 0);
        add(c, process, at, HOW_DELAYED, 0);
        add(c, process, at, HOW_TWICE, 0);
    } else if (e->kind == ERRAND_DELETE && !part) {
        add(c, process, at, HOW_REPLY_LOST, 0);
        add(c, process, at, HOW_TWICE, 0);
    } else if (e->kind == ERRAND_PUT) {
        add(c, process, at, HOW_REPLY_LOST, 0);
    } else if (e->kind == ERRAND_MANIFEST && stored(c->w, e->number) != 0 && c->w->faults == 1) {
        /* Only one: what is damaged twice in a row is reported as it is. */
        add(c, process, at, HOW_DAMAGED, 0);
    } else if (e->kind == ERRAND_LIST) {
        add(c, process, at, HOW_LIST_EMPTY, 0);
        add(c, process, at, HOW_LIST_OLD, 0);
    }
}

/* What a process has sent when it dies lives on, and may also be never applied. So dying while it
 * only reads is the same as reading on, alone, and dying with the next write on its way, which is
 * never applied; but for the last read of all, after which nothing is sent. */
static bool may_die(const actor_face *f)
{
    for (uint32_t i = 0; i < f->errand_count; i++)
        if (is_write(f->errands[i].kind) || f->errands[i].kind == ERRAND_MARKER)
            return true;
    return false;
}

/* What is asked for at once arrives in any order, but for the questions of one search, which arrive
 * in the order in which they were asked. */
static bool waits_for_another(const actor_face *f, uint32_t at)
{
    for (uint32_t i = 0; i < at && is_head(f->errands[at].kind); i++)
        if (is_head(f->errands[i].kind))
            return true;
    return false;
}

static void choose_process(choosing *c, uint32_t process)
{
    const actor_face *f = locals_face(c->w->local[process]);
    for (uint32_t i = 0; i < f->errand_count; i++)
        if (!waits_for_another(f, i))
            choose_errand(c, process, i, &f->errands[i]);
    if (f->end != ACTOR_RUNS)
        return;
    if (f->committing)
        add(c, process, 0, HOW_DEADLINE, 0);
    if (may_die(f))
        add(c, process, 0, HOW_KILLED, 0);
}

/* ---- fewer orders ----
 *
 * Where all that a process can do next neither changes what others meet, nor can be changed by what
 * they do, it goes first, and the others after it: any other order leads to the same states. */

/* No version beyond this one can come to be any more, whatever happens. */
static uint32_t last_version(const world *w)
{
    uint32_t last = contents_at(w->head)->version;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        const actor_face *f = w->local[p] != 0 ? locals_face(w->local[p]) : NULL;
        if (f == NULL || f->sweeper || f->end != ACTOR_RUNS)
            continue;
        last += plan.commits[f->id] - f->acked;
        if (f->epoch == 0)
            last += f->life < LIVES ? 2 : 1;
    }
    for (uint32_t i = 0; i < LATE_MAX && w->late[i] != 0; i++)
        last += w->late[i] >> LATE_KIND_SHIFT == ERRAND_CREATE;
    /* A fault makes another incarnation, with two opens at most, or a duplicate. */
    return last + 3u * w->faults;
}

static uint32_t sweepers_at_work(const world *w)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        const actor_face *f = w->local[p] != 0 ? locals_face(w->local[p]) : NULL;
        count += f != NULL && f->sweeper && f->end == ACTOR_RUNS;
    }
    return count;
}

static bool can_retire(const world *w)
{
    if (sweepers_at_work(w) > 0)
        return true;
    for (uint32_t i = 0; i < LATE_MAX && w->late[i] != 0; i++)
        if (w->late[i] >> LATE_KIND_SHIFT != ERRAND_CREATE)
            return true;
    return false;
}

static bool late_marker(const world *w)
{
    for (uint32_t i = 0; i < LATE_MAX && w->late[i] != 0; i++)
        if (w->late[i] >> LATE_KIND_SHIFT == ERRAND_CREATE_MARKER)
            return true;
    return false;
}

/* Nobody will retire this block: no newest version can lie far enough above it. */
static bool stays(const world *w, uint32_t retired, uint32_t last)
{
    return retired + 1 >= last / plan.block_size || !can_retire(w);
}

static bool is_alone(const world *w, const actor_face *f, const errand *e, uint32_t last)
{
    switch (e->kind) {
    case ERRAND_PUT:
        /* Nobody reads it; who refers to it has waited for it. */
        return true;
    case ERRAND_MARKER:
    case ERRAND_HEAD_MARKER:
        /* There for ever, or never, or only this process makes it. */
        return (w->markers & 1u << e->number) != 0 || stays(w, e->number, last) ||
               (f->sweeper && sweepers_at_work(w) == 1 && !late_marker(w));
    case ERRAND_MANIFEST:
    case ERRAND_HEAD_MANIFEST:
        if (e->number > contents_at(w->head)->version)
            return e->number > last;
        return (w->gone & 1u << e->number) == 0 && stays(w, e->number / plan.block_size, last);
    default:
        return false;
    }
}

static bool goes_first(const world *w, uint32_t process, uint32_t last)
{
    const actor_face *f = locals_face(w->local[process]);
    for (uint32_t i = 0; i < f->errand_count; i++)
        if (!waits_for_another(f, i) && !is_alone(w, f, &f->errands[i], last))
            return false;
    return f->errand_count > 0;
}

/* When another incarnation starts does not matter, since it may rest as long as it likes before its
 * first request is applied: so it starts at once or not at all. */
/* Where two producers do the same, taking over from either is the same but for the names, which the
 * protocol compares only to find them. */
static uint32_t taken_over(void)
{
    if (plan.sweepers > 1)
        return 0;
    return plan.producers > 1 && plan.commits[0] == plan.commits[1] ? 1 : plan.producers;
}

static bool is_first(const world *w)
{
    return memcmp(w, &first, sizeof first) == 0;
}

uint32_t world_choices(const world *w, choice *choices)
{
    choosing c = {.w = w, .choices = choices};
    const uint32_t last = last_version(w);
    const bool at_first = is_first(w);
    for (uint32_t p = 0; p < PROCESSES && !at_first; p++) {
        if (w->local[p] != 0 && goes_first(w, p, last)) {
            choose_process(&c, p);
            return c.count;
        }
    }
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (w->local[p] != 0)
            choose_process(&c, p);
    for (uint32_t id = 0; at_first && id < taken_over(); id++)
        add(&c, id, 0, HOW_TAKEN_OVER, 0);
    if (c.count == 0)
        return 0;
    for (uint32_t i = 0; i < LATE_MAX && w->late[i] != 0; i++)
        if (i == 0 || w->late[i] != w->late[i - 1])
            add(&c, 0, 0, HOW_LATE, i);
    return c.count;
}

/* ---- what happens ---- */

static answer applied(world *w, const errand *e, const choice *c)
{
    answer a = {.kind = ANSWER_OK, .errand = c->errand};
    const how h = (how)c->how;
    switch (e->kind) {
    case ERRAND_MANIFEST:
        a.value = stored(w, e->number);
        a.kind = a.value == 0 ? ANSWER_ABSENT : h == HOW_DAMAGED ? ANSWER_DAMAGED : ANSWER_CONTENT;
        break;
    case ERRAND_HEAD_MANIFEST:
        a.kind = stored(w, e->number) != 0 ? ANSWER_OK : ANSWER_ABSENT;
        break;
    case ERRAND_MARKER:
    case ERRAND_HEAD_MARKER:
        a.kind = (w->markers & 1u << e->number) != 0 ? ANSWER_OK : ANSWER_ABSENT;
        break;
    case ERRAND_CREATE:
        a.kind = apply_create(w, e->number) ? ANSWER_CREATED : ANSWER_EXISTS;
        break;
    case ERRAND_CREATE_MARKER:
        a.kind = apply_marker(w, e->number) ? ANSWER_CREATED : ANSWER_EXISTS;
        break;
    case ERRAND_PUT:
        set_add(w->segments, SEGMENTS_MAX, e->number, true, "too many segments");
        break;
    case ERRAND_DELETE:
        apply_delete(w, e->number);
        w->deleted[c->process] = 0;
        break;
    case ERRAND_LIST:
        a.kind = ANSWER_NAMES;
        a.value = h == HOW_LIST_EMPTY ? 0 : names(w, h == HOW_LIST_OLD);
        break;
    default:
        violate("R9: a request that nobody may make");
    }
    return a;
}

static void answer_errand(world *w, const choice *c)
{
    const errand e = locals_face(w->local[c->process])->errands[c->errand];
    const bool create = e.kind == ERRAND_CREATE || e.kind == ERRAND_CREATE_MARKER;
    answer a = {.kind = ANSWER_RETRY, .errand = c->errand};
    if (c->how == HOW_DELAYED || c->how == HOW_TWICE)
        add_late(w, &e);
    if (c->how == HOW_DELAYED)
        a.kind = ANSWER_UNKNOWN;
    else if (c->how != HOW_REFUSED)
        a = applied(w, &e, c);
    if (c->how == HOW_REPLY_LOST)
        a = (answer){.kind = create ? ANSWER_UNKNOWN : ANSWER_RETRY, .errand = c->errand};
    if (e.kind == ERRAND_DELETE)
        w->deleted[c->process] = 0;
    if (violated())
        return;
    verdict_answered(w, c->process, &a);
}

static void delete_in_part(world *w, const choice *c)
{
    const errand *e = &locals_face(w->local[c->process])->errands[c->errand];
    apply_delete(w, 1u << c->which);
    const uint32_t index = (uint32_t)__builtin_popcount(e->number & ((1u << c->which) - 1));
    w->deleted[c->process] |= (uint8_t)(1u << index);
}

/* What it sent lives on: applied later, or never. */
static void die(world *w, uint32_t process)
{
    const actor_face *f = locals_face(w->local[process]);
    for (uint32_t i = 0; i < f->errand_count; i++)
        if (is_write(f->errands[i].kind) && f->errands[i].kind != ERRAND_PUT)
            add_late(w, &f->errands[i]);
    w->deleted[process] = 0;
    w->local[process] = 0;
}

static void start_again(world *w, uint32_t process, bool killed)
{
    const actor_face f = *locals_face(w->local[process]);
    if (killed)
        die(w, process);
    const uint32_t life = f.life % LIVES + (killed ? 1u : HEIR_LIFE - 1);
    if (f.sweeper)
        actor_new_sweeper(life, true);
    else
        actor_new_producer(f.id, life, true);
    w->local[killed ? process : HEIR] = locals_put();
}

/* Nothing in the store says which of two sweepers did what, and both run the same code: which of
 * them stands where makes no difference. */
static void sort_sweepers(world *w)
{
    if (plan.sweepers < 2 || w->local[SWEEPER] <= w->local[SWEEPER + 1])
        return;
    const uint32_t at = w->local[SWEEPER];
    const uint8_t deleted = w->deleted[SWEEPER];
    w->local[SWEEPER] = w->local[SWEEPER + 1];
    w->deleted[SWEEPER] = w->deleted[SWEEPER + 1];
    w->local[SWEEPER + 1] = at;
    w->deleted[SWEEPER + 1] = deleted;
}

bool world_take(const world *w, const choice *c, world *next)
{
    verdict_begin();
    *next = *w;
    if ((FAULTS_ALL & 1u << c->how) != 0)
        next->faults--;
    switch ((how)c->how) {
    case HOW_IN_PART:
        delete_in_part(next, c);
        break;
    case HOW_LATE:
        apply_late(next, c->which);
        break;
    case HOW_KILLED:
    case HOW_TAKEN_OVER:
        start_again(next, c->process, c->how == HOW_KILLED);
        break;
    case HOW_DEADLINE:
        verdict_answered(next, c->process, &(answer){.kind = ANSWER_DEADLINE});
        break;
    default:
        answer_errand(next, c);
    }
    verdict_settle(next);
    sort_sweepers(next);
    return !violated();
}

/* Once everything is over, one more pass finds nothing in the way and leaves nothing behind: every
 * block that may be retired is, and no name of a retired block is taken. */
void world_sweep_calmly(const world *end)
{
    world w = *end;
    actor_new_sweeper(2 * LIVES, true);
    w.local[SWEEPER] = locals_put();
    w.deleted[SWEEPER] = 0;
    while (!violated() && locals_face(w.local[SWEEPER])->errand_count > 0)
        answer_errand(&w, &(choice){.process = SWEEPER, .how = HOW_TRULY});
    const uint32_t version = contents_at(w.head)->version;
    for (uint32_t b = 0; b + 1 < version / plan.block_size; b++)
        if ((w.markers & 1u << b) == 0)
            violate("G11: a calm sweep leaves block %u, and the newest version is %u", b, version);
    for (uint32_t v = 1; v <= version; v++)
        if ((w.markers & 1u << v / plan.block_size) != 0 && stored(&w, v) != 0)
            violate("I15: a calm sweep leaves version %u in a retired block", v);
}
