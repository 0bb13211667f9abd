// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What the kinds of intent share. Private to intent*.c. */
#ifndef PROTOCOL_INTENT_DRAFT_H
#define PROTOCOL_INTENT_DRAFT_H

#include "protocol/intent.h"

struct intent_scratch {
    producer_entry *producers;
    size_t producer_capacity;
    segment_ref *refs;
    size_t ref_capacity;
    buf tail;
    group groups[GROUPS_MAX];
    pin pins[PINS_MAX]; /* of the group that changes */
};

/** One try: what every kind works with. */
typedef struct intent_try {
    const manifest *base;
    const intent_aid *aid;
    intent_scratch *scratch;
    manifest *draft;
    intent_result *result;
} intent_try;

intent_verdict intent_open_apply(intent *i, const intent_try *t);
intent_verdict intent_publish_apply(const intent *i, const intent_try *t);
intent_verdict intent_seal_apply(const intent *i, const intent_try *t);
intent_verdict intent_launch_apply(intent *i, const intent_try *t);
intent_verdict intent_pin_apply(const intent *i, const intent_try *t);
intent_verdict intent_group_rm_apply(const intent *i, const intent_try *t);
intent_verdict intent_forget_apply(intent *i, const intent_try *t);
intent_verdict intent_swept_apply(const intent *i, const intent_try *t);

intent_verdict intent_refuse(const intent_try *t, bw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The entry of `id`, from the map or else the page. False: the page must be read first. `entry`
 * NULL: the chain has none. */
bool intent_find(const intent_try *t, view id, const producer_entry **entry);
/** Starts the draft from the base with a producer map of its own, in which `id` stands; it is
 * `from` when it was not in the map. */
bw_status intent_draft_entry(const intent_try *t, view id, const producer_entry *from,
                             producer_entry **entry);

/** Starts the draft from the base with a producer map of its own. */
bw_status intent_draft_producers(const intent_try *t);
/** Starts the draft from the base with groups of its own, in which `name` stands (new: all zero).
 * There is room for the group. */
group *intent_draft_group(const intent_try *t, view name);
/** Says when the group changed, and what all groups together still hold: the draft's trim step. */
void intent_draft_group_done(const intent_try *t, group *g);
/** The draft is the base without that group of it. */
void intent_draft_without_group(const intent_try *t, const group *gone);

/** "name" for a printf of "%.*s". */
#define VIEW_ARGS(v) (int)(v).size, (const char *)(v).data

#endif
