// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A deterministic driver of protocol machines on the memory store, with a virtual clock and
 * scripted faults, and the small cast of the stories: producers, openers, sweepers.
 */
#ifndef TESTS_PROTOCOL_WORLD_H
#define TESTS_PROTOCOL_WORLD_H

#include "protocol/commit.h"
#include "protocol/create.h"
#include "protocol/lookup.h"
#include "protocol/sweep.h"
#include "store/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FAULTS_MAX 8u
#define KEPT_MAX 8u

typedef enum fault_effect {
    FAULT_NONE,
    FAULT_SAY,       /* not applied; answers `say` */
    FAULT_APPLY_SAY, /* applied; answers `say` */
    FAULT_FLIP,      /* applied; a bit of what was read is flipped */
    FAULT_HOLD,      /* taken from the machine and kept: held */
    FAULT_KEEP       /* as held, but the machine goes on, and there may be several: kept */
} fault_effect;

typedef struct fault {
    fault_effect effect;
    store_op_kind kind;
    char prefix[64];
    uint32_t skip, times; /* after `skip` matching requests, `times` of them */
    store_outcome say;
    bw_status code;
} fault;

/** A write that can be applied once more at any time. */
typedef struct late_write {
    machine_request request;
    uint8_t *bytes;
} late_write;

typedef struct world {
    mem_space *space;
    store *store;
    int64_t now_ns;
    uint64_t seed;
    fault faults[FAULTS_MAX];
    machine_request held; /* of FAULT_HOLD; valid while is_held */
    bool is_held;
    machine_request kept[KEPT_MAX]; /* of FAULT_KEEP, oldest first */
    uint32_t kept_count;
    uint64_t asked[STORE_OP_KINDS];
    uint64_t markers_read;
    uint32_t list_max; /* names of one page of a listing; 0: 7 */
    uint64_t calls;    /* publishes begun by anybody */
    genesis genesis;
    uint32_t conflict_retries; /* of actors started from now on */
    int64_t patience_ns;       /* deadline of what actors begin from now on; 0: none */
} world;

typedef struct world_options {
    uint32_t block_size, tail_cap, expected;
    bool has_max_lag, has_max_bytes;
    uint64_t max_lag, max_bytes;
} world_options;

/** A new namespace with version 1, made by the create machine. Zero fields: block size 2, tail cap
 * 256. */
void world_open(world *w, const world_options *options);
void world_close(world *w);

void world_fault(world *w, fault_effect effect, store_op_kind kind, const char *prefix,
                 uint32_t skip, uint32_t times, store_outcome say);
void world_calm(world *w); /* no faults any more */

/** Drives until the machine no longer runs; the clock jumps to what is due. Fails the test when it
 * gets stuck. False: a request is held, or nothing is left to do but to answer what is kept. */
bool world_run(world *w, const machine_type *type, void *self);
/** Drives in rounds: all that the machine asks is asked at once, then all of it is answered, in one
 * order or the other. Returns how many. */
uint32_t world_rounds(world *w, const machine_type *type, void *self, bool backwards);
/** Writes the hint. */
void world_hint(world *w, uint64_t version);
/** Called around each call of a machine: true before, false after it. */
extern void (*world_turn)(bool its);
/** Lets the held request happen now and answers it: with what came of it (STORE_PENDING) or with
 * `say`, and goes on. */
bool world_release(world *w, const machine_type *type, void *self, bool apply, store_outcome say);
/** As world_release, for the oldest kept request whose key begins with `prefix`. */
bool world_answer(world *w, const machine_type *type, void *self, const char *prefix, bool apply,
                  store_outcome say);
/** Applies the held create now without answering it, as often as called: the network has it. */
store_outcome world_apply_held(world *w);
/** Copies the held write, to be applied later. */
void world_keep(world *w, late_write *late);
store_outcome world_apply_late(world *w, late_write *late);
void late_free(late_write *late);
/** Copies the held write and forgets the request: its sender never hears of it again. */
void world_abandon(world *w, late_write *late);

/** Runs one request against the store, without faults. Takes no note of it. `reply` owns what was
 * read. */
void world_execute(world *w, const machine_request *request, machine_reply *reply);
void world_list(world *w, const machine_request *request, machine_reply *reply, store_list *list);
bool world_has(world *w, const char *key);
bool world_has_manifest(world *w, uint64_t version);
bool world_has_marker(world *w, uint64_t block);

/** A producer with a chain and a commit machine of its own. */
typedef struct actor {
    world *world;
    char id[NAME_MAX_BYTES + 1];
    chain *chain;
    commit *commit;
    token128 token;
    uint32_t epoch;
    uint64_t seq, offset;
    uint64_t call; /* of the publish begun last: each makes new nonces */
    bool takes_turns;
    intent intent;
    descriptor batch[64];
    view states[64];
    char state_text[64][24];
} actor;

void actor_start(actor *a, world *w, const char *id);
void actor_stop(actor *a);
/** Starts opening / publishing `count` batches of 10 offsets each; drive with actor_drive. */
void actor_begin_open(actor *a, bool reopen);
void actor_begin_publish(actor *a, uint32_t count, bool finish);
void actor_begin_seal(actor *a, bool force);
/** Any other intent; what it points to must outlive the drive. */
void actor_begin_intent(actor *a, const intent *i);
/** False: held. */
bool actor_drive(actor *a);
bool actor_release(actor *a, bool apply, store_outcome say);
bool actor_answer(actor *a, const char *prefix, bool apply, store_outcome say);
const commit_report *actor_report(const actor *a);
/** Takes over what the report says about open and publish. */
void actor_settle(actor *a);
/** The whole thing, which must succeed. */
void actor_open(actor *a);
void actor_publish(actor *a, uint32_t count);
void actor_commit(actor *a, const intent *i);
/** A batch of the actor with this seq. */
void actor_batch(const actor *a, uint64_t seq, uint64_t start, descriptor *d);

/** A chain of its own, opened; the test frees it. */
chain *world_chain(world *w);
bw_status world_walk(world *w, chain *c, chain_goal goal);
/** Runs a sweep with a chain of its own. */
sweep_report world_sweep(world *w);

/** Puts a version after the newest that no intent of ours makes: `change` edits the draft. */
void world_plant(world *w, void (*change)(manifest *draft, void *context), void *context);
/** The nonces of all steps of `m`, whatever segments it takes; release with mem_free. */
uint64_t *world_nonces(world *w, const manifest *m);
/** Checks the whole namespace from a proved newest manifest: every step is found, offsets tile per
 * producer, sums add up. Returns the number of steps. */
uint64_t world_check(world *w);

#endif
