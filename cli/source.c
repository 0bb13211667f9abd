// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include "recordsource.h"

#include "input/childproc.h"
#include "input/framestream.h"
#include "input/textpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PARQUET_PREFIX "parquet:"
/** How long a child whose stream broke may take to tell, by its status, that it failed. */
#define CHILD_END_TICKS 100

struct source {
    cli *c;
    resume at; /* kind and fingerprint of this input; the position behind the last item */
    uint32_t shard, shards;
    size_t seq_len;
    uint32_t frame_bytes_max;
    const char **paths; /* operands without their prefix */
    size_t path_count;
    const char *command;
    documents docs;
    textpack *text;
    bw_samples *writer;
    framestream *frames;
    recordsource *records;
    childproc child;
    source_tick tick;
    void *context;
};

/** The word before the colon; in the order of resume_kind. */
static const char *const names[RESUME_KINDS] = {"text",  "frames", "--exec",
                                                "jsonl", "tar",    "tokens"};

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/** What follows the name of the kind and its colon, or NULL. */
static const char *behind_name(const char *operand, resume_kind kind)
{
    const size_t size = strlen(names[kind]);
    return strncmp(operand, names[kind], size) == 0 && operand[size] == ':' &&
                   operand[size + 1] != '\0'
               ? operand + size + 1
               : NULL;
}

static bool find_kind(const char *operand, resume_kind *kind)
{
    for (unsigned i = 0; i < RESUME_KINDS; i++)
        if (i != RESUME_EXEC && behind_name(operand, (resume_kind)i) != NULL) {
            *kind = (resume_kind)i;
            return true;
        }
    return false;
}

static bw_status bad_operand(cli *c, const char *operand)
{
    if (has_prefix(operand, PARQUET_PREFIX))
        return cli_fail(c, BW_UNSUPPORTED,
                        "input %s: parquet is left to Python: a program with pyarrow reads it and "
                        "--exec takes its frames (docs/guide.md has one)",
                        operand);
    return cli_fail(c, BW_INVALID,
                    "input %s: text:PATH, frames:FILE, jsonl:FILE, tar:FILE or tokens:FILE "
                    "expected, all of one kind",
                    operand);
}

