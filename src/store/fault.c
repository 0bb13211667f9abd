// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store/decorator.h"
#include "store/decorators.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FAULT_RULES_MAX 32u

typedef enum fault_action {
    FAULT_RETRY_BEFORE,
    FAULT_RETRY_AFTER,
    FAULT_UNKNOWN_BEFORE,
    FAULT_UNKNOWN_AFTER,
    FAULT_SHORT_READ,
    FAULT_FLIP,
    FAULT_NOT_FOUND,
    FAULT_DENIED,
    FAULT_FATAL,
    FAULT_NO_SPACE,
    FAULT_SLOW_DOWN,
    FAULT_KILL,
    FAULT_STOP,
    FAULT_KILL_AFTER,
    FAULT_STOP_AFTER,
    FAULT_ACTIONS
} fault_action;

#define BIT(kind) (1u << (kind))
#define ALL_KINDS (BIT(STORE_OP_KINDS) - 1u)
#define READS (BIT(STORE_GET) | BIT(STORE_READ) | BIT(STORE_MAP))

/* What each action means, to which kinds it can apply, and whether the operation is passed on
 * first. */
static const struct {
    const char *name;
    uint32_t kinds;
    bool after;
} actions[FAULT_ACTIONS] = {
    [FAULT_RETRY_BEFORE] = {"retry-before", ALL_KINDS, false},
    [FAULT_RETRY_AFTER] = {"retry-after", BIT(STORE_PUT) | BIT(STORE_DELETE), true},
    [FAULT_UNKNOWN_BEFORE] = {"unknown-before", BIT(STORE_CREATE), false},
    [FAULT_UNKNOWN_AFTER] = {"unknown-after", BIT(STORE_CREATE), true},
    [FAULT_SHORT_READ] = {"short-read", READS, true},
    [FAULT_FLIP] = {"flip", READS, true},
    [FAULT_NOT_FOUND] = {"not-found", READS | BIT(STORE_HEAD), false},
    [FAULT_DENIED] = {"denied", ALL_KINDS, false},
    [FAULT_FATAL] = {"fatal", ALL_KINDS, false},
    [FAULT_NO_SPACE] = {"no-space", BIT(STORE_PUT) | BIT(STORE_CREATE), false},
    [FAULT_SLOW_DOWN] = {"slow-down", ALL_KINDS, false},
    [FAULT_KILL] = {"kill", ALL_KINDS, false},
    [FAULT_STOP] = {"stop", ALL_KINDS, false},
    [FAULT_KILL_AFTER] = {"kill-after", ALL_KINDS, true},
    [FAULT_STOP_AFTER] = {"stop-after", ALL_KINDS, true},
};

typedef struct fault_rule {
    fault_action action;
    uint32_t kinds;
    char prefix[STORE_KEY_MAX + 1];
    uint64_t at; /* 0 = every one */
    atomic_uint_least64_t matches;
} fault_rule;

/* Shared by clones. */
typedef struct fault_plan {
    atomic_uint references;
    uint32_t count;
    fault_rule rules[FAULT_RULES_MAX];
} fault_plan;

typedef struct fault_pending {
    store_op *op;
    fault_action action;
    uint64_t match; /* which match of its rule: where a flip falls */
} fault_pending;

typedef struct fault_store {
    decorator over;
    fault_plan *plan;
    fault_pending *pending; /* passed on, to be changed when they come back */
    size_t count, capacity;
    op_queue complete; /* answered here */
} fault_store;

static fault_store *fault_of(store *s)
{
    return (fault_store *)s;
}

/* ---- rules ---- */

/** The next field of `text`, up to `:` or the end; moves `text` past it. */
static size_t next_field(const char **text, const char *end, const char **field)
{
    *field = *text;
    const char *colon = memchr(*text, ':', (size_t)(end - *text));
    const char *stop = colon == NULL ? end : colon;
    *text = colon == NULL ? end : colon + 1;
    return (size_t)(stop - *field);
}

static bool field_is(const char *field, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(field, name, size) == 0;
}

static bool parse_action(const char *field, size_t size, fault_rule *rule)
{
    for (uint32_t i = 0; i < FAULT_ACTIONS; i++) {
        if (field_is(field, size, actions[i].name)) {
            rule->action = (fault_action)i;
            return true;
        }
    }
    return false;
}

static bool parse_kinds(const char *field, size_t size, fault_rule *rule)
{
    rule->kinds = field_is(field, size, "any") ? ALL_KINDS : 0;
    for (uint32_t i = 0; i < STORE_OP_KINDS; i++) {
        if (field_is(field, size, store_op_name((store_op_kind)i)))
            rule->kinds = BIT(i);
    }
    rule->kinds &= actions[rule->action].kinds;
    return rule->kinds != 0;
}

