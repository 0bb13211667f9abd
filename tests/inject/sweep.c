// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In the layers' fast time: 5 ms and 1 s of a real clock. The first is spent by each fault that
 * lasts, the second must cover a machine that is busy with other things. */
#define ARMED_TIMEOUT_NS SECOND
#define CLEAN_TIMEOUT_NS (200 * SECOND)

/* What a failure of memory or machine may be told as. That anything is damaged, foreign or fenced
 * would be a lie. */
static bool may_say(const scene *w, bw_status status)
{
    switch (status) {
    case BW_NOMEM:
    case BW_TIMEOUT:
    case BW_FAILED:
    case BW_UNSUPPORTED: /* no source of randomness, no hard links */
    case BW_DENIED:
    case BW_IO:
    case BW_NO_SPACE:
    case BW_UNKNOWN:
    case BW_BLOCKED:
    case BW_STARVED:
        return true;
    case BW_NO_NAMESPACE:
    case BW_NOT_READY:
        return !w->initialised;
    default:
        return false;
    }
}

/* What a handle may go on saying once the machine works again: it was fail-stopped. Never UNKNOWN:
 * a handle that cannot find out is finished. */
static bool is_stopped(bw_status status)
{
    return bw_status_class(status) == BW_CLASS_FATAL || status == BW_IO || status == BW_NO_SPACE ||
           status == BW_DENIED;
}

static void say_wrong(scene *w, const char *what, const char *step, bw_status status)
{
    scene_wrong(w, "%s: %s: %s: %s", what, step, bw_status_name(status),
                status == BW_OK ? "" : bw_error_message(w->error));
}

static void run_steps(scene *w, const injection_case *c, injection_result *result)
{
    bool stopped = false, usable = false, hit = false;
    for (uint32_t i = 0; i < scene_step_count && w->wrong[0] == '\0'; i++) {
        const scene_step *step = &scene_steps[i];
        const bool target = i == c->step;
        if (step->aside && !target)
            continue;
        if (target) {
            w->timeout_ns = ARMED_TIMEOUT_NS;
            wrap_arm(&c->plan);
        }
        bw_status status = step->run(w);
        if (target) {
            result->failed_calls = wrap_disarm(&result->first);
            w->timeout_ns = CLEAN_TIMEOUT_NS;
            hit = result->failed_calls > 0;
            if (!hit)
                return;
            if (status != BW_OK && !may_say(w, status))
                say_wrong(w, "must not be said", step->name, status);
            usable = status != BW_OK;
            if (usable)
                status = step->run(w);
        }
        if (status != BW_OK && hit && !stopped && is_stopped(status)) {
            scene_close(w);
            stopped = true;
            status = step->run(w);
        }
        if (status != BW_OK)
            say_wrong(w, target ? "fails for good" : "fails afterwards", step->name, status);
    }
    scene_close(w);
    if (w->wrong[0] == '\0')
        scene_prove(w, true);
    result->end = stopped ? INJECTION_STOPPED : usable ? INJECTION_USABLE : INJECTION_MASKED;
}

void injection_run(const injection_case *c, const char *root, injection_result *result)
{
    memset(result, 0, sizeof *result);
    wrap_live before, after;
    wrap_live_now(&before);
    scene w;
    scene_begin(&w, &scene_shapes[c->shape], root);
    run_steps(&w, c, result);
    scene_end(&w);
    scene_remove(root);
    wrap_live_now(&after);
    if (after.allocations != before.allocations || after.mappings != before.mappings ||
        after.files != before.files || after.threads != before.threads)
        scene_wrong(&w,
                    "leaked: %" PRId64 " allocations, %" PRId64 " mappings, %" PRId64
                    " descriptors, %" PRId64 " threads",
                    after.allocations - before.allocations, after.mappings - before.mappings,
                    after.files - before.files, after.threads - before.threads);
    memcpy(result->wrong, w.wrong, sizeof result->wrong);
}

void injection_text(const injection_case *c, char text[96])
{
    (void)snprintf(text, 96, "%u:%u:%d:%d:%d:%u", c->shape, c->step, (int)c->plan.kind,
                   (int)c->plan.way, c->plan.for_ever ? 1 : 0, c->plan.n);
}

bool injection_parse(const char *text, injection_case *c)
{
    unsigned shape, step, kind, way, for_ever, n;
    char rest;
    if (sscanf(text, "%u:%u:%u:%u:%u:%u%c", &shape, &step, &kind, &way, &for_ever, &n, &rest) != 6)
        return false;
    if (shape >= scene_shape_count || step >= scene_step_count || kind > WRAP_SYSTEM ||
        way >= WRAP_WAYS || for_ever > 1 || n == 0)
        return false;
    *c = (injection_case){
        .shape = shape,
        .step = step,
        .plan = {.kind = (wrap_kind)kind, .way = (wrap_way)way, .for_ever = for_ever == 1, .n = n}};
    return true;
}
