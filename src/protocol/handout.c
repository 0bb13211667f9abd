// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/handout.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

struct handout {
    uint8_t uuid[UUID_BYTES];
    rescale rescale;
    position position; /* in the job's mesh */
    uint32_t cp, slices;
    uint64_t part_bytes;
    uint64_t step;
    uint32_t item;
    uint64_t reach; /* what of [step, reach) is not skipped has tags that are not wanted */
    bool has_nonce;
    uint64_t nonce, nonce_step; /* of the step last handed out from */
    uint32_t skip_count;
    skip_range *skips;
    uint32_t tag_count;
    tag_range *tags;
};

bw_status mesh_position(const mesh *m, uint32_t rank, uint32_t world, position *out,
                        bw_error *error)
{
    if (m->dp == 0 || m->cp == 0 || m->tp == 0 || m->pp == 0)
        return error_set(error, BW_INVALID, "each axis of the mesh must be at least 1");
    /* Four factors of 32 bits: compared by division, so that no product overflows. */
    const uint64_t dc = (uint64_t)m->dp * m->cp, tp = (uint64_t)m->tp * m->pp;
    if (dc > world || tp > world || dc * tp != world)
        return error_set(error, BW_MESH_MISMATCH,
                         "world size %u is not dp %u x cp %u x tp %u x pp %u", world, m->dp, m->cp,
                         m->tp, m->pp);
    if (rank >= world)
        return error_set(error, BW_INVALID, "rank %u is not below the world size %u", rank, world);
    MUST(m->tp > 0);
    MUST(m->cp > 0);
    /* rank = ((pp·DP + d)·CP + c)·TP + tp */
    const uint32_t above_tp = rank / m->tp;
    *out = (position){.d = above_tp / m->cp % m->dp, .c = above_tp % m->cp};
    MUST(out->d < m->dp);
    MUST(out->c < m->cp);
    return BW_OK;
}

bw_status handout_new(const genesis *g, position p, uint32_t job_dp, cursor_mode mode,
                      handout **out, bw_error *error)
{
    rescale r;
    BW_TRY(rescale_find(mode, g->dp, job_dp, &r, error));
    if (p.d >= job_dp || p.c >= g->cp)
        return error_set(error, BW_MESH_MISMATCH, "position (%u,%u) lies outside the mesh %u x %u",
                         p.d, p.c, job_dp, g->cp);
    handout *h = mem_zalloc(sizeof *h);
    if (h == NULL)
        return error_set(error, BW_NOMEM, "no memory for a reader");
    memcpy(h->uuid, g->uuid, UUID_BYTES);
    h->rescale = r;
    h->position = p;
    h->cp = g->cp;
    h->slices = genesis_slices(g);
    h->part_bytes = g->part_bytes;
    MUST(h->slices > 0);
    MUST(h->part_bytes > 0);
    *out = h;
    return BW_OK;
}

uint32_t handout_reads(const handout *h)
{
    return h->rescale.reads;
}

static uint32_t slice_of(const handout *h, uint32_t nth)
{
    const uint32_t row = rescale_row(&h->rescale, h->position.d, nth);
    const uint32_t slice = MUTANT(slice_transposed) ? h->position.c * h->rescale.made_for + row
                                                    : row * h->cp + h->position.c;
    MUST(row < h->rescale.made_for);
    MUST(slice < h->slices);
    return slice;
}

void handout_free(handout *h)
{
    if (h == NULL)
        return;
    mem_free(h->skips);
    mem_free(h->tags);
    mem_free(h);
}

/* `reads` is the step that would be read next: a skip may lead out of what is trimmed. `from` is
 * where the skip before it began: it may lead beyond what is published yet. */
static bw_status check_step(const manifest *m, uint64_t from, uint64_t step, uint64_t reads,
                            uint32_t item, bw_error *error)
{
    bw_status status = BW_OK;
    MUST(from <= step);
    MUST(step <= reads);
    MUST(m->trim <= m->next);
    if (reads < m->trim)
        status = error_set(error, BW_TRIMMED, "step %llu is below the trim step %llu",
                           (unsigned long long)reads, (unsigned long long)m->trim);
    else if (from > m->next || (step >= m->next && item > 0))
        status = error_set(error, BW_BEYOND_END, "step %llu lies beyond the end, %llu",
                           (unsigned long long)step, (unsigned long long)m->next);
    if (status != BW_OK)
        error_set_step(error, step);
    return status;
}

