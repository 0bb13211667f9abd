// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include "base/alloc.h"
#include "check.h"
#include "codec/small.h"
#include "tape.h"
#include <stdio.h>
#include <string.h>

/* Salts of draws beyond those of the fault classes. */
enum salt { SALT_OUT = 100, SALT_BACK, SALT_SPLIT, SALT_DELAY, SALT_AGAIN, SALT_SLOW, SALT_DAMAGE };

#define SHORT_DELAY_NS (2 * NS_PER_S)
#define LONG_DELAY_MIN_NS (2 * NS_PER_S)
#define LONG_DELAY_NS (30 * NS_PER_S)
#define STORM_DELAY_MIN_NS (300 * NS_PER_MS)
#define STORM_DELAY_NS (4 * NS_PER_S)
#define SPELL_NS (400 * NS_PER_MS)
/* Of a request's place in the seed, when its answer is meant: no life has so many requests. */
#define ANSWER_BIT ((uint64_t)1 << 31)

static flight *take(sim *s)
{
    flight *f = s->spare;
    if (f != NULL)
        s->spare = f->next;
    else
        f = sim_alloc(sizeof *f);
    memset(f, 0, sizeof *f);
    f->apply_fault = f->reply_fault = NO_FAULT;
    f->next_made = s->flying;
    if (s->flying != NULL)
        s->flying->previous_made = f;
    s->flying = f;
    return f;
}

static void give(sim *s, flight *f)
{
    blob_unref(f->body);
    blob_unref(f->read);
    mem_free(f->keys);
    mem_free(f->names);
    *(f->previous_made != NULL ? &f->previous_made->next_made : &s->flying) = f->next_made;
    if (f->next_made != NULL)
        f->next_made->previous_made = f->previous_made;
    f->next = s->spare;
    s->spare = f;
}

void network_free(sim *s)
{
    while (s->flying != NULL)
        give(s, s->flying);
    for (flight *f = s->spare, *next; f != NULL; f = next) {
        next = f->next;
        mem_free(f);
    }
}

/* A copy of a write that lands by itself later, answered to nobody. */
static void land_later(sim *s, const flight *f, int64_t at_ns, fault_class why)
{
    flight *late = take(s);
    late->process = f->process;
    late->kind = f->kind;
    late->object = f->object;
    late->where = f->where;
    late->sent_ns = f->sent_ns;
    late->applies = late->late = true;
    late->apply_fault = (uint8_t)why;
    late->body = f->body != NULL ? blob_ref(f->body) : NULL;
    late->key_count = f->key_count;
    if (f->key_count > 0) {
        late->keys = mem_dup(f->keys, f->key_count * sizeof *f->keys);
        if (late->keys == NULL)
            sim_defect("no memory");
    }
    sim_schedule(s, at_ns, EVENT_APPLY, late, NULL);
}

static void say(flight *f, store_outcome outcome, bw_status code, bool applies, fault_class why)
{
    f->say = outcome;
    f->code = code;
    f->applies = applies;
    *(applies ? &f->apply_fault : &f->reply_fault) = (uint8_t)why;
}

static int64_t short_delay(const sim *s, const flight *f)
{
    return (int64_t)sim_draw_below(s, SALT_DELAY, f->where, SHORT_DELAY_NS);
}

static int64_t long_delay(const sim *s, const flight *f)
{
    if (s->plan.storm)
        return STORM_DELAY_MIN_NS +
               (int64_t)sim_draw_below(s, SALT_DELAY, f->where, STORM_DELAY_NS);
    return sim_pace(s, LONG_DELAY_MIN_NS +
                           (int64_t)sim_draw_below(s, SALT_DELAY, f->where, LONG_DELAY_NS));
}

