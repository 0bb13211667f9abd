// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The inside of a commit. Private to commit*.c.
 *
 *   WALK ─► consider ─► CREATE ─CREATED─► MARK ─absent─► won
 *    ▲        │  ▲        ▲ │└─EXISTS──► READ ─► READ_MARK ─absent─► ours: won · other: lost
 *    │        │  │        └─┘ UNKNOWN, RETRY: the same bytes at the same name
 *  PAUSE ◄─lost  └─ PAGE, FOLD, MERGE
 *                                         any marker present ─► WITNESS ─► made · lost · fenced
 */
#ifndef PROTOCOL_COMMIT_STATE_H
#define PROTOCOL_COMMIT_STATE_H

#include "protocol/ask.h"
#include "protocol/commit.h"

typedef enum commit_state {
    STATE_IDLE,
    STATE_WALK,         /* the chain looks for a base; nothing is open */
    STATE_PAUSE,        /* after a lost race */
    STATE_PAGE,         /* departed producers are being read, for a base or a witness */
    STATE_FOLD,         /* a segment must be durable first */
    STATE_MERGE,        /* an index must be durable first */
    STATE_CREATE,       /* R4, R6 */
    STATE_MARK,         /* R8, after CREATED */
    STATE_READ,         /* R5, after EXISTS */
    STATE_READ_MARK,    /* R5, after the read */
    STATE_WITNESS,      /* our name lies in a retired block: the chain opens above it */
    STATE_WITNESS_REST, /* that failed, and will be tried again */
} commit_state;

enum commit_role {
    COMMIT_ASK_CREATE,
    COMMIT_ASK_MARKER,
    COMMIT_ASK_READ,
    COMMIT_ASK_PAGE,
    COMMIT_ASK_FOLD,
    COMMIT_ASK_MERGE,
    COMMIT_ASK_HINT
};
#define COMMIT_ASKS 8u

/** After others were met, so many commits look for a newer base before they try: an attempt on a
 * stale base costs a whole manifest, a look one small read. A producer alone never looks. */
#define CROWD_COMMITS 16u

/** An object that a later candidate may refer to once its put was answered OK. */
typedef enum put_state { PUT_NONE, PUT_ASKED, PUT_DURABLE } put_state;
typedef struct put_slot {
    put_state state;
    bool must;    /* the commit waits for it: repeated until it is durable */
    hash128 base; /* fold: the manifest whose tail it is */
    buf object;
    segment_ref ref;
} put_slot;

/** The create that is on its way: everything needed to close it. */
typedef struct attempt {
    bool open;
    bool landed; /* may have landed, or may still */
    bool finish;
    bool folds, merges;
    manifest *next; /* what is being created */
    uint64_t first_step;
    uint32_t already, published;
} attempt;

struct commit {
    chain *chain;
    commit_options options;
    rng random;
    ask slots[COMMIT_ASKS];
    ask_table asks;
    intent_scratch *scratch;
    commit_counts counts;

    intent *intent;
    view committer;
    int64_t now_ns, deadline_ns, pause_ns, base_ns, create_ns;
    commit_state state;
    bool fresh;            /* the base was proved the newest during this commit */
    bool refetched;        /* what was read was damaged once */
    uint64_t page_missing; /* the version of a base's page that was not found; 0: none was */
    bool doubt;     /* a witness that has no entry to go by found nothing: neither made nor lost */
    bool trusts;    /* the next start does not look for a newer base */
    uint32_t crowd; /* commits left that look first: others were met not long ago */
    uint64_t walk_from; /* version held before the walk; UINT64_MAX: none */
    attempt attempt;
    buf candidate;
    manifest *read; /* what stands under our name; NULL: nothing, or it is damaged */
    bool read_gone; /* EXISTS, then 404 */
    bw_status read_status;
    bw_error read_error;
    put_slot fold, merge;
    bool has_page;
    uint8_t *page_object;
    page page;
    page_ref page_of;
    buf hint;
    commit_report report;
};

/* commit.c */
void commit_end_with(commit *c, commit_end end, bw_status status);
void commit_fail(commit *c, commit_end end, bw_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void commit_close_attempt(commit *c);
/** An attempt is open and cannot be closed now: BW_UNKNOWN is reported, the machine goes on. */
void commit_overdue(commit *c, const char *why);
void commit_walk(commit *c, chain_goal goal);
void commit_walked(commit *c);

/* commit_try.c: base and intent → what next */
void commit_consider(commit *c);
/** The base is a proved manifest above the retired name of our attempt. */
void commit_witness(commit *c);
/** One of: our try at this name lost. */
void commit_lost(commit *c);

/* commit_close.c: how the attempt ended (R4 – R6, R8) */
void commit_create(commit *c);
void commit_created(commit *c, ask *a, machine_reply *reply);
void commit_marked(commit *c, ask *a, machine_reply *reply);
void commit_read(commit *c, ask *a, machine_reply *reply);
/** Repeats an ask that got no answer, or gives up where nothing can be left open. */
void commit_again(commit *c, ask *a, const machine_reply *reply);

/* commit_put.c: what candidates refer to, and the hint */
void commit_put_early(commit *c);
void commit_need_fold(commit *c);
void commit_need_merge(commit *c);
const segment_ref *commit_durable_fold(const commit *c, const manifest *base);
const segment_ref *commit_durable_merge(const commit *c, const manifest *base);
void commit_put_answered(commit *c, ask *a, put_slot *slot, machine_reply *reply);
void commit_need_page(commit *c);
const page *commit_page(const commit *c, const manifest *base);
void commit_page_read(commit *c, ask *a, machine_reply *reply);
void commit_put_hint(commit *c, uint64_t version);

#endif
