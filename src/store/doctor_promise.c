// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor_bucket.h"

#include <stdio.h>
#include <string.h>

#define RANGE_BYTES 100000u
#define LIST_PAGE 3u
#define LIST_MAX 16u

/* In no order, and so that "/" stands between "-" and letters. */
const char *const bucket_list_names[] = {"list/b/c", "list/a",   "list/b-c", "list/b.c",
                                         "list/d",   "list/b0c", "list/a-",  NULL};

static void say_failed(doctor_finding *f, const bw_error *error, const char *otherwise)
{
    if (error->code != BW_OK)
        doctor_say_error(f, error);
    else
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE, "%s", otherwise);
}

/** Whether the object reads back as `bytes`; NULL: as absent. An error is said at once. */
static bool reads(store *s, const char *key, const char *bytes, bw_error *error)
{
    char found[64];
    size_t size = sizeof found;
    const store_outcome outcome = doctor_get(s, key, found, &size, error);
    if (bytes == NULL || outcome == STORE_NOT_FOUND)
        return bytes == NULL && outcome == STORE_NOT_FOUND;
    return outcome == STORE_OK && size == strlen(bytes) && memcmp(found, bytes, size) == 0;
}

static void check_condition(bucket *b, doctor_finding *f)
{
    char key[BUCKET_KEY_BYTES];
    bw_error error;
    error_clear(&error);
    bucket_key(b, FOLDER_CONDITION, 0, key);
    store_outcome outcome = doctor_create(b->s, key, "first", 5, &error);
    if (outcome != STORE_CREATED) {
        say_failed(f, &error, "an object that nobody made is there");
        return;
    }
    outcome = doctor_create(b->s, key, "second", 6, &error);
    if (outcome == STORE_CREATED)
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE,
                   "ignored: the store overwrites an object that it was told to create only if "
                   "absent");
    else if (outcome != STORE_EXISTS)
        say_failed(f, &error, store_outcome_name(outcome));
    else if (!reads(b->s, key, "first", &error))
        say_failed(f, &error, "a create that was refused changed the object");
    else
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "honoured: a second create of a name is refused, and changes nothing");
}

static bool writes_and_reads(bucket *b, uint32_t k, bw_error *error, const char **what)
{
    char key[BUCKET_KEY_BYTES];
    const char *const keys[] = {key};
    bucket_key(b, FOLDER_AGAIN, k, key);
    *what = "what was written is not read back at once";
    if (doctor_put(b->s, key, "one", 3, error) != STORE_OK || !reads(b->s, key, "one", error))
        return false;
    *what = "after it was replaced, an object reads as before";
    const store_outcome outcome = doctor_put(b->s, key, "another", 7, error);
    /* Who may not delete may not replace either, on Google Cloud; only hints would be. */
    if (outcome != STORE_DENIED && (outcome != STORE_OK || !reads(b->s, key, "another", error)))
        return false;
    *what = "what was deleted is still read";
    return !b->may_delete ||
           (doctor_delete(b->s, keys, 1, error) == STORE_OK && reads(b->s, key, NULL, error));
}

static void check_again(bucket *b, doctor_finding *f)
{
    const char *what = "";
    bw_error error;
    error_clear(&error);
    for (uint32_t k = 0; k < BUCKET_ROUNDS; k++) {
        if (!writes_and_reads(b, k, &error, &what)) {
            say_failed(f, &error, what);
            return;
        }
    }
    doctor_say(f, DOCTOR_OK, BW_OK, "what was written, replaced%s is read so at once",
               b->may_delete ? " or deleted" : "");
}

/* A name that was looked for, by two connections, and then made: does either of them still hear
 * that it is not there? */
static bool appears(bucket *b, store *other, uint32_t k, bw_error *error)
{
    char key[BUCKET_KEY_BYTES];
    bucket_key(b, FOLDER_ABSENT, k, key);
    if (!reads(b->s, key, NULL, error) || !reads(other, key, NULL, error) ||
        doctor_head(other, key) != STORE_NOT_FOUND)
        return false;
    return doctor_create(b->s, key, "made", 4, error) == STORE_CREATED &&
           reads(other, key, "made", error) && doctor_head(other, key) == STORE_OK &&
           reads(b->s, key, "made", error);
}

static void check_absence(bucket *b, doctor_finding *f)
{
    store *other = NULL;
    bw_error error;
    error_clear(&error);
    bool good = store_clone(b->s, &other, &error) == BW_OK;
    for (uint32_t k = 0; k < BUCKET_ROUNDS && good; k++)
        good = appears(b, other, k, &error);
    store_close(other);
    if (good)
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "not remembered: a name that was looked for is there once it is made");
    else
        say_failed(f, &error,
                   "remembered: a name that was looked for stays absent after it was made");
}

/* ---- listings: hints, nothing rests on them ---- */

static bool make_names(bucket *b, bw_error *error)
{
    char key[BUCKET_KEY_BYTES];
    for (uint32_t k = 0; bucket_list_names[k] != NULL; k++) {
        (void)snprintf(key, sizeof key, "%s%s", b->scratch, bucket_list_names[k]);
        if (doctor_put(b->s, key, "x", 1, error) != STORE_OK)
            return false;
    }
    return true;
}