static bool parse_number(const char *field, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (field[i] < '0' || field[i] > '9')
            return false;
        *value = *value * 10 + (uint64_t)(field[i] - '0');
    }
    return size >= 1 && size <= 18;
}

/** One `action:kind:prefix:n`. */
static bool parse_rule(const char *text, const char *end, fault_rule *rule)
{
    const char *field = NULL;
    size_t size = next_field(&text, end, &field);
    if (!parse_action(field, size, rule))
        return false;
    size = next_field(&text, end, &field);
    if (!parse_kinds(field, size, rule))
        return false;
    size = next_field(&text, end, &field);
    if (size > STORE_KEY_MAX)
        return false;
    memcpy(rule->prefix, field, size);
    rule->prefix[size] = '\0';
    size = next_field(&text, end, &field);
    return text == end && store_prefix_is_valid(rule->prefix) &&
           parse_number(field, size, &rule->at);
}

static bw_status parse_rules(const char *text, fault_plan *plan, bw_error *error)
{
    while (*text != '\0') {
        const char *end = strchrnul(text, ';');
        if (plan->count == FAULT_RULES_MAX)
            return error_set(error, BW_INVALID, "more than %u fault rules", FAULT_RULES_MAX);
        if (end != text && !parse_rule(text, end, &plan->rules[plan->count]))
            return error_set(error, BW_INVALID,
                             "fault rule '%.80s' is not action:kind:prefix:n with an action that "
                             "the kind can have",
                             text);
        plan->count += end != text ? 1 : 0;
        text = *end == ';' ? end + 1 : end;
    }
    return BW_OK;
}

static bool rule_matches(const fault_rule *rule, const store_op *op)
{
    if ((rule->kinds & BIT(op->kind)) == 0)
        return false;
    if (op->kind != STORE_DELETE)
        return store_has_prefix(op->key, rule->prefix);
    for (uint32_t i = 0; i < op->key_count; i++) {
        if (store_has_prefix(op->keys[i], rule->prefix))
            return true;
    }
    return rule->prefix[0] == '\0';
}

/** Every matching rule counts; the first that fires decides. */
static const fault_rule *fire(fault_plan *plan, const store_op *op, uint64_t *match)
{
    const fault_rule *fired = NULL;
    for (uint32_t i = 0; i < plan->count; i++) {
        fault_rule *rule = &plan->rules[i];
        if (!rule_matches(rule, op))
            continue;
        const uint64_t count = atomic_fetch_add(&rule->matches, 1) + 1;
        if (fired == NULL && (rule->at == 0 || rule->at == count)) {
            fired = rule;
            *match = count;
        }
    }
    return fired;
}

/* ---- what the actions do ---- */

static void raise_here(int number)
{
    (void)kill(getpid(), number);
}

/** Answers in the place of the inner store. */
static void answer(store_op *op, fault_action action)
{
    store_op_restart(op);
    switch (action) {
    case FAULT_UNKNOWN_BEFORE:
        store_op_end(op, STORE_UNKNOWN, BW_IO, "injected: no answer came");
        break;
    case FAULT_NOT_FOUND:
        op->outcome = STORE_NOT_FOUND;
        break;
    case FAULT_DENIED:
        store_op_end(op, op->kind == STORE_CREATE ? STORE_FATAL : STORE_DENIED, BW_DENIED,
                     "injected: access denied");
        break;
    case FAULT_FATAL:
        store_op_end(op, STORE_FATAL, BW_IO, "injected: the store failed for good");
        break;
    case FAULT_NO_SPACE:
        store_op_end(op, STORE_RETRY, BW_NO_SPACE, "injected: no space left");
        break;
    case FAULT_SLOW_DOWN:
        store_op_end(op, op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY, BW_IO,
                     "injected: too many requests");
        op->throttled = true;
        break;
    default:
        store_op_end(op, STORE_RETRY, BW_IO, "injected: nothing was applied");
    }
}

static void release_copy(store_mapping *mapping)
{
    mem_free(mapping->base);
}

/** A mapping is read-only: puts a private copy in its place. */
static uint8_t *writable_mapping(store_op *op)
{
    uint8_t *copy = mem_dup(op->mapping.data, op->mapping.size);
    if (copy == NULL)
        return NULL;
    const size_t size = op->mapping.size;
    store_mapping_release(&op->mapping);
    op->mapping = (store_mapping){
        .data = copy, .size = size, .base = copy, .base_bytes = size, .release = release_copy};
    return copy;
}

