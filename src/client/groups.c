// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/groups.h"

#include "client/change.h"
#include <string.h>

bw_status group_launch(bw_space *space, const char *name, const char *launch, launch_start start,
                       const cursor *c, int64_t deadline_ns, const atomic_int *stop, uint64_t *step,
                       uint32_t *item, bw_error *error)
{
    change act;
    BW_TRY(change_open(&act, space, "launch", deadline_ns, stop, error));
    intent i = {.kind = INTENT_LAUNCH};
    i.launch.name = view_text(name);
    i.launch.launch = view_text(launch);
    i.launch.start = start;
    i.launch.cursor = c;
    const bw_status status = change_make(&act, &i, error);
    if (status == BW_OK) {
        const intent_result *result = &commit_reported(act.commit)->result;
        *step = result->start_step;
        *item = result->start_item;
    }
    change_close(&act);
    return status;
}

/* The group as the newest proved manifest has it, and the launch that the call acts for. */
static bw_status find(const change *act, const group_call *call, const group **g, view *launch,
                      bw_error *error)
{
    *g = manifest_group(change_base(act), view_text(call->name));
    if (*g == NULL)
        return error_set(error, BW_GROUP_GONE, "%s: there is no group %s", act->what, call->name);
    *launch = call->launch != NULL ? view_text(call->launch) : (*g)->launch;
    return BW_OK;
}

static bool lists(const id_list *list, view id)
{
    for (size_t k = 0; list != NULL && k < list->count; k++)
        if (view_equal(view_text(list->ids[k]), id))
            return true;
    return false;
}

/* The pins that are in the list, or those that are not, by what was seen of them. */
static uint32_t choose(const group *g, const id_list *list, bool listed, pin_key keys[PINS_MAX])
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < g->pin_count; k++)
        if (lists(list, g->pins[k].id) == listed)
            keys[count++] = (pin_key){.id = g->pins[k].id, .nonce = g->pins[k].nonce};
    return count;
}

static bw_status begin(change *act, bw_space *space, const char *what, const group_call *call,
                       const group **g, view *launch, manifest **base, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), call->timeout_ns);
    BW_TRY(change_open(act, space, what, deadline_ns, NULL, error));
    const bw_status status = find(act, call, g, launch, error);
    if (status != BW_OK) {
        change_close(act);
        return status;
    }
    /* Ids and launch are the base's, and the commit may move on to another. */
    *base = manifest_ref(chain_held(act->reader.chain));
    return BW_OK;
}

bw_status group_pin(bw_space *space, const group_call *call, const char *id, const cursor *at,
                    const id_list *release, bw_error *error)
{
    change act;
    const group *g;
    view launch;
    manifest *base;
    pin_key keys[PINS_MAX];
    pin made = {.step = 0};
    if (at != NULL) {
        if (memcmp(at->uuid, space->genesis->uuid, UUID_BYTES) != 0)
            return error_set(error, BW_CURSOR_FOREIGN, "pin: the cursor is of another namespace");
        made = (pin){.id = view_text(id),
                     .nonce = runtime_random(space->runtime),
                     .step = at->step,
                     .item = at->item};
        const bw_status hashed = cursor_hash(at, &made.cursor_hash);
        if (hashed != BW_OK)
            return error_set(error, hashed, "pin: the cursor cannot be hashed");
    }
    BW_TRY(begin(&act, space, at != NULL ? "pin" : "release", call, &g, &launch, &base, error));
    intent i = {.kind = INTENT_PIN};
    i.pin.group = g->name;
    i.pin.launch = launch;
    i.pin.pin = at != NULL ? &made : NULL;
    i.pin.releases = keys;
    i.pin.release_count = choose(g, release, true, keys);
    const bw_status status = change_make(&act, &i, error);
    change_close(&act);
    manifest_unref(base);
    if (status == BW_OK)
        reclaimer_nudge(&space->reclaimer);
    return status;
}

bw_status group_reconcile(bw_space *space, const group_call *call, const id_list *keep,
                          uint32_t *released, bw_error *error)
{
    change act;
    const group *g;
    view launch;
    manifest *base;
    pin_key keys[PINS_MAX];
    BW_TRY(begin(&act, space, "reconcile", call, &g, &launch, &base, error));
    intent i = {.kind = INTENT_PIN};
    i.pin.group = g->name;
    i.pin.launch = launch;
    i.pin.releases = keys;
    i.pin.release_count = choose(g, keep, false, keys);
    const bw_status status = change_make(&act, &i, error);
    if (released != NULL)
        *released = status == BW_OK ? i.pin.release_count : 0;
    change_close(&act);
    manifest_unref(base);
    if (status == BW_OK)
        reclaimer_nudge(&space->reclaimer);
    return status;
}

bw_status group_remove(bw_space *space, const group_call *call, bw_error *error)
{
    change act;
    const group *g;
    view launch;
    manifest *base;
    BW_TRY(begin(&act, space, "group rm", call, &g, &launch, &base, error));
    intent i = {.kind = INTENT_GROUP_RM};
    i.group_rm.name = g->name;
    i.group_rm.launch = launch;
    const bw_status status = change_make(&act, &i, error);
    change_close(&act);
    manifest_unref(base);
    return status;
}

bw_status producer_forget(bw_space *space, const char *id, uint32_t epoch, int64_t timeout_ns,
                          bw_error *error)
{
    change act;
    BW_TRY(change_open(&act, space, "forget", clock_deadline(clock_system(), timeout_ns), NULL,
                       error));
    intent i = {.kind = INTENT_FORGET};
    i.forget.id = view_text(id);
    i.forget.epoch = epoch;
    const bw_status status = change_make(&act, &i, error);
    change_close(&act);
    return status;
}