typedef struct listed {
    uint32_t count, descents;
    bool failed;
    char last[STORE_KEY_MAX + 1];
} listed;

/* One page after the other, each small. */
static void list_names(bucket *b, listed *all, bw_error *error)
{
    bool more = true;
    memset(all, 0, sizeof *all);
    while (more && !all->failed && all->count <= LIST_MAX) {
        char prefix[BUCKET_KEY_BYTES];
        store_op op;
        (void)snprintf(prefix, sizeof prefix, "%slist/", b->scratch);
        store_op_init(&op, STORE_LIST, prefix);
        op.list_max = LIST_PAGE;
        memcpy(op.after, all->last, sizeof op.after);
        all->failed = doctor_run(b->s, &op) != STORE_OK;
        error_copy(error, &op.error);
        for (size_t i = 0; i < op.list.count; i++) {
            all->descents += strcmp(op.list.entries[i].key, all->last) <= 0;
            (void)snprintf(all->last, sizeof all->last, "%s", op.list.entries[i].key);
            all->count++;
        }
        more = op.list.more;
        store_op_clear(&op);
    }
}

static void check_list(bucket *b, doctor_finding *f)
{
    listed all;
    bw_error error;
    uint32_t made = 0;
    error_clear(&error);
    if (!make_names(b, &error)) {
        doctor_say_error(f, &error);
        return;
    }
    while (bucket_list_names[made] != NULL)
        made++;
    list_names(b, &all, &error);
    doctor_figure_add(f, "made", made);
    doctor_figure_add(f, "listed", all.count);
    doctor_figure_add(f, "out_of_order", all.descents);
    if (all.failed)
        doctor_say(f, DOCTOR_WARNING, BW_OK, "%.400s", error.message);
    else if (all.count != made || all.descents > 0)
        doctor_say(
            f, DOCTOR_WARNING, BW_OK,
            "of %u names, by pages of %u, %u came, %u out of order: nothing rests on it, but "
            "gc may find orphans later",
            made, LIST_PAGE, all.count, all.descents);
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "all names at once, in byte order, page by page");
}

/* ---- ranges ---- */

static bool reads_range(store *s, const char *key, const uint8_t *bytes, uint64_t from,
                        uint64_t length, bw_error *error)
{
    static uint8_t part[RANGE_BYTES];
    store_op op;
    store_op_init(&op, STORE_READ, key);
    op.offset = from;
    op.length = length;
    op.dest = part;
    const bool good =
        doctor_run(s, &op) == STORE_OK && memcmp(part, bytes + from, (size_t)length) == 0;
    error_copy(error, &op.error);
    store_op_clear(&op);
    return good;
}

/* The driver demands of a range what it must be; behind the end it must find out how long the
 * object is. */
static bool knows_end(store *s, const char *key, uint64_t from, bw_error *error)
{
    static uint8_t part[64];
    store_op op;
    store_op_init(&op, STORE_READ, key);
    op.offset = from;
    op.length = sizeof part;
    op.dest = part;
    (void)doctor_run(s, &op);
    const bool good = op.error.code == BW_CORRUPT && op.object_bytes == RANGE_BYTES;
    if (!good)
        error_copy(error, &op.error);
    store_op_clear(&op);
    return good;
}

static void check_range(bucket *b, doctor_finding *f)
{
    static const uint64_t ranges[][2] = {
        {0, 1},          {0, 64}, {12388, 200}, {RANGE_BYTES - 7, 7}, {1, RANGE_BYTES - 2},
        {0, RANGE_BYTES}};
    static uint8_t bytes[RANGE_BYTES];
    char key[BUCKET_KEY_BYTES];
    bw_error error;
    error_clear(&error);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 251);
    bucket_key(b, FOLDER_RANGE, 0, key);
    bool good = doctor_put(b->s, key, bytes, sizeof bytes, &error) == STORE_OK;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && good; i++)
        good = reads_range(b->s, key, bytes, ranges[i][0], ranges[i][1], &error);
    good = good && knows_end(b->s, key, RANGE_BYTES - 10, &error) &&
           knows_end(b->s, key, 2u * RANGE_BYTES, &error);
    if (good)
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "206, just the range in Content-Range and as many bytes; behind the end the "
                   "object's size is told");
    else
        say_failed(f, &error, "a range reads as other bytes than were written");
}

/* ---- all of them ---- */

bool bucket_promises(bucket *b)
{
    static const struct {
        const char *name;
        void (*check)(bucket *b, doctor_finding *f);
    } checks[] = {{"condition", check_condition},
                  {"read_after_write", check_again},
                  {"absence", check_absence},
                  {"list", check_list},
                  {"range", check_range}};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        doctor_finding f = {.check = checks[i].name};
        if (checks[i].check == check_list && !b->may_list)
            continue;
        checks[i].check(b, &f);
        if (!doctor_tell(b->d, &f))
            return false;
    }
    return true;
}