static void plan_create(sim *s, flight *f, int64_t *apply_ns, int64_t *reply_ns)
{
    if (fault_fires(s, FAULT_CREATE_APPLIED, f->where)) {
        say(f, STORE_UNKNOWN, BW_IO, true, FAULT_CREATE_APPLIED);
    } else if (fault_fires(s, FAULT_CREATE_DROPPED, f->where)) {
        say(f, STORE_UNKNOWN, BW_IO, false, FAULT_CREATE_DROPPED);
    } else if (fault_fires(s, FAULT_CREATE_LATE, f->where)) {
        say(f, STORE_UNKNOWN, BW_IO, false, FAULT_CREATE_LATE);
        f->reply_fault = NO_FAULT;
        land_later(s, f, *apply_ns + short_delay(s, f), FAULT_CREATE_LATE);
    } else if (fault_fires(s, FAULT_CREATE_VERY_LATE, f->where)) {
        say(f, STORE_UNKNOWN, BW_IO, false, FAULT_CREATE_VERY_LATE);
        f->reply_fault = NO_FAULT;
        land_later(s, f, *apply_ns + long_delay(s, f), FAULT_CREATE_VERY_LATE);
    } else if (fault_fires(s, FAULT_CREATE_SILENT, f->where)) {
        say(f, STORE_UNKNOWN, BW_IO, true, FAULT_CREATE_SILENT);
        *reply_ns += long_delay(s, f);
    } else if (fault_fires(s, FAULT_CREATE_RETRY, f->where)) {
        say(f, STORE_RETRY, BW_IO, false, FAULT_CREATE_RETRY);
    } else if (fault_fires(s, FAULT_CREATE_UNSUPPORTED, f->where)) {
        say(f, STORE_UNSUPPORTED, BW_UNSUPPORTED, false, FAULT_CREATE_UNSUPPORTED);
    }
}

/* The level of a segment: after head and uuid. */
#define SEGMENT_LEVEL_AT (16u + UUID_BYTES)

static bool is_index(const flight *f)
{
    return f->kind == STORE_PUT && f->object->kind == KEY_SEGMENT &&
           f->body->size > SEGMENT_LEVEL_AT && f->body->bytes[SEGMENT_LEVEL_AT] > 0;
}

static void plan_put(sim *s, flight *f, int64_t apply_ns)
{
    if (is_index(f) && fault_fires(s, FAULT_INDEX_DROPPED, f->where)) {
        say(f, STORE_RETRY, BW_IO, false, FAULT_INDEX_DROPPED);
        return;
    }
    if (fault_fires(s, FAULT_PUT_LOST_REPLY, f->where)) {
        say(f, STORE_RETRY, BW_IO, true, FAULT_PUT_LOST_REPLY);
    } else if (fault_fires(s, FAULT_PUT_DROPPED, f->where)) {
        say(f, STORE_RETRY, BW_IO, false, FAULT_PUT_DROPPED);
    } else if (fault_fires(s, FAULT_PUT_LATE, f->where)) {
        say(f, STORE_RETRY, BW_IO, false, FAULT_PUT_LATE);
        f->reply_fault = NO_FAULT;
        land_later(s, f, apply_ns + short_delay(s, f), FAULT_PUT_LATE);
    }
}

static void plan_again(sim *s, flight *f, int64_t apply_ns)
{
    if (!f->applies)
        return;
    if (fault_fires(s, FAULT_WRITE_TWICE, f->where))
        land_later(s, f,
                   apply_ns + (int64_t)sim_draw_below(s, SALT_AGAIN, f->where, SHORT_DELAY_NS),
                   FAULT_WRITE_TWICE);
    if (fault_fires(s, FAULT_WRITE_TWICE_LATE, f->where))
        land_later(s, f, apply_ns + long_delay(s, f), FAULT_WRITE_TWICE_LATE);
}

static void plan_hint(sim *s, flight *f)
{
    if (fault_fires(s, FAULT_HINT_MISSING, f->where))
        say(f, STORE_NOT_FOUND, BW_OK, false, FAULT_HINT_MISSING);
    else if (fault_fires(s, FAULT_HINT_OLD, f->where))
        f->apply_fault = FAULT_HINT_OLD;
    else if (fault_fires(s, FAULT_HINT_ABSURD, f->where))
        f->apply_fault = FAULT_HINT_ABSURD;
}

static void plan_read(sim *s, flight *f)
{
    if (f->kind == STORE_LIST) {
        f->lists_stale = fault_fires(s, FAULT_LIST_STALE, f->where);
        f->lists_unordered = fault_fires(s, FAULT_LIST_UNORDERED, f->where);
    }
    if (f->object != NULL && f->object->kind == KEY_HINT)
        plan_hint(s, f);
    if (fault_fires(s, FAULT_READ_RETRY, f->where)) {
        say(f, STORE_RETRY, BW_IO, false, FAULT_READ_RETRY);
        return;
    }
    if (f->kind != STORE_GET && f->kind != STORE_READ)
        return;
    process *p = f->process;
    if (fault_fires(s, FAULT_READ_CORRUPT, f->where)) {
        f->damage = DAMAGE_FLIP;
        if (fault_fires(s, FAULT_DAMAGE_STAYS, f->where)) {
            p->bad_object = f->object;
            p->bad_until_ns = s->now_ns + short_delay(s, f);
        }
    } else if (p->bad_object == f->object && s->now_ns < p->bad_until_ns && s->faults.on) {
        f->damage = DAMAGE_FLIP;
        fault_hit(s, FAULT_DAMAGE_STAYS);
    }
    if (f->damage != DAMAGE_NONE)
        return;
    if (fault_fires(s, FAULT_READ_SHORT, f->where))
        f->damage = DAMAGE_CUT;
    else if (f->kind == STORE_GET && fault_fires(s, FAULT_READ_TOO_LARGE, f->where))
        f->damage = DAMAGE_TOO_LARGE;
}

