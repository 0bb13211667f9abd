// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor_bucket.h"

#include <string.h>

static const char content[] = "what the doctor wrote";

typedef struct permission {
    const char *check;
    store_op_kind kind;
    const char *may; /* what is said when it is allowed */
    const char *lacks;
    bool needed; /* by everybody who opens a namespace for writing */
} permission;

static const permission permissions[] = {
    {"may_put", STORE_PUT, "objects may be written", "", true},
    {"may_create", STORE_CREATE, "objects may be created on a condition", "", true},
    {"may_get", STORE_GET, "objects may be read, and absent ones are told as absent",
     "to who may not list, some stores tell an absent object as forbidden; ", true},
    {"may_list", STORE_LIST, "names may be listed", "gc and verify find no orphans without it; ",
     false},
    {"may_delete", STORE_DELETE, "objects may be deleted",
     "the sweep must be left to who may, with reclaim=false here; ", false},
};

static bool is_denied(store_outcome outcome, const bw_error *error)
{
    return outcome == STORE_DENIED || (outcome == STORE_FATAL && error->code == BW_DENIED);
}

/* What is there reads; and what is not is told as absent: some stores tell it as forbidden to who
 * may not list. */
static store_outcome try_get(const bucket *b, bool there, bw_error *error)
{
    char key[BUCKET_KEY_BYTES];
    char bytes[64];
    size_t size = sizeof bytes;
    bucket_key(b, FOLDER_ACCESS, there ? 0 : 2, key);
    return doctor_get(b->s, key, bytes, &size, error);
}

static store_outcome try_list(const bucket *b, bw_error *error)
{
    store_op op;
    store_op_init(&op, STORE_LIST, b->scratch);
    const store_outcome outcome = doctor_run(b->s, &op);
    error_copy(error, &op.error);
    store_op_clear(&op);
    return outcome;
}

static store_outcome try_one(const bucket *b, store_op_kind kind, bool written, bw_error *error)
{
    char key[BUCKET_KEY_BYTES];
    const char *const keys[] = {key};
    store_outcome outcome;
    bucket_key(b, FOLDER_ACCESS, kind == STORE_CREATE ? 1 : 0, key);
    switch (kind) {
    case STORE_PUT:
        return doctor_put(b->s, key, content, sizeof content, error);
    case STORE_CREATE:
        outcome = doctor_create(b->s, key, content, sizeof content, error);
        return outcome == STORE_CREATED ? STORE_OK : outcome;
    case STORE_GET:
        outcome = written ? try_get(b, true, error) : STORE_OK;
        if (outcome != STORE_OK)
            return outcome;
        outcome = try_get(b, false, error);
        return outcome == STORE_NOT_FOUND ? STORE_OK : outcome;
    case STORE_LIST:
        return try_list(b, error);
    default:
        return doctor_delete(b->s, keys, 1, error);
    }
}

static void judge(const bucket *b, const permission *p, store_outcome outcome,
                  const bw_error *error, doctor_finding *f)
{
    if (outcome == STORE_OK) {
        doctor_say(f, DOCTOR_OK, BW_OK, "%s", p->may);
        return;
    }
    const bool denied = is_denied(outcome, error);
    const char *says = error->code != BW_OK         ? error->message
                       : outcome == STORE_NOT_FOUND ? "an object just written is not there"
                                                    : store_outcome_name(outcome);
    doctor_say(f, p->needed || !denied ? DOCTOR_FAULT : DOCTOR_WARNING,
               error->code != BW_OK ? error->code : BW_STORE_UNSAFE, "%s%.400s", p->lacks, says);
    if (denied) {
        f->denied_by = &b->facts;
        f->denied = p->kind;
    }
}

bool bucket_access(bucket *b)
{
    bool usable = true, written = false;
    for (size_t i = 0; i < sizeof permissions / sizeof permissions[0]; i++) {
        const permission *p = &permissions[i];
        doctor_finding f = {.check = p->check};
        bw_error error;
        error_clear(&error);
        const store_outcome outcome = try_one(b, p->kind, written, &error);
        judge(b, p, outcome, &error, &f);
        written |= p->kind == STORE_PUT && outcome == STORE_OK;
        b->may_list |= p->kind == STORE_LIST && outcome == STORE_OK;
        b->may_delete |= p->kind == STORE_DELETE && outcome == STORE_OK;
        usable &= f.verdict != DOCTOR_FAULT;
        if (!doctor_tell(b->d, &f))
            return false;
    }
    return usable;
}
