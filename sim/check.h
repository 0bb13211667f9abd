// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The history checker. It stands outside of what it checks: it sees what the store applied and what
 * processes were told, decodes with the codec, and uses nothing of the protocol.
 *
 *   check_store.c    what may be written and deleted (I13, I16, I17, R8, R9)
 *   check_chain.c    the chain as it grows (I1 – I5, I8, I18), the witness of all that follows
 *   check_history.c  what processes were told, against the chain (I3, I6, I7, I9 – I11)
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "history.h"
#include "protocol/commit.h"

/* ---- the store ---- */
void check_created(sim *s, object *o, const flight *f);
void check_put(sim *s, object *o, const flight *f);
void check_deleted(sim *s, object *o, const flight *f);
/** Something that was to land late has landed. */
void check_late(sim *s, const flight *f);
void check_answered(sim *s, const flight *f, store_outcome outcome);
bool check_is_ghost(const sim *s, const object *o);
void check_ghost_read(process *p);

/* ---- the chain ---- */
typedef struct model_version {
    hash128 hash;
    token128 nonce;
    uint64_t next;
    int64_t made_ns;
    bool sealed;
} model_version;

typedef struct model_step {
    tgb *tgb;
    uint64_t version;
    hash128 sum_before;
} model_step;

typedef struct model_id {
    bool known, finished, forgotten;
    uint64_t swept_seq, swept_offset;
    uint32_t epoch;
    token128 token;
    uint64_t seq, offset;
    uint64_t opened_version; /* of the last open */
    uint64_t opened_offset, opened_seq;
} model_id;

/** The chain as the store saw it. */
typedef struct model {
    bool founded;
    hash128 genesis_hash;
    model_version *versions; /* [0] is unused */
    size_t version_count, version_capacity;
    model_step *steps;
    size_t step_count, step_capacity;
    model_id ids[IDS_MAX];
    hash128 sum;
    uint64_t committed_bytes, swept_bytes, finished;
    page page; /* of the last version, in the bytes of … */
    blob *page_object;
    bool has_page;
    uint64_t opens, publishes;
    bool sealed;
    int64_t sealed_ns;
    manifest *last;
    size_t attempts;      /* of all there are, those from before the last version was made */
    object_key *segments; /* verified */
    size_t segment_count, segment_capacity;
} model;

void model_free(model *m);
const model *model_of(const sim *s);
/** The manifest `o` has become the next version of the chain. */
void check_extended(sim *s, const object *o);
void check_founded(sim *s, const object *o);
/** The index of the id "a", "b", "c" …; IDS_MAX for any other. */
uint32_t check_id(view id);

/** Groups, trim, swept and the page of the next version. */
void check_groups(sim *s, model *m, const manifest *now, uint64_t steps);
/** Is `id` on the page of the last version, as it stands? */
bool check_on_page(sim *s, model *m, const manifest *now, uint32_t id);
void check_data_deleted(sim *s, const object *o);
void check_segment_deleted(sim *s, const object *o);
void check_page_deleted(sim *s, const object *o);
/** A batch that is on no chain can never be published any more. */
bool check_over(const model *m, const tgb *t);
bool check_state_needed(const sim *s, const object *o);
/** G7, at the end: all of what is retained is stored. */
void check_retained(sim *s);
/** An object is forgotten that holds nothing: its batch lets go of it. False: somebody alive may
 * write it. */
bool check_let_go(const sim *s, const object *o);
/** Nobody can need it, whatever happens. */
bool check_unreachable(const sim *s, const object *o);

/* ---- what processes are told ---- */
void check_launched(process *p, const char *launch, uint64_t step, uint32_t item);
void check_pinned(process *p, const char *group_name, uint64_t nonce);
/** Told that it is definitely not made. */
void check_pin_lost(process *p, const char *group_name, uint64_t nonce);
/** FENCED, GROUP_GONE or TRIMMED: is it so? False: another status. */
bool check_refused(process *p, bw_status status, const char *group_name, const char *launch,
                   uint64_t step);
/** Told, of this base, that the next of these batches finds no room. */
void check_blocked(process *p, const manifest *base, const descriptor *d, uint32_t count);
/** Does this launch's group keep the step, by what the newest version says? */
bool check_keeps(const sim *s, const char *group_name, const char *launch, uint64_t step);
/** Something of `step` is not there: is it trimmed? */
bool check_trimmed(process *p, uint64_t step);
void check_attempted(process *p, const flight *f);
/** `m` is proved, it was told; `newest`: proved the newest since the walk began. */
void check_proved(process *p, const manifest *m, bool newest);
/** A look did not find `version`: it was not there, or it is retired. */
void check_missed(process *p, uint64_t version);
/** A look ended with `version`, newer than what was held: no marker may have said that it is
 * retired when the look began. */
void check_found(process *p, uint64_t version);
/** A producer was told that it is open. */
void check_opened(process *p, uint32_t id, uint32_t epoch, uint64_t seq, uint64_t offset,
                  uint64_t version);
/** Told that a newer incarnation took over. */
void check_fenced(process *p, uint32_t id, const token128 *token);
void check_acked(process *p, tgb *t, uint64_t step, uint64_t version);
/** Told that it is definitely lost. */
void check_lost(process *p, tgb *t);
/** A commit ended: `from` is the first attempt of it. Of a launch or a pin, which may be undone,
 * nothing is said of attempts whose block was retired. */
void check_ended(process *p, size_t from, const commit_report *r, bool undoable);
/** Refused because sealed or finished: is it? */
void check_sealed(process *p);
void check_finished(process *p, uint32_t id, uint64_t offset);
void check_delivered(process *p, const delivery *d);
void check_stream_end(process *p, uint64_t step);
/** The step that follows `step`, beyond what the job leaves out. */
/** Tags that a job of a tagged plan reads; the others it passes. */
#define TAGS_READ 2u
extern const tag_range check_tags[TAGS_READ];
/** The step that is handed out after `step`, as far as the chain goes. */
uint64_t check_next_read(const sim *s, uint64_t step);
uint64_t check_next_step(const sim *s, uint64_t step);
/** A cursor is saved: it must name what comes after the last item handed out. */
void check_cursor(process *p, uint64_t step, uint32_t item);
/** When all is over: everything that only the end can tell. */
void check_all(sim *s);

#endif
