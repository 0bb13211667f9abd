// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "grab.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REPLY_HEAD_MAX 8192u
#define REPLY_BODY_MAX (512u << 20)

void exchange_init(exchange *x)
{
    buf_init(&x->reply.head, REPLY_HEAD_MAX);
    buf_init(&x->reply.body, REPLY_BODY_MAX);
}

void exchange_clear(exchange *x)
{
    for (size_t i = 0; i < x->operation.name_count; i++)
        mem_free(x->operation.names[i]);
    mem_free(x->operation.names);
    x->operation = (operation){0};
    if (x->payload != x->body)
        blob_drop(x->payload);
    blob_drop(x->body);
    blob_drop(x->outcome.object.bytes);
    listing_free(&x->outcome.listing);
    mem_free(x->outcome.each);
    x->body = x->payload = NULL;
    x->outcome = (outcome){0};
    buf_reset(&x->reply.head);
    buf_reset(&x->reply.body);
    x->reply = (reply){.head = x->reply.head, .body = x->reply.body};
}

void exchange_free(exchange *x)
{
    exchange_clear(x);
    buf_free(&x->reply.head);
    buf_free(&x->reply.body);
}

/** By what the request looks like, unless the command line says. */
static const dialect *choose(const exchange *x)
{
    const request *r = &x->request;
    const settings *s = x->settings;
    if (text_begins(r->path, "/_control"))
        return &dialect_control;
    if (s->forced != NULL)
        return s->forced;
    if (text_begins(r->path, "/storage/v1/") || text_begins(r->path, "/upload/storage/v1/") ||
        text_begins(r->path, "/download/storage/v1/") || text_begins(r->path, "/batch/storage/v1"))
        return &dialect_gcs;
    const size_t size = strlen(s->account);
    if (request_header(r, "x-ms-version") != NULL ||
        (strncmp(r->path + 1, s->account, size) == 0 &&
         (r->path[size + 1] == '/' || r->path[size + 1] == '\0')))
        return &dialect_azure;
    return &dialect_s3;
}

static failure check_names(const operation *op)
{
    for (const char *c = op->container; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_$", *c) ==
            NULL)
            return FAILURE_BAD_REQUEST;
    if (!utf8_is_valid(op->key, strlen(op->key)))
        return FAILURE_BAD_REQUEST;
    return strlen(op->key) > KEY_BYTES_MAX ? FAILURE_LONG_KEY : FAILURE_NONE;
}

static void make_plan(exchange *x)
{
    const operation *op = &x->operation;
    fault_subject s = {
        .verb = op->verb, .dialect = x->dialect->id, .container = op->container, .key = op->key};
    object there = {0};
    if (op->key[0] != '\0')
        s.present = objects_get(x->objects, op->container, op->key, &there) == FAILURE_NONE;
    blob_drop(there.bytes);
    faults_plan(x->faults, &s, &x->plan);
}

void exchange_begin(exchange *x)
{
    operation *op = &x->operation;
    *op = (operation){.container = "", .key = "", .prefix = "", .after = "", .from = ""};
    op->verb = VERB_OTHER;
    x->dialect = choose(x);
    http_date(clock_wall_ms(clock_system()) + faults_skew_ms(x->faults), x->date);
    plan_plain(&x->plan);
    x->outcome.failure = x->dialect->parse(x);
    if (x->outcome.failure == FAILURE_NONE)
        x->outcome.failure = check_names(op);
    const bool writes = op->verb == VERB_PUT || op->verb == VERB_CREATE;
    if (x->outcome.failure == FAILURE_NONE &&
        (x->request.chunked || (writes && !x->request.has_length)))
        x->outcome.failure = FAILURE_NEEDS_LENGTH;
    if (op->verb != VERB_CONTROL && faults_armed(x->faults))
        make_plan(x);
    if (x->plan.reply == REPLY_FULL)
        op->range = RANGE_NONE;
}

void exchange_body(exchange *x)
{
    x->payload = x->body;
    if (x->outcome.failure == FAILURE_NONE)
        x->outcome.failure = x->dialect->accept(x);
    if (x->outcome.failure == FAILURE_NONE)
        x->outcome.failure = check_names(&x->operation); /* some come with the body */
    const verb v = x->operation.verb;
    if (x->outcome.failure != FAILURE_NONE || (v != VERB_PUT && v != VERB_CREATE))
        return;
    if (x->payload == NULL)
        x->payload = x->body = blob_new(0);
    blob_seal(x->payload, x->settings->digest);
}

static change change_of(const exchange *x, applied how)
{
    return (change){.container = x->operation.container,
                    .key = x->operation.key,
                    .condition = x->operation.condition,
                    .version = x->operation.version,
                    .request = x->id,
                    .how = how};
}

