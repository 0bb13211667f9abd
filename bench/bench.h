// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The harness of bw-bench: options, rows, samples, and two sides measured in turns.
 *
 * A group measures one thing and adds its rows. Whatever is compared runs in one process, in turns
 * A B B A, so that a busy neighbour slows both sides; figures are medians with the least and the
 * greatest of the rounds.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROWS_MAX 192u
#define BENCH_PATH_MAX 4096u
#define BENCH_ROUNDS_MAX 512u
#define BENCH_SERIES_MAX 64u

/** Which number of a row its limit judges. */
typedef enum bench_judge {
    JUDGE_NONE,
    JUDGE_VALUE_MAX,
    JUDGE_VALUE_MIN,
    JUDGE_RATIO_MAX,
    JUDGE_RATIO_MIN
} bench_judge;

typedef struct bench_spread {
    double median, min, max;
} bench_spread;

typedef struct bench_row {
    char name[48];
    char unit[16];
    bench_spread value;
    bool has_ratio;
    bench_spread ratio;
    bench_judge judge;
    double limit;
    bool counted; /* no time is in it: a busy machine is no excuse for missing the limit */
    double series[BENCH_SERIES_MAX]; /* how the value went over the run; drawn below the table */
    uint32_t series_count;           /* 0: it has no course */
} bench_row;

typedef struct bench {
    bool quick;      /* tiny budgets: proves that every row is produced, measures nothing */
    uint32_t rounds; /* of every measurement */
    char disk[BENCH_PATH_MAX];    /* an own, empty directory on a disk */
    char memory[BENCH_PATH_MAX];  /* an own, empty directory on a memory file system */
    char program[BENCH_PATH_MAX]; /* the command line, whose requests are counted */
    char teststore[BENCH_PATH_MAX];
    bench_row rows[BENCH_ROWS_MAX];
    uint32_t row_count;
} bench;

/** `full` normally, `tiny` with --quick. */
static inline uint64_t bench_budget(const bench *b, uint64_t full, uint64_t tiny)
{
    return b->quick ? tiny : full;
}

/** `times` as many rounds as asked for, for short turns: 1 with --quick. */
uint32_t bench_rounds(const bench *b, uint32_t times);

/** Adds a row; the pointer is valid until the end, for what only some rows have. */
bench_row *bench_add(bench *b, const char *name, const char *unit, bench_spread value);
void bench_limit(bench_row *row, bench_judge judge, double limit);
/** The same of what is counted: missed, the program fails also without --strict. */
void bench_count_limit(bench_row *row, bench_judge judge, double limit);
/** The course of the value: `count` samples, of which each point of the series is the greatest of
 * its share. */
void bench_series(bench_row *row, const double *samples, size_t count);
/** True when the row has no limit or keeps it. */
bool bench_row_passes(const bench_row *row);
bool bench_row_judged(const bench_row *row);

void bench_print_text(const bench *b);
void bench_print_json(const bench *b);

/** Median, least and greatest; sorts `samples`. */
bench_spread bench_spread_of(double *samples, size_t count);
bench_spread bench_exactly(double value);

/** One measurement of a side; its result is in the row's unit. */
typedef struct bench_side {
    bw_status (*run)(void *context, double *result, bw_error *error);
    void *context;
} bench_side;

typedef struct bench_pair {
    bench_spread a, b;
    bench_spread ratio;
} bench_pair;

/** One side alone, `rounds` ≤ BENCH_ROUNDS_MAX times after one that does not count. */
bw_status bench_alone(uint32_t rounds, bench_side side, bench_spread *out, bw_error *error);
/** A B B A in each round, after one turn each that does not count; the ratio is A's over B's, the
 * median of the rounds: what slows the machine for a while slows both sides of a round. */
bw_status bench_turns(uint32_t rounds, bench_side a, bench_side other, bench_pair *out,
                      bw_error *error);

/** The next word of a list with commas; false at its end, or where a word is empty or too long. */
#define BENCH_WORD_BYTES 32u
bool bench_next_word(const char **list, char word[BENCH_WORD_BYTES]);

/** Nanoseconds, monotonic. */
int64_t bench_now(void);
/** Error from errno. */
bw_status bench_failed(bw_error *error, const char *what);

/** parent/name into `path` (BENCH_PATH_MAX), made as a directory; it must be new. */
bw_status bench_make_dir(const char *parent, const char *name, char *path, bw_error *error);
/** Removes a directory and all that is in it. */
void bench_remove_dir(const char *path);

/* ---- the groups, in the order in which they run ---- */
bw_status bench_limits(bench *b, bw_error *error);
bw_status bench_decode(bench *b, bw_error *error);
bw_status bench_commit(bench *b, bw_error *error);
bw_status bench_history(bench *b, bw_error *error);
bw_status bench_manifest(bench *b, bw_error *error);
bw_status bench_next(bench *b, bw_error *error);
bw_status bench_states(bench *b, bw_error *error);
bw_status bench_verified(bench *b, bw_error *error);
bw_status bench_rivals(bench *b, bw_error *error);
bw_status bench_memory(bench *b, bw_error *error);
bw_status bench_restart(bench *b, bw_error *error);
/** Of the group restart. */
bw_status bench_restart_trips(bench *b, bw_error *error);
bw_status bench_objects(bench *b, bw_error *error);
bw_status bench_reads(bench *b, bw_error *error);
bw_status bench_polling(bench *b, bw_error *error);
bw_status bench_scaling(bench *b, bw_error *error);
bw_status bench_tail(bench *b, bw_error *error);
bw_status bench_latency(bench *b, bw_error *error);
bw_status bench_requests(bench *b, bw_error *error);
bw_status bench_lifecycle(bench *b, bw_error *error);

/** Cadences on a virtual clock: lines of their own, printed as they come. NULL lists: the usual. */
typedef struct bench_virtual {
    uint32_t minutes;                         /* of virtual time */
    const char *policies, *producers, *cases; /* with commas */
    bool json;
} bench_virtual;
bw_status bench_cadence_virtual(const bench_virtual *v, bw_error *error);

/** The same with real processes, on the file store with requests that take so long. */
typedef struct bench_real {
    uint32_t seconds, rounds;
    double read_ms, write_ms;  /* 0: as the disk does */
    const char *disk, *memory; /* own directories */
    const char *policies, *producers;
    bool json;
} bench_real;
bw_status bench_cadence_real(const bench_real *plan, bw_error *error);

#endif
