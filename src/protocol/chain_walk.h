// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The inside of a chain. Private to chain*.c. */
#ifndef PROTOCOL_CHAIN_WALK_H
#define PROTOCOL_CHAIN_WALK_H

#include "protocol/ask.h"
#include "protocol/chain.h"
#include "protocol/lookup.h"
#include "protocol/search.h"

/** What the walk waits for. */
typedef enum walk_state {
    WALK_IDLE,
    WALK_BEGIN,     /* genesis and hint, or only the hint; and a resume point's versions */
    WALK_RESUME,    /* the marker of the tip's block, and what leads to that point's steps */
    WALK_MARKERS,   /* search for the highest marker */
    WALK_MANIFESTS, /* search for the last manifest above it */
    WALK_EMPTY,     /* nothing above it: its block's marker again */
    WALK_LAND,      /* a manifest that was found, not reached by links; from a hint: and what is
                       behind it */
    WALK_GALLOP,    /* search ahead of the tip */
    WALK_STEP,      /* tip + 1 */
    WALK_TIP,       /* marker of the tip's block: proves the tip */
    WALK_NEWEST, /* marker of the block of tip + 1, which was not found: proves that the tip is the
                    newest */
    WALK_ODD,    /* marker after an object that does not belong: is it in the way, or a ghost? */
    WALK_SEGMENT /* a segment, for the sum at the old place */
} walk_state;

enum chain_role {
    ROLE_GENESIS,
    ROLE_HINT,
    ROLE_MANIFEST,
    ROLE_HEAD_MARKER,
    ROLE_HEAD_MANIFEST,
    ROLE_MARKER,
    ROLE_SEGMENT
};

/** Where WALK_LAND's version came from: only a hint may be wrong without more ado. */
typedef enum landing { LANDING_HINT, LANDING_SEARCH, LANDING_GALLOP, LANDING_LOOK } landing;

#define CHAIN_ASKS (2u * SEARCH_PROBES_MAX)

/* Versions that are read beside genesis: the cursor's and so many behind it. */
#define RESUME_GUESSES 4u

/** What a walk from nothing knows of the place where its reader goes on. */
typedef struct resumption {
    resume_point at;
    segment_cache *cache; /* the owner's */
    struct {
        uint8_t *object; /* until genesis is read */
        size_t size;
    } early[RESUME_GUESSES];
    bool asked, retired;
    uint64_t began; /* the version, once it is held */
} resumption;

struct chain {
    const log_sink *log;
    rng random;
    bool lenient;
    ask slots[CHAIN_ASKS];
    ask_table asks;

    /* what is known */
    bool has_genesis;
    uint8_t *genesis_object;
    genesis genesis;
    hash128 genesis_hash;
    manifest *held;
    bool is_newest;
    uint32_t quiet_polls; /* in a row that found nothing */
    bw_status status;
    bw_error error;
    chain_counts counts;

    /* the walk */
    walk_state state;
    bool want_newest;
    bool may_stop; /* a poll: a run of limited length will do */
    manifest *tip; /* read last; the held one at first */
    bool tip_proved;
    bool linked;      /* hash links lead from `held` to the tip */
    bool next_absent; /* tip + 1 was not found, and the tip was the newest when one of the two was
                         read */
    bool tip_newest;
    bool refetched; /* the object now asked for was damaged once */
    bool rewalked;  /* a segment was missing once: looked for a newer manifest */
    uint32_t run;   /* manifests read in this walk */
    uint32_t reopens;
    bool has_hint;
    uint64_t hint;
    landing landing;
    uint64_t first; /* the first version above the highest marker */
    search search;
    segment_cache *cache;
    segment_ref wanted[2 + WAY_MAX]; /* but for the first: of a resume point */
    resumption resume;
    bw_error odd; /* why the object does not belong */
    bw_status odd_status;
};

/* chain.c */
void chain_fail(chain *c, bw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** As above with `error` as it is. */
void chain_fail_with(chain *c, bw_status status, const bw_error *error);
/** The walk is over: the tip, proved, is held from now on. */
void chain_arrive(chain *c);
void chain_set_tip(chain *c, manifest *m);

/* chain_open.c: from nothing, and above a marker */
void chain_begin(chain *c, bool resumes);
void chain_began(chain *c, const ask *a, machine_reply *reply);
/** Drops the tip and searches above the highest marker, for a proved newest. */
void chain_reopen(chain *c);
void chain_probed(chain *c, const ask *a, bool present);
void chain_empty_marker(chain *c, bool present);
void chain_land(chain *c, landing from, uint64_t version);
void chain_landed(chain *c, const ask *a, machine_reply *reply);

/* chain_step.c: along the links, and what proves them */
void chain_step(chain *c);
void chain_stepped(chain *c, const ask *a, machine_reply *reply);
/** Asks how far the chain goes behind `from`; once answered, with the tip read: the next round of
 * questions, or on from there. */
void chain_look_ahead(chain *c, uint64_t from);
void chain_looked_ahead(chain *c);
/** A look at a version ahead was answered. */
void chain_looked(chain *c, uint64_t version, bool present);
void chain_marker_read(chain *c, bool present);
/** Decodes a reply's manifest and checks that it is `version` of this namespace, and after the tip
 * when it is its successor. */
bw_status chain_decode(chain *c, uint64_t version, machine_reply *reply, manifest **out);
/** A damaged or foreign object under `version`: once again, then judged by its marker. False: asked
 * again. */
bool chain_is_odd(chain *c, uint64_t version);

/* chain_resume.c: from a version that describes a cursor's step */
void chain_ask_early(chain *c);
void chain_early(chain *c, const ask *a, machine_reply *reply);
/** Genesis, hint and those versions are answered: true when the walk goes on, or ends, from one. */
bool chain_resumes(chain *c);
/** The hinted version is the tip: true when the walk goes on from it. */
bool chain_resumes_by_hint(chain *c);
void chain_resumed(chain *c, const ask *a, machine_reply *reply);

/* chain_check.c: a reader that skipped versions finds its old place */
void chain_check_gap(chain *c);
void chain_segment_read(chain *c, machine_reply *reply);

#endif
