// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "recordsource.h"

#include "input/filelist.h"
#include "input/jsonlines.h"
#include "input/mixer.h"
#include "input/tarsamples.h"
#include "input/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What a sample has beyond its own bytes: names of fields, of its file. */
#define FIELDS_BYTES_MAX 16384u
/** Each bad record is told, but not a million of them. */
#define NOTICES_MAX 10u
/** An item is at most a slice. */
#define ITEM_BYTES_MAX ((uint64_t)UINT32_MAX - 65536)
#define COLUMNS_MAX 3u

struct recordsource {
    cli *c;
    resume_kind kind;
    uint32_t shard, shards;
    size_t batch, seq_len;
    documents files;
    reader *reader;
    mixer *mixer;
    bw_samples *samples;
    bw_tensors *tensors;
    uint8_t *columns[COLUMNS_MAX]; /* of tokens: batch × seq_len numbers each */
    size_t column_count;
    uint64_t notices;
    uint32_t cp; /* 1: items are whole */
    char layout[16];
    bw_tensors *whole;    /* the item that is being cut */
    source_item uncut;    /* its bytes and ids */
    uint32_t parts_given; /* of it; 0: none is being cut */
};

static const char *const column_names[COLUMNS_MAX] = {"tokens", "labels", "positions"};

static bool on_bad_is_skip(const cli *c)
{
    return strcmp(args_text(c, "on-bad"), "skip") == 0;
}

/** A .bin with an index beside it is most likely meant to be read by it. */
static bw_status check_token_files(recordsource *s)
{
    for (size_t i = 0; i < s->files.count && !args_given(s->c, "token-type"); i++) {
        const document *d = &s->files.list[i];
        const size_t size = strlen(d->path);
        if (size < 5 || strcmp(d->path + size - 4, ".bin") != 0)
            continue;
        char index[4096];
        snprintf(index, sizeof index, "%.*sidx", (int)(size - 3), d->path);
        FILE *file = fopen(index, "rb");
        if (file == NULL)
            continue;
        fclose(file);
        return cli_fail(s->c, BW_INVALID,
                        "input %s has an index beside it: give tokens:%s to read documents by it, "
                        "or --token-type to read plain numbers",
                        d->path, index);
    }
    return BW_OK;
}

