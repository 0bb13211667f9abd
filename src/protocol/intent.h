// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * intent: what a process wants the next manifest to say, as one pure function of a base
 * (docs/protocol.md).
 *
 * Applied again to whatever base the chain gives; each intent carries a key that makes applying it
 * twice harmless. A refusal counts only on a proved base. A new kind adds a case here and touches
 * no machine.
 */
#ifndef PROTOCOL_INTENT_H
#define PROTOCOL_INTENT_H

#include "codec/cursor.h"
#include "codec/fold.h" /* when a tail is folded and references merged: section 15 */
#include "codec/manifest.h"

typedef enum intent_kind {
    INTENT_OPEN,
    INTENT_PUBLISH,
    INTENT_SEAL,
    INTENT_LAUNCH,
    INTENT_PIN,
    INTENT_GROUP_RM,
    INTENT_FORGET,
    INTENT_SWEPT,
    INTENT_KINDS
} intent_kind;

/** Where a launch begins. */
typedef enum launch_start {
    LAUNCH_GROUP,    /* the group's newest pin, else its hold; a new group: as LAUNCH_EARLIEST */
    LAUNCH_EARLIEST, /* the first retained step */
    LAUNCH_LATEST,   /* the next step */
    LAUNCH_CURSOR,   /* the cursor's step and item */
    LAUNCH_TIP       /* the next step; the cursor, at an item 0, then skips all up to it */
} launch_start;

/** A pin by what was seen of it: an id alone may have been used anew. */
typedef struct pin_key {
    view id;
    uint64_t nonce;
} pin_key;

/** What a sweep has deleted of one producer: all up to here. */
typedef struct swept_producer {
    view id;
    uint64_t seq, offset;
} swept_producer;

typedef struct intent {
    intent_kind kind;
    union {
        /** Key ⟨id, token⟩: one token per call, kept over all its tries. */
        struct {
            view id;
            token128 token;
            bool reopen;
            uint32_t epoch; /* 0 until the first proved base fixes it at seen + 1 */
        } open;
        /** Key ⟨token, seq⟩. With count 0 and finish: only finish. */
        struct {
            view id;
            token128 token;
            const descriptor *descriptors; /* contiguous seq; those already in are dropped */
            const view *states;            /* the resume state behind each, inline … */
            const state_ref *state_refs;   /* … or, where states[i].data is NULL, its object */
            uint32_t count;
            bool finish;
            uint16_t slot_ms;
            bool takes_turn; /* sets `turn` where the producer is a member (cadence turn) */
        } publish;
        struct {
            bool force;
        } seal;
        /** Registers the group or resumes it. Key ⟨name, launch⟩. */
        struct {
            view name, launch;
            launch_start start;
            const cursor *cursor; /* mode, dp, skips, tags; LAUNCH_CURSOR, _TIP: its place, too */
            uint64_t number;      /* 0 until the first proved base fixes it at seen + 1 … */
            uint8_t seen_size;    /* … and whose it is to fence; 0: there was no group */
            uint8_t seen[LAUNCH_MAX];
        } launch;
        /** One pin, releases, or both: what is released is gone before the pin is made, so that an
         * id can be used anew at once. Key ⟨group, launch, id, nonce⟩ of each. */
        struct {
            view group, launch;
            const pin *pin; /* NULL: only releases */
            const pin_key *releases;
            uint32_t release_count;
        } pin;
        /** Key ⟨name, launch as seen⟩. */
        struct {
            view name, launch;
        } group_rm;
        /** Key ⟨id, epoch as seen⟩. */
        struct {
            view id;
            uint32_t epoch; /* 0: fixed by the first proved base, as it is there */
        } forget;
        /** The parts of steps [from, step) are gone. Key ⟨step⟩. */
        struct {
            uint64_t from, step;
            uint64_t bytes;                  /* of the TGBs in between */
            const swept_producer *producers; /* who published them; sorted by id */
            uint32_t producer_count;
            const page *page; /* the next page, already put under `page_ref`; NULL: none */
            const page_ref *page_ref;
            const hash128 *page_base; /* hash of the page it replaces; NULL: there was none */
        } swept;
    };
} intent;

/** What one try brings along. */
typedef struct intent_aid {
    const genesis *genesis;
    token128 nonce;
    uint64_t clock_ms;
    view committer;
    bool turn_member; /* set `turn` to the committer */
    const segment_ref
        *durable_fold; /* this process's own put of this base's fold was answered OK; else NULL */
    const segment_ref *durable_merge;
    const page *page; /* the base's page, when it was read */
} intent_aid;

typedef enum intent_verdict {
    INTENT_CANDIDATE, /* `draft` is the next manifest */
    INTENT_ALREADY,   /* the base says it already; `result` tells what */
    INTENT_REFUSED,   /* status in `result` */
    INTENT_NEED_PAGE, /* read the base's page first */
    INTENT_NEED_FOLD, /* a publish that must fold or merge first */
    INTENT_NEED_MERGE
} intent_verdict;

typedef struct intent_result {
    bw_status
        status; /* refused: FENCED, FINISHED, SEALED, SEAL_REFUSED, INVALID, MANIFEST_FULL, BUG … */
    uint64_t first_step;  /* publish: of the first descriptor that this candidate adds */
    uint32_t published;   /* descriptors that this candidate adds (the rest goes next time) */
    uint32_t already;     /* leading descriptors that the base has */
    uint64_t offset, seq; /* open: where the id stands; refused: for the message */
    uint32_t epoch;
    uint64_t start_step; /* launch: where it begins */
    uint32_t start_item;
    uint64_t swept; /* swept: the base's step, when it is another one than `from` */
    bw_error error;
} intent_result;

/** Scratch memory that a draft's views point into; reused from try to try, so that steady state
 * allocates nothing. */
typedef struct intent_scratch intent_scratch;
bw_status intent_scratch_new(intent_scratch **out);
void intent_scratch_free(intent_scratch *scratch);

/** `base` NULL is not allowed. The draft is valid until base, intent or scratch change. An open
 * fixes its epoch in `i` on its first call. */
intent_verdict intent_apply(intent *i, const manifest *base, const intent_aid *aid,
                            intent_scratch *scratch, manifest *draft, intent_result *result);
/** The one checked step from a base to any draft (next version, previous hash, trim = max(trim, W),
 * all else copied); for version 1 base is NULL. */
void manifest_succeed(const manifest *base, const genesis *g, const hash128 *genesis_hash,
                      const intent_aid *aid, manifest *draft);

#endif
