// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "grab.h"
#include <fnmatch.h>
#include <string.h>

enum {
    SETS_APPLY = 1,
    SETS_REPLY = 2,
    SETS_END = 4,
    SETS_CONDITION = 8,
    SETS_READ = 16,
    SETS_LIST = 32,
    SETS_HEADERS = 64
};

static const char *const apply_names[] = {"once", "none", "late", "twice", NULL};
static const char *const reply_names[] = {"normal", "error", "ok_error", "corrupt",
                                          "full",   "short", NULL};
static const char *const end_names[] = {"normal", "reset", "close", "hang", NULL};
static const char *const condition_names[] = {"held", "ignored", "racy", NULL};
static const char *const dialect_names[] = {"s3", "gcs", "azure", NULL};

bool rules_number(const json_t *value, const char *name, double min, double max, double *out,
                  buf *why)
{
    const double number = json_is_number(value) ? json_number_value(value) : min - 1;
    if (!(number >= min && number <= max)) {
        buf_printf(why, "%s wants a number from %g to %g", name, min, max);
        return false;
    }
    *out = number;
    return true;
}

static bool read_count(const json_t *value, const char *name, uint64_t *out, buf *why)
{
    double number = 0;
    if (!rules_number(value, name, 0, 1e15, &number, why))
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool read_bytes(const json_t *value, const char *name, int64_t *out, buf *why)
{
    uint64_t number = 0;
    if (!read_count(value, name, &number, why))
        return false;
    *out = (int64_t)number;
    return true;
}

static bool read_ms(const json_t *value, const char *name, int64_t *out_ns, buf *why)
{
    double ms = 0;
    if (!rules_number(value, name, 0, 1e9, &ms, why))
        return false;
    *out_ns = (int64_t)(ms * (double)NS_PER_MS);
    return true;
}

static bool read_choice(const json_t *value, const char *name, const char *const *names, int *out,
                        buf *why)
{
    const char *text = json_string_value(value);
    for (int i = 0; text != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
    buf_printf(why, "%s: %s is none of:", name, text == NULL ? "that" : text);
    for (int i = 0; names[i] != NULL; i++)
        buf_printf(why, " %s", names[i]);
    return false;
}

static bool read_text(const json_t *value, const char *name, char **out, buf *why)
{
    const char *text = json_string_value(value);
    if (text == NULL) {
        buf_printf(why, "%s wants a text", name);
        return false;
    }
    mem_free(*out);
    *out = grab_text(text);
    return true;
}

/** One name or several with commas, of verbs or of dialects. */
static bool read_bits(const json_t *value, const char *field, const char *const *names,
                      unsigned *out, buf *why)
{
    char *text = NULL;
    if (!read_text(value, field, &text, why))
        return false;
    bool good = true;
    *out = 0;
    for (char *at = text, *next = NULL; good && at != NULL; at = next) {
        next = strchr(at, ',');
        if (next != NULL)
            *next++ = '\0';
        unsigned i = 0;
        while (names[i] != NULL && strcmp(names[i], at) != 0)
            i++;
        good = names[i] != NULL;
        if (!good)
            buf_printf(why, "%s: there is no %s", field, at);
        *out |= 1u << i;
    }
    mem_free(text);
    return good;
}

static bool read_verbs(const json_t *value, unsigned *out, buf *why)
{
    const char *names[VERB_CONTROL + 1] = {NULL};
    for (unsigned v = 0; v < VERB_CONTROL; v++)
        names[v] = verb_name((verb)v);
    return read_bits(value, "verb", names, out, why);
}

static bool add_header(plan *p, const char *name, const char *value, buf *why)
{
    const size_t used = strlen(p->headers);
    const int size = value == NULL ? -1
                                   : snprintf(p->headers + used, sizeof p->headers - used,
                                              "%s: %s\r\n", name, value);
    if (size >= 0 && (size_t)size < sizeof p->headers - used)
        return true;
    buf_printf(why, "header %s: no text, or too much of it", name);
    return false;
}

static bool read_headers(const json_t *value, plan *p, buf *why)
{
    const char *name = NULL;
    json_t *text = NULL;
    json_t *object = json_copy((json_t *)(uintptr_t)value);
    bool good = json_is_object(object);
    if (!good)
        buf_printf(why, "headers wants an object");
    json_object_foreach(object, name, text) good =
        good && add_header(p, name, json_string_value(text), why);
    json_decref(object);
    return good;
}

/** Which requests. 1: read, 0: not a field of this kind, -1: wrong. */
static int read_match(rule *r, const char *field, const json_t *value, buf *why)
{
    bool good = true;
    if (strcmp(field, "name") == 0)
        good = read_text(value, field, &r->name, why);
    else if (strcmp(field, "verb") == 0)
        good = read_verbs(value, &r->verbs, why);
    else if (strcmp(field, "dialect") == 0)
        good = read_bits(value, field, dialect_names, &r->dialects, why);
    else if (strcmp(field, "container") == 0)
        good = read_text(value, field, &r->container, why);
    else if (strcmp(field, "key") == 0)
        good = read_text(value, field, &r->key, why);
    else if (strcmp(field, "present") == 0)
        r->present = json_is_true(value);
    else if (strcmp(field, "nth") == 0)
        good = read_count(value, field, &r->nth, why);
    else if (strcmp(field, "every") == 0)
        good = read_count(value, field, &r->every, why);
    else if (strcmp(field, "from") == 0)
        good = read_count(value, field, &r->from, why);
    else if (strcmp(field, "times") == 0)
        good = read_count(value, field, &r->times, why);
    else if (strcmp(field, "probability") == 0)
        good = rules_number(value, field, 0, 1, &r->probability, why);
    else if (strcmp(field, "over_per_s") == 0)
        good = rules_number(value, field, 0, 1e9, &r->over_per_s, why);
    else
        return 0;
    return good ? 1 : -1;
}

static bool read_error(const json_t *value, plan *p, buf *why)
{
    const char *name = json_string_value(value);
    p->error = name == NULL ? FAILURE_NONE : failure_named(name);
    if (p->error == FAILURE_NONE)
        buf_printf(why, "error: there is no %s", name == NULL ? "such failure" : name);
    return p->error != FAILURE_NONE;
}

static bool read_code(const json_t *value, plan *p, buf *why)
{
    const char *code = json_string_value(value);
    if (code == NULL || strlen(code) >= sizeof p->code) {
        buf_printf(why, "code wants a short text");
        return false;
    }
    memcpy(p->code, code, strlen(code) + 1);
    return true;
}

/** What is said. 1, 0, -1 as read_match. */
static int read_answer(rule *r, const char *field, const json_t *value, buf *why)
{
    plan *p = &r->plan;
    bool good = true;
    int choice = 0;
    double number = 0;
    unsigned sets = SETS_REPLY;
    if (strcmp(field, "reply") == 0) {
        good = read_choice(value, field, reply_names, &choice, why);
        p->reply = (reply_mode)choice;
    } else if (strcmp(field, "error") == 0) {
        good = read_error(value, p, why);
    } else if (strcmp(field, "code") == 0) {
        good = read_code(value, p, why);
    } else if (strcmp(field, "status") == 0) {
        good = rules_number(value, field, 200, 599, &number, why);
        p->status = (int)number;
    } else if (strcmp(field, "corrupt_at") == 0) {
        good = read_bytes(value, field, &p->corrupt_at, why);
    } else if (strcmp(field, "retry_after_s") == 0) {
        char text[32];
        good = rules_number(value, field, 0, 1e6, &number, why);
        snprintf(text, sizeof text, "%.0f", number);
        good = good && add_header(p, "Retry-After", text, why);
        sets = SETS_HEADERS;
    } else if (strcmp(field, "headers") == 0) {
        good = read_headers(value, p, why);
        sets = SETS_HEADERS;
    } else {
        return 0;
    }
    r->sets |= sets;
    return good ? 1 : -1;
}

/** What happens to the operation and to the connection. 1, 0, -1 as read_match. */
static int read_action(rule *r, const char *field, const json_t *value, buf *why)
{
    plan *p = &r->plan;
    bool good = true;
    int choice = 0;
    unsigned sets = 0;
    if (strcmp(field, "apply") == 0) {
        good = read_choice(value, field, apply_names, &choice, why);
        p->apply = (apply_mode)choice;
        sets = SETS_APPLY;
    } else if (strcmp(field, "end") == 0) {
        good = read_choice(value, field, end_names, &choice, why);
        p->end = (end_mode)choice;
        sets = SETS_END;
    } else if (strcmp(field, "condition") == 0) {
        good = read_choice(value, field, condition_names, &choice, why);
        p->condition = (condition_mode)choice;
        sets = SETS_CONDITION;
    } else if (strcmp(field, "after_ms") == 0) {
        good = read_ms(value, field, &p->after_ns, why);
    } else if (strcmp(field, "window_ms") == 0) {
        good = read_ms(value, field, &p->window_ns, why);
    } else if (strcmp(field, "delay_ms") == 0) {
        good = read_ms(value, field, &p->delay_ns, why);
    } else if (strcmp(field, "reply_delay_ms") == 0) {
        good = read_ms(value, field, &p->reply_delay_ns, why);
    } else if (strcmp(field, "head_bytes") == 0) {
        good = read_bytes(value, field, &p->head_bytes, why);
    } else if (strcmp(field, "body_bytes") == 0) {
        good = read_bytes(value, field, &p->body_bytes, why);
    } else if (strcmp(field, "read_bytes") == 0) {
        good = read_bytes(value, field, &p->read_bytes, why);
        sets = SETS_READ;
    } else if (strcmp(field, "stale_ms") == 0) {
        good = read_ms(value, field, &p->stale_ns, why);
        sets = SETS_LIST;
    } else if (strcmp(field, "unordered") == 0) {
        p->unordered = json_is_true(value);
        sets = SETS_LIST;
    } else if (strcmp(field, "repeat") == 0) {
        uint64_t repeat = 0;
        good = read_count(value, field, &repeat, why);
        p->repeat = (size_t)repeat;
        sets = SETS_LIST;
    } else {
        return 0;
    }
    r->sets |= sets;
    return good ? 1 : -1;
}

/** What follows from what was said: an error applies nothing, a body unread cannot be applied. */
static bool complete(rule *r, buf *why)
{
    plan *p = &r->plan;
    const bool error = p->reply == REPLY_ERROR || p->reply == REPLY_OK_ERROR;
    if (p->error == FAILURE_NONE && error)
        p->error = FAILURE_INTERNAL;
    if (p->error != FAILURE_NONE && p->reply == REPLY_NORMAL)
        p->reply = REPLY_ERROR;
    if ((p->status != 0 || p->code[0] != '\0') && p->error == FAILURE_NONE) {
        buf_printf(why, "status and code spell an error: name one");
        return false;
    }
    if ((p->reply == REPLY_ERROR || p->reply == REPLY_OK_ERROR || p->read_bytes >= 0) &&
        (r->sets & SETS_APPLY) == 0) {
        p->apply = APPLY_NONE;
        r->sets |= SETS_APPLY;
    }
    if (p->read_bytes >= 0 && p->apply != APPLY_NONE) {
        buf_printf(why, "read_bytes: what is not read cannot be applied");
        return false;
    }
    if (p->read_bytes >= 0 && p->end == END_NORMAL) {
        p->end = p->reply == REPLY_ERROR ? END_CLOSE : END_RESET;
        r->sets |= SETS_END;
        if (p->reply == REPLY_ERROR)
            p->body_bytes = INT64_MAX;
    }
    return true;
}

static bool read_rule(const json_t *value, rule *r, buf *why)
{
    *r = (rule){.verbs = ~0u, .dialects = ~0u, .present = -1, .probability = 1};
    plan_plain(&r->plan);
    json_t *object = json_copy((json_t *)(uintptr_t)value);
    bool good = json_is_object(object);
    if (!good)
        buf_printf(why, "a rule is an object");
    const char *field = NULL;
    json_t *one = NULL;
    json_object_foreach(object, field, one)
    {
        int done = good ? read_match(r, field, one, why) : 1;
        if (done == 0)
            done = read_answer(r, field, one, why);
        if (done == 0)
            done = read_action(r, field, one, why);
        if (done == 0)
            buf_printf(why, "a rule has no field %s", field);
        good = good && done > 0;
    }
    json_decref(object);
    return good && complete(r, why);
}

void rules_free(rules *r)
{
    for (size_t i = 0; i < r->count; i++) {
        mem_free(r->list[i].name);
        mem_free(r->list[i].container);
        mem_free(r->list[i].key);
    }
    mem_free(r->list);
    *r = (rules){0};
}

bool rules_read(const json_t *array, rules *out, buf *why)
{
    *out = (rules){0};
    if (!json_is_array(array)) {
        buf_printf(why, "rules wants an array");
        return false;
    }
    bool good = true;
    for (size_t i = 0; good && i < json_array_size(array); i++) {
        void *list = out->list;
        grab_grow(&list, &out->capacity, out->count + 1, sizeof(rule));
        out->list = list;
        good = read_rule(json_array_get(array, i), &out->list[out->count++], why);
    }
    if (!good)
        rules_free(out);
    return good;
}

json_t *rules_report(const rules *r)
{
    json_t *array = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const rule *one = &r->list[i];
        json_array_append_new(
            array, json_pack("{s:s, s:I, s:I}", "name", one->name == NULL ? "" : one->name,
                             "matched", (json_int_t)one->matched, "fired", (json_int_t)one->fired));
    }
    return array;
}

static bool matches(const rule *r, const fault_subject *s)
{
    return (r->verbs >> s->verb & 1u) != 0 && (r->dialects >> s->dialect & 1u) != 0 &&
           (r->container == NULL || fnmatch(r->container, s->container, 0) == 0) &&
           (r->key == NULL || fnmatch(r->key, s->key, 0) == 0) &&
           (r->present < 0 || (r->present == 1) == s->present);
}

/** A bucket that a tenth of a second fills; true: it is empty. */
static bool over_rate(rule *r, int64_t now_ns)
{
    const double most = r->over_per_s / 10 > 1 ? r->over_per_s / 10 : 1;
    const double gained = r->over_per_s * (double)(now_ns - r->tokens_ns) / (double)NS_PER_S;
    r->tokens = r->tokens_ns == 0 || r->tokens + gained > most ? most : r->tokens + gained;
    r->tokens_ns = now_ns;
    if (r->tokens < 1)
        return true;
    r->tokens -= 1;
    return false;
}

/**
 * Whether the n-th match of rule i fires is a function of (seed, i, n): threads may reach it in any
 * order, and every run with one seed strikes the same matches.
 */
static uint64_t draw(uint64_t seed, size_t index, uint64_t n)
{
    rng r;
    rng_seed(&r, seed ^ (uint64_t)(index + 1) * 0x9e3779b97f4a7c15ull ^ n * 0xbf58476d1ce4e5b9ull);
    return rng_u64(&r);
}

static bool fires(rule *r, uint64_t drawn, int64_t now_ns)
{
    const uint64_t n = ++r->matched;
    const bool picked = (r->nth == 0 || n == r->nth) && (r->every == 0 || n % r->every == 0) &&
                        n >= r->from && (r->times == 0 || r->fired < r->times) &&
                        (double)(drawn >> 11) < r->probability * 0x1p53 &&
                        (!(r->over_per_s > 0) || over_rate(r, now_ns));
    r->fired += picked;
    return picked;
}

static void merge(plan *p, const rule *r, unsigned sets)
{
    const plan *from = &r->plan;
    if ((sets & SETS_APPLY) != 0)
        p->apply = from->apply;
    if ((sets & SETS_REPLY) != 0) {
        p->reply = from->reply;
        p->error = from->error;
        p->status = from->status;
        p->corrupt_at = from->corrupt_at;
        memcpy(p->code, from->code, sizeof p->code);
    }
    if ((sets & SETS_END) != 0) {
        p->end = from->end;
        p->head_bytes = from->head_bytes;
        p->body_bytes = from->body_bytes;
    }
    if ((sets & SETS_CONDITION) != 0)
        p->condition = from->condition;
    if ((sets & SETS_READ) != 0)
        p->read_bytes = from->read_bytes;
    if ((sets & SETS_LIST) != 0) {
        p->stale_ns = from->stale_ns;
        p->unordered = from->unordered;
        p->repeat = from->repeat;
    }
    if ((sets & SETS_HEADERS) != 0)
        memcpy(p->headers, from->headers, sizeof p->headers);
    if (from->after_ns > 0)
        p->after_ns = from->after_ns;
    if (from->window_ns > 0)
        p->window_ns = from->window_ns;
    p->delay_ns += from->delay_ns;
    p->reply_delay_ns += from->reply_delay_ns;
}

void rules_apply(rules *r, uint64_t seed, const fault_subject *s, int64_t now_ns, plan *p)
{
    unsigned set = 0;
    for (size_t i = 0; i < r->count; i++) {
        rule *one = &r->list[i];
        if (!matches(one, s))
            continue;
        const uint64_t drawn = draw(seed, i, one->matched);
        if (!fires(one, drawn, now_ns))
            continue;
        merge(p, one, one->sets & ~set);
        set |= one->sets;
        p->seed = drawn;
    }
}
