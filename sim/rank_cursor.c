// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "rank_cursor.h"

#include "check.h"
#include "vstore.h"
#include <string.h>

#define GIVEN_UP_MAX 16u

uint64_t rank_given_up(process *p, uint64_t version)
{
    uint64_t found[GIVEN_UP_MAX];
    bool more;
    uint32_t count = vstore_list(p->sim->store, 0, found, GIVEN_UP_MAX, &more);
    while (count > 0 && !vstore_is_retired(p->sim, found[count - 1]))
        count--;
    return count > 0 ? found[rng_below(&p->random, count)] : version;
}

void rank_other_way(process *p, const char *json, resume_point *at)
{
    cursor c;
    if (json == NULL || cursor_decode(view_text(json), &c, NULL) != BW_OK)
        return;
    at->way_count = c.way_count;
    memcpy(at->way, c.way, sizeof at->way);
    if (at->way_count > 0 && rng_below(&p->random, 2) == 0)
        at->way[0].first++; /* a name that nothing has */
    cursor_free(&c);
}

void rank_first_cursor(sim *s, const manifest *m, buf *json)
{
    const sim_plan *plan = &s->plan;
    skip_range skips[2];
    for (uint32_t i = 0; i < plan->skip_count; i++)
        skips[i] = (skip_range){plan->skips[i][0], plan->skips[i][1]};
    cursor c = {.dp = plan->dp,
                .step = m->trim,
                .skip_count = plan->skip_count,
                .skips = skips,
                .tag_count = plan->tagged ? TAGS_READ : 0,
                .tags = (tag_range *)(uintptr_t)check_tags};
    memcpy(c.uuid, m->uuid, UUID_BYTES);
    if (cursor_encode(&c, json) != BW_OK)
        sim_defect("a cursor that cannot be");
    MARK_IF(s, SKIPS, plan->skip_count > 0);
    MARK_IF(s, TAGS, plan->tagged);
}

void rank_job_cursor(sim *s, const job *j, buf *json)
{
    cursor c = j->start;
    const bool same = c.dp == s->genesis.dp && c.mode == MODE_SAME_BATCH;
    if (!same) {
        c.item = 0;
        c.has_nonce = false;
    }
    c.dp = s->genesis.dp;
    c.mode = MODE_SAME_BATCH;
    if (cursor_encode(&c, json) != BW_OK)
        sim_defect("a cursor that cannot be");
}
