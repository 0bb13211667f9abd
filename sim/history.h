// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What the processes were told and did, kept outside of them: batches, attempts, opens, steps
 * handed out. Definite, unknown and successful outcomes are three things. The checker judges it
 * with the chain, as the store saw it grow, for a witness.
 */
#ifndef SIM_HISTORY_H
#define SIM_HISTORY_H

#include "codec/manifest.h"
#include "process.h"
#include "protocol/intent.h"
#include "vstore.h"

#define TGB_PARTS_MAX 4u
#define IDS_MAX 8u
#define TGB_BUCKETS 16384u

typedef enum fate {
    FATE_PENDING, /* staged by a process that lives */
    FATE_ACKED,
    FATE_LOST,   /* definitely not published, and never will be */
    FATE_UNKNOWN /* its process died, or was told UNKNOWN */
} fate;

/** One batch as its producer made it. */
typedef struct tgb {
    struct tgb *bucket_next;
    uint64_t nonce;
    uint32_t id, epoch, process, life;
    uint64_t seq, start, end, tag;
    uint32_t items, parts;
    object *objects[TGB_PARTS_MAX];
    blob *contents[TGB_PARTS_MAX];
    object *state_object;
    blob *state;
    uint64_t total_bytes;
    fate fate;
    bool doubtful; /* in an attempt whose outcome its owner was told is unknown */
    int64_t invoked_ns, acked_ns;
    uint64_t acked_step;
    bool on_chain;
    uint64_t step; /* there */
} tgb;

/** A create of a manifest, sent by a commit. */
typedef struct attempt_note {
    uint64_t version;
    token128 nonce;
    uint32_t process, life;
    bool lost; /* its sender was told that it is definitely not made */
} attempt_note;

/** A call that opens a producer: one token over all its tries. */
typedef struct open_note {
    token128 token;
    uint32_t id, process, life;
    uint32_t base_epoch; /* of its first proved base */
    bool reopen;
} open_note;

#define NAME_TEXT 24u

/** A call that launches a group. */
typedef struct launch_note {
    char group[NAME_TEXT], launch[NAME_TEXT];
    uint32_t process, life;
    launch_start start;
    uint64_t cursor_step;
    uint32_t cursor_item;
    bool base_there; /* the group, in the base that it began with */
    uint64_t base_number;
    char base_launch[NAME_TEXT];
    uint64_t made_version; /* 0: it is not */
    uint64_t step;         /* where it began */
    uint32_t item;
} launch_note;

/** A pin that a trainer asked for. */
typedef struct pin_note {
    char group[NAME_TEXT], launch[NAME_TEXT], id[NAME_TEXT];
    char again[NAME_TEXT]; /* the launch that asked for it anew when it was there */
    uint64_t nonce, step;
    uint32_t item;
    hash128 hash;
    uint64_t made_version; /* 0: it is not */
    bool lost;             /* its trainer was told that it is not */
} pin_note;

typedef struct release_note {
    char launch[NAME_TEXT], id[NAME_TEXT];
    uint64_t nonce;
} release_note;

/** An operator removes a group, or forgets a producer. */
typedef struct removal_note {
    char name[NAME_TEXT], launch[NAME_TEXT];
    uint32_t epoch;
} removal_note;

/** An item handed out. */
typedef struct delivery {
    uint32_t process, life, slice, item;
    uint64_t step, nonce;
    uint64_t content; /* hash of the bytes */
    bool begins;      /* the first of a life: the cursor says where */
} delivery;

struct history {
    tgb **tgbs;
    size_t tgb_count, tgb_capacity;
    tgb *buckets[TGB_BUCKETS];
    attempt_note *attempts;
    size_t attempt_count, attempt_capacity;
    open_note *opens;
    size_t open_count, open_capacity;
    delivery *deliveries;
    size_t delivery_count, delivery_capacity;
    launch_note *launches;
    size_t launch_count, launch_capacity;
    pin_note *pins;
    size_t pin_count, pin_capacity;
    release_note *releases;
    size_t release_count, release_capacity;
    removal_note *removals;
    size_t removal_count, removal_capacity;
    struct model *model;
    uint64_t commits, rollbacks, sweeps, slices;
    uint64_t leaves;   /* lives of producers that ended by themselves */
    uint64_t jobs;     /* that began after one that was over */
    uint64_t end_step; /* where the first rank ended */
    bool ended;
    bool forced; /* somebody tried to seal by force */
};

history *history_new(void);
void history_free(history *h);
void history_sum_up(const sim *s, sim_result *r);

tgb *history_tgb(sim *s, uint64_t nonce);
tgb *history_find(const history *h, uint64_t nonce);
attempt_note *history_attempt(history *h);
delivery *history_delivery(history *h);
open_note *history_open(history *h);
launch_note *history_launch(history *h);
pin_note *history_pin(history *h);
release_note *history_release(history *h);
removal_note *history_removal(history *h);
const open_note *history_open_find(const history *h, const token128 *token);

#endif
