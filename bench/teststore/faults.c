// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "grab.h"
#include "rules.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define BURST_MS 5

/** How long a verb takes: log-normal about a median, some requests many times as long. */
typedef struct slowness {
    double p50_ns, sigma, slow_share, slow_times, apply_at;
} slowness;

/** What one configuration replaces; `sets` says which parts it names. */
typedef struct tuning {
    uint64_t seed;
    rules rules;
    slowness slow[VERB_COUNT];
    double connection_per_s, total_per_s, received_per_s; /* 0: no limit */
    double burst_ms; /* of all connections: so much that went unused is kept */
    int64_t skew_ms, idle_ns;
} tuning;

struct faults {
    lock lock;
    struct {
        tuning now;
    } locked;
    struct {
        _Atomic uint64_t connection_per_s, total_per_s, received_per_s;
        /* When everybody's bandwidth has paid for what was taken. */
        _Atomic int64_t free_ns, received_free_ns;
        _Atomic int64_t skew_ms, idle_ns, burst_ns;
        atomic_bool armed, slow;
    } atomic;
};

const char *verb_name(verb v)
{
    static const char *const names[VERB_COUNT] = {"get",    "head",        "put",    "create",
                                                  "delete", "delete_many", "list",   "container",
                                                  "probe",  "other",       "control"};
    return names[v];
}

void plan_plain(plan *p)
{
    *p = (plan){.read_bytes = -1, .head_bytes = -1, .body_bytes = -1};
}

faults *faults_new(uint64_t seed)
{
    faults *f = grab_zeroed(sizeof *f);
    lock_init(&f->lock);
    f->locked.now.seed = seed;
    f->locked.now.burst_ms = BURST_MS;
    return f;
}

void faults_free(faults *f)
{
    rules_free(&f->locked.now.rules);
    lock_destroy(&f->lock);
    mem_free(f);
}

static bool read_slowness(const json_t *value, slowness *s, buf *why)
{
    *s = (slowness){.slow_times = 1, .apply_at = 0.5};
    if (!json_is_object(value)) {
        buf_printf(why, "latency of a verb wants an object");
        return false;
    }
    json_t *object = json_copy((json_t *)(uintptr_t)value);
    const char *field = NULL;
    json_t *one = NULL;
    bool good = true;
    json_object_foreach(object, field, one)
    {
        double number = 0;
        if (!good)
            break;
        if (strcmp(field, "p50_ms") == 0) {
            good = rules_number(one, field, 0, 1e6, &number, why);
            s->p50_ns = number * (double)NS_PER_MS;
        } else if (strcmp(field, "sigma") == 0) {
            good = rules_number(one, field, 0, 5, &s->sigma, why);
        } else if (strcmp(field, "slow_percent") == 0) {
            good = rules_number(one, field, 0, 100, &number, why);
            s->slow_share = number / 100;
        } else if (strcmp(field, "slow_times") == 0) {
            good = rules_number(one, field, 1, 1e6, &s->slow_times, why);
        } else if (strcmp(field, "apply_at") == 0) {
            good = rules_number(one, field, 0, 1, &s->apply_at, why);
        } else {
            buf_printf(why, "latency has no field %s", field);
            good = false;
        }
    }
    json_decref(object);
    return good;
}

static bool read_latency(const json_t *value, slowness *slow, buf *why)
{
    json_t *object = json_copy((json_t *)(uintptr_t)value);
    slowness any = {.apply_at = 0.5};
    const json_t *of_any = json_object_get(object, "any");
    bool good = json_is_object(object) && (of_any == NULL || read_slowness(of_any, &any, why));
    for (unsigned v = 0; good && v < VERB_COUNT; v++) {
        const json_t *own = json_object_get(object, verb_name((verb)v));
        slow[v] = v == VERB_CONTROL ? (slowness){0} : any;
        good = own == NULL || read_slowness(own, &slow[v], why);
    }
    const char *field = NULL;
    json_t *one = NULL;
    json_object_foreach(object, field, one)
    {
        unsigned v = 0;
        while (v < VERB_CONTROL && strcmp(verb_name((verb)v), field) != 0)
            v++;
        if (v == VERB_CONTROL && strcmp(field, "any") != 0) {
            buf_printf(why, "latency: there is no verb %s", field);
            good = false;
        }
    }
    if (!good && why->size == 0)
        buf_printf(why, "latency wants an object");
    json_decref(object);
    return good;
}

