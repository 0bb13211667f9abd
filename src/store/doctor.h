// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * doctor: whether a place is fit for a namespace, found out by doing there what a store does. All
 * of it happens in `tmp/doctor-<16 hex>` beneath the place, which is removed again: what a
 * namespace is made of is neither read nor written. Local directories only.
 *
 *   doctor.c        which checks, in which order; those that go through a store
 *   doctor_file.c   what the machine says: file system, room, limits, clocks, syncs
 *   doctor_race.c   many processes that create the same names
 */
#ifndef STORE_DOCTOR_H
#define STORE_DOCTOR_H

#include "store/store.h"

#include <limits.h>

typedef enum doctor_verdict { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_FAULT } doctor_verdict;

#define DOCTOR_TEXT_BYTES 512u
#define DOCTOR_FIGURES_MAX 6u

typedef struct doctor_figure {
    const char *name;
    uint64_t value;
} doctor_figure;

/** What one check found. */
typedef struct doctor_finding {
    const char *check; /* "file_system", … (docs/reports.md) */
    doctor_verdict verdict;
    bw_status code; /* of a fault */
    char text[DOCTOR_TEXT_BYTES];
    uint32_t figure_count;
    doctor_figure figures[DOCTOR_FIGURES_MAX];
} doctor_finding;

void doctor_say(doctor_finding *f, doctor_verdict verdict, bw_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void doctor_figure_add(doctor_finding *f, const char *name, uint64_t value);

typedef struct doctor {
    /** Takes a finding; non-zero: enough. */
    int (*tell)(void *context, const doctor_finding *finding);
    /** Runs the race on `board` in `place`: 0 when all racers came to their end. NULL: no race. */
    int (*race)(void *context, const char *place, void *board);
    void *context;
    void *board;

    char path[PATH_MAX];    /* of the place */
    char there[PATH_MAX];   /* the place, or the nearest directory above it that exists */
    char scratch[PATH_MAX]; /* "": not made */
    bool is_new, has_tmp;   /* the place did not exist; it had a tmp/ */
    bool is_memory;         /* its files are gone when the machine is */
} doctor;

/** Runs all checks on the place at `url`. BW_OK: no fault; else the code of the first one, or
 * BW_INTERRUPTED when `tell` had enough. The caller fills the first four members. */
bw_status doctor_run(doctor *d, const char *url, bw_error *error);

/* doctor_file.c. false: nothing may be written there, the other checks are in vain. */
bool doctor_file_system(doctor *d, doctor_finding *f);
void doctor_room(const doctor *d, doctor_finding *f);
void doctor_limits(doctor_finding *f);
void doctor_clock(const doctor *d, doctor_finding *f);
void doctor_durability(const doctor *d, doctor_finding *f);
/** Removes a directory with all that is in it: 0, or -1 with errno. Follows no link. */
int doctor_remove(const char *path);

/* doctor_race.c */
#define DOCTOR_RACERS 16u
#define DOCTOR_NAMES 100u
size_t doctor_board_bytes(void);
/** Racer `racer` of DOCTOR_RACERS, in a process of its own. */
bw_status doctor_race(const char *place, void *board, uint32_t racer, bw_error *error);
/** A racer is gone: the others shall not wait for it. */
void doctor_race_abandon(void *board);
/** What the board says, `ended`: all racers came to their end. */
void doctor_race_judge(const void *board, bool ended, doctor_finding *f);

#endif
