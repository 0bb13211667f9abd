// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The inside of a pass. Private to reclaim*.c. */
#ifndef PROTOCOL_RECLAIM_STATE_H
#define PROTOCOL_RECLAIM_STATE_H

#include "protocol/ask.h"
#include "protocol/lookup.h"
#include "protocol/reclaim.h"

/* Names of one delete. */
#define RECLAIM_NAMES_MAX 256u
/* Listed objects that are judged together: one look through all descriptors for so many. */
#define RECLAIM_SUSPECTS_MAX 4096u

typedef enum reclaim_phase {
    RECLAIM_IDLE,
    RECLAIM_WALK,      /* to a proved newest manifest */
    RECLAIM_PARTS,     /* of steps below trim */
    RECLAIM_PAGE_READ, /* the one that the manifest refers to */
    RECLAIM_PAGE_PUT,  /* the next one */
    RECLAIM_COMMIT,    /* swept */
    RECLAIM_SEGMENTS,  /* that the chain no longer needs */
    RECLAIM_MANIFESTS, /* sweep.h */
    RECLAIM_LIST,      /* data/, then segment/, then page/ */
    RECLAIM_JUDGE,     /* does a descriptor name one of the suspects? */
    RECLAIM_ORPHANS,   /* those that none names */
    RECLAIM_DOUBT      /* what the manifest refers to is not there: is there a newer one? */
} reclaim_phase;

enum reclaim_role {
    RECLAIM_ASK_SEGMENT,
    RECLAIM_ASK_DELETE,
    RECLAIM_ASK_PAGE,
    RECLAIM_ASK_PAGE_PUT,
    RECLAIM_ASK_LIST
};
#define RECLAIM_ASKS 4u

/** A listed object that may go, some of them only on proof. */
typedef struct suspect {
    object_key key;
    uint64_t seq, nonce, bytes;
    uint32_t epoch;
    bool doubtful; /* only when no descriptor names it */
    bool named;
} suspect;

struct reclaim {
    chain *chain;
    reclaim_options options;
    rng random;
    ask slots[RECLAIM_ASKS];
    ask_table asks;
    commit *commit;
    sweep *sweep;
    segment_cache *cache;
    int64_t now_ns, deadline_ns, span_ns;
    reclaim_phase phase;
    manifest *base; /* the proved manifest that it acts on */
    bool refetched; /* what was read was damaged once */

    uint64_t at, to;           /* steps */
    uint32_t part;             /* of the step `at` */
    segment_ref needed;        /* being read */
    swept_producer *producers; /* sorted by id; ids are the base's */
    uint32_t producer_count;
    uint32_t name_count;
    object_key names[RECLAIM_NAMES_MAX];
    object_key *doomed; /* segments */
    size_t doomed_count, doomed_capacity, doomed_done;

    uint8_t *old_page_object, *new_page_object;
    size_t new_page_bytes;
    page old_page, new_page;
    bool has_old_page, has_new_page;
    producer_entry *page_entries;
    page_ref new_page_ref;
    intent intent;

    uint32_t prefix; /* being listed */
    object_key after;
    bool listed_all;
    suspect *suspects;
    uint32_t suspect_count, suspect_at;
    reclaim_report report;
};

/* reclaim.c */
void reclaim_end(reclaim *r, bw_status status);
void reclaim_fail(reclaim *r, bw_status status, const char *what);
void reclaim_ask(reclaim *r, uint8_t role, store_op_kind kind);
/** Asks for the segment that `needed` refers to. */
void reclaim_need_segment(reclaim *r, const segment_ref *ref);
/** What the manifest refers to was not there, twice; `report.error` says what. Another sweep may
 * have gone on; else it is missing. */
void reclaim_doubt(reclaim *r, const bw_error *error, const object_key *key);
/** What the manifest that it acts on does not refer to any more comes next. */
void reclaim_after_swept(reclaim *r);

/* reclaim_parts.c */
void reclaim_parts(reclaim *r);

/* reclaim_swept.c */
void reclaim_swept(reclaim *r);
void reclaim_page_read(reclaim *r, ask *a, machine_reply *reply);
void reclaim_page_put(reclaim *r);
void reclaim_committed(reclaim *r);

/* reclaim_orphans.c */
void reclaim_list(reclaim *r);
void reclaim_listed(reclaim *r, const store_list *list);
void reclaim_judge(reclaim *r);
void reclaim_orphans(reclaim *r);
const char *reclaim_prefix(const reclaim *r);

#endif