bw_status handout_start(handout *h, const manifest *m, start_kind kind, uint64_t step,
                        bw_error *error)
{
    if (kind == START_EARLIEST)
        step = m->trim;
    else if (kind == START_LATEST)
        step = m->next;
    BW_TRY(check_step(m, step, step, step, 0, error));
    MUST(step >= m->trim);
    MUST(step <= m->next);
    h->step = h->reach = step;
    h->item = 0;
    h->has_nonce = false;
    return BW_OK;
}

/* Ascending, disjoint and not adjacent: at most one range holds the step, and its end is in none.
 */
static uint64_t unskipped(const skip_range *skips, uint32_t count, uint64_t step)
{
    MUST(count == 0 || skips != NULL);
    for (uint32_t i = 0; i < count && skips[i].first <= step; i++) {
        MUST(skips[i].first < skips[i].end);
        if (step < skips[i].end)
            return skips[i].end;
    }
    return step;
}

/* The n-th step from `step` on that is not skipped. */
static uint64_t step_ahead(const handout *h, uint64_t step, uint32_t n)
{
    if (MUTANT(skips_ignored_by_one_rank) && h->position.d > 0)
        return step + n;
    step = unskipped(h->skips, h->skip_count, step);
    while (n-- > 0)
        step = unskipped(h->skips, h->skip_count, step + 1);
    return step;
}

uint64_t handout_reading(const handout *h)
{
    const uint64_t from = h->reach > h->step ? h->reach : h->step;
    return step_ahead(h, from, rescale_phase(&h->rescale, h->position.d));
}

bool handout_passes(const handout *h, uint64_t step, uint64_t tag)
{
    MUST(step >= h->step);
    if (h->item > 0 && step == h->step) /* begun under other tags */
        return false;
    if (MUTANT(tags_ignored_by_one_rank) && h->position.d > 0)
        return false;
    return !tag_is_wanted(h->tags, h->tag_count, tag);
}

void handout_reach(handout *h, uint64_t step)
{
    MUST(step >= h->step);
    if (h->tag_count > 0 && h->item == 0 && step > h->reach)
        h->reach = step;
}

uint64_t handout_after(const handout *h, uint64_t step)
{
    return step_ahead(h, step, h->rescale.strides);
}

uint64_t handout_last(const handout *h, uint64_t step)
{
    const uint32_t phase = rescale_phase(&h->rescale, h->position.d);
    const uint64_t last = step_ahead(h, step, h->rescale.strides - 1 - phase);
    MUST(phase < h->rescale.strides);
    MUST(last >= step);
    return last;
}

/* Where the skip began that ends at the cursor; the cursor's step when none does. */
static uint64_t skipped_from(const cursor *c)
{
    for (uint32_t i = 0; i < c->skip_count; i++) {
        MUST(c->skips[i].first < c->skips[i].end);
        MUST(i == 0 || c->skips[i].first > c->skips[i - 1].end);
        if (c->step == c->skips[i].end)
            return c->skips[i].first;
    }
    return c->step;
}

/* The step handed out before the cursor's, jumping back over skips; false when there is none. */
static bool step_before(const cursor *c, uint64_t *step)
{
    const uint64_t before = skipped_from(c);
    MUST(before <= c->step);
    if (before == 0)
        return false;
    *step = before - 1;
    MUST(*step < c->step);
    return true;
}

static bw_status take_tags(handout *h, const cursor *c, bw_error *error)
{
    tag_range *tags = NULL;
    if (c->tag_count > 0 && h->rescale.strides > 1)
        return error_set(error, BW_UNSUPPORTED,
                         "a job whose training step is %u steps reads steps of all tags",
                         h->rescale.strides);
    if (c->tag_count > 0) {
        tags = mem_dup(c->tags, c->tag_count * sizeof *tags);
        if (tags == NULL)
            return error_set(error, BW_NOMEM, "no memory for tags");
    }
    mem_free(h->tags);
    h->tags = tags;
    h->tag_count = c->tag_count;
    return BW_OK;
}

