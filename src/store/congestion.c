// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/congestion.h"

#include "store/driver.h"

#include <string.h>

#define CUT 0.5
#define CUT_MILD 0.75 /* enough to be seen in what answers take */
/* Latency alone cuts when answers take so many times the best, never below this. */
#define SLOWNESS_MAX 2.0
#define LATENCY_WINDOW_MIN 4.0
/* A cut by latency must make answers quicker by this share, or it is taken back. */
#define TRIAL_GAIN 0.1
#define TRIAL_ROUNDS 2u /* the first still has answers from before */
/* recent: of some 16 answers. best: the least that recent was, so that a lucky answer is no
 * measure.
 */
#define RECENT_WEIGHT (1.0 / 16)
#define KNOWN_COUNT 16u
#define ROUND_MIN 16u

void congestion_init(congestion *c, uint32_t window_max)
{
    memset(c, 0, sizeof *c);
    c->window = c->window_max = window_max;
    c->cut_ns = INT64_MIN;
}

uint32_t congestion_window(const congestion *c)
{
    return (uint32_t)c->window;
}

void congestion_sent(congestion *c, uint32_t in_flight)
{
    if (in_flight > c->peak)
        c->peak = in_flight;
}

void congestion_waits(congestion *c)
{
    c->waited = true;
}

/* From what is in flight, when that is less than the window: else a cut would change nothing. */
static void cut(congestion *c, uint32_t in_flight, double factor, double least)
{
    const double from = in_flight < c->window ? in_flight : c->window;
    const double to = from * factor > least ? from * factor : least;
    if (to < c->window)
        c->window = to;
}

/* ---- latency ---- */

static uint64_t bytes_moved(const store_op *op)
{
    switch (op->kind) {
    case STORE_GET:
        return op->out.size;
    case STORE_READ:
    case STORE_MAP:
        return op->length;
    default:
        return store_op_bytes(op);
    }
}

static congestion_time *time_of(congestion *c, const store_op *op)
{
    static const uint64_t below[CONGESTION_SIZES - 1] = {4u << 10, 64u << 10, 1u << 20, 16u << 20};
    const uint64_t bytes = bytes_moved(op);
    uint32_t size = 0;
    while (size < CONGESTION_SIZES - 1 && bytes >= below[size])
        size++;
    return &c->times[op->kind][size];
}

static void add_time(congestion *c, const store_op *op, double ns)
{
    congestion_time *t = time_of(c, op);
    t->count++;
    t->recent_ns += (ns - t->recent_ns) * (t->count < KNOWN_COUNT ? 1.0 / t->count : RECENT_WEIGHT);
    if (t->count < KNOWN_COUNT)
        return;
    if (t->count == KNOWN_COUNT || t->recent_ns < t->best_ns)
        t->best_ns = t->recent_ns;
    c->slowness += t->recent_ns / t->best_ns;
    c->samples++;
}

/* What answers take now is what they take. */
static void measure_anew(congestion *c)
{
    for (int kind = 0; kind < STORE_OP_KINDS; kind++) {
        for (uint32_t size = 0; size < CONGESTION_SIZES; size++)
            c->times[kind][size].best_ns = c->times[kind][size].recent_ns;
    }
}

static void judge_trial(congestion *c, double slowness)
{
    if (--c->trial_rounds > 0)
        return;
    if (slowness < c->trial_slowness * (1 - TRIAL_GAIN))
        return;
    measure_anew(c);
    if (c->window < c->trial_window)
        c->window = c->trial_window;
}

/* A mean lags behind: the first slow round only says that there will be one to judge by. */
static bool is_slow(congestion *c, double slowness)
{
    const bool slow = slowness > SLOWNESS_MAX && c->peak > LATENCY_WINDOW_MIN;
    const bool again = slow && c->was_slow;
    c->was_slow = slow && !again;
    return again;
}

static void end_round(congestion *c)
{
    const double slowness = c->samples > 0 ? c->slowness / c->samples : 1;
    if (c->trial_rounds > 0) {
        judge_trial(c, slowness);
    } else if (is_slow(c, slowness)) {
        const double factor = SLOWNESS_MAX / slowness;
        c->trial_slowness = slowness;
        c->trial_window = c->window;
        c->trial_rounds = TRIAL_ROUNDS;
        cut(c, c->peak,
            factor < CUT        ? CUT
            : factor > CUT_MILD ? CUT_MILD
                                : factor,
            LATENCY_WINDOW_MIN);
    } else if (c->waited && !c->was_slow) {
        c->window = c->window + 1 < c->window_max ? c->window + 1 : c->window_max;
    }
    c->answers = c->samples = c->peak = 0;
    c->slowness = 0;
    c->waited = false;
}

/* ---- answers ---- */

static bool is_good(const store_op *op)
{
    return op->outcome == STORE_OK || op->outcome == STORE_CREATED || op->outcome == STORE_EXISTS ||
           op->outcome == STORE_NOT_FOUND;
}

void congestion_answered(congestion *c, const store_op *op, int64_t sent_ns, int64_t now_ns,
                         uint32_t in_flight)
{
    if (op->throttled) {
        if (sent_ns <= c->cut_ns) /* sent before the last cut: it is the same news */
            return;
        c->cut_ns = now_ns;
        cut(c, in_flight, CUT, 1);
        c->answers = c->samples = c->peak = c->trial_rounds = 0;
        c->slowness = 0;
        c->waited = false;
        return;
    }
    if (!is_good(op))
        return;
    if (now_ns > sent_ns)
        add_time(c, op, (double)(now_ns - sent_ns));
    if (++c->answers >= ROUND_MIN && c->answers >= (uint32_t)c->window)
        end_round(c);
}
