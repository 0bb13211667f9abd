// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "month.h"

#include "campaign.h"
#include "check.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOUR_NS (3600 * NS_PER_S)
#define DAY_NS (24 * HOUR_NS)
/* From one stop to the next: half a day in the middle. */
#define STOP_MIN_NS (4 * HOUR_NS)
#define STOP_SPREAD_NS (16 * HOUR_NS)

/* A commit each 20 seconds or so, a checkpoint each 5 to 30 minutes; everything small, so that
 * blocks, segments, indexes of two levels and pages come and go all the time. */
void month_plan(sim *s)
{
    sim_plan *p = &s->plan;
    p->month = true;
    p->pace = 300;
    p->stride = 60;
    p->patience = 20;
    p->versions = UINT32_MAX;
    p->safety_ns = s->month->days * DAY_NS;
    p->ids = IDS_MAX;
    p->producers = 5;
    p->expected = 0;
    p->gap_ns = 100 * NS_PER_S;
    p->stage_max = 3;
    p->patience_ns = 20 * NS_PER_S;
    p->block_size = 8;
    p->tail_cap = 256;
    p->page_min = 2;
    p->groups = GROUPS_HERE_MAX;
    p->group_rivals = p->removes = p->forgets = true;
    p->max_lag = 900;
    p->max_bytes = 800000;
    p->seals_early = p->storm = p->tagged = p->leavers = p->feud = p->polls_only = false;
    p->skip_count = 0;
    rng_seed(&s->month->random, sim_draw(s, 0x6d6f6e74, 0));
    s->month->stop_ns = DAY_NS / 4;
}

/* ---- stops ---- */

static void kill_everybody(sim *s)
{
    for (uint32_t i = 0; i < s->process_count; i++) {
        s->month->killed += s->processes[i]->alive;
        process_end(s->processes[i], true);
    }
}

/* Twice found unreachable, a day between, and never written in that time: it stays for ever. */
static int look_at(void *context, object *o)
{
    sim *s = context;
    const bool ghost = o->kind == KEY_MANIFEST && o->now != NULL && vstore_is_retired(s, o->number);
    if (!ghost && !check_unreachable(s, o))
        o->unreachable_ns = 0;
    else if (o->unreachable_ns == 0)
        o->unreachable_ns = s->now_ns;
    else if (s->now_ns > o->unreachable_ns + DAY_NS)
        sim_violate(s, "G9", "%s is stored, and for a day nobody could reach it", o->key.text);
    return s->violated;
}

static void judge(sim *s)
{
    month *m = s->month;
    m->stops++;
    dump_write(s, m->folder);
    const int code = dump_judge(m->verify, m->folder);
    if (code != 0) {
        sim_violate(s, "VERIFY", "day %.2f, version %" PRIu64 ": %s %s exits with %d",
                    (double)s->now_ns / (double)DAY_NS, vstore_newest(s->store), m->verify,
                    m->folder, code);
        return;
    }
    m->clean++;
    dump_remove(m->folder);
}

void month_stop(sim *s)
{
    month *m = s->month;
    const bool kills = m->stops % 2 == 1;
    if (s->phase != PHASE_SAFETY) {
        m->stop_ns = TIME_NEVER;
        return;
    }
    m->stop_ns = s->now_ns + STOP_MIN_NS + (int64_t)rng_below(&m->random, STOP_SPREAD_NS);
    if (kills)
        kill_everybody(s);
    (void)vstore_each(s->store, look_at, s);
    if (!s->violated)
        judge(s);
    vstore_forget(s);
    const model *w = model_of(s);
    const vstore_size now = vstore_stored(s->store);
    if (m->is_told)
        (void)fprintf(stderr,
                      "day %5.2f: version %" PRIu64 ", step %zu, trim %" PRIu64 ", swept %" PRIu64
                      ", %" PRIu64 " objects, %" PRIu64 " bytes%s\n",
                      (double)s->now_ns / (double)DAY_NS, w->last->version, w->step_count,
                      w->last->trim, w->last->swept, now.objects, now.bytes,
                      kills ? ", everybody killed" : "");
}

/* ---- the end ---- */

static int add_part(void *context, object *o)
{
    if (o->kind == KEY_PART && o->now != NULL)
        *(uint64_t *)context += o->now->size;
    return 0;
}