static bool read_bandwidth(const json_t *value, tuning *t, buf *why)
{
    t->connection_per_s = t->total_per_s = t->received_per_s = 0;
    t->burst_ms = BURST_MS;
    json_t *object = json_copy((json_t *)(uintptr_t)value);
    bool good = json_is_object(object);
    if (!good)
        buf_printf(why, "bandwidth wants an object");
    const char *field = NULL;
    json_t *one = NULL;
    json_object_foreach(object, field, one)
    {
        double *to = strcmp(field, "connection") == 0 ? &t->connection_per_s
                     : strcmp(field, "total") == 0    ? &t->total_per_s
                     : strcmp(field, "received") == 0 ? &t->received_per_s
                     : strcmp(field, "burst_ms") == 0 ? &t->burst_ms
                                                      : NULL;
        if (to == NULL)
            buf_printf(why, "bandwidth has no field %s", field);
        good = good && to != NULL && rules_number(one, field, 0, 1e12, to, why);
    }
    json_decref(object);
    return good;
}

/** One part of the settings into `t`; its rules are new where they are named. */
static bool read_part(tuning *t, const char *field, const json_t *value, buf *why)
{
    double number = 0;
    if (strcmp(field, "rules") == 0) {
        rules_free(&t->rules);
        return rules_read(value, &t->rules, why);
    }
    if (strcmp(field, "latency") == 0)
        return read_latency(value, t->slow, why);
    if (strcmp(field, "bandwidth") == 0)
        return read_bandwidth(value, t, why);
    if (strcmp(field, "seed") == 0) {
        const bool good = rules_number(value, field, 0, 0x1p53, &number, why);
        t->seed = (uint64_t)number;
        return good;
    }
    if (strcmp(field, "clock_skew_ms") == 0) {
        const bool good = rules_number(value, field, -1e12, 1e12, &number, why);
        t->skew_ms = (int64_t)number;
        return good;
    }
    if (strcmp(field, "idle_close_ms") == 0) {
        const bool good = rules_number(value, field, 0, 1e9, &number, why);
        t->idle_ns = (int64_t)(number * (double)NS_PER_MS);
        return good;
    }
    buf_printf(why, "there is no setting %s", field);
    return false;
}

static void publish_locked(faults *f)
{
    const tuning *t = &f->locked.now;
    bool slow = false;
    for (size_t v = 0; v < VERB_COUNT; v++)
        slow |= t->slow[v].p50_ns > 0;
    atomic_store(&f->atomic.connection_per_s, (uint64_t)t->connection_per_s);
    atomic_store(&f->atomic.total_per_s, (uint64_t)t->total_per_s);
    atomic_store(&f->atomic.received_per_s, (uint64_t)t->received_per_s);
    atomic_store(&f->atomic.burst_ns, (int64_t)(t->burst_ms * (double)NS_PER_MS));
    atomic_store(&f->atomic.skew_ms, t->skew_ms);
    atomic_store(&f->atomic.idle_ns, t->idle_ns);
    atomic_store(&f->atomic.armed, t->rules.count > 0);
    atomic_store(&f->atomic.slow, slow);
}