static bool refused(sim *s, flight *f)
{
    process *p = f->process;
    if (fault_fires(s, FAULT_DENIED, f->where))
        p->denied_until_ns = s->now_ns + (int64_t)sim_draw_below(s, SALT_SLOW, f->where, SPELL_NS);
    if (fault_fires(s, FAULT_THROTTLED, f->where))
        p->throttled_until_ns =
            s->now_ns + (int64_t)sim_draw_below(s, SALT_SLOW, f->where, SPELL_NS);
    if (s->now_ns < p->denied_until_ns)
        say(f, f->kind == STORE_CREATE ? STORE_FATAL : STORE_DENIED, BW_DENIED, false,
            FAULT_DENIED);
    else if (s->now_ns < p->throttled_until_ns)
        say(f, STORE_RETRY, BW_IO, false, FAULT_THROTTLED);
    else if (fault_fires(s, FAULT_FATAL, f->where))
        say(f, STORE_FATAL, BW_IO, false, FAULT_FATAL);
    return f->say != STORE_PENDING;
}

/* A frozen process sends when it thaws, and reads an answer then. */
static void maybe_freeze(process *p, const flight *f, bool answer)
{
    sim *s = p->sim;
    const bool commits = !answer && f->kind == STORE_CREATE && f->object->kind == KEY_MANIFEST;
    const uint64_t where = answer ? f->where | ANSWER_BIT : f->where;
    int64_t for_ns = 0;
    fault_class why = FAULT_FREEZE;
    if (commits && fault_fires(s, FAULT_FREEZE_SEND, f->where)) {
        why = FAULT_FREEZE_SEND;
        for_ns = s->plan.storm ? long_delay(s, f) : NS_PER_S + long_delay(s, f) / 3;
    } else if (fault_fires(s, FAULT_FREEZE_LONG, where)) {
        why = FAULT_FREEZE_LONG;
        for_ns = s->plan.storm ? long_delay(s, f) : NS_PER_S + long_delay(s, f) / 3;
    } else if (fault_fires(s, FAULT_FREEZE, where)) {
        for_ns = short_delay(s, f) / 4 + 1;
    }
    if (for_ns == 0)
        return;
    fault_hit(s, why);
    process_freeze(p, s->now_ns + for_ns);
    story(s, p, "frozen for %lld ms before %s%s %s", (long long)(for_ns / NS_PER_MS),
          answer ? "the answer to " : "", store_op_name(f->kind),
          f->object != NULL ? f->object->key.text : "…");
}

static flight *pack(process *p, const machine_request *request, bool own)
{
    sim *s = p->sim;
    flight *f = take(s);
    f->process = p;
    f->life = p->life;
    f->own = own;
    f->id = request->id;
    f->kind = request->kind;
    f->where = process_where(p, p->requests++);
    f->sent_ns = s->now_ns;
    f->after = request->after;
    f->prefix = request->key;
    if (request->kind != STORE_LIST && request->kind != STORE_DELETE)
        f->object = vstore_object(s->store, &request->key, vstore_key_hash(request->key.text));
    if (request->kind == STORE_PUT || request->kind == STORE_CREATE)
        f->body = blob_new(request->bytes, request->size);
    if (request->key_count > 0) {
        f->key_count = request->key_count;
        f->keys = mem_dup(request->keys, request->key_count * sizeof *f->keys);
        if (f->keys == NULL)
            sim_defect("no memory");
    }
    return f;
}

static key_kind kind_of(const object_key *key)
{
    key_fields fields;
    key_parse(view_text(key->text), &fields);
    return fields.kind;
}

