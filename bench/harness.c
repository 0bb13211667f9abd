// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include "base/clock.h"
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool bench_next_word(const char **list, char word[BENCH_WORD_BYTES])
{
    const size_t size = strcspn(*list, ",");
    if (size == 0 || size >= BENCH_WORD_BYTES)
        return false;
    memcpy(word, *list, size);
    word[size] = '\0';
    *list += size + ((*list)[size] == ',');
    return true;
}

int64_t bench_now(void)
{
    return clock_now(clock_system());
}

bw_status bench_failed(bw_error *error, const char *what)
{
    char text[128];
    return error_set(error, BW_IO, "%s: %s", what, strerror_r(errno, text, sizeof text));
}

/* ---- samples ---- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_spread bench_spread_of(double *samples, size_t count)
{
    if (count == 0)
        return bench_exactly(NAN);
    qsort(samples, count, sizeof *samples, compare_doubles);
    const double middle =
        count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
    return (bench_spread){.median = middle, .min = samples[0], .max = samples[count - 1]};
}

bench_spread bench_exactly(double value)
{
    return (bench_spread){.median = value, .min = value, .max = value};
}

uint32_t bench_rounds(const bench *b, uint32_t times)
{
    const uint32_t rounds = b->quick ? 1 : b->rounds * times;
    return rounds < BENCH_ROUNDS_MAX ? rounds : BENCH_ROUNDS_MAX;
}

bw_status bench_alone(uint32_t rounds, bench_side side, bench_spread *out, bw_error *error)
{
    double samples[BENCH_ROUNDS_MAX];
    double unused;
    BW_TRY(side.run(side.context, &unused, error));
    for (uint32_t i = 0; i < rounds; i++)
        BW_TRY(side.run(side.context, &samples[i], error));
    *out = bench_spread_of(samples, rounds);
    return BW_OK;
}

bw_status bench_turns(uint32_t rounds, bench_side a, bench_side other, bench_pair *out,
                      bw_error *error)
{
    double of_a[2 * BENCH_ROUNDS_MAX];
    double of_b[2 * BENCH_ROUNDS_MAX];
    double ratios[BENCH_ROUNDS_MAX];
    double unused;
    BW_TRY(a.run(a.context, &unused, error));
    BW_TRY(other.run(other.context, &unused, error));
    for (uint32_t i = 0; i < rounds; i++) {
        double *x = &of_a[2 * i];
        double *y = &of_b[2 * i];
        BW_TRY(a.run(a.context, &x[0], error));
        BW_TRY(other.run(other.context, &y[0], error));
        BW_TRY(other.run(other.context, &y[1], error));
        BW_TRY(a.run(a.context, &x[1], error));
        ratios[i] = (x[0] + x[1]) / (y[0] + y[1]);
    }
    const size_t count = 2 * (size_t)rounds;
    out->a = bench_spread_of(of_a, count);
    out->b = bench_spread_of(of_b, count);
    out->ratio = bench_spread_of(ratios, rounds);
    return BW_OK;
}

/* ---- rows ---- */

bench_row *bench_add(bench *b, const char *name, const char *unit, bench_spread value)
{
    /* The table is as long as the program's own list of rows: full means a row too many was
     * written. */
    if (b->row_count == BENCH_ROWS_MAX)
        abort();
    bench_row *row = &b->rows[b->row_count++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->unit, sizeof row->unit, "%s", unit);
    row->value = value;
    return row;
}

void bench_limit(bench_row *row, bench_judge judge, double limit)
{
    row->judge = judge;
    row->limit = limit;
}

void bench_count_limit(bench_row *row, bench_judge judge, double limit)
{
    bench_limit(row, judge, limit);
    row->counted = true;
}

void bench_series(bench_row *row, const double *samples, size_t count)
{
    const size_t points = count < BENCH_SERIES_MAX ? count : BENCH_SERIES_MAX;
    for (size_t p = 0; p < points; p++) {
        row->series[p] = samples[p * count / points];
        for (size_t k = p * count / points; k < (p + 1) * count / points; k++)
            row->series[p] = fmax(row->series[p], samples[k]);
    }
    row->series_count = (uint32_t)points;
}

bool bench_row_judged(const bench_row *row)
{
    return row->judge != JUDGE_NONE;
}

bool bench_row_passes(const bench_row *row)
{
    switch (row->judge) {
    case JUDGE_VALUE_MAX:
        return row->value.median <= row->limit;
    case JUDGE_VALUE_MIN:
        return row->value.median >= row->limit;
    case JUDGE_RATIO_MAX:
        return row->ratio.median <= row->limit;
    case JUDGE_RATIO_MIN:
        return row->ratio.median >= row->limit;
    case JUDGE_NONE:
    default:
        return true;
    }
}