/** One name of many: rules for a delete of that name strike here, too. */
static failure delete_one(exchange *x, const char *key)
{
    change c = change_of(x, APPLIED_ONCE);
    plan p;
    c.key = key;
    plan_plain(&p);
    if (faults_armed(x->faults)) {
        const fault_subject s = {.verb = VERB_DELETE,
                                 .dialect = x->dialect->id,
                                 .container = c.container,
                                 .key = key,
                                 .present = true};
        faults_plan(x->faults, &s, &p);
    }
    failure f = FAILURE_NONE;
    if (p.apply == APPLY_ONCE || p.apply == APPLY_TWICE)
        f = objects_delete(x->objects, &c);
    return p.reply == REPLY_ERROR ? p.error : f;
}

static failure apply_many(exchange *x)
{
    const operation *op = &x->operation;
    if (!objects_has_container(x->objects, op->container))
        return FAILURE_NO_CONTAINER;
    x->outcome.each = grab_zeroed(op->name_count * sizeof(failure) + 1);
    for (size_t i = 0; i < op->name_count; i++)
        x->outcome.each[i] = delete_one(x, op->names[i]);
    return FAILURE_NONE;
}

/** Where in its bytes the answer begins and ends. */
static failure cut_range(const operation *op, outcome *out)
{
    const uint64_t size = out->object.bytes->size;
    out->from = 0;
    out->size = size;
    if (op->range == RANGE_NONE)
        return FAILURE_NONE;
    out->partial = true;
    if (op->range == RANGE_SUFFIX) {
        out->size = op->last < size ? op->last : size;
        out->from = size - out->size;
        return out->size == 0 ? FAILURE_BAD_RANGE : FAILURE_NONE;
    }
    if (op->first >= size)
        return FAILURE_BAD_RANGE;
    out->from = op->first;
    out->size = size - op->first;
    if (op->range == RANGE_SPAN && op->last - op->first + 1 < out->size)
        out->size = op->last - op->first + 1;
    return FAILURE_NONE;
}

static failure apply_read(exchange *x)
{
    const operation *op = &x->operation;
    outcome *out = &x->outcome;
    const failure f = objects_get(x->objects, op->container, op->key, &out->object);
    if (f != FAILURE_NONE)
        return f;
    /* A read that is stale: what is younger is not there yet. */
    if (x->plan.stale_ns > 0 &&
        clock_wall_ms(clock_system()) - out->object.stored_ms < x->plan.stale_ns / NS_PER_MS)
        return FAILURE_NO_OBJECT;
    if (op->generation != 0 && op->generation != out->object.version)
        return FAILURE_NO_OBJECT;
    if (op->condition == IF_VERSION && op->version != out->object.version)
        return FAILURE_CONDITION;
    return op->metadata_only ? FAILURE_NONE : cut_range(op, out);
}

static failure apply_delete(exchange *x, change *c)
{
    const uint64_t meant = x->operation.generation;
    if (meant == 0)
        return objects_delete(x->objects, c);
    c->condition = IF_VERSION;
    c->version = meant;
    const failure f = objects_delete(x->objects, c);
    return f == FAILURE_CONDITION ? FAILURE_NO_OBJECT : f;
}

static failure apply_list(exchange *x)
{
    const operation *op = &x->operation;
    const list_query q = {.container = op->container,
                          .prefix = op->prefix,
                          .after = op->after,
                          .from = op->from,
                          .max = op->max,
                          .stale_ns = x->plan.stale_ns,
                          .unordered = x->plan.unordered,
                          .repeat = x->plan.repeat,
                          .seed = x->plan.seed ^ x->id};
    return objects_list(x->objects, &q, &x->outcome.listing);
}

static failure apply_once(exchange *x, applied how)
{
    const operation *op = &x->operation;
    change c = change_of(x, how);
    switch (op->verb) {
    case VERB_GET:
    case VERB_HEAD:
        return apply_read(x);
    case VERB_PUT:
    case VERB_CREATE:
        if (x->plan.condition != CONDITION_HELD)
            c.condition = IF_ANY;
        return objects_put(x->objects, &c, x->payload, &x->outcome.object);
    case VERB_DELETE:
        return apply_delete(x, &c);
    case VERB_DELETE_MANY:
        return apply_many(x);
    case VERB_LIST:
        return apply_list(x);
    case VERB_CONTAINER:
        return objects_add_container(x->objects, op->container);
    case VERB_PROBE:
        return objects_has_container(x->objects, op->container) ? FAILURE_NONE
                                                                : FAILURE_NO_CONTAINER;
    case VERB_OTHER:
    case VERB_CONTROL:
    case VERB_COUNT:
        break;
    }
    return FAILURE_NONE;
}