void network_send(process *p, const machine_request *request, bool own, uint64_t offset,
                  uint64_t length)
{
    sim *s = p->sim;
    process_boundary(p);
    if (p->doomed)
        return;
    flight *f = pack(p, request, own);
    f->offset = offset;
    f->length = length;
    if (s->tape != NULL)
        tape_recognise(s, f);
    s->requests++;
    if (f->kind == STORE_PUT || f->kind == STORE_CREATE)
        p->last_effect = f->object->kind;
    else if (f->kind == STORE_DELETE)
        p->last_effect = kind_of(&f->keys[0]);
    p->searched += f->kind == STORE_HEAD;
    trace_add(s, p->index << 8 | (uint32_t)f->kind, f->object != NULL ? f->object->hash : f->id);
    if (f->kind == STORE_CREATE && f->object->kind == KEY_MANIFEST)
        check_attempted(p, f);
    maybe_freeze(p, f, false);
    f->held = process_is_frozen(p);
    const int64_t depart_ns = f->held ? p->frozen_until_ns : s->now_ns;
    const uint64_t latency = (uint64_t)s->plan.latency_ns;
    int64_t apply_ns = depart_ns + 1 + (int64_t)sim_draw_below(s, SALT_OUT, f->where, latency);
    f->slow = fault_fires(s, FAULT_SLOW, f->where);
    if (f->slow)
        apply_ns += short_delay(s, f);
    const bool long_waits = fault_is_kept(&s->faults, FAULT_WAIT, f->where);
    if (f->beat != NULL)
        apply_ns = tape_moment(depart_ns, f->beat->apply_ns, apply_ns, long_waits);
    int64_t reply_ns = apply_ns + 1 + (int64_t)sim_draw_below(s, SALT_BACK, f->where, latency);
    f->applies = true;
    if (!refused(s, f)) {
        if (f->kind == STORE_CREATE)
            plan_create(s, f, &apply_ns, &reply_ns);
        else if (f->kind == STORE_PUT || f->kind == STORE_DELETE)
            plan_put(s, f, apply_ns);
        else
            plan_read(s, f);
        if (f->kind == STORE_CREATE || f->kind == STORE_PUT || f->kind == STORE_DELETE)
            plan_again(s, f, apply_ns);
    }
    const bool writes = f->kind == STORE_CREATE || f->kind == STORE_PUT || f->kind == STORE_DELETE;
    f->slow_reply = fault_fires(s, FAULT_SLOW_REPLY, f->where);
    if (f->slow_reply)
        reply_ns += short_delay(s, f);
    if (f->beat != NULL)
        reply_ns = tape_moment(apply_ns, f->beat->reply_ns, reply_ns, long_waits);
    /* Most reads are seen as they arrive: one event instead of two. */
    const bool split = f->beat != NULL ? f->beat->split
                                       : writes || f->slow_reply ||
                                             sim_draw_below(s, SALT_SPLIT, f->where, 4) == 0;
    if (s->tape != NULL)
        tape_note(s, f, apply_ns, reply_ns, split);
    if (f->applies && split)
        sim_schedule(s, apply_ns, EVENT_APPLY, f, NULL);
    else
        sim_schedule(s, reply_ns, EVENT_REPLY, f, NULL);
    if (long_waits &&
        (apply_ns - depart_ns > TAPE_LONG_WAIT_NS || reply_ns - apply_ns > TAPE_LONG_WAIT_NS)) {
        fault_note(&s->faults, FAULT_WAIT, f->where);
        story(s, p, "waits %lld ms for %s %s", (long long)((reply_ns - s->now_ns) / NS_PER_MS),
              store_op_name(f->kind), f->object != NULL ? f->object->key.text : "…");
    }
    f->sent_ns = reply_ns; /* from now on: when the answer is due */
    process_boundary(p);
}

/* ---- at the store ---- */

static void apply_names(sim *s, flight *f)
{
    mem_free(f->names);
    f->names = sim_alloc(NAMES_PAGE * sizeof *f->names);
    f->listed =
        vstore_names(s->store, f->prefix.text, f->after.text, f->names, NAMES_PAGE, &f->more);
    f->outcome = STORE_OK;
    if (f->lists_stale && f->listed > 1) {
        fault_hit(s, FAULT_LIST_STALE);
        const uint32_t at = (uint32_t)sim_draw_below(s, SALT_DAMAGE, f->where, f->listed - 1);
        f->names[at] = f->names[f->listed - 1];
    }
}