/** All operands behind the URL must be of one kind. */
static bw_status take_operands(source *s)
{
    cli *c = s->c;
    s->command = args_text(c, "exec");
    if (s->command != NULL) {
        s->at.kind = RESUME_EXEC;
        return c->operand_count == 1
                   ? BW_OK
                   : cli_fail(c, BW_INVALID, "--exec and INPUT exclude each other");
    }
    if (c->operand_count < 2)
        return cli_fail(c, BW_INVALID,
                        "no input: give text:PATH …, frames:FILE …, jsonl:FILE …, tar:FILE …, "
                        "tokens:FILE … or --exec CMD");
    if (!find_kind(c->operands[1], &s->at.kind))
        return bad_operand(c, c->operands[1]);
    s->paths = calloc(c->operand_count, sizeof *s->paths);
    if (s->paths == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    size_t pipes = 0;
    for (size_t i = 1; i < c->operand_count; i++) {
        const char *path = behind_name(c->operands[i], s->at.kind);
        if (path == NULL)
            return bad_operand(c, c->operands[i]);
        s->paths[s->path_count++] = path;
        pipes += s->at.kind == RESUME_FRAMES && strcmp(path, "-") == 0;
    }
    return pipes <= 1 ? BW_OK : cli_fail(c, BW_INVALID, "frames:- is given twice");
}

/** Options that would be passed over in silence. */
static bw_status check_options(const source *s)
{
    static const char *const of_records[] = {"batch", "shuffle-window", "seed", "epochs", "on-bad"};
    cli *c = s->c;
    for (size_t i = 0; i < COUNT_OF(of_records); i++)
        if (s->at.kind < RESUME_JSONL && args_given(c, of_records[i]))
            return cli_fail(c, BW_INVALID, "--%s is for jsonl:, tar: and tokens:", of_records[i]);
    if (s->at.kind != RESUME_TOKENS && args_given(c, "token-type"))
        return cli_fail(c, BW_INVALID, "--token-type is for tokens:");
    return BW_OK;
}

static bw_status fingerprint(source *s)
{
    char *out = s->at.fingerprint;
    bw_error *error = s->c->error;
    if (s->at.kind == RESUME_EXEC)
        return resume_fingerprint_exec(s->command, s->shard, s->shards, out, error);
    if (s->at.kind == RESUME_FRAMES)
        return resume_fingerprint_frames(s->paths, s->path_count, s->shard, s->shards, out, error);
    if (s->at.kind >= RESUME_JSONL)
        return recordsource_new(s->c, s->at.kind, s->paths, s->path_count, s->shard, s->shards, out,
                                &s->records);
    const bw_status status = documents_list(s->paths, s->path_count, &s->docs, error);
    return status != BW_OK
               ? status
               : resume_fingerprint_text(&s->docs, s->shard, s->shards, s->seq_len, out, error);
}

bw_status source_new(cli *c, source **out)
{
    source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    s->c = c;
    s->child.out = -1;
    s->shard = (uint32_t)args_get(c, "shard")->number;
    s->shards = (uint32_t)args_get(c, "shard")->second;
    s->seq_len = (size_t)args_number(c, "seq-len");
    s->frame_bytes_max = (uint32_t)args_number(c, "frame-max");
    bw_status status = take_operands(s);
    if (status == BW_OK)
        status = check_options(s);
    if (status == BW_OK)
        status = fingerprint(s);
    if (status != BW_OK) {
        source_free(s);
        return status;
    }
    *out = s;
    return BW_OK;
}

const char *source_kind(const source *s)
{
    static const char *const kinds[RESUME_KINDS] = {"samples", "raw",     "raw",
                                                    "samples", "samples", "safetensors"};
    return kinds[s->at.kind];
}

bw_status source_split(source *s, uint32_t cp, const char *layout)
{
    if (s->at.kind == RESUME_FRAMES || s->at.kind == RESUME_EXEC)
        return BW_OK;
    if (s->at.kind == RESUME_TOKENS)
        return recordsource_split(s->records, cp, layout);
    return cli_fail(s->c, BW_MESH_MISMATCH,
                    "%s: is for cp = 1, this namespace has cp = %" PRIu32
                    "; use tokens:, frames: or --exec",
                    names[s->at.kind], cp);
}

uint64_t source_skipped(const source *s)
{
    return s->records != NULL ? recordsource_skipped(s->records) : 0;
}

static bool is_same(const source *s, const resume *before)
{
    return before->kind == s->at.kind && strcmp(before->fingerprint, s->at.fingerprint) == 0;
}

bool source_differs(const source *s, const char *state_digits)
{
    resume before;
    return resume_decode_hex(state_digits, &before, NULL) != BW_OK || !is_same(s, &before);
}

/* Where this input stands: its beginning for a new one, else what the state says. */
bw_status source_resume(source *s, uint64_t offset, const void *bytes, size_t size, bool new_input)
{
    resume before = {0};
    const bw_status status =
        size > 0 ? resume_decode(bytes, size, &before, s->c->error) : BW_INPUT_CHANGED;
    if (offset == 0 && size == 0)
        return BW_OK;
    if (status == BW_OK && before.base <= offset && is_same(s, &before)) {
        s->at = before;
        return BW_OK;
    }
    s->at.base = offset;
    if (new_input)
        return BW_OK;
    return cli_fail(
        s->c, BW_INPUT_CHANGED,
        "producer %s stands at offset %" PRIu64
        " of another input (other files, sizes, shard, order, sequence length or command); "
        "--new-input takes this one behind it",
        args_text(s->c, "id"), offset);
}

static bw_status begin_text(source *s)
{
    s->writer = bw_samples_new(UINT32_MAX);
    if (s->writer == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    const text_position from = {.document = s->at.document, .at = s->at.at};
    return textpack_open(&s->docs, s->shard, s->shards, s->seq_len, from, &s->text, s->c->error);
}

static bw_status begin_frames(source *s, uint64_t offset)
{
    const bool exec = s->at.kind == RESUME_EXEC;
    if (exec) {
        const bw_status started =
            childproc_start(&s->child, s->command, offset, s->shard, s->shards, s->c->error);
        if (started != BW_OK)
            return started;
    }
    /* A child's stream is all of this shard, and starts at the offset. */
    const framestream_options options = {.paths = s->paths,
                                         .count = s->path_count,
                                         .fd = s->child.out,
                                         .name = "--exec",
                                         .shard = exec ? 0 : s->shard,
                                         .shards = exec ? 1 : s->shards,
                                         .frame_bytes_max = s->frame_bytes_max,
                                         .tick = s->tick,
                                         .context = s->context};
    const bw_status status = framestream_open(&options, &s->frames, s->c->error);
    if (status != BW_OK || exec)
        return status;
    return framestream_skip(s->frames, offset - s->at.base, s->c->error);
}

bw_status source_begin(source *s, uint64_t offset, source_tick tick, void *context)
{
    s->tick = tick;
    s->context = context;
    if (s->records != NULL)
        return recordsource_begin(s->records, &s->at, tick, context);
    return s->at.kind == RESUME_TEXT ? begin_text(s) : begin_frames(s, offset);
}

uint64_t source_bytes(const source *s)
{
    if (s->records != NULL)
        return recordsource_bytes(s->records);
    return s->frames != NULL ? framestream_bytes(s->frames) : 0;
}

/** What frames are read from: the sizes of files; a pipe has none. */
static bool frames_bytes(const source *s, double *all)
{
    *all = 0;
    for (size_t i = 0; i < s->path_count; i++) {
        struct stat info;
        if (strcmp(s->paths[i], "-") == 0 || stat(s->paths[i], &info) != 0 ||
            !S_ISREG(info.st_mode))
            return false;
        *all += (double)info.st_size;
    }
    return s->path_count > 0;
}

bool source_extent(const source *s, double *done, double *all)
{
    if (s->records != NULL)
        return recordsource_extent(s->records, &s->at, done, all);
    if (s->at.kind == RESUME_TEXT) {
        *all = documents_bytes(&s->docs, s->docs.count, s->shard, s->shards);
        *done = (double)s->at.at + documents_bytes(&s->docs, s->at.document, s->shard, s->shards);
        return true;
    }
    *done = (double)source_bytes(s);
    return frames_bytes(s, all);
}

static void put_u64(uint8_t out[8], uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

/** One fragment as a sample: where it comes from, and its bytes. */
static bw_status write_sample(source *s, const text_fragment *f)
{
    const char *name = s->docs.list[f->document].name;
    bw_error *error = s->c->error;
    uint8_t at[8];
    put_u64(at, f->at);
    bw_status status = bw_samples_begin(s->writer, error);
    if (status == BW_OK)
        status = bw_samples_field(s->writer, "doc", name, strlen(name), error);
    if (status == BW_OK)
        status = bw_samples_field(s->writer, "at", at, sizeof at, error);
    if (status == BW_OK)
        status = bw_samples_field(s->writer, "tokens", f->bytes, f->size, error);
    return status;
}

/** The sample's id: document and byte, as `path@12`. */
static bw_status add_id(source *s, source_item *item, const text_fragment *f)
{
    const char *name = s->docs.list[f->document].name;
    const size_t room = strlen(name) + 24;
    char *id = malloc(room);
    if (id == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    snprintf(id, room, "%s@%" PRIu64, name, f->at);
    item->ids[item->id_count++] = id;
    return BW_OK;
}

static bw_status frame_samples(source *s, source_item *item, const text_sequence *sequence)
{
    item->ids = calloc(sequence->count, sizeof *item->ids);
    if (item->ids == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    bw_samples_reset(s->writer);
    for (size_t i = 0; i < sequence->count; i++) {
        bw_status status = write_sample(s, &sequence->fragments[i]);
        if (status == BW_OK)
            status = add_id(s, item, &sequence->fragments[i]);
        if (status != BW_OK)
            return status;
    }
    const void *bytes;
    const bw_status status = bw_samples_view(s->writer, &bytes, &item->size);
    if (status != BW_OK)
        return cli_fail(s->c, status, "a sequence of %zu samples cannot be framed",
                        sequence->count);
    item->bytes = malloc(item->size);
    if (item->bytes == NULL)
        return cli_fail(s->c, BW_NOMEM, "out of memory");
    item->release = free;
    memcpy(item->bytes, bytes, item->size);
    item->tokens = sequence->tokens;
    return BW_OK;
}

static bw_status next_text(source *s, source_item *item)
{
    text_sequence sequence;
    bw_status status = textpack_next(s->text, &sequence, s->c->error);
    if (status == BW_OK)
        status = frame_samples(s, item, &sequence);
    const text_position behind = textpack_position(s->text);
    s->at.document = behind.document;
    s->at.at = behind.at;
    return status;
}

/** A tick that also ends after a while. */
typedef struct short_wait {
    source *s;
    int left;
} short_wait;

static int tick_shortly(void *context)
{
    short_wait *w = context;
    return --w->left <= 0 || (w->s->tick != NULL && w->s->tick(w->s->context) != 0);
}

/** The stream of the child ended, well or not: how it exited decides what that means. */
static bw_status child_ended(source *s, bw_status stream)
{
    if (stream == BW_END) {
        const bw_status status = childproc_wait(&s->child, s->tick, s->context, s->c->error);
        return status == BW_OK ? BW_END : status;
    }
    /* A broken stream of a child that failed is the child's failure; the broken frame is told in
     * its message. */
    char broken[CLI_MESSAGE_MAX / 2];
    snprintf(broken, sizeof broken, "%s", bw_error_message(s->c->error));
    short_wait w = {.s = s, .left = CHILD_END_TICKS};
    if (childproc_wait(&s->child, tick_shortly, &w, s->c->error) == BW_CHILD_FAILED)
        return cli_fail(s->c, BW_CHILD_FAILED, "%s; %s", bw_error_message(s->c->error), broken);
    return cli_fail(s->c, stream, "%s", broken);
}

static bw_status next_frame(source *s, source_item *item)
{
    const bw_status status = framestream_next(s->frames, &item->bytes, &item->size, s->c->error);
    item->release = framestream_free;
    if (s->at.kind == RESUME_EXEC && (status == BW_END || status == BW_INPUT_BAD))
        return child_ended(s, status);
    return status;
}

bw_status source_next(source *s, source_item *item)
{
    *item = (source_item){0};
    const bw_status status = s->records != NULL ? recordsource_next(s->records, item, &s->at)
                             : s->at.kind == RESUME_TEXT ? next_text(s, item)
                                                         : next_frame(s, item);
    if (status != BW_OK)
        source_item_free(item);
    item->behind = s->at;
    return status;
}

void source_item_free(source_item *item)
{
    for (size_t i = 0; i < item->id_count; i++)
        free(item->ids[i]);
    free(item->ids);
    if (item->release != NULL)
        item->release(item->bytes);
    *item = (source_item){0};
}

void source_free(source *s)
{
    if (s == NULL)
        return;
    recordsource_free(s->records);
    textpack_close(s->text);
    framestream_close(s->frames);
    childproc_stop(&s->child);
    bw_samples_free(s->writer);
    documents_free(&s->docs);
    free(s->paths);
    free(s);
}
