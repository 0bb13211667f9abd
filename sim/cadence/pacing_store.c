// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The virtual store of a pacing: manifests, genesis and hint. No marker is ever there, since nobody
 * retires anything; segments are taken and never read. */
#include "pacing_inner.h"

#include "base/alloc.h"
#include "protocol/create.h"
#include <string.h>

static void drop(stored *at)
{
    if (at->made != NULL)
        manifest_unref(at->made);
    else
        mem_free(at->bytes);
    *at = (stored){0};
}

void pacing_store_free(pacing_store *s)
{
    drop(&s->genesis);
    drop(&s->hint);
    for (uint32_t i = 0; i < VERSIONS_KEPT; i++)
        drop(&s->versions[i]);
}

static bool keep(stored *at, const machine_request *request)
{
    stored next = {.size = request->size, .made = pacing_share_made(request->bytes)};
    next.bytes = next.made != NULL ? next.made->object : mem_dup(request->bytes, request->size);
    if (next.bytes == NULL)
        return false;
    drop(at);
    *at = next;
    return true;
}

manifest *pacing_store_made(const pacing_store *s, uint64_t version)
{
    manifest *m = s->versions[version % VERSIONS_KEPT].made;
    return m != NULL && m->version == version ? m : NULL;
}

store_outcome pacing_store_write(pacing_store *s, const machine_request *request)
{
    key_fields key;
    key_parse(view_text(request->key.text), &key);
    const bool creates = request->kind == STORE_CREATE;
    const store_outcome good = creates ? STORE_CREATED : STORE_OK;
    switch (key.kind) {
    case KEY_MANIFEST:
        if (!creates || key.number > s->newest + 1)
            return STORE_FATAL;
        if (key.number <= s->newest)
            return STORE_EXISTS;
        if (!keep(&s->versions[key.number % VERSIONS_KEPT], request))
            return STORE_FATAL;
        s->newest = key.number;
        return good;
    case KEY_GENESIS:
        return keep(&s->genesis, request) ? good : STORE_FATAL;
    case KEY_HINT:
        return keep(&s->hint, request) ? good : STORE_FATAL;
    case KEY_SEGMENT:
        return good;
    default:
        return STORE_FATAL;
    }
}

/* What is there, in the store's own memory. */
static store_outcome find(const pacing_store *s, const machine_request *request, stored *found)
{
    key_fields key;
    key_parse(view_text(request->key.text), &key);
    *found = (stored){0};
    switch (key.kind) {
    case KEY_MANIFEST:
        if (key.number > s->newest || key.number == 0)
            return STORE_NOT_FOUND;
        if (key.number + VERSIONS_KEPT <= s->newest)
            return request->kind == STORE_HEAD ? STORE_OK : STORE_FATAL;
        *found = s->versions[key.number % VERSIONS_KEPT];
        return STORE_OK;
    case KEY_GENESIS:
        *found = s->genesis;
        break;
    case KEY_HINT:
        *found = s->hint;
        break;
    case KEY_MARKER:
        return STORE_NOT_FOUND;
    default:
        return STORE_FATAL;
    }
    return found->bytes != NULL ? STORE_OK : STORE_NOT_FOUND;
}

store_outcome pacing_store_look(const pacing_store *s, const machine_request *request,
                                stored *found)
{
    stored at;
    const store_outcome outcome = find(s, request, &at);
    *found = (stored){0};
    if (at.bytes == NULL || request->kind != STORE_GET)
        return outcome;
    if (at.made != NULL)
        return pacing_share_ticket(at.made->version, &found->bytes, &found->size) ? outcome
                                                                                  : STORE_FATAL;
    *found = (stored){mem_dup(at.bytes, at.size), at.size, NULL};
    return found->bytes != NULL ? outcome : STORE_FATAL;
}

bw_status pacing_store_begin(pacing_store *s, genesis *g, bw_error *error)
{
    *g = (genesis){.created_ms = 1,
                   .dp = 1,
                   .cp = 1,
                   .items_default = 1,
                   .block_size = GENESIS_BLOCK_SIZE_DEFAULT,
                   .tail_cap = GENESIS_TAIL_CAP_DEFAULT,
                   .part_bytes = GENESIS_PART_BYTES_DEFAULT,
                   .page_min = GENESIS_PAGE_MIN_DEFAULT};
    memset(g->uuid, 7, sizeof g->uuid);
    const token128 nonce = {{1}};
    create *c = NULL;
    BW_TRY(create_new(g, 1, &nonce, &c));
    create_start(c, 0, TIME_NEVER);
    machine_request request;
    while (create_machine.running(c) && create_machine.next(c, &request)) {
        stored found = {0};
        machine_reply reply = {.id = request.id};
        if (request.kind == STORE_GET || request.kind == STORE_HEAD)
            reply.outcome = pacing_store_look(s, &request, &found);
        else
            reply.outcome = pacing_store_write(s, &request);
        reply.bytes = found.bytes;
        reply.size = found.size;
        create_machine.reply(c, 0, &reply);
        mem_free(reply.bytes);
    }
    const bw_status status = create_result(c, error);
    create_free(c);
    return status;
}

bw_status pacing_store_steps(const pacing_store *s, const genesis *g, uint64_t *steps,
                             bw_error *error)
{
    const stored *newest = &s->versions[s->newest % VERSIONS_KEPT];
    uint8_t *object = mem_dup(newest->bytes, newest->size);
    manifest *m = NULL;
    if (object == NULL)
        return error_set(error, BW_NOMEM, "no memory");
    const bw_status status = manifest_decode(object, newest->size, genesis_slices(g), &m, error);
    if (status != BW_OK) {
        mem_free(object);
        return status;
    }
    *steps = m->next;
    manifest_unref(m);
    return BW_OK;
}