/** The check of check-then-put: what the put, after the window, will not ask again. */
static failure check_first(exchange *x)
{
    object there = {0};
    const operation *op = &x->operation;
    const failure f = objects_get(x->objects, op->container, op->key, &there);
    blob_drop(there.bytes);
    if (op->condition == IF_ABSENT && f == FAILURE_NONE)
        return FAILURE_EXISTS;
    if (op->condition == IF_VERSION && f == FAILURE_NONE && there.version != op->version)
        return FAILURE_CONDITION;
    return op->condition == IF_VERSION || f == FAILURE_NO_CONTAINER ? f : FAILURE_NONE;
}

bool exchange_apply(exchange *x, bool second_half)
{
    const operation *op = &x->operation;
    outcome *out = &x->outcome;
    if (out->failure != FAILURE_NONE || x->plan.apply == APPLY_NONE || x->plan.apply == APPLY_LATE)
        return false;
    const bool racy = x->plan.condition == CONDITION_RACY && op->condition != IF_ANY &&
                      (op->verb == VERB_PUT || op->verb == VERB_CREATE);
    if (racy && !second_half) {
        out->failure = check_first(x);
        return out->failure == FAILURE_NONE;
    }
    out->failure = apply_once(x, racy ? APPLIED_RACY : APPLIED_ONCE);
    return false;
}

bool exchange_late(const exchange *x, late_write *out)
{
    const operation *op = &x->operation;
    const verb v = op->verb;
    /* What was refused once is asked again too: a copy of the request is on its way. */
    if ((x->plan.apply != APPLY_LATE && x->plan.apply != APPLY_TWICE) ||
        (v != VERB_PUT && v != VERB_CREATE && v != VERB_DELETE))
        return false;
    if (v != VERB_DELETE && x->payload == NULL)
        return false;
    *out = (late_write){.verb = v,
                        .request = x->id,
                        .condition = x->plan.condition == CONDITION_HELD ? op->condition : IF_ANY,
                        .version = op->version,
                        .how = x->plan.apply == APPLY_LATE ? APPLIED_LATE : APPLIED_AGAIN,
                        .container = grab_text(op->container),
                        .key = grab_text(op->key),
                        .payload = v == VERB_DELETE ? NULL : blob_keep(x->payload)};
    return true;
}

void late_write_apply(objects *o, late_write *w)
{
    const change c = {.container = w->container,
                      .key = w->key,
                      .condition = w->condition,
                      .version = w->version,
                      .request = w->request,
                      .how = w->how};
    object out = {0};
    if (w->verb == VERB_DELETE)
        objects_delete(o, &c);
    else
        objects_put(o, &c, w->payload, &out);
    mem_free(w->container);
    mem_free(w->key);
    blob_drop(w->payload);
}

void reply_object(exchange *x, const char *type)
{
    outcome *out = &x->outcome;
    if (x->plan.reply == REPLY_SHORT && out->size > 1)
        out->size /= 2;
    x->reply.status = out->partial ? 206 : 200;
    x->reply.bytes = true;
    reply_header(x, "Content-Type", "%s", type);
    if (out->partial)
        reply_header(x, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%zu", out->from,
                     out->from + out->size - 1, out->object.bytes->size);
}

static void refuse(exchange *x, failure f)
{
    const plan *p = &x->plan;
    const failure_spelling spelled = failure_spelled(f, x->dialect->id);
    const char *code = p->error == f && p->code[0] != '\0' ? p->code : spelled.code;
    int status = p->error == f && p->status != 0 ? p->status : spelled.status;
    if (p->reply == REPLY_OK_ERROR && p->error == f)
        status = 200;
    x->reply.status = status;
    x->dialect->refuse(x, f, status, code);
}

void exchange_reply(exchange *x)
{
    const plan *p = &x->plan;
    failure f = x->outcome.failure;
    if (f == FAILURE_NO_OBJECT && x->operation.verb == VERB_DELETE &&
        x->dialect->delete_of_nothing_succeeds)
        f = FAILURE_NONE;
    if (p->reply == REPLY_ERROR || p->reply == REPLY_OK_ERROR)
        f = p->error;
    else if (p->apply == APPLY_NONE || p->apply == APPLY_LATE)
        f = f == FAILURE_NONE ? FAILURE_INTERNAL : f; /* nothing happened: no success to tell of */
    x->reply.status = 200;
    if (f == FAILURE_NONE)
        x->dialect->answer(x);
    else
        refuse(x, f);
    x->reply.bodiless |= x->request.method == METHOD_HEAD || x->reply.status == 204;
    x->dialect->sign(x);
    buf_put_text(&x->reply.head, p->headers);
}
