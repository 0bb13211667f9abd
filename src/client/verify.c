// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/verify.h"

#include "base/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 512u

/* ---- findings ---- */

static bw_status emit_finding(verify *v, const char *code, const char *key, uint64_t step,
                              const char *message, bw_error *error)
{
    buf *out = &v->r->out;
    v->findings++;
    json_put_object(out, NULL);
    json_put_text(out, "finding", code);
    json_put_text(out, "key", key);
    if (step == NO_STEP)
        json_put_null(out, "step");
    else
        json_put_u64(out, "step", step);
    json_put_text(out, "message", message);
    json_put_object_end(out);
    return report_emit(v->r, error);
}

bw_status verify_found(verify *v, const char *code, const char *key, uint64_t step, bw_error *error,
                       const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    if (vsnprintf(message, sizeof message, format, args) < 0)
        message[0] = '\0';
    va_end(args);
    return emit_finding(v, code, key, step, message, error);
}

bool verify_is_damage(bw_status status)
{
    /* DENIED: a symbolic link, or an object of another user. It is not proved, and others may be.
     */
    return status == BW_NOT_FOUND || status == BW_TOO_LARGE || status == BW_UNSUPPORTED ||
           status == BW_DENIED || bw_status_class(status) == BW_CLASS_DATA;
}

bw_status verify_judge(verify *v, bw_status status, const char *code, const char *key,
                       uint64_t step, bw_error *error)
{
    if (!verify_is_damage(status))
        return status;
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "%.400s",
                   error != NULL && error->code == status ? error->message
                                                          : bw_status_text(status));
    return emit_finding(v, code, key, step, message, error);
}

bw_status verify_is_trimmed(verify *v, uint64_t step, bool swept, bool *trimmed, bw_error *error)
{
    *trimmed = false;
    if (v->blocked_version > 0)
        return BW_OK; /* nothing is proved any more that could tell */
    BW_TRY(
        chain_walk(v->reader.chain, v->reader.drive, CHAIN_NEWEST, v->r->deadline_ns, NULL, error));
    const manifest *now = chain_held(v->reader.chain);
    *trimmed = step < (swept ? now->swept : now->trim);
    return BW_OK;
}

/* ---- keys that are referred to ---- */

/* FNV-1a: a collision would hide an orphan from a list, never a fault. */
static uint64_t hash_key(const char *key)
{
    uint64_t hash = 14695981039346656037ull;
    for (const char *at = key; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * 1099511628211ull;
    return hash;
}

bw_status key_set_add(key_set *set, const char *key)
{
    void *hashes = set->hashes;
    if (mem_grow(&hashes, &set->capacity, set->count + 1, sizeof *set->hashes) != 0)
        return BW_NOMEM;
    set->hashes = hashes;
    set->hashes[set->count++] = hash_key(key);
    set->sorted = false;
    return BW_OK;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool key_set_has(key_set *set, const char *key)
{
    if (set->count == 0)
        return false;
    if (!set->sorted)
        qsort(set->hashes, set->count, sizeof *set->hashes, compare_hashes);
    set->sorted = true;
    const uint64_t hash = hash_key(key);
    return bsearch(&hash, set->hashes, set->count, sizeof *set->hashes, compare_hashes) != NULL;
}

void key_set_free(key_set *set)
{
    mem_free(set->hashes);
    *set = (key_set){0};
}

/* ---- the report ---- */

static bw_status put_summary(verify *v, bw_error *error)
{
    buf *out = &v->r->out;
    json_put_object(out, NULL);
    json_put_bool(out, "summary", true);
    json_put_bool(out, "clean", v->findings == 0);
    json_put_u64(out, "findings", v->findings);
    json_put_bool(out, "deep", v->r->options->deep);
    json_put_u64(out, "first_version", v->first_version);
    json_put_u64(out, "newest_version", v->m->version);
    json_put_u64(out, "unproven_below_version", v->first_version);
    json_put_u64(out, "unproven_below_step", v->first);
    json_put_u64(out, "trim_step", v->m->trim);
    json_put_u64(out, "swept_step", v->m->swept);
    json_put_u64(out, "next_step", v->m->next);
    json_put_bool(out, "sealed", v->m->sealed);
    json_put_u64(out, "producers", v->tiling_count);
    json_put_u64(out, "segments", v->segments);
    json_put_u64(out, "parts", v->parts);
    json_put_u64(out, "items", v->items);
    json_put_u64(out, "pads", v->pads);
    json_put_u64(out, "states", v->states);
    json_put_u64(out, "blocks_retired", v->blocks_retired);
    json_put_u64(out, "ghosts", v->ghosts);
    json_put_u64(out, "newer_manifests", v->newer);
    json_put_u64(out, "unreferenced_parts", v->apart[KEY_PART]);
    json_put_u64(out, "unreferenced_states", v->apart[KEY_STATE]);
    json_put_u64(out, "unreferenced_segments", v->apart[KEY_SEGMENT]);
    json_put_u64(out, "unreferenced_pages", v->apart[KEY_PAGE]);
    json_put_u64(out, "probes", v->apart[KEY_PROBE]);
    json_put_u64(out, "temporary", v->apart[KEY_TMP]);
    json_put_u64(out, "foreign", v->apart[KEY_FOREIGN]);
    json_put_object_end(out);
    return report_emit(v->r, error);
}

static bw_status run(verify *v, bw_error *error)
{
    BW_TRY(verify_producers_begin(v, error));
    BW_TRY(verify_steps(v, error));
    BW_TRY(verify_producers_end(v, error));
    BW_TRY(verify_chain(v, error));
    BW_TRY(verify_rest(v, error));
    BW_TRY(put_summary(v, error));
    if (v->findings == 0)
        return BW_OK;
    return error_set(error, BW_UNCLEAN, "%llu finding%s", (unsigned long long)v->findings,
                     v->findings == 1 ? "" : "s");
}

bw_status report_verify(report *r, bw_error *error)
{
    verify v = {.r = r, .g = r->space->genesis};
    bw_error why;
    error_clear(&why);
    bw_status status = reader_open(r->space, r->deadline_ns, r->options->stop, &v.reader, &why);
    r->deadline_ns = TIME_NEVER; /* it bounds the wait for the manifest, not the work */
    if (status == BW_OK) {
        /* What was written meanwhile is asked for the trim step only, however far a sweep has gone;
         * it is the manifest held now that is proved. */
        chain_forgive_gaps(v.reader.chain);
        v.s = drive_store(v.reader.drive);
        v.m = manifest_ref(chain_held(v.reader.chain));
    } else {
        status = verify_before_block(&v, &why, error);
    }
    if (status == BW_OK)
        status = run(&v, error);
    mem_free(v.sums);
    mem_free(v.tilings);
    page_free(&v.page);
    mem_free(v.page_object);
    key_set_free(&v.referenced);
    manifest_unref(v.m);
    reader_close(&v.reader);
    return status;
}