void month_end(sim *s)
{
    month *m = s->month;
    const model *w = model_of(s);
    const uint64_t kept = w->committed_bytes - w->swept_bytes;
    const history *h = s->history;
    (void)vstore_each(s->store, add_part, &m->part_bytes);
    for (size_t i = 0; i < h->launch_count; i++)
        m->launches += h->launches[i].made_version != 0;
    for (size_t i = 0; i < h->pin_count; i++)
        m->pins += h->pins[i].made_version != 0;
    m->stored_bytes = vstore_stored(s->store).bytes;
    m->joins = w->opens;
    m->leaves = h->leaves;
    m->jobs = h->jobs;
    m->objects_peak = vstore_peak(s->store).objects;
    m->bytes_peak = vstore_peak(s->store).bytes;
    if (s->violated)
        return;
    if (m->part_bytes != kept || kept > s->genesis.max_bytes)
        sim_violate(s, "G8",
                    "%" PRIu64 " bytes of parts are stored, %" PRIu64 " are kept, %" PRIu64
                    " may be",
                    m->part_bytes, kept, s->genesis.max_bytes);
    if (!s->violated)
        judge(s);
}

/* ---- the report ---- */

typedef struct figure {
    const char *name;
    uint64_t value;
} figure;

void month_print(const month *m, bool json)
{
    const sim_result *r = &m->result;
    const figure figures[] = {
        {"seed", r->seed},
        {"days", m->days},
        {"versions", r->versions},
        {"steps", r->steps},
        {"publishes", r->commits},
        {"joins", m->joins},
        {"leaves", m->leaves},
        {"forgotten", r->marks[MARK_FORGOTTEN]},
        {"kills", m->killed + r->fault_hits[FAULT_KILL]},
        {"kills_of_all", m->stops / 2},
        {"launches", m->launches},
        {"rollbacks", r->marks[MARK_ROLLBACK_OF_JOB]},
        {"rescales", r->marks[MARK_LAUNCH_OTHER_MESH]},
        {"pins", m->pins},
        {"groups_removed", r->marks[MARK_GROUP_REMOVED]},
        {"jobs_after_jobs", m->jobs},
        {"sweeps", r->sweeps},
        {"blocks_retired", r->blocks_retired},
        {"parts_deleted", r->marks[MARK_PART_DELETED]},
        {"segments_deleted", r->marks[MARK_SEGMENT_DELETED]},
        {"indexes_of_indexes", r->marks[MARK_INDEX_OF_INDEXES]},
        {"pages_made", r->marks[MARK_PAGE_MADE]},
        {"pages_deleted", r->marks[MARK_PAGE_LOST]},
        {"orphans_deleted", r->marks[MARK_ORPHAN_DELETED]},
        {"ghosts", r->marks[MARK_GHOST_CREATED]},
        {"faults", r->faults},
        {"requests", r->requests},
        {"slices", r->slices},
        {"verifications", m->stops},
        {"verified_clean", m->clean},
        {"blocked_by_lag", r->marks[MARK_BLOCKED_LAG]},
        {"blocked_by_bytes", r->marks[MARK_BLOCKED_BYTES] + r->marks[MARK_BLOCKED_SWEEP]},
        {"objects_peak", m->objects_peak},
        {"bytes_peak", m->bytes_peak},
        {"bytes_at_end", m->stored_bytes},
        {"part_bytes_at_end", m->part_bytes},
    };
    const size_t count = sizeof figures / sizeof *figures;
    if (json) {
        printf("{\"verdict\":\"%s\",\"invariant\":\"%s\"", r->violated ? "violated" : "ok",
               r->invariant);
        for (size_t i = 0; i < count; i++)
            printf(",\"%s\":%" PRIu64, figures[i].name, figures[i].value);
        printf(",\"seconds\":%.1f}\n", m->seconds);
        return;
    }
    for (size_t i = 0; i < count; i++)
        printf("%-18s %12" PRIu64 "\n", figures[i].name, figures[i].value);
    printf("%-18s %12.1f\n", "seconds", m->seconds);
    if (r->violated)
        printf("seed %" PRIu64 " breaks %s: %s\n", r->seed, r->invariant, r->violation);
    /* Each verification, and the life between them. */
    printf("%" PRIu64 " passed, %d failed\n", m->clean + !r->violated, r->violated);
}

void month_run(month *m, uint64_t seed)
{
    const char *temporary = getenv("TMPDIR");
    const double began = campaign_clock();
    (void)snprintf(m->folder, sizeof m->folder, "%s/month-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(m->folder) == NULL)
        sim_defect("no folder for the store");
    simulate(seed, &(sim_options){.month = m, .story = m->tells}, &m->result);
    m->seconds = campaign_clock() - began;
    /* A namespace that is not clean is left to be looked at. */
    if (rmdir(m->folder) != 0 && errno != ENOENT && !m->result.violated)
        sim_defect("cannot remove what was written of the store");
}
