// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Founders make the namespace. Where there are two, each with a uuid of its own, one is told that
 * the place is taken. */
#include "act.h"

#include "base/alloc.h"
#include "check.h"
#include "network.h"
#include "protocol/create.h"
#include <string.h>

#define PATIENCE_NS (3 * NS_PER_S)
#define PAUSE_NS (50 * NS_PER_MS)

typedef struct founder {
    create *create;
    genesis genesis;
    buf object; /* what its genesis looks like */
} founder;

static void begin(process *p)
{
    founder *f = p->state;
    token128 nonce;
    create_free(f->create);
    rng_bytes(&p->random, nonce.bytes, TOKEN_BYTES);
    if (create_new(&f->genesis, 1, &nonce, &f->create) != BW_OK)
        sim_defect("no memory");
    create_start(f->create, p->sim->now_ns, p->sim->now_ns + PATIENCE_NS);
    process_run(p, &create_machine, f->create, NULL);
}

static void born(process *p)
{
    sim *s = p->sim;
    founder *f = sim_alloc(sizeof *f);
    p->state = f;
    f->genesis = s->genesis;
    /* The same at every try of one founder. */
    rng own;
    rng_seed(&own, sim_draw(s, p->index, 0));
    rng_bytes(&own, f->genesis.uuid, UUID_BYTES);
    buf_init(&f->object, object_bytes_max(OBJECT_GENESIS));
    if (genesis_encode(&f->genesis, &f->object) != BW_OK)
        sim_defect("a genesis that cannot be");
    begin(p);
}

static void dead(process *p, bool killed)
{
    (void)killed;
    founder *f = p->state;
    create_free(f->create);
    buf_free(&f->object);
    mem_free(f);
}

static bool is_ours(process *p, const founder *f)
{
    object_key key;
    key_genesis(&key);
    const object *o = vstore_object(p->sim->store, &key, vstore_key_hash(key.text));
    return o->first != NULL && o->first->size == f->object.size &&
           memcmp(o->first->bytes, f->object.data, f->object.size) == 0;
}

static void advance(process *p)
{
    founder *f = p->state;
    sim *s = p->sim;
    bw_error error;
    if (process_busy(p) || p->timer_ns != TIME_NEVER)
        return;
    if (p->machine.self == NULL) {
        begin(p);
        return;
    }
    const bw_status status = create_result(f->create, &error);
    p->machine = (machine){0};
    const bool ours = is_ours(p, f);
    if (status == BW_OK && (!ours || vstore_newest(s->store) == 0))
        sim_violate(s, "G5", "%s was told that it founded the namespace", p->name);
    else if (status == BW_NOT_EMPTY && (ours || !model_of(s)->founded))
        sim_violate(s, "G5", "%s was told that another founded the namespace", p->name);
    MARK_IF(s, FOUNDERS_RACED, status == BW_NOT_EMPTY);
    if (status == BW_OK || status == BW_NOT_EMPTY) {
        p->left = true;
        process_end(p, false);
    } else if (act_may_pass(p, status, &error)) {
        act_rest(p, PAUSE_NS);
    }
}

const role role_founder = {.name = "founder",
                           .kind = ROLE_OTHER,
                           .born = born,
                           .dead = dead,
                           .advance = advance,
                           .rest_ns = 300 * NS_PER_MS};

void act_founders(sim *s)
{
    process_birth_at(process_add(s, &role_founder, "founder"), 0);
    if (s->plan.rival_founder)
        process_birth_at(process_add(s, &role_founder, "founder 2"),
                         (int64_t)rng_below(&s->random, 40 * NS_PER_MS));
}