static void apply_list(sim *s, flight *f)
{
    if (strcmp(f->prefix.text, "manifest/") != 0) {
        apply_names(s, f);
        return;
    }
    key_fields fields;
    key_parse(view_text(f->after.text), &fields);
    const uint64_t after = fields.kind == KEY_MANIFEST ? fields.number : 0;
    f->listed = vstore_list(s->store, after, f->versions, LIST_PAGE, &f->more);
    f->outcome = STORE_OK;
    for (uint32_t i = 0; i < f->listed; i++)
        MARK_IF(s, GHOST_LISTED,
                f->process->alive && check_is_ghost(s, vstore_manifest(s->store, f->versions[i])));
    if (f->lists_stale && f->listed > 0) {
        fault_hit(s, FAULT_LIST_STALE);
        const uint32_t at = (uint32_t)sim_draw_below(s, SALT_DAMAGE, f->where, f->listed);
        /* A name that is gone instead of one that is there, or none at all. */
        if (f->versions[at] > 1 && f->where % 2 == 0)
            f->versions[at]--;
        else
            f->versions[at] = f->versions[--f->listed];
    }
    if (f->lists_unordered && f->listed > 1) {
        fault_hit(s, FAULT_LIST_UNORDERED);
        f->versions[0] = f->versions[f->listed - 1];
    }
}

static void apply_read(sim *s, flight *f)
{
    const object *o = f->object;
    blob_unref(f->read);
    f->read = o->now != NULL ? blob_ref(o->now) : NULL;
    f->outcome = o->now != NULL ? STORE_OK : STORE_NOT_FOUND;
    if (o->kind == KEY_MANIFEST && f->kind == STORE_GET) {
        if (check_is_ghost(s, o))
            check_ghost_read(f->process);
        MARK_IF(s, DELETED_READ, o->now == NULL && o->was_deleted);
        MARK_IF(s, BEYOND_READ, o->number > vstore_newest(s->store) + 1);
    }
    MARK_IF(s, GAP_SEGMENT,
            o->kind == KEY_SEGMENT && !f->own && f->process->role->kind == ROLE_READER);
}

/* A hint that lies: of a version long gone, or of one that never was. */
static void apply_hint(sim *s, flight *f)
{
    const uint64_t newest = vstore_newest(s->store);
    const bool absurd = f->apply_fault == FAULT_HINT_ABSURD;
    uint64_t version = sim_draw_below(s, SALT_DAMAGE, f->where, newest + 1) + 1;
    if (absurd)
        version = newest + (version % 3 == 0 ? version << 50 : version);
    buf hint;
    buf_init(&hint, object_bytes_max(OBJECT_HINT));
    if (hint_encode(s->genesis.uuid, version, &hint) != BW_OK)
        sim_defect("no memory");
    blob_unref(f->read);
    f->read = blob_new(hint.data, hint.size);
    f->outcome = STORE_OK;
    buf_free(&hint);
}

static void apply_delete(sim *s, flight *f)
{
    for (uint32_t i = 0; i < f->key_count; i++) {
        object *o = vstore_object(s->store, &f->keys[i], vstore_key_hash(f->keys[i].text));
        vstore_delete(s, o, f);
    }
    f->outcome = STORE_OK;
}

static void apply(sim *s, flight *f)
{
    f->applied = true;
    if (f->slow)
        fault_hit(s, FAULT_SLOW);
    switch (f->kind) {
    case STORE_CREATE:
        f->outcome = vstore_create(s, f->object, f->body, f) ? STORE_CREATED : STORE_EXISTS;
        break;
    case STORE_PUT:
        vstore_put(s, f->object, f->body, f);
        f->outcome = STORE_OK;
        break;
    case STORE_DELETE:
        apply_delete(s, f);
        break;
    case STORE_LIST:
        apply_list(s, f);
        break;
    default:
        if (f->object->kind == KEY_HINT && f->apply_fault != NO_FAULT)
            apply_hint(s, f);
        else
            apply_read(s, f);
    }
    if (f->apply_fault != NO_FAULT) {
        fault_hit(s, (fault_class)f->apply_fault);
        story(s, f->process, "%s: %s %s → %s", fault_text((fault_class)f->apply_fault),
              store_op_name(f->kind), f->object != NULL ? f->object->key.text : "…",
              store_outcome_name(f->outcome));
    }
    trace_add(s, (uint64_t)f->outcome, f->where);
}

void network_apply(sim *s, flight *f)
{
    apply(s, f);
    if (f->late) {
        check_late(s, f);
        give(s, f);
        return;
    }
    const int64_t reply_ns = f->sent_ns > s->now_ns ? f->sent_ns : s->now_ns + 1;
    sim_schedule(s, reply_ns, EVENT_REPLY, f, NULL);
}

