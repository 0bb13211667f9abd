// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Lines of JSON. The first bytes: shards, shard, the longest line; the rest is the file. A second
 * splitting of it, written here, must agree, and so must another reader of JSON on what is JSON. */
#include "input/jsonlines.h"
#include "memfile.h"

#include <jansson.h>

#define HEAD 3u
#define FIELDS_BYTES 1024u

typedef struct expected {
    const uint8_t *begin, *at, *end;
    uint64_t index;
} expected;

static bool is_blank(view line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
            return false;
    return true;
}

/** The next line of the shard that is not blank, or is too long to be looked at. */
static bool expect_line(expected *e, const reader_options *o, view *line)
{
    if (e->at == e->begin && e->end - e->at >= 3 && memcmp(e->at, "\xef\xbb\xbf", 3) == 0)
        e->at += 3;
    while (e->at < e->end) {
        const uint8_t *stop = memchr(e->at, '\n', (size_t)(e->end - e->at));
        *line = view_of(e->at, (size_t)((stop != NULL ? stop : e->end) - e->at));
        if (line->size > 0 && line->data[line->size - 1] == '\r')
            line->size--;
        e->at = stop != NULL ? stop + 1 : e->end;
        if (e->index++ % o->shards == o->shard &&
            (line->size > o->record_bytes_max || !is_blank(*line)))
            return true;
    }
    return false;
}

/** As deep as we read; brackets within strings make it larger, which is no harm. */
static bool is_deep(view line)
{
    size_t open = 0;
    for (size_t i = 0; i < line.size; i++)
        open += line.data[i] == '[' || line.data[i] == '{';
    return open > 512;
}

/** The other reader knows no numbers beyond its own, none of this depth, and stops at a NUL. */
static void check_verdict(view line, bool good, uint32_t max)
{
    json_error_t error;
    json_t *value =
        json_loadb((const char *)line.data, line.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (line.size > max || memchr(line.data, 0, line.size) != NULL)
        PROMISE(!good);
    else if (value != NULL)
        PROMISE(good || is_deep(line));
    else
        PROMISE(!good || json_error_code(&error) == json_error_numeric_overflow ||
                json_error_code(&error) == json_error_stack_overflow);
    json_decref(value);
}

static void read_one_by_one(reader *r, const reader_options *o, view bytes, unsigned chosen)
{
    expected e = {bytes.data, bytes.data, bytes.data + bytes.size, 0};
    view line;
    for (unsigned i = 0; expect_line(&e, o, &line); i++) {
        const record_place before = r->place(r);
        record out;
        bw_error error = {.code = BW_OK};
        record_init(&out, o->record_bytes_max + FIELDS_BYTES);
        const bw_status status = r->next(r, &out, &error);
        PROMISE(status == BW_OK || status == BW_INPUT_BAD);
        check_verdict(line, status == BW_OK, o->record_bytes_max);
        if (status == BW_OK) {
            const record_field *f = record_find(&out, "json", 4);
            PROMISE(view_equal(view_of(out.data.data + f->value_at, f->value_bytes), line));
            if (i % 8 == chosen % 8)
                check_place(r, before, &out, r->place(r), o->record_bytes_max + FIELDS_BYTES);
        } else {
            check_told(status, &error);
        }
        record_free(&out);
    }
    record out;
    record_init(&out, FIELDS_BYTES);
    PROMISE(r->next(r, &out, NULL) == BW_END);
    record_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const view bytes = view_of(data + HEAD, size - HEAD);
    if (looks_compressed(bytes))
        return 0;
    char path[64];
    memfile_set(bytes, path);
    document d = {.path = path, .name = path, .size = bytes.size};
    const documents files = {.list = &d, .count = 1};
    reader_options o = {
        .files = &files, .shards = 1 + data[0] % 4u, .record_bytes_max = data[2] * 16u};
    o.shard = data[1] % o.shards;
    reader *r = NULL;
    PROMISE(jsonlines_open(&o, &r, NULL) == BW_OK);
    read_one_by_one(r, &o, bytes, data[1] / 4u);
    r->close(r);
    return 0;
}