static const char *bound_text(bench_judge judge)
{
    return judge == JUDGE_VALUE_MAX || judge == JUDGE_RATIO_MAX ? "<=" : ">=";
}

static bool judges_ratio(bench_judge judge)
{
    return judge == JUDGE_RATIO_MAX || judge == JUDGE_RATIO_MIN;
}

static int digits_of(double value)
{
    const double size = fabs(value);
    return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
}

static void print_row(const bench_row *row)
{
    printf("%-34s %10.*f %-10s %9.*f – %-9.*f", row->name, digits_of(row->value.median),
           row->value.median, row->unit, digits_of(row->value.min), row->value.min,
           digits_of(row->value.max), row->value.max);
    char ratio[64] = "";
    if (row->has_ratio)
        snprintf(ratio, sizeof ratio, "%.3f (%.3f – %.3f)", row->ratio.median, row->ratio.min,
                 row->ratio.max);
    printf(" %-25s", ratio);
    if (bench_row_judged(row))
        printf(" %s %s %g %s", judges_ratio(row->judge) ? "ratio" : "value", bound_text(row->judge),
               row->limit, bench_row_passes(row) ? "kept" : "MISSED");
    putchar('\n');
}

static double greatest_of_series(const bench *b)
{
    double most = 0;
    for (uint32_t i = 0; i < b->row_count; i++)
        for (uint32_t p = 0; p < b->rows[i].series_count; p++)
            most = fmax(most, b->rows[i].series[p]);
    return most;
}

/** A line for each row that has a course, all on one scale, so that they compare. */
static void draw_series(const bench *b)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double most = greatest_of_series(b);
    if (most <= 0)
        return;
    printf("\nhow it went over the run, each column the greatest of its part; █ is %.*f\n",
           digits_of(most), most);
    for (uint32_t i = 0; i < b->row_count; i++) {
        const bench_row *row = &b->rows[i];
        if (row->series_count == 0)
            continue;
        printf("%-34s ", row->name);
        for (uint32_t p = 0; p < row->series_count; p++)
            fputs(bars[(int)ceil(row->series[p] / most * 8)], stdout);
        putchar('\n');
    }
}

void bench_print_text(const bench *b)
{
    printf("%-34s %10s %-10s %-21s   %-25s %s\n", "name", "value", "unit", "min – max",
           "ratio (min – max)", "limit");
    for (uint32_t i = 0; i < b->row_count; i++)
        print_row(&b->rows[i]);
    draw_series(b);
}

static json_t *number_or_null(bool present, double value)
{
    return present ? json_real(value) : json_null();
}

static json_t *series_json(const bench_row *row)
{
    if (row->series_count == 0)
        return json_null();
    json_t *points = json_array();
    for (uint32_t p = 0; p < row->series_count; p++)
        json_array_append_new(points, json_real(row->series[p]));
    return points;
}

static json_t *row_json(const bench_row *row)
{
    const bool judged = bench_row_judged(row);
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(row->name));
    json_object_set_new(json, "value", json_real(row->value.median));
    json_object_set_new(json, "unit", json_string(row->unit));
    json_object_set_new(json, "limit", number_or_null(judged, row->limit));
    json_object_set_new(json, "ratio", number_or_null(row->has_ratio, row->ratio.median));
    json_object_set_new(json, "judged",
                        judged ? json_string(judges_ratio(row->judge) ? "ratio" : "value")
                               : json_null());
    json_object_set_new(json, "bound", judged ? json_string(bound_text(row->judge)) : json_null());
    json_object_set_new(json, "kept", judged ? json_boolean(bench_row_passes(row)) : json_null());
    json_object_set_new(json, "value_min", json_real(row->value.min));
    json_object_set_new(json, "value_max", json_real(row->value.max));
    json_object_set_new(json, "ratio_min", number_or_null(row->has_ratio, row->ratio.min));
    json_object_set_new(json, "ratio_max", number_or_null(row->has_ratio, row->ratio.max));
    json_object_set_new(json, "series", series_json(row));
    return json;
}

void bench_print_json(const bench *b)
{
    for (uint32_t i = 0; i < b->row_count; i++) {
        json_t *row = row_json(&b->rows[i]);
        json_dumpf(row, stdout, JSON_REAL_PRECISION(6));
        json_decref(row);
        putchar('\n');
    }
}

/* ---- directories ---- */

bw_status bench_make_dir(const char *parent, const char *name, char *path, bw_error *error)
{
    const int size = snprintf(path, BENCH_PATH_MAX, "%s/%s", parent, name);
    if (size < 0 || (size_t)size >= BENCH_PATH_MAX)
        return error_set(error, BW_TOO_LARGE, "the path %s/%s is too long", parent, name);
    if (mkdir(path, 0700) != 0)
        return bench_failed(error, path);
    return BW_OK;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

void bench_remove_dir(const char *path)
{
    if (path[0] != '\0')
        nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}