static void flip(store_op *op, uint64_t match)
{
    uint8_t *bytes = op->dest;
    size_t size = (size_t)op->length;
    if (op->kind == STORE_GET) {
        bytes = op->out.data;
        size = op->out.size;
    } else if (op->kind == STORE_MAP) {
        bytes = writable_mapping(op);
    }
    if (bytes == NULL || size == 0)
        return;
    /* Another bit for each match, spread over the object; the first in the middle. */
    const uint64_t bit = (size * 4 + (match - 1) * 2654435761u) % (size * 8);
    bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ (1u << (bit % 8)));
}

static void cut(store_op *op)
{
    if (op->kind == STORE_GET && op->out.size > 0)
        op->out.size--;
    if (op->kind == STORE_MAP)
        store_mapping_release(&op->mapping);
    store_op_end(op, STORE_RETRY, BW_IO, "injected: the last byte is missing");
}

/** Changes the answer of an operation that the inner store has applied. */
static void change(const fault_pending *pending)
{
    store_op *op = pending->op;
    switch (pending->action) {
    case FAULT_RETRY_AFTER:
        store_op_end(op, STORE_RETRY, BW_IO, "injected: applied, but the answer was lost");
        break;
    case FAULT_UNKNOWN_AFTER:
        store_op_end(op, STORE_UNKNOWN, BW_IO, "injected: the answer was lost");
        break;
    case FAULT_SHORT_READ:
        if (op->outcome == STORE_OK)
            cut(op);
        break;
    case FAULT_FLIP:
        if (op->outcome == STORE_OK)
            flip(op, pending->match);
        break;
    case FAULT_KILL_AFTER:
        raise_here(SIGKILL);
        break;
    default:
        raise_here(SIGSTOP);
    }
}

/* ---- the driver ---- */

static void fault_submit(store *s, store_op *op)
{
    fault_store *f = fault_of(s);
    uint64_t match = 0;
    const fault_rule *rule = fire(f->plan, op, &match);
    if (rule != NULL && !actions[rule->action].after && rule->action != FAULT_KILL &&
        rule->action != FAULT_STOP) {
        answer(op, rule->action);
        op_queue_push(&f->complete, op);
        return;
    }
    if (rule != NULL && actions[rule->action].after) {
        void *pending = f->pending;
        if (mem_grow(&pending, &f->capacity, f->count + 1, sizeof *f->pending) != 0) {
            store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for one more operation");
            op_queue_push(&f->complete, op);
            return;
        }
        f->pending = pending;
        f->pending[f->count++] = (fault_pending){.op = op, .action = rule->action, .match = match};
    } else if (rule != NULL) {
        raise_here(rule->action == FAULT_KILL ? SIGKILL : SIGSTOP);
    }
    store_submit(f->over.inner, op);
}

static size_t fault_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    fault_store *f = fault_of(s);
    size_t count = op_queue_drain(&f->complete, done, max);
    if (count > 0)
        return count;
    count = store_poll(f->over.inner, done, max, timeout_ns);
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < f->count; p++) {
            if (f->pending[p].op != done[i])
                continue;
            change(&f->pending[p]);
            f->pending[p] = f->pending[--f->count];
            break;
        }
    }
    return count;
}

static void plan_release(fault_plan *plan)
{
    if (atomic_fetch_sub(&plan->references, 1) == 1)
        mem_free(plan);
}

static void fault_close(store *s)
{
    fault_store *f = fault_of(s);
    store_close(f->over.inner);
    plan_release(f->plan);
    mem_free(f->pending);
    mem_free(f);
}

static const store_driver fault_driver;

static bw_status fault_new(store *inner, fault_plan *plan, store **out, bw_error *error)
{
    BW_TRY(decorator_new(sizeof(fault_store), &fault_driver, inner, out, error));
    fault_of(*out)->plan = plan;
    atomic_fetch_add(&plan->references, 1);
    return BW_OK;
}

static bw_status fault_clone(store *s, store **out, bw_error *error)
{
    fault_store *f = fault_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(f->over.inner, &inner, error));
    return decorator_cloned(inner, fault_new(inner, f->plan, out, error));
}

static const store_driver fault_driver = {
    .name = "fault",
    .submit = fault_submit,
    .poll = fault_poll,
    .clone = fault_clone,
    .close = fault_close,
    .probe = store_probe_by_ops,
    .wake = decorator_wake,
    .cancel = decorator_cancel,
};

bw_status store_fault_wrap(store *inner, const char *rules, store **out, bw_error *error)
{
    fault_plan *plan = mem_zalloc(sizeof *plan);
    if (plan == NULL)
        return error_set(error, BW_NOMEM, "no memory for fault rules");
    atomic_init(&plan->references, 1);
    bw_status status = parse_rules(rules, plan, error);
    if (status == BW_OK)
        status = fault_new(inner, plan, out, error);
    plan_release(plan);
    return status;
}
