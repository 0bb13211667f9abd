// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What may be written and deleted, judged at the moment it takes effect. */
#include "check.h"

#include "codec/small.h"
#include "network.h"
#include <inttypes.h>

bool check_is_ghost(const sim *s, const object *o)
{
    return o != NULL && o->now != NULL && vstore_is_retired(s, o->number) &&
           (o->was_deleted || o->now != o->first);
}

void check_ghost_read(process *p)
{
    sim *s = p->sim;
    MARK_IF(s, GHOST_READ_BY_PRODUCER, p->role->kind == ROLE_PRODUCER);
    MARK_IF(s, GHOST_READ_BY_READER, p->role->kind == ROLE_READER);
    MARK_IF(s, GHOST_READ_BY_SWEEPER, p->role->kind == ROLE_SWEEPER);
}

static void manifest_created(sim *s, object *o, const flight *f)
{
    const bool retired = vstore_is_retired(s, o->number);
    MARK_IF(s, FROZEN_ACROSS_RETIREMENT, retired && f->held);
    if (o->writes == 1) {
        if (o->number != vstore_newest(s->store) || retired) {
            sim_violate(s, "I2", "version %" PRIu64 " was made, the newest is %" PRIu64, o->number,
                        vstore_newest(s->store));
            return;
        }
        MARK_IF(s, LATE_LANDED_LIVE, f->late);
        check_extended(s, o);
        return;
    }
    if (!retired) {
        sim_violate(s, "I17", "%s got a second content and is not retired", o->key.text);
        return;
    }
    MARK(s, GHOST_CREATED);
    MARK_IF(s, GHOST_ON_GHOST, check_is_ghost(s, vstore_manifest(s->store, o->number - 1)));
    MARK_IF(s, LATE_LANDED_RETIRED, f->late);
    MARK_IF(s, DUPLICATE_RETIRED,
            f->late &&
                (f->apply_fault == FAULT_WRITE_TWICE || f->apply_fault == FAULT_WRITE_TWICE_LATE));
    story(s, f->process, "a ghost: %s lies in a retired block", o->key.text);
}

static void marker_created(sim *s, const object *o, const flight *f)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t number;
    const uint64_t newest_block = genesis_block(&s->genesis, vstore_newest(s->store));
    if (marker_decode(view_of(o->now->bytes, o->now->size), uuid, &number, NULL) != BW_OK ||
        number != o->number)
        sim_violate(s, "R8", "%s does not hold its marker", o->key.text);
    else if (number > 0 && !vstore_has_marker(s->store, number - 1))
        sim_violate(s, "R8", "block %" PRIu64 " was retired before the one below it", number);
    else if (newest_block < number + 2)
        sim_violate(s, "R8", "block %" PRIu64 " was retired, the newest version lies in %" PRIu64,
                    number, newest_block);
    MARK_IF(s, MARKER_BY_LATE, f->late);
    story(s, f->process, "block %" PRIu64 " is retired", number);
}

void check_created(sim *s, object *o, const flight *f)
{
    switch (o->kind) {
    case KEY_MANIFEST:
        manifest_created(s, o, f);
        break;
    case KEY_MARKER:
        if (o->writes == 1)
            marker_created(s, o, f);
        else
            sim_violate(s, "R8", "%s was deleted and made again", o->key.text);
        break;
    case KEY_GENESIS:
        if (o->writes == 1)
            check_founded(s, o);
        else
            sim_violate(s, "I17", "genesis was deleted and made again");
        break;
    default:
        sim_violate(s, "I17", "a conditional create of %s", o->key.text);
    }
}

void check_put(sim *s, object *o, const flight *f)
{
    switch (o->kind) {
    case KEY_HINT:
        break;
    case KEY_SEGMENT:
        MARK_IF(s, FOLD_RACED, o->writes == 2 && !f->late);
        break;
    case KEY_PART:
    case KEY_STATE:
    case KEY_PAGE:
        break;
    default:
        sim_violate(s, "I17", "an unconditional put of %s", o->key.text);
    }
    if (o->kind != KEY_HINT && !blob_equal(o->now, o->first))
        sim_violate(s, "I17", "%s got a second content", o->key.text);
}

static void manifest_deleted(sim *s, object *o, const flight *f)
{
    const uint64_t number = genesis_block(&s->genesis, o->number);
    if (!vstore_has_marker(s->store, number))
        sim_violate(s, "I13", "version %" PRIu64 " was deleted before the marker of its block",
                    o->number);
    else if (number + 2 > genesis_block(&s->genesis, vstore_newest(s->store)))
        sim_violate(s, "I13", "version %" PRIu64 " was deleted, the newest is %" PRIu64, o->number,
                    vstore_newest(s->store));
    MARK_IF(s, GHOST_SWEPT, check_is_ghost(s, o));
    MARK_IF(s, SWEEPERS_TOGETHER, o->now == NULL && o->was_deleted && !f->late);
}

void check_deleted(sim *s, object *o, const flight *f)
{
    switch (o->kind) {
    case KEY_MANIFEST:
        manifest_deleted(s, o, f);
        break;
    case KEY_PART:
    case KEY_STATE:
        check_data_deleted(s, o);
        break;
    case KEY_SEGMENT:
        check_segment_deleted(s, o);
        break;
    case KEY_PAGE:
        check_page_deleted(s, o);
        break;
    default:
        sim_violate(s, "I16", "%s was deleted", o->key.text);
    }
}

void check_late(sim *s, const flight *f)
{
    MARK_IF(s, DELETE_LATE, f->kind == STORE_DELETE);
    if (f->kind == STORE_CREATE && f->object->kind == KEY_MANIFEST) {
        MARK_IF(s, LATE_LANDED_TAKEN, f->outcome == STORE_EXISTS);
        MARK_IF(s, DUPLICATE_FIRST, f->outcome == STORE_EXISTS && f->object->number == 1);
    }
}

void check_answered(sim *s, const flight *f, store_outcome outcome)
{
    const object *o = f->object;
    MARK_IF(s, GHOST_CREATED_ANSWERED,
            outcome == STORE_CREATED && o->kind == KEY_MANIFEST && check_is_ghost(s, o));
    MARK_IF(s, CREATED_FROZEN_RETIRED,
            f->waited && outcome == STORE_CREATED && o->kind == KEY_MANIFEST &&
                vstore_is_retired(s, o->number));
    MARK_IF(s, MARKER_DOUBTFUL, outcome == STORE_UNKNOWN && o->kind == KEY_MARKER);
}
