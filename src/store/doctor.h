// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * doctor: whether a place is fit for a namespace, found out by doing there what a store does. All
 * of it happens in `tmp/doctor-<16 hex>` beneath the place, which is removed again: what a
 * namespace is made of is neither read nor written.
 *
 *   doctor.c           a directory: which checks, in which order; those that go through a store
 *   doctor_file.c      what the machine says: file system, room, limits, clocks, syncs
 *   doctor_bucket.c    a bucket: which checks, in which order
 *   doctor_access.c    what the keys may do there
 *   doctor_promise.c   what the store must promise, one process at a time
 *   doctor_pace.c      how long requests take
 *   doctor_cost.c      what that implies for a job: pure
 *   doctor_race.c      many processes that create the same names; of both
 *   doctor_ops.c       single operations; of both
 */
#ifndef STORE_DOCTOR_H
#define STORE_DOCTOR_H

#include "store/store_about.h"

#include <limits.h>

typedef enum doctor_verdict { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_FAULT } doctor_verdict;

#define DOCTOR_TEXT_BYTES 512u
#define DOCTOR_FIGURES_MAX 8u
#define DOCTOR_WORDS_MAX 5u

typedef struct doctor_figure {
    const char *name;
    uint64_t value;
    uint32_t decimals; /* the value is so many tens of powers too large */
} doctor_figure;

typedef struct doctor_word {
    const char *name;
    const char *text; /* stays until the finding is told */
} doctor_word;

/** What one check found. */
typedef struct doctor_finding {
    const char *check; /* "file_system", … (docs/reports.md) */
    doctor_verdict verdict;
    bw_status code; /* of a fault */
    char text[DOCTOR_TEXT_BYTES];
    uint32_t figure_count;
    doctor_figure figures[DOCTOR_FIGURES_MAX];
    uint32_t word_count;
    doctor_word words[DOCTOR_WORDS_MAX];
    const store_facts *denied_by; /* the keys may not do this; else NULL */
    store_op_kind denied;
} doctor_finding;

void doctor_say(doctor_finding *f, doctor_verdict verdict, bw_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void doctor_say_error(doctor_finding *f, const bw_error *error);
void doctor_figure_add(doctor_finding *f, const char *name, uint64_t value);
/** A value of 10^-decimals. */
void doctor_decimal_add(doctor_finding *f, const char *name, uint64_t value, uint32_t decimals);
void doctor_word_add(doctor_finding *f, const char *name, const char *text);

typedef struct doctor {
    /** Takes a finding; non-zero: enough. */
    int (*tell)(void *context, const doctor_finding *finding);
    /** Runs the race on `board` in `place`: 0 when all racers came to their end. NULL: no race. */
    int (*race)(void *context, const char *place, void *board);
    void *context;
    void *board;

    bw_status first; /* code of the first fault */
    bool stopped;    /* `tell` had enough */
} doctor;

/** false: enough. */
bool doctor_tell(doctor *d, const doctor_finding *f);
/** What all of it comes to, on the place called `name`. */
bw_status doctor_end(const doctor *d, const char *name, bw_error *error);

/** Runs all checks on the directory at `url`. BW_OK: no fault; else the code of the first one, or
 * BW_INTERRUPTED when `tell` had enough. The caller fills the first four members. */
bw_status doctor_directory(doctor *d, const char *url, bw_error *error);

/** The job that figures are implied for. Prices are US cents a million. */
typedef struct doctor_job {
    uint32_t ranks, producers, step_ms;
    uint32_t price_put, price_get, price_delete;
} doctor_job;

/** The same on a bucket, at `url` of which `s` is open. Racers open `url`, too. */
bw_status doctor_bucket(doctor *d, store *s, const char *url, const doctor_job *job,
                        bw_error *error);

/* doctor_race.c */
#define DOCTOR_RACERS 16u
#define DOCTOR_NAMES 100u
size_t doctor_board_bytes(void);
/** Before the race: what the names begin with, "" or with a slash behind it. */
void doctor_race_place(void *board, const char *scratch);
/** Racer `racer` of DOCTOR_RACERS, in a process of its own, on a store of its own. */
bw_status doctor_race(store *s, void *board, uint32_t racer, bw_error *error);
/** A racer is gone: the others shall not wait for it. */
void doctor_race_abandon(void *board);
/** What the board says, `ended`: all racers came to their end. */
void doctor_race_judge(const void *board, bool ended, doctor_finding *f);
/** Runs and judges it. */
void doctor_race_check(const doctor *d, const char *place, const char *scratch, doctor_finding *f);

/* doctor_ops.c. Whatever fails in a way that may pass is tried for some seconds. */
store_outcome doctor_run(store *s, store_op *op);
/** STORE_CREATED also when an answer was lost and the bytes are there. `error` (NULL is fine) says
 * why it is neither that nor STORE_EXISTS. */
store_outcome doctor_create(store *s, const char *key, const void *bytes, size_t size,
                            bw_error *error);
store_outcome doctor_put(store *s, const char *key, const void *bytes, size_t size,
                         bw_error *error);
/** STORE_OK with *size bytes of it; `size` comes with how many there is room for. */
store_outcome doctor_get(store *s, const char *key, void *bytes, size_t *size, bw_error *error);
store_outcome doctor_head(store *s, const char *key);
store_outcome doctor_delete(store *s, const char *const *keys, uint32_t count, bw_error *error);

#endif
