// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/jsonlines.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/jsontext.h"
#include "input/filereader.h"

#include <inttypes.h>
#include <string.h>

#define MARK "\xef\xbb\xbf"
#define MARK_BYTES 3u
/** Passing over lines of a file never waits, but may take long. */
#define TICK_LINES 65536u

typedef struct jsonlines {
    reader base;
    filereader from;
    uint64_t index; /* of the next line, over all files */
    buf line;
} jsonlines;

static bw_status seek(reader *r, record_place to, bw_error *error)
{
    jsonlines *j = (jsonlines *)r;
    (void)error;
    filereader_go(&j->from, to.file, to.at);
    j->index = to.index;
    return BW_OK;
}

static record_place place(const reader *r)
{
    const jsonlines *j = (const jsonlines *)r;
    return (record_place){.file = j->from.file, .at = filereader_at(&j->from), .index = j->index};
}

static uint64_t bytes(const reader *r)
{
    return filereader_bytes(&((const jsonlines *)r)->from);
}

static void close_lines(reader *r)
{
    jsonlines *j = (jsonlines *)r;
    filereader_go(&j->from, 0, 0);
    buf_free(&j->line);
    mem_free(j);
}

static bw_status pass_mark(jsonlines *j, bw_error *error)
{
    const uint8_t *first;
    uint64_t passed;
    size_t got;
    BW_TRY(bytestream_peek(&j->from.bytes, MARK_BYTES, &first, &got, error));
    if (got == MARK_BYTES && memcmp(first, MARK, MARK_BYTES) == 0)
        BW_TRY(bytestream_skip(&j->from.bytes, MARK_BYTES, &passed, error));
    return BW_OK;
}

/** A line of this shard into `line`, of another passed over. BW_END at the end of the file. */
static bw_status take_line(jsonlines *j, bool mine, uint64_t *taken, bw_error *error)
{
    /* One byte more than a record may have, and the two of the line's end. */
    const size_t max = (size_t)j->from.options.record_bytes_max + 3;
    bool found;
    buf_reset(&j->line);
    BW_TRY(bytestream_until(&j->from.bytes, '\n', mine ? &j->line : NULL, mine ? max : 0, taken,
                            &found, error));
    if (*taken == 0)
        return BW_END;
    j->index++;
    if (mine && found && *taken <= max)
        j->line.size--;
    if (mine && *taken <= max && j->line.size > 0 && j->line.data[j->line.size - 1] == '\r')
        j->line.size--;
    return BW_OK;
}

static bool is_blank(const buf *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (line->data[i] != ' ' && line->data[i] != '\t' && line->data[i] != '\r')
            return false;
    return true;
}

static bw_status check_line(const jsonlines *j, uint64_t at, uint64_t taken, bw_error *error)
{
    const document *doc = filereader_document(&j->from);
    const uint32_t max = j->from.options.record_bytes_max;
    if (j->line.size > max)
        return record_fail(error, BW_INPUT_BAD, doc, at,
                           "a line of %" PRIu64 " bytes, at most %" PRIu32 " are allowed", taken,
                           max);
    jsontext t;
    jsontext_open(&t, j->line.data, j->line.size);
    if (jsontext_value(&t) && jsontext_done(&t))
        return BW_OK;
    return record_fail(error, BW_INPUT_BAD, doc, at + (uint64_t)(t.at - t.begin),
                       "%s (the line begins at byte %" PRIu64 ")", t.bad, at);
}

static bw_status make_record(const jsonlines *j, uint64_t at, record *out, bw_error *error)
{
    const document *doc = filereader_document(&j->from);
    uint8_t number[8];
    for (unsigned i = 0; i < 8; i++)
        number[i] = (uint8_t)(at >> 8 * i);
    bw_status status = record_add_field(out, "json", j->line.data, j->line.size);
    if (status == BW_OK)
        status = record_add_field(out, "doc", doc->name, strlen(doc->name));
    if (status == BW_OK)
        status = record_add_field(out, "at", number, sizeof number);
    if (status == BW_OK)
        status = record_set_id(out, "%s@%" PRIu64, doc->name, at);
    return status == BW_OK ? BW_OK : error_set(error, status, "no memory for a line");
}

/** One line; `*given`: it became a record. BW_END at the end of the file. */
static bw_status next_line(jsonlines *j, record *out, bool *given, bw_error *error)
{
    const reader_options *o = &j->from.options;
    BW_TRY(filereader_open(&j->from, error));
    if (filereader_at(&j->from) == 0)
        BW_TRY(pass_mark(j, error));
    const uint64_t at = filereader_at(&j->from);
    const bool mine = j->index % o->shards == o->shard;
    uint64_t taken;
    BW_TRY(take_line(j, mine, &taken, error));
    if (j->index % TICK_LINES == 0 && o->tick != NULL && o->tick(o->context) != 0)
        return error_set(error, BW_INTERRUPTED, "interrupted while reading lines");
    /* Of a line that is too long only the head is here, which may be blank. */
    *given = mine && (j->line.size > o->record_bytes_max || !is_blank(&j->line));
    if (!*given)
        return BW_OK;
    BW_TRY(check_line(j, at, taken, error));
    return make_record(j, at, out, error);
}

static bw_status next_record(jsonlines *j, record *out, bw_error *error)
{
    while (j->from.file < j->from.options.files->count) {
        bool given = false;
        const bw_status status = next_line(j, out, &given, error);
        if (status == BW_END)
            filereader_go(&j->from, j->from.file + 1, 0);
        else if (status != BW_OK || given)
            return status;
    }
    return BW_END;
}

static bw_status next(reader *r, record *out, bw_error *error)
{
    jsonlines *j = (jsonlines *)r;
    const bw_status status = next_record(j, out, error);
    r->broken = filereader_broken(&j->from);
    return status;
}

bw_status jsonlines_open(const reader_options *options, reader **out, bw_error *error)
{
    jsonlines *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory to read lines");
    made->base =
        (reader){.seek = seek, .next = next, .place = place, .bytes = bytes, .close = close_lines};
    made->from.options = *options;
    buf_init(&made->line, (size_t)options->record_bytes_max + 4);
    *out = &made->base;
    return BW_OK;
}
