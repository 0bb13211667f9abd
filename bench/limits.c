// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What the machine can do at all, so that every figure is also a fraction of a limit. */
#include "bench.h"
#include "floor.h"

#include "base/alloc.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Larger than the caches of a core, so that memcpy is memory and not cache. */
#define COPY_BYTES (64u << 20)
#define PIECE_BYTES (1u << 20)
/* About what a manifest of a few producers with half a tail takes. */
#define PUBLISH_BYTES 4096u

typedef struct limits {
    const bench *bench;
    uint8_t *from, *to;
    size_t copy_bytes;
    int file;
    uint64_t appended;
    floor_dir floor;
} limits;

/** The median over all pieces: most of them are shorter than a time slice, and so not cut by
 * others. */
static bw_status run_pieces(limits *l, bool (*piece)(limits *l, size_t at), double *gb_per_s,
                            bw_error *error)
{
    double samples[COPY_BYTES / PIECE_BYTES];
    const size_t count = l->copy_bytes / PIECE_BYTES;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = bench_now();
        if (!piece(l, i * PIECE_BYTES))
            return bench_failed(error, "pread");
        samples[i] = (double)PIECE_BYTES / (double)(bench_now() - start);
    }
    *gb_per_s = bench_spread_of(samples, count).median;
    return BW_OK;
}

static bool copy_piece(limits *l, size_t at)
{
    memcpy(l->to + at, l->from + at, PIECE_BYTES);
    /* The copy is observable, so it cannot be left out. */
    __asm__ volatile("" : : "r"(l->to) : "memory");
    return true;
}

static bool read_piece(limits *l, size_t at)
{
    return pread(l->file, l->to + at, PIECE_BYTES, (off_t)at) == (ssize_t)PIECE_BYTES;
}

static bw_status run_memcpy(void *context, double *gb_per_s, bw_error *error)
{
    return run_pieces(context, copy_piece, gb_per_s, error);
}

static bw_status run_pread(void *context, double *gb_per_s, bw_error *error)
{
    return run_pieces(context, read_piece, gb_per_s, error);
}

static bw_status run_fdatasync(void *context, double *us, bw_error *error)
{
    limits *l = context;
    const uint64_t count = bench_budget(l->bench, 10, 2);
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < count; i++)
        if (write(l->file, l->from, 4096) != 4096 || fdatasync(l->file) != 0)
            return bench_failed(error, "append and fdatasync");
    *us = (double)(bench_now() - start) / 1e3 / (double)count;
    return BW_OK;
}

static bw_status run_publish(void *context, double *us, bw_error *error)
{
    limits *l = context;
    const uint64_t count = bench_budget(l->bench, l->floor.durable ? 10 : 100, 2);
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < count; i++)
        BW_TRY(floor_publish(&l->floor, l->from, PUBLISH_BYTES, error));
    *us = (double)(bench_now() - start) / 1e3 / (double)count;
    return BW_OK;
}

static bw_status add_limit(bench *b, limits *l, const char *name, const char *unit,
                           bw_status (*run)(void *, double *, bw_error *), bw_error *error)
{
    bench_spread spread;
    BW_TRY(bench_alone(bench_rounds(b, 3), (bench_side){run, l}, &spread, error));
    bench_add(b, name, unit, spread);
    return BW_OK;
}

static bw_status add_publish(bench *b, limits *l, const char *name, const char *parent,
                             const char *folder, bool durable, bw_error *error)
{
    BW_TRY(floor_open(parent, folder, durable, &l->floor, error));
    const bw_status status = add_limit(b, l, name, "us", run_publish, error);
    floor_close(&l->floor);
    return status;
}

static bw_status open_file(limits *l, const char *parent, bw_error *error)
{
    char path[BENCH_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/limits", parent);
    l->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (l->file < 0)
        return bench_failed(error, path);
    for (size_t i = 0; i < l->copy_bytes; i += PIECE_BYTES)
        if (write(l->file, l->from + i, PIECE_BYTES) != (ssize_t)PIECE_BYTES)
            return bench_failed(error, path);
    return fdatasync(l->file) == 0 ? BW_OK : bench_failed(error, path);
}

static bw_status all_limits(bench *b, limits *l, bw_error *error)
{
    BW_TRY(add_limit(b, l, "limit.memcpy", "GB/s", run_memcpy, error));
    BW_TRY(open_file(l, b->disk, error));
    BW_TRY(add_limit(b, l, "limit.pread", "GB/s", run_pread, error));
    BW_TRY(add_limit(b, l, "limit.append_fdatasync", "us", run_fdatasync, error));
    BW_TRY(add_publish(b, l, "limit.publish.durable", b->disk, "limit-durable", true, error));
    BW_TRY(add_publish(b, l, "limit.publish.disk", b->disk, "limit-plain", false, error));
    return add_publish(b, l, "limit.publish.memory", b->memory, "limit-plain", false, error);
}

bw_status bench_limits(bench *b, bw_error *error)
{
    limits l = {.bench = b, .file = -1, .copy_bytes = bench_budget(b, COPY_BYTES, PIECE_BYTES)};
    l.from = mem_alloc(l.copy_bytes);
    l.to = mem_alloc(l.copy_bytes);
    bw_status status = BW_NOMEM;
    if (l.from == NULL || l.to == NULL) {
        error_set(error, BW_NOMEM, "no memory for %zu bytes", 2 * l.copy_bytes);
        goto done;
    }
    memset(l.from, 0x5a, l.copy_bytes);
    memset(l.to, 0, l.copy_bytes);
    status = all_limits(b, &l, error);
done:
    if (l.file >= 0)
        close(l.file);
    mem_free(l.from);
    mem_free(l.to);
    return status;
}