bool faults_configure(faults *f, const json_t *settings, buf *why)
{
    lock_acquire(&f->lock);
    tuning next = f->locked.now;
    next.rules = (rules){0};
    json_t *object = json_copy((json_t *)(uintptr_t)settings);
    bool good = json_is_object(object);
    if (!good)
        buf_printf(why, "settings want an object");
    const char *field = NULL;
    json_t *value = NULL;
    json_object_foreach(object, field, value) good = good && read_part(&next, field, value, why);
    const bool new_rules = json_object_get(object, "rules") != NULL;
    if (good) {
        rules old = f->locked.now.rules;
        if (!new_rules)
            next.rules = old;
        else
            rules_free(&old);
        f->locked.now = next;
        publish_locked(f);
    } else {
        rules_free(&next.rules);
    }
    lock_release(&f->lock);
    json_decref(object);
    return good;
}

json_t *faults_report(faults *f)
{
    lock_acquire(&f->lock);
    json_t *report = rules_report(&f->locked.now.rules);
    lock_release(&f->lock);
    return report;
}

bool faults_armed(faults *f)
{
    return atomic_load(&f->atomic.armed);
}

void faults_plan(faults *f, const fault_subject *s, plan *out)
{
    lock_acquire(&f->lock);
    rules_apply(&f->locked.now.rules, f->locked.now.seed, s, clock_now(clock_system()), out);
    lock_release(&f->lock);
}

static double uniform(rng *random)
{
    return ((double)(rng_u64(random) >> 11) + 0.5) * 0x1p-53;
}

latency faults_latency(faults *f, verb v, rng *random)
{
    if (!atomic_load(&f->atomic.slow))
        return (latency){0};
    lock_acquire(&f->lock);
    const slowness s = f->locked.now.slow[v];
    lock_release(&f->lock);
    double ns = s.p50_ns;
    if (s.sigma > 0)
        ns *= exp(s.sigma * sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random)));
    if (s.slow_share > 0 && uniform(random) < s.slow_share)
        ns *= s.slow_times;
    const int64_t before = (int64_t)(ns * s.apply_at);
    return (latency){before, (int64_t)ns - before};
}

int64_t faults_skew_ms(const faults *f)
{
    return atomic_load(&f->atomic.skew_ms);
}

int64_t faults_idle_ns(const faults *f)
{
    return atomic_load(&f->atomic.idle_ns);
}

bool faults_paced(const faults *f)
{
    return (atomic_load_explicit(&f->atomic.connection_per_s, memory_order_relaxed) |
            atomic_load_explicit(&f->atomic.total_per_s, memory_order_relaxed) |
            atomic_load_explicit(&f->atomic.received_per_s, memory_order_relaxed)) != 0;
}

static int64_t price_ns(uint64_t size, uint64_t per_s)
{
    return (int64_t)((double)size * (double)NS_PER_S / (double)per_s);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What went unused in the last moments may be used yet: timers are late, the line is not. */
static int64_t pay_together(_Atomic int64_t *free_ns, int64_t burst_ns, int64_t price,
                            int64_t now_ns)
{
    int64_t before = atomic_load(free_ns), after = 0;
    do {
        after = later(before, now_ns - burst_ns) + price;
    } while (!atomic_compare_exchange_weak(free_ns, &before, after));
    return after;
}

int64_t faults_pay(faults *f, pace *own, uint64_t size, bool received, int64_t now_ns)
{
    const uint64_t mine = atomic_load(&f->atomic.connection_per_s);
    const uint64_t all = atomic_load(&f->atomic.total_per_s);
    const uint64_t in = received ? atomic_load(&f->atomic.received_per_s) : 0;
    const int64_t burst_ns = atomic_load(&f->atomic.burst_ns);
    int64_t until = now_ns;
    if (mine > 0) {
        own->free_ns = later(own->free_ns, now_ns) + price_ns(size, mine);
        until = own->free_ns;
    }
    if (all > 0)
        until =
            later(until, pay_together(&f->atomic.free_ns, burst_ns, price_ns(size, all), now_ns));
    if (in > 0)
        until = later(
            until, pay_together(&f->atomic.received_free_ns, burst_ns, price_ns(size, in), now_ns));
    return until;
}
