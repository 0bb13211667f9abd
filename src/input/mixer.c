// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/mixer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"

#include <inttypes.h>

struct mixer {
    mixer_options options;
    mixer_position at;
    record *records; /* of the window, in the order of the input */
    uint32_t *order;
    size_t record_capacity, order_capacity;
    uint32_t count;          /* of the window; 0: none is loaded */
    uint64_t window_skipped; /* bad ones that were passed over to load it */
    bool any;                /* this epoch had a record, or may have had one before this run */
    record *given;
    struct bw_error failure; /* code BW_OK while nothing failed */
};

bw_status mixer_open(const mixer_options *options, mixer_position from, mixer **out,
                     bw_error *error)
{
    if (options->window == 0 || options->window > MIXER_WINDOW_MAX || options->epochs == 0)
        return error_set(error, BW_INVALID,
                         "a window of %" PRIu32 " records or %" PRIu32 " epochs is not valid",
                         options->window, options->epochs);
    BW_TRY(options->from->seek(options->from, from.place, error));
    mixer *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory to shuffle");
    made->options = *options;
    made->at = from;
    made->any = from.place.file > 0 || from.place.at > 0 || from.place.index > 0;
    *out = made;
    return BW_OK;
}

static void drop_window(mixer *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        record_free(&m->records[i]);
    m->count = 0;
    m->given = NULL;
}

static bw_status reserve(mixer *m, bw_error *error)
{
    void *records = m->records, *order = m->order;
    const size_t need = (size_t)m->count + 1;
    const int grown = mem_grow(&records, &m->record_capacity, need, sizeof *m->records);
    m->records = records;
    if (grown != 0 || mem_grow(&order, &m->order_capacity, need, sizeof *m->order) != 0)
        return error_set(error, BW_NOMEM, "no memory for a window of %" PRIu32 " records",
                         m->options.window);
    m->order = order;
    return BW_OK;
}

/** A bad record: skipped and counted, or the end. */
static bw_status meet_bad(mixer *m, uint64_t *counter, bw_status status, bw_error *error)
{
    if (status != BW_INPUT_BAD || !m->options.skip_bad)
        return status;
    (*counter)++;
    if (m->options.on_bad != NULL)
        m->options.on_bad(m->options.context, error);
    return BW_OK;
}

/** Seeded by what names the window, so that it is the same whoever reads it, whenever. */
static void shuffle(mixer *m)
{
    const uint64_t labels[] = {m->at.epoch, m->at.place.file, m->at.place.at, m->at.place.index};
    rng r, next;
    rng_seed(&r, m->options.seed);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        rng_split(&r, labels[i], &next);
        r = next;
    }
    for (uint32_t i = 0; i < m->count; i++)
        m->order[i] = i;
    for (uint32_t i = m->count; m->options.window > 1 && i > 1; i--) {
        const uint32_t other = (uint32_t)rng_below(&r, i), kept = m->order[i - 1];
        m->order[i - 1] = m->order[other];
        m->order[other] = kept;
    }
}

/** Reads the window that begins where the reader stands. BW_END: there is none. */
static bw_status load_window(mixer *m, bw_error *error)
{
    reader *from = m->options.from;
    bw_status status = BW_OK;
    m->window_skipped = 0;
    m->at.place = from->place(from);
    while (m->count < m->options.window) {
        BW_TRY(reserve(m, error));
        record *r = &m->records[m->count];
        record_init(r, m->options.record_bytes_max);
        status = from->next(from, r, error);
        if (status == BW_OK) {
            m->count++;
            continue;
        }
        record_free(r);
        if (from->broken)
            break;
        status = meet_bad(m, &m->window_skipped, status, error);
        if (status != BW_OK)
            break;
    }
    if (status != BW_OK && status != BW_END)
        return status;
    m->any = m->any || m->count > 0;
    if (m->at.taken > m->count)
        return error_set(error, BW_INPUT_CHANGED,
                         "the input has %" PRIu32 " records where %" PRIu32
                         " were taken before: it changed",
                         m->count, m->at.taken);
    if (m->count == 0)
        return BW_END;
    shuffle(m);
    return BW_OK;
}

/** Behind the window: the next one begins where the reader stands. */
static void pass_window(mixer *m)
{
    const reader *from = m->options.from;
    m->at.skipped += m->window_skipped;
    m->window_skipped = 0;
    m->at.taken = 0;
    m->at.place = from->place(from);
    drop_window(m);
}

static bw_status next_epoch(mixer *m, bw_error *error)
{
    /* Of nothing, any number of epochs is nothing. */
    if (!m->any) {
        m->at.epoch = m->options.epochs;
        return BW_END;
    }
    pass_window(m);
    m->at.epoch++;
    m->any = false;
    BW_TRY(m->options.from->seek(m->options.from, (record_place){0}, error));
    m->at.place = m->options.from->place(m->options.from);
    return BW_OK;
}

/** The record that is due of the loaded window, filled; BW_OK without `*out` when it was bad. */
static bw_status give(mixer *m, const record **out, bw_error *error)
{
    reader *from = m->options.from;
    record *r = &m->records[m->order[m->at.taken]];
    *out = NULL;
    const bw_status status = from->fill != NULL ? from->fill(from, r, error) : BW_OK;
    if (status == BW_OK) {
        m->at.taken++;
        *out = m->given = r;
        return BW_OK;
    }
    record_free(r);
    BW_TRY(meet_bad(m, &m->at.skipped, status, error));
    m->at.taken++;
    return BW_OK;
}

static bw_status next_record(mixer *m, const record **out, bw_error *error)
{
    if (m->given != NULL)
        record_free(m->given); /* a window of large records gets smaller as it is given */
    m->given = NULL;
    while (m->at.epoch < m->options.epochs) {
        if (m->count > 0 && m->at.taken == m->count)
            pass_window(m);
        bw_status status = m->count > 0 ? BW_OK : load_window(m, error);
        if (status == BW_END) {
            status = next_epoch(m, error);
            if (status != BW_OK)
                return status;
            continue;
        }
        if (status != BW_OK) {
            drop_window(m);
            return status;
        }
        if (m->at.taken == m->count)
            continue;
        BW_TRY(give(m, out, error));
        if (*out != NULL)
            return BW_OK;
    }
    return BW_END;
}

/** The reader stands behind a bad record by now: only a new start may go on. */
bw_status mixer_next(mixer *m, const record **out, bw_error *error)
{
    if (m->failure.code == BW_OK) {
        const bw_status status = next_record(m, out, &m->failure);
        if (status == BW_OK || status == BW_END) {
            m->failure.code = BW_OK; /* of one that was skipped */
            return status;
        }
        m->failure.code = status;
    }
    error_copy(error, &m->failure);
    return m->failure.code;
}

mixer_position mixer_at(const mixer *m)
{
    if (m->count == 0 || m->at.taken < m->count)
        return m->at;
    /* As pass_window leaves it. */
    mixer_position behind = m->at;
    behind.skipped += m->window_skipped;
    behind.taken = 0;
    behind.place = m->options.from->place(m->options.from);
    return behind;
}

uint64_t mixer_skipped(const mixer *m)
{
    return m->at.skipped + m->window_skipped;
}

void mixer_close(mixer *m)
{
    if (m == NULL)
        return;
    drop_window(m);
    mem_free(m->records);
    mem_free(m->order);
    mem_free(m);
}