bw_status handout_resume(handout *h, const manifest *m, const cursor *c, bw_error *error)
{
    if (memcmp(c->uuid, h->uuid, UUID_BYTES) != 0)
        return error_set(error, BW_CURSOR_FOREIGN, "the cursor was made in another namespace");
    uint32_t item;
    BW_TRY(rescale_resume(&h->rescale, c, &item, error));
    const uint64_t reads = c->item > 0 ? c->step : unskipped(c->skips, c->skip_count, c->step);
    const uint64_t from = c->item > 0 ? c->step : skipped_from(c);
    BW_TRY(check_step(m, from, c->step, reads, c->item, error));
    BW_TRY(take_tags(h, c, error));

    skip_range *skips = NULL;
    if (c->skip_count > 0) {
        skips = mem_dup(c->skips, c->skip_count * sizeof *skips);
        if (skips == NULL)
            return error_set(error, BW_NOMEM, "no memory for skip ranges");
    }
    mem_free(h->skips);
    h->skips = skips;
    MUST((skips != NULL) == (c->skip_count > 0));
    MUST(reads >= c->step);
    h->skip_count = c->skip_count;
    h->step = h->reach = reads;
    h->item = item;
    h->nonce_step = c->step;
    h->nonce = c->nonce;
    h->has_nonce = c->has_nonce && (c->item > 0 || step_before(c, &h->nonce_step));
    MUST(h->item == 0 || h->step == c->step);
    MUST(h->nonce_step <= h->step);
    return BW_OK;
}

bool handout_nonce_step(const handout *h, const manifest *m, uint64_t *step)
{
    MUST(m->swept <= m->next);
    MUST(h->nonce_step <= handout_reading(h));
    if (!h->has_nonce || h->nonce_step < m->swept || h->nonce_step >= m->next)
        return false;
    *step = h->nonce_step;
    return true;
}

bw_status handout_check_nonce(handout *h, uint64_t step, uint64_t nonce, bw_error *error)
{
    if (!h->has_nonce || h->nonce_step != step || h->nonce == nonce ||
        MUTANT(cursor_nonce_unchecked))
        return BW_OK;
    (void)error_set(
        error, BW_CURSOR_REWRITTEN, "step %llu has nonce %016llx, the cursor read %016llx",
        (unsigned long long)step, (unsigned long long)nonce, (unsigned long long)h->nonce);
    error_set_step(error, step);
    return BW_CURSOR_REWRITTEN;
}

bw_status handout_plan(const handout *h, uint64_t step, uint32_t nth, const descriptor *d,
                       fetch_plan *plan, bw_error *error)
{
    const uint32_t items = rescale_items(&h->rescale, d->shape.items);
    MUST(d->shape.items > 0);
    *plan = (fetch_plan){.step = step,
                         .slice = slice_of(h, nth),
                         .needs_footer = d->shape.form == FORM_FOOTER,
                         .id = d->id,
                         .record = d->record,
                         .shape = d->shape};
    if (items == 0)
        return error_set(error, BW_MESH_MISMATCH,
                         "step %llu has %u items per slice, which %u ranks cannot share: dp %u for "
                         "dp %u; legal here: dp %u, what divides it, or scale_batch",
                         (unsigned long long)step, d->shape.items, h->rescale.shares, h->rescale.dp,
                         h->rescale.made_for, h->rescale.made_for);
    if (step == handout_reading(h) && h->item >= items)
        return error_set(error, BW_CURSOR_INVALID, "the cursor stands at item %u of %u", h->item,
                         items);
    bw_status status = shape_footer(&d->shape, h->slices, h->part_bytes, &plan->footer);
    if (status == BW_OK && !plan->needs_footer)
        status = shape_place(&d->shape, h->slices, h->part_bytes, plan->slice, &plan->where);
    MUST(status != BW_OK || plan->footer.part < plan->shape.parts);
    MUST(status != BW_OK || plan->needs_footer || plan->where.part < plan->shape.parts);
    if (status != BW_OK) {
        (void)error_set(error, status, "the descriptor of step %llu gives no place for slice %u",
                        (unsigned long long)step, plan->slice);
        error_set_step(error, step);
    }
    return status;
}

bw_status handout_place(const handout *h, const footer *f, fetch_plan *plan, bw_error *error)
{
    if (f->nonce != plan->record.nonce || f->slice_count != h->slices ||
        f->items != plan->shape.items || f->kind != plan->shape.kind)
        return error_set(error, BW_CORRUPT, "the footer of step %llu is not its descriptor's",
                         (unsigned long long)plan->step);
    MUST_OR(f->slice_count == h->slices, return BW_BUG);
    MUST_OR(plan->slice < h->slices, return BW_BUG);
    uint64_t *lengths = mem_array(h->slices, sizeof *lengths);
    place *places = mem_array(h->slices, sizeof *places);
    bw_status status = BW_NOMEM;
    if (lengths == NULL || places == NULL) {
        (void)error_set(error, status, "no memory for the places of %u slices", h->slices);
        goto done;
    }
    for (uint32_t i = 0; i < h->slices; i++)
        lengths[i] = f->slices[i].framed_bytes;
    tgb_extent extent;
    status = tgb_pack(lengths, h->slices, h->part_bytes, plan->shape.footer_bytes, places, &extent);
    if (status != BW_OK || extent.parts != plan->shape.parts ||
        extent.footer_offset != plan->footer.offset ||
        extent.total_bytes != plan->shape.total_bytes) {
        status = error_set(error, BW_CORRUPT, "the footer of step %llu places slices elsewhere",
                           (unsigned long long)plan->step);
        goto done;
    }
    MUST(places[plan->slice].part < extent.parts);
    plan->where = places[plan->slice];
    plan->needs_footer = false;
done:
    mem_free(lengths);
    mem_free(places);
    return status;
}

