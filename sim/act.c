// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What the people share, and when all of them have settled (G11). */
#include "act.h"

#include "check.h"
#include <inttypes.h>
#include <string.h>

/* Damage is masked by a second read, and reported only when that was damaged too (G10). */
#define DAMAGED_TWICE 2u

uint32_t act_damaged(const process *p, const char *key)
{
    object_key named;
    const size_t size = strlen(key);
    if (size >= sizeof named.text)
        return 0;
    memcpy(named.text, key, size + 1);
    return process_damaged(p, vstore_object(p->sim->store, &named, vstore_key_hash(key)));
}

/* A damaged manifest blocks the chain only when its block was not retired: it was read after the
 * walk began, and its marker after it. */
static bool is_in_the_way(const process *p, const char *key)
{
    key_fields fields;
    key_parse(view_text(key), &fields);
    return fields.kind == KEY_MANIFEST &&
           genesis_block(&p->sim->genesis, fields.number) >= p->retired_at_start;
}

bool act_may_pass(process *p, bw_status status, const bw_error *error)
{
    switch (status) {
    case BW_OK:
    case BW_IO:
    case BW_DENIED:
    case BW_UNKNOWN:
    case BW_UNSUPPORTED:
        return true;
    case BW_CORRUPT:
    case BW_CHAIN_BLOCKED:
    case BW_FORMAT:
    case BW_WRONG_NAMESPACE:
    case BW_TOO_LARGE:
        MARK_IF(p->sim, CHAIN_BLOCKED, status == BW_CHAIN_BLOCKED);
        if (error != NULL && act_damaged(p, error->key) >= DAMAGED_TWICE &&
            (status != BW_CHAIN_BLOCKED || is_in_the_way(p, error->key)))
            return true;
        break;
    default:
        break;
    }
    sim_violate(p->sim, "G10", "%s reports %s: %s (%s)", p->name, bw_status_name(status),
                error != NULL ? error->message : "", error != NULL ? error->key : "");
    return false;
}

void act_rest(process *p, int64_t for_ns)
{
    p->timer_ns = p->sim->now_ns + sim_pace(p->sim, for_ns);
}

void act_committer(process *p, chain **its_chain, commit **out)
{
    const commit_options options = {.backoff_min_ns = NS_PER_MS,
                                    .backoff_max_ns = 200 * NS_PER_MS,
                                    .seed = rng_u64(&p->random),
                                    .clock = &p->clock};
    if (chain_new(rng_u64(&p->random), NULL, its_chain) != BW_OK ||
        commit_new(*its_chain, &options, out) != BW_OK)
        sim_defect("no memory");
}

static bool is(const process *p, const role *r)
{
    return p->role == r;
}

bool act_all_left(const sim *s)
{
    for (uint32_t i = 0; i < s->process_count; i++)
        if (is(s->processes[i], &role_producer) && !s->processes[i]->left)
            return false;
    return true;
}

static bool manifests_gone(const sim *s)
{
    const uint64_t end = vstore_retired(s->store) * s->genesis.block_size;
    for (uint64_t v = 1; v < end; v++) {
        const object *o = vstore_manifest(s->store, v);
        if (o != NULL && o->now != NULL)
            return false;
    }
    return true;
}

static bool swept(const sim *s)
{
    const uint64_t newest_block = genesis_block(&s->genesis, vstore_newest(s->store));
    return vstore_retired(s->store) + 1 >= newest_block && manifests_gone(s);
}

static bool all_ended(const sim *s, const process **who)
{
    for (uint32_t i = 0; i < s->process_count; i++) {
        *who = s->processes[i];
        if (is(*who, &role_rank) && !rank_ended(*who))
            return false;
    }
    return true;
}

typedef struct left_over {
    const sim *s;
    const object *object;
} left_over;

static int look_at(void *context, object *o)
{
    left_over *l = context;
    if (!check_unreachable(l->s, o))
        return 0;
    l->object = o;
    return 1;
}

/* G8, G9: nothing is stored that nobody can reach. */
static bool reclaimed(const sim *s, const object **left)
{
    left_over l = {.s = s};
    *left = NULL;
    if (s->plan.groups == 0)
        return true;
    if (model_of(s)->last->swept < model_of(s)->last->trim)
        return false;
    (void)vstore_each(s->store, look_at, &l);
    *left = l.object;
    return l.object == NULL;
}

bool act_settled(const sim *s)
{
    const process *who;
    const object *left;
    return act_all_left(s) && model_of(s)->sealed && all_ended(s, &who) && swept(s) &&
           trainer_settled(s, &who) && reclaimed(s, &left);
}

void act_complain(sim *s)
{
    const process *who;
    for (uint32_t i = 0; i < s->process_count; i++)
        if (is(s->processes[i], &role_producer) && !s->processes[i]->left)
            sim_violate(s, "G11", "%s has not published what it staged", s->processes[i]->name);
    if (!model_of(s)->sealed)
        sim_violate(s, "G11", "the namespace is not sealed");
    if (!all_ended(s, &who))
        sim_violate(s, "G11", "%s has not reached the end, %zu", who->name,
                    model_of(s)->step_count);
    if (!trainer_settled(s, &who))
        sim_violate(s, "G11", "%s has not come to the end, or its group is left", who->name);
    const object *left;
    if (!reclaimed(s, &left))
        sim_violate(s, "G9", "%s is left, trim %" PRIu64 ", swept %" PRIu64,
                    left != NULL ? left->key.text : "a part", model_of(s)->last->trim,
                    model_of(s)->last->swept);
    sim_violate(s, "G11", "manifests are left in retired blocks, or %" PRIu64 " blocks are too few",
                vstore_retired(s->store));
}
