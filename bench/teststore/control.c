// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* /_control: rules and settings go in, counts and the journal come out. Never a fault in the way.
 */
#include "exchange.h"
#include "server.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define JOURNAL_LINES_MAX 100000u

static failure control_parse(exchange *x)
{
    x->operation.verb = VERB_CONTROL;
    return FAILURE_NONE;
}

static void put_json(exchange *x, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    buf_put_text(&x->reply.body, text == NULL ? "" : text);
    buf_put_text(&x->reply.body, "\n");
    free(text);
    json_decref(value);
}

static void put_counters(exchange *x)
{
    server *s = x->server;
    objects_totals totals;
    objects_count(s->objects, &totals);
    json_t *report = counting_report(s->countings, s->thread_count);
    const char *const names[] = {"open", "open_max", "in_flight", "in_flight_max"};
    const uint64_t values[] = {s->open.now, s->open.most, s->in_flight.now, s->in_flight.most};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(report, names[i], json_integer((json_int_t)values[i]));
    json_object_set_new(report, "rules", faults_report(s->faults));
    json_object_set_new(report, "objects", json_integer((json_int_t)totals.objects));
    json_object_set_new(report, "object_bytes", json_integer((json_int_t)totals.bytes));
    json_object_set_new(report, "journaled", json_integer((json_int_t)totals.journaled));
    json_object_set_new(report, "journal_lost", json_integer((json_int_t)totals.journal_lost));
    put_json(x, report);
}

static failure put_journal(exchange *x)
{
    const char *after_text = request_query(&x->request, "after");
    const char *max_text = request_query(&x->request, "max");
    uint64_t after = 0, max = JOURNAL_LINES_MAX;
    if ((after_text != NULL && !request_number(after_text, &after)) ||
        (max_text != NULL && !request_number(max_text, &max)))
        return FAILURE_BAD_REQUEST;
    objects_journal(x->objects, after, max < JOURNAL_LINES_MAX ? (size_t)max : JOURNAL_LINES_MAX,
                    &x->reply.body);
    return FAILURE_NONE;
}

/** "reset": objects (with the journal), counters, or both. */
static bool reset(exchange *x, const json_t *what)
{
    const char *text = json_string_value(what);
    if (text == NULL ||
        (strcmp(text, "all") != 0 && strcmp(text, "objects") != 0 && strcmp(text, "counters") != 0))
        return false;
    if (strcmp(text, "counters") != 0)
        objects_reset(x->objects);
    for (size_t i = 0; strcmp(text, "objects") != 0 && i < x->server->thread_count; i++)
        counting_reset(x->server->countings[i]);
    if (strcmp(text, "objects") != 0) {
        gauge_reset(&x->server->open);
        gauge_reset(&x->server->in_flight);
    }
    return true;
}

static failure configure(exchange *x)
{
    json_error_t where;
    json_t *wanted = x->body == NULL ? NULL
                                     : json_loadb((const char *)x->body->bytes, x->body->size,
                                                  JSON_REJECT_DUPLICATES, &where);
    buf *why = &x->reply.body;
    if (wanted == NULL)
        buf_printf(why, "no JSON: %s", x->body == NULL ? "no body" : where.text);
    json_t *what = json_object_get(wanted, "reset");
    if (what != NULL && !reset(x, what))
        buf_printf(why, "reset wants objects, counters or all");
    if (json_is_true(json_object_get(wanted, "drop")))
        server_drop(x->server, x);
    json_object_del(wanted, "reset");
    json_object_del(wanted, "drop");
    const bool good = why->size == 0 && faults_configure(x->faults, wanted, why);
    json_decref(wanted);
    if (good)
        buf_put_text(&x->reply.body, "{}\n");
    return good ? FAILURE_NONE : FAILURE_BAD_REQUEST;
}

static failure control_accept(exchange *x)
{
    const char *path = x->request.path + strlen("/_control");
    const method m = x->request.method;
    if (m == METHOD_POST && *path == '\0')
        return configure(x);
    if (m == METHOD_GET && strcmp(path, "/counters") == 0) {
        put_counters(x);
        return FAILURE_NONE;
    }
    if (m == METHOD_GET && strcmp(path, "/log") == 0)
        return put_journal(x);
    return FAILURE_NO_METHOD;
}

static void control_answer(exchange *x)
{
    reply_header(x, "Content-Type", "application/json");
}

static void control_refuse(exchange *x, failure f, int status, const char *code)
{
    (void)status;
    (void)code;
    reply_header(x, "Content-Type", "text/plain");
    if (x->reply.body.size == 0)
        buf_put_text(&x->reply.body, failure_message(f));
    buf_put_text(&x->reply.body, "\n");
}

static void control_sign(exchange *x)
{
    (void)x;
}

const dialect dialect_control = {.name = "control",
                                 .id = DIALECT_S3,
                                 .parse = control_parse,
                                 .accept = control_accept,
                                 .answer = control_answer,
                                 .refuse = control_refuse,
                                 .sign = control_sign};