static bw_status open_tokens(recordsource *s)
{
    cli *c = s->c;
    token_type type;
    if (!token_type_find(args_text(c, "token-type"), &type))
        return cli_fail(c, BW_INVALID, "--token-type %s: u16 or u32 is expected",
                        args_text(c, "token-type"));
    bw_status status = check_token_files(s);
    if (status == BW_OK)
        status =
            tokens_open(&s->files, s->shard, s->shards, s->seq_len, type, &s->reader, c->error);
    if (status != BW_OK)
        return status;
    s->column_count = tokens_indexed(s->reader) ? 3 : 2;
    const uint64_t bytes = (uint64_t)s->batch * s->seq_len * sizeof(int32_t);
    if (bytes > ITEM_BYTES_MAX / s->column_count)
        return cli_fail(c, BW_INVALID,
                        "--batch %zu sequences of %zu tokens are more than an item may hold",
                        s->batch, s->seq_len);
    s->tensors = bw_tensors_new(UINT32_MAX);
    for (size_t i = 0; i < s->column_count; i++)
        s->columns[i] = malloc((size_t)bytes);
    if (s->tensors == NULL || s->columns[s->column_count - 1] == NULL || s->columns[0] == NULL ||
        s->columns[1] == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory for items of %" PRIu64 " bytes", bytes);
    return BW_OK;
}

static bw_status check_stream(const recordsource *s)
{
    if (strcmp(s->files.list[0].path, "-") != 0)
        return BW_OK;
    if (s->kind == RESUME_TOKENS)
        return cli_fail(s->c, BW_INVALID, "tokens: cannot be read from standard input");
    return args_number(s->c, "epochs") == 1
               ? BW_OK
               : cli_fail(s->c, BW_INVALID, "standard input can be read once: not with --epochs");
}

bw_status recordsource_new(cli *c, resume_kind kind, const char *const *patterns, size_t count,
                           uint32_t shard, uint32_t shards, char fingerprint[FINGERPRINT_HEX_BYTES],
                           recordsource **out)
{
    if (!on_bad_is_skip(c) && strcmp(args_text(c, "on-bad"), "stop") != 0)
        return cli_fail(c, BW_INVALID, "--on-bad %s: stop or skip is expected",
                        args_text(c, "on-bad"));
    recordsource *s = calloc(1, sizeof *s);
    if (s == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    *out = s;
    s->c = c;
    s->kind = kind;
    s->shard = shard;
    s->shards = shards;
    s->batch = (size_t)args_number(c, "batch");
    s->seq_len = (size_t)args_number(c, "seq-len");
    s->cp = 1;
    bw_status status = filelist_expand(patterns, count, &s->files, c->error);
    if (status == BW_OK)
        status = check_stream(s);
    if (status == BW_OK && kind == RESUME_TOKENS)
        status = open_tokens(s);
    if (status != BW_OK)
        return status;
    const bool tokens = kind == RESUME_TOKENS;
    token_type type = TOKEN_U16;
    if (tokens)
        (void)token_type_find(args_text(c, "token-type"), &type);
    const uint64_t numbers[] = {args_number(c, "shuffle-window"), args_number(c, "seed"),
                                tokens ? s->seq_len : 0, tokens ? (uint64_t)type : 0};
    return resume_fingerprint_records(kind, &s->files, shard, shards, numbers, COUNT_OF(numbers),
                                      fingerprint, c->error);
}

bw_status recordsource_split(recordsource *s, uint32_t cp, const char *layout)
{
    const bool headtail = strcmp(layout, "headtail") == 0;
    if (!headtail && strcmp(layout, "contiguous") != 0)
        return cli_fail(s->c, BW_MESH_MISMATCH,
                        "tokens: sequences are cut for cp = %" PRIu32
                        " by a layout, and this namespace declares none (init --layout)",
                        cp);
    const uint64_t chunks = headtail ? 2 * (uint64_t)cp : cp;
    if (s->seq_len % chunks != 0)
        return cli_fail(s->c, BW_MESH_MISMATCH,
                        "--seq-len %zu cannot be cut for cp = %" PRIu32
                        " by layout %s: it must be a multiple of %" PRIu64,
                        s->seq_len, cp, layout, chunks);
    s->whole = bw_tensors_new(UINT32_MAX);
    if (s->whole == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    s->cp = cp;
    snprintf(s->layout, sizeof s->layout, "%s", layout);
    return BW_OK;
}

static void tell_bad(void *context, const bw_error *error)
{
    recordsource *s = context;
    s->notices++;
    if (s->notices <= NOTICES_MAX)
        cli_notice("%s: skipped: %s%s", args_text(s->c, "id"), bw_error_message(error),
                   s->notices == NOTICES_MAX ? " (more are only counted)" : "");
}

bw_status recordsource_begin(recordsource *s, const resume *from, source_tick tick, void *context)
{
    cli *c = s->c;
    const reader_options options = {.files = &s->files,
                                    .shard = s->shard,
                                    .shards = s->shards,
                                    .record_bytes_max = (uint32_t)args_number(c, "frame-max"),
                                    .tick = tick,
                                    .context = context};
    bw_status status = BW_OK;
    if (s->kind == RESUME_JSONL)
        status = jsonlines_open(&options, &s->reader, c->error);
    else if (s->kind == RESUME_TAR)
        status = tarsamples_open(&options, &s->reader, c->error);
    if (status != BW_OK)
        return status;
    if (s->kind != RESUME_TOKENS) {
        s->samples = bw_samples_new(UINT32_MAX);
        if (s->samples == NULL)
            return cli_fail(c, BW_NOMEM, "out of memory");
    }
    const mixer_options order = {.from = s->reader,
                                 /* The fields of a sequence are three numbers a token. */
                                 .record_bytes_max =
                                     FIELDS_BYTES_MAX + (s->kind == RESUME_TOKENS
                                                             ? s->seq_len * 3 * sizeof(int32_t)
                                                             : (size_t)options.record_bytes_max),
                                 .window = (uint32_t)args_number(c, "shuffle-window"),
                                 .seed = args_number(c, "seed"),
                                 .epochs = (uint32_t)args_number(c, "epochs"),
                                 .skip_bad = on_bad_is_skip(c),
                                 .on_bad = tell_bad,
                                 .context = s};
    const mixer_position position = {
        .epoch = from->epoch,
        .place = {.file = from->document, .at = from->at, .index = from->index},
        .taken = from->taken,
        .skipped = from->skipped};
    return mixer_open(&order, position, &s->mixer, c->error);
}

static bw_status add_id(recordsource *s, source_item *item, const record *r)
{
    item->ids[item->id_count] = strdup(r->id);
    if (item->ids[item->id_count] == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    item->id_count++;
    return BW_OK;
}

static bw_status add_sample(recordsource *s, const record *r)
{
    bw_status status = bw_samples_begin(s->samples, s->c->error);
    for (size_t i = 0; status == BW_OK && i < r->field_count; i++) {
        const record_field *f = &r->fields[i];
        char key[8192];
        if (f->key_bytes >= sizeof key)
            return cli_fail(s->c, BW_BUG, "a field of %zu bytes of name", f->key_bytes);
        memcpy(key, r->data.data + f->key_at, f->key_bytes);
        key[f->key_bytes] = '\0';
        status = bw_samples_field(s->samples, key, r->data.data + f->value_at, f->value_bytes,
                                  s->c->error);
    }
    return status;
}

static bw_status add_row(recordsource *s, const record *r, size_t row)
{
    const size_t bytes = s->seq_len * sizeof(int32_t);
    for (size_t i = 0; i < COLUMNS_MAX && i < s->column_count; i++) {
        const record_field *f = record_find(r, column_names[i], strlen(column_names[i]));
        if (f == NULL || f->value_bytes != bytes)
            return cli_fail(s->c, BW_BUG, "a sequence without %s", column_names[i]);
        memcpy(s->columns[i] + row * bytes, r->data.data + f->value_at, bytes);
    }
    return BW_OK;
}

/** Items of tokens are all of one shape: what the last one lacks is ignored by its labels. */
static void fill_rows(recordsource *s, size_t rows)
{
    const size_t from = rows * s->seq_len, to = s->batch * s->seq_len;
    const uint32_t ignored = (uint32_t)TOKENS_IGNORED;
    for (size_t i = 0; i < s->column_count; i++)
        for (size_t k = from; k < to; k++)
            for (unsigned b = 0; b < sizeof(int32_t); b++)
                s->columns[i][k * sizeof(int32_t) + b] = i == 1 ? (uint8_t)(ignored >> 8 * b) : 0;
}

static bw_status view_tokens(recordsource *s, size_t rows, const void **bytes, size_t *size)
{
    const uint64_t shape[] = {s->batch, s->seq_len};
    bw_error *error = s->c->error;
    bw_status status = BW_OK;
    fill_rows(s, rows);
    bw_tensors_reset(s->tensors);
    for (size_t i = 0; i < COLUMNS_MAX && i < s->column_count && status == BW_OK; i++) {
        char key[64];
        snprintf(key, sizeof key, "batchweave.axis.%s", column_names[i]);
        status = bw_tensors_add(s->tensors, column_names[i], "I32", shape, 2, s->columns[i],
                                s->batch * s->seq_len * sizeof(int32_t), error);
        if (status == BW_OK)
            status = bw_tensors_note(s->tensors, key, "1", error);
    }
    return status == BW_OK ? bw_tensors_view(s->tensors, bytes, size, error) : status;
}

/** The records that were added become the item's bytes. */
static bw_status close_item(recordsource *s, source_item *item)
{
    const void *bytes;
    bw_status status = s->kind == RESUME_TOKENS
                           ? view_tokens(s, item->id_count, &bytes, &item->size)
                           : bw_samples_view(s->samples, &bytes, &item->size);
    if (status != BW_OK)
        return cli_fail(s->c, status, "an item of %zu records cannot be made: %s", item->id_count,
                        bw_status_text(status));
    item->bytes = malloc(item->size);
    if (item->bytes == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    item->release = free;
    memcpy(item->bytes, bytes, item->size);
    return BW_OK;
}

static bw_status fill_item(recordsource *s, source_item *item)
{
    while (item->id_count < s->batch) {
        const record *r;
        bw_status status = mixer_next(s->mixer, &r, s->c->error);
        if (status == BW_OK)
            status = s->kind == RESUME_TOKENS ? add_row(s, r, item->id_count) : add_sample(s, r);
        if (status == BW_OK)
            status = add_id(s, item, r);
        if (status != BW_OK)
            return status;
        item->tokens += r->tokens;
    }
    return BW_OK;
}

static void set_position(const recordsource *s, resume *at)
{
    const mixer_position position = mixer_at(s->mixer);
    at->epoch = position.epoch;
    at->document = position.place.file;
    at->at = position.place.at;
    at->index = position.place.index;
    at->taken = position.taken;
    at->skipped = position.skipped;
}

static bw_status next_whole(recordsource *s, source_item *item, resume *at)
{
    item->ids = calloc(s->batch, sizeof *item->ids);
    if (item->ids == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    if (s->samples != NULL)
        bw_samples_reset(s->samples);
    bw_status status = fill_item(s, item);
    /* What was read before the end, or before what is damaged, is an item; the mixer says the
     * same again. */
    const bool ended = status == BW_END || status == BW_INPUT_BAD || status == BW_INPUT_CHANGED;
    if (ended && item->id_count > 0)
        status = BW_OK;
    if (status == BW_OK)
        status = close_item(s, item);
    set_position(s, at);
    return status;
}

static bw_status copy_ids(recordsource *s, source_item *item)
{
    item->ids = calloc(s->uncut.id_count, sizeof *item->ids);
    if (item->ids == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    for (size_t i = 0; i < s->uncut.id_count; i++) {
        item->ids[i] = strdup(s->uncut.ids[i]);
        if (item->ids[i] == NULL)
            return cli_fail(s->c, BW_NOMEM, "out of memory");
        item->id_count++;
    }
    return BW_OK;
}

/** The next position's part. Slots are filled in the order of the positions, so the parts of an
 * item are one row of slices; the first of them counts its tokens. */
static bw_status next_part(recordsource *s, source_item *item)
{
    const void *whole = s->uncut.bytes, *bytes;
    bw_status status = bw_tensors_remap(s->whole, s->layout, &whole, &s->uncut.size, 1, s->cp,
                                        s->parts_given, &bytes, &item->size, s->c->error);
    if (status == BW_OK)
        status = copy_ids(s, item);
    if (status != BW_OK)
        return status;
    item->bytes = malloc(item->size);
    if (item->bytes == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    item->release = free;
    memcpy(item->bytes, bytes, item->size);
    item->tokens = s->parts_given == 0 ? s->uncut.tokens : 0;
    s->parts_given = (s->parts_given + 1) % s->cp;
    return BW_OK;
}

bw_status recordsource_next(recordsource *s, source_item *item, resume *at)
{
    if (s->cp == 1)
        return next_whole(s, item, at);
    if (s->parts_given == 0) {
        source_item_free(&s->uncut);
        const bw_status status = next_whole(s, &s->uncut, at);
        if (status != BW_OK)
            return status;
    }
    return next_part(s, item);
}

bool recordsource_extent(const recordsource *s, const resume *at, double *done, double *all)
{
    const double epochs = (double)args_number(s->c, "epochs");
    if (s->kind == RESUME_TOKENS) {
        const double each = (double)tokens_sequences(s->reader) / s->shards;
        *all = each * epochs;
        *done = each * at->epoch + (double)at->index + at->taken;
        return true;
    }
    const bool whole = s->kind == RESUME_TAR; /* files are one shard's or another's */
    const double each =
        documents_bytes(&s->files, s->files.count, whole ? s->shard : 0, whole ? s->shards : 1);
    *all = each * epochs;
    *done = each * at->epoch + (double)at->at +
            documents_bytes(&s->files, at->document, whole ? s->shard : 0, whole ? s->shards : 1);
    return strcmp(s->files.list[0].path, "-") != 0;
}

uint64_t recordsource_bytes(const recordsource *s)
{
    return s->reader != NULL ? s->reader->bytes(s->reader) : 0;
}

uint64_t recordsource_skipped(const recordsource *s)
{
    return s->mixer != NULL ? mixer_skipped(s->mixer) : 0;
}

void recordsource_free(recordsource *s)
{
    if (s == NULL)
        return;
    mixer_close(s->mixer);
    if (s->reader != NULL)
        s->reader->close(s->reader);
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        free(s->columns[i]);
    bw_samples_free(s->samples);
    bw_tensors_free(s->tensors);
    bw_tensors_free(s->whole);
    source_item_free(&s->uncut);
    documents_free(&s->files);
    free(s);
}