uint64_t handout_step(const handout *h)
{
    return h->step;
}

uint32_t handout_item(const handout *h)
{
    return h->item;
}

uint32_t handout_items(const handout *h, uint32_t items)
{
    return rescale_items(&h->rescale, items);
}

void handout_pick(const handout *h, uint32_t items, uint32_t *nth, uint32_t *item)
{
    rescale_item(&h->rescale, h->position.d, items, h->item, nth, item);
}

void handout_advance(handout *h, uint32_t items, uint64_t nonce)
{
    const uint32_t mine = rescale_items(&h->rescale, items);
    MUST(h->item < mine);
    h->has_nonce = true;
    h->nonce = nonce;
    h->nonce_step = handout_reading(h);
    /* Only now the cursor moves over what was passed: before, each rank would move when it knows.
     */
    if (h->reach > h->step)
        h->step = handout_reading(h);
    h->item++;
    if (h->item < mine)
        return;
    h->item = 0;
    h->step = handout_after(h, h->step);
    MUST(handout_reading(h) > h->nonce_step);
}

bool handout_at_end(const handout *h, const manifest *m)
{
    const uint64_t from = h->reach > h->step ? h->reach : h->step;
    const uint64_t last = step_ahead(h, from, h->rescale.strides - 1);
    MUST(last >= h->step);
    return m->sealed && (last >= m->next || MUTANT(ends_when_sealed));
}

/* The nonce that a cursor carries is of one step for all ranks: who did not read it, does not know
 * it. */
static bool knows_nonce(const handout *h)
{
    const uint32_t phase = rescale_phase(&h->rescale, h->position.d);
    MUST(phase < h->rescale.strides);
    return h->has_nonce && phase == (h->item > 0 ? 0 : h->rescale.strides - 1);
}

bw_status handout_cursor(const handout *h, uint64_t version, cursor *out)
{
    cursor at = {.step = h->step + (MUTANT(cursor_one_ahead) ? 1u : 0u),
                 .item = MUTANT(cursor_forgets_item) ? 0 : h->item,
                 .mode = h->rescale.mode,
                 .dp = h->rescale.dp,
                 .has_nonce = knows_nonce(h),
                 .nonce = knows_nonce(h) ? h->nonce : 0,
                 .version = version,
                 .skip_count = h->skip_count,
                 .skips = h->skips,
                 .tag_count = h->tag_count,
                 .tags = h->tags};
    memcpy(at.uuid, h->uuid, UUID_BYTES);
    MUST((h->skips != NULL) == (h->skip_count > 0));
    MUST((h->tags != NULL) == (h->tag_count > 0));
    return cursor_copy(out, &at);
}

void handout_way(const manifest *m, segment_cache *cache, cursor *c)
{
    segment_ref path[SEGMENT_LEVELS_MAX];
    const segment *leaf;
    uint32_t depth;
    const uint64_t step = c->item > 0 ? c->step : unskipped(c->skips, c->skip_count, c->step);
    MUST(c->version == m->version);
    c->way_count = 0;
    if (step < m->swept || step >= manifest_tail_first(m))
        return;
    /* The last one need not be there to be named. */
    if (lookup_path(m, cache, step, path, &depth, &leaf) == LOOKUP_FAILED ||
        path[depth - 1].level > 0 || MUTANT(way_is_forgotten))
        return;
    const uint32_t from = depth > WAY_MAX ? depth - WAY_MAX : 1;
    for (uint32_t i = from; i < depth; i++) {
        c->way[c->way_count] = path[i];
        c->way[c->way_count++].sum_before = (hash128){{0}};
    }
    MUST(c->way_count <= WAY_MAX);
}

void handout_resume_point(const cursor *c, resume_point *out)
{
    *out = (resume_point){
        .version = c->version, .step = c->step, .before = c->step, .way_count = c->way_count};
    memcpy(out->way, c->way, sizeof c->way);
    if (c->item > 0)
        return;
    out->step = unskipped(c->skips, c->skip_count, c->step);
    if (!c->has_nonce || !step_before(c, &out->before))
        out->before = out->step;
}