/* ---- and back ---- */

static void copy_read(sim *s, flight *f, machine_reply *reply)
{
    const uint64_t offset = f->length > 0 ? f->offset : 0;
    uint64_t size = f->length > 0 ? f->length : f->read->size;
    if (offset + size > f->read->size) {
        reply->outcome = STORE_FATAL; /* a range beyond the end */
        reply->code = BW_IO;
        return;
    }
    process *p = f->process;
    if (f->damage == DAMAGE_TOO_LARGE) {
        reply->outcome = STORE_FATAL;
        reply->code = BW_TOO_LARGE;
        fault_hit(s, FAULT_READ_TOO_LARGE);
        process_note_read(p, f->object, true);
        return;
    }
    const uint64_t drawn = sim_draw(s, SALT_DAMAGE, f->where);
    bool spoilt = false;
    if (f->damage == DAMAGE_CUT && size > 0) {
        size = drawn % size;
        fault_hit(s, FAULT_READ_SHORT);
        spoilt = true;
    }
    reply->bytes = mem_alloc(size + 1);
    if (reply->bytes == NULL)
        sim_defect("no memory");
    memcpy(reply->bytes, f->read->bytes + offset, size);
    reply->size = size;
    if (f->damage == DAMAGE_FLIP && size > 0) {
        reply->bytes[drawn / 8 % size] ^= (uint8_t)(1u << drawn % 8);
        fault_hit(s, FAULT_READ_CORRUPT);
        spoilt = true;
    }
    process_note_read(p, f->object, spoilt);
}

static void make_list(const flight *f, store_list *list)
{
    *list = (store_list){.more = f->more};
    for (uint32_t i = 0; i < f->listed; i++) {
        object_key key;
        if (f->names != NULL)
            key = f->names[i]->key;
        else
            key_manifest(&key, f->versions[i]);
        if (store_list_add(list, key.text, 1, 0) != BW_OK)
            sim_defect("no memory");
    }
}

static void deliver(sim *s, flight *f)
{
    process *p = f->process;
    machine_reply reply = {.id = f->id, .outcome = f->outcome};
    store_list list = {0};
    if (f->say != STORE_PENDING) {
        reply.outcome = f->say;
        reply.code = f->code;
    } else if (f->kind == STORE_LIST) {
        make_list(f, &list);
        reply.list = &list;
    } else if ((f->kind == STORE_GET || f->kind == STORE_READ) && f->outcome == STORE_OK) {
        copy_read(s, f, &reply);
    }
    if (f->reply_fault != NO_FAULT)
        fault_hit(s, (fault_class)f->reply_fault);
    if (f->slow_reply)
        fault_hit(s, FAULT_SLOW_REPLY);
    if (f->kind == STORE_CREATE)
        check_answered(s, f, reply.outcome);
    trace_add(s, (uint64_t)reply.outcome << 32 | reply.size, f->where);
    if (f->own)
        p->role->answered(p, &reply);
    else
        p->machine.type->reply(p->machine.self, s->now_ns, &reply);
    mem_free(reply.bytes);
    store_list_free(&list);
}

void network_reply(sim *s, flight *f)
{
    process *p = f->process;
    if (f->applies && !f->applied)
        apply(s, f);
    if (!p->alive || p->life != f->life) {
        give(s, f);
        return;
    }
    if (!process_is_frozen(p) && !f->waited)
        maybe_freeze(p, f, true);
    if (process_is_frozen(p)) {
        f->waited = true;
        sim_schedule(s, p->frozen_until_ns, EVENT_REPLY, f, NULL);
        return;
    }
    process_boundary(p);
    if (!p->doomed)
        deliver(s, f);
    give(s, f);
    if (!p->doomed)
        process_boundary(p);
    process_pump(p);
}

void network_want(const sim *s)
{
    for (const flight *f = s->flying; f != NULL; f = f->next_made) {
        if (f->object != NULL)
            f->object->wanted = true;
        for (uint32_t i = 0; f->names != NULL && i < f->listed; i++)
            ((object *)(uintptr_t)f->names[i])->wanted = true;
    }
}

void network_calm(sim *s)
{
    for (size_t i = 0; i < s->events; i++)
        if (s->heap[i].kind == EVENT_APPLY && s->heap[i].flight->late)
            s->heap[i].at_ns = s->now_ns;
}
