// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "outbox.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS 1000000000ll
/** What an interrupted producer has staged may take so long to commit. */
#define CLOSE_NS (10 * SECOND_NS)
#define STATS_BYTES_MAX 65536u

static void interrupt_producer(void *producer)
{
    bw_producer_interrupt(producer, 1);
}

/** The library's own figures, or null. */
static json_t *stats_of(outbox *o)
{
    static char text[STATS_BYTES_MAX];
    size_t length;
    json_error_t where;
    json_t *stats = NULL;
    if (bw_producer_stats(o->producer, text, sizeof text, &length, NULL) == BW_OK)
        stats = json_loads(text, 0, &where);
    return stats != NULL ? stats : json_null();
}

static bw_status print_summary(outbox *o)
{
    const uint64_t skipped = source_skipped(o->from);
    const int64_t took_ms = (now_ns() - o->began_ns) / (SECOND_NS / 1000);
    const double seconds = (double)took_ms / 1000;
    if (!o->c->json) {
        char items[HUMAN_BYTES], pads[HUMAN_BYTES], bytes[HUMAN_BYTES];
        printf("%s: finished at offset %" PRIu64 ": %" PRIu64 " %s, %s and %s, %s in %.1f s\n",
               o->id, o->offset, o->batches, o->batches == 1 ? "batch" : "batches",
               human_count((int64_t)o->filled, "item", items),
               human_count((int64_t)o->pads, "pad", pads), human_bytes((double)o->bytes, bytes),
               seconds);
        if (skipped > 0)
            printf("%s: skipped %s\n", o->id, human_count((int64_t)skipped, "bad record", items));
        return BW_OK;
    }
    json_t *line =
        json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "id", o->id,
                  "finished", 1, "offset", (json_int_t)o->offset, "batches", (json_int_t)o->batches,
                  "items", (json_int_t)o->filled, "pads", (json_int_t)o->pads, "bytes",
                  (json_int_t)o->bytes, "tokens", (json_int_t)o->tokens, "skipped",
                  (json_int_t)skipped, "seconds", seconds, "stats", stats_of(o));
    if (line == NULL)
        return cli_fail(o->c, BW_NOMEM, "out of memory");
    json_dumpf(line, stdout,
               JSON_COMPACT | JSON_REAL_PRECISION(15)); /* 0.123, not 0.12299999999999999 */
    putchar('\n');
    json_decref(line);
    return BW_OK;
}

/** Reads, packs and publishes until the input ends, one way or the other. */
static bw_status publish(outbox *o, source *s)
{
    bw_status status;
    do {
        status = outbox_fill(o, s);
    } while (status == BW_OK && signals_seen() == 0);
    if (status == BW_OK)
        return BW_INTERRUPTED;
    if (status == BW_END) {
        status = outbox_finish(o);
        return status == BW_OK ? print_summary(o) : status;
    }
    /* A failure of the input: everything before it goes out. Any other failure is the producer's.
     */
    const bool late = o->input_late && status == BW_TIMEOUT;
    if (!late && status != BW_INPUT_BAD && status != BW_INPUT_CHANGED && status != BW_CHILD_FAILED)
        return status;
    cli_keep_failure(o->c, status);
    const bw_status flushed = outbox_flush(o);
    if (flushed != BW_OK)
        return flushed;
    cli_notice("%s: everything before the failure is published: offset %" PRIu64, o->id, o->offset);
    return status;
}

/** Closes; what an interrupted run has staged is committed if the store is quick about it. */
static bw_status close_producer(outbox *o, bw_status status)
{
    cli *c = o->c;
    signals_clear();
    const bool interrupted = status == BW_INTERRUPTED;
    if (interrupted)
        bw_producer_interrupt(o->producer, 0);
    patience_begin("the producer closes");
    const bw_status closed =
        bw_producer_close(o->producer, interrupted ? CLOSE_NS : 0, interrupted ? c->error : NULL);
    patience_end();
    outbox_end(o);
    if (!interrupted)
        return status;
    return cli_fail(c, BW_INTERRUPTED,
                    "%s: interrupted%s%s; the same command goes on where the "
                    "chain stands",
                    o->id, closed == BW_OK ? ", all that was put is committed" : ": ",
                    closed == BW_OK ? "" : bw_error_message(c->error));
}

static bw_status begin(cli *c, outbox *o, source *s, bw_producer *producer)
{
    uint64_t offset;
    const void *state;
    size_t state_bytes;
    bw_status status = bw_producer_resume(producer, &offset, &state, &state_bytes);
    if (status != BW_OK)
        return status;
    outbox_begin(o, c, producer, offset);
    o->from = s;
    status = source_resume(s, offset, state, state_bytes, args_given(c, "new-input"));
    if (status != BW_OK)
        return status;
    if (offset > 0)
        cli_notice("%s: goes on at offset %" PRIu64, o->id, offset);
    return outbox_input_status(o, source_begin(s, offset, outbox_tick, o));
}

/** What the chain says of this id, or NULL when the manifest does not list it. Borrowed. */
static json_t *find_producer(const cli *c, const json_t *info)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(info, "producers"), i, each)
    {
        if (strcmp(json_string_value(json_object_get(each, "id")), args_text(c, "id")) == 0)
            return each;
    }
    return NULL;
}

/** An id that has finished read one input to its end: another one would be left out in silence. */
static bw_status check_finished(cli *c, const source *s, const char *fact)
{
    json_t *info;
    bw_status status = report_first(c, "info", &info);
    if (status != BW_OK)
        return status;
    const char *state = json_string_value(json_object_get(find_producer(c, info), "state"));
    if (state != NULL && *state != '\0' && source_differs(s, state))
        status = cli_fail(c, BW_INPUT_CHANGED,
                          "%s, with another input (other files, sizes, shard, order, sequence "
                          "length or command); --reopen --new-input takes this one behind it",
                          fact);
    json_decref(info);
    return status;
}

static bw_status say_finished(cli *c, const source *s)
{
    char message[CLI_MESSAGE_MAX / 2]; /* "opening p0: p0 has …" */
    snprintf(message, sizeof message, "%s", bw_error_message(c->error));
    const char *colon = strstr(message, ": ");
    const char *fact = colon != NULL ? colon + 2 : message;
    const bw_status status = check_finished(c, s, fact);
    if (status != BW_OK)
        return status;
    if (!c->json) {
        printf("%s; nothing left to do (--reopen goes on)\n", fact);
        return BW_OK;
    }
    json_t *line = json_pack("{s:s, s:b, s:b, s:s}", "id", args_text(c, "id"), "finished", 1,
                             "before", 1, "message", message);
    if (line == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
    return BW_OK;
}

/** Items that we make ourselves must be cut for the positions that share a sequence. */
static bw_status check_mesh(cli *c, source *s)
{
    const uint32_t cp = bw_space_cp(c->space);
    if (cp == 1)
        return BW_OK;
    json_t *info;
    bw_status status = report_first(c, "info", &info);
    if (status != BW_OK)
        return status;
    const char *layout = json_string_value(json_object_get(info, "layout"));
    status = source_split(s, cp, layout != NULL ? layout : "");
    json_decref(info);
    return status;
}

static bw_status produce(cli *c, source *s)
{
    bw_status status = BW_OK;
    if (strcmp(source_kind(s), "raw") != 0)
        status = bw_config_set(c->config, "kind", source_kind(s), c->error);
    if (status == BW_OK && args_given(c, "reopen"))
        status = bw_config_set(c->config, "reopen", "true", c->error);
    if (status == BW_OK)
        status = cli_open(c, "write");
    if (status != BW_OK)
        return status;
    status = check_mesh(c, s);
    if (status != BW_OK)
        return status;
    bw_producer *producer;
    patience_begin("the commit that opens the producer");
    status = bw_producer_open(c->space, args_text(c, "id"), c->config, c->timeout_ns, &producer,
                              c->error);
    patience_end();
    if (status == BW_FINISHED)
        return say_finished(c, s);
    if (status != BW_OK)
        return status;
    outbox o;
    outbox_begin(&o, c, producer, 0);
    signals_add(interrupt_producer, producer);
    status = begin(c, &o, s, producer);
    if (status == BW_OK)
        status = publish(&o, s);
    else
        cli_keep_failure(c, status);
    return close_producer(&o, status);
}

static bw_status run(cli *c)
{
    source *s;
    bw_status status = source_new(c, &s);
    if (status != BW_OK)
        return status;
    status = produce(c, s);
    source_free(s);
    return status;
}

static const option options[] = {
    {.name = "id",
     .value = "P",
     .type = OPTION_TEXT,
     .required = true,
     .help = "stable name of this producer: a-z 0-9 . _ -"},
    {.name = "shard",
     .value = "i/n",
     .type = OPTION_SHARD,
     .preset = "0/1",
     .help = "the part of the input that is this producer's"},
    {.name = "exec",
     .value = "CMD",
     .type = OPTION_TEXT,
     .help = "frames from the standard output of a shell command"},
    {.name = "seq-len",
     .value = "TOKENS",
     .type = OPTION_INTEGER,
     .preset = "2048",
     .min = 1,
     .max = 67108864,
     .help = "text: bytes in a sequence; tokens: tokens"},
    {.name = "batch",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "1",
     .min = 1,
     .max = 1048576,
     .help = "jsonl, tar, tokens: records in an item"},
    {.name = "shuffle-window",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "1",
     .min = 1,
     .max = 1048576,
     .help = "jsonl, tar, tokens: shuffle within windows of so many records"},
    {.name = "seed",
     .value = "S",
     .type = OPTION_INTEGER,
     .preset = "0",
     .max = UINT64_MAX,
     .help = "of the shuffle"},
    {.name = "epochs",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "1",
     .min = 1,
     .max = UINT32_MAX,
     .help = "jsonl, tar, tokens: read the input so often"},
    {.name = "on-bad",
     .value = "stop|skip",
     .type = OPTION_TEXT,
     .preset = "stop",
     .help = "jsonl, tar, tokens: stop at a bad record, or skip and count it"},
    {.name = "token-type",
     .value = "u16|u32",
     .type = OPTION_TEXT,
     .preset = "u16",
     .help = "tokens: of a file without an index"},
    {.name = "items",
     .value = "M",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = 1048576,
     .help = "items per position and batch; default: the namespace's"},
    {.name = "frame-max",
     .value = "SIZE",
     .type = OPTION_SIZE,
     .preset = "256MiB",
     .min = 1,
     .max = 4294967040u,
     .help = "a larger frame, line or sample is bad"},
    {.name = "new-input",
     .type = OPTION_SWITCH,
     .help = "the input is another one than before: take it, behind what is published"},
    {.name = "tag",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "0",
     .max = INT64_MAX,
     .help = "of each batch, as the version of a policy; consume --tags chooses by it"},
    {.name = "reopen", .type = OPTION_SWITCH, .help = "go on although this id has finished"},
};

static const example examples[] = {
    {"produce file:///data/run7 --id p0 --shard 0/2 text:./corpus",
     "every second document, packed into sequences of 2,048 bytes"},
    {"produce file:///data/run7 --id p0 frames:prepared.bin", "items made before"},
    {"produce file:///data/run7 --id p0 --shard 3/8 --exec 'python3 decode.py'",
     "items made now, by any program"},
    {"produce file:///data/run7 --id p0 frames:- < prepared.bin", "items from standard input"},
    {"produce file:///data/run7 --id p0 --batch 16 --shuffle-window 10000 "
     "'tar:train-{000..127}.tar'",
     "WebDataset shards, 16 samples an item, shuffled"},
    {"produce file:///data/run7 --id p0 --batch 4 --seq-len 4096 --epochs 2 "
     "tokens:corpus_text_document.idx",
     "a Megatron data set, items of 4 sequences, twice"},
    {"produce file:///data/run7 --id p0 --batch 32 --on-bad skip jsonl:docs.jsonl",
     "lines of JSON, 32 an item; bad ones are skipped and counted"},
};

static const char details[] =
    "The same command again goes on where the chain stands: after kill -9 nothing is lost\n"
    "and nothing is in twice.\n"
    "\n"
    "text:PATH    a file, or all files beneath a directory; several inputs are allowed.\n"
    "             Documents are sorted by path; shard i takes document k when k mod n =\n"
    "             i. Sequences of --seq-len byte-level tokens, documents end to end,\n"
    "             nothing cut away: an item of kind `samples`, a sample per fragment of a\n"
    "             document, with `doc` (its path beneath the input; with several inputs\n"
    "             the input as given before it), `at` (its first byte, u64 little-endian)\n"
    "             and `tokens`. An empty document has no token, so no sample. The last\n"
    "             sequence may be shorter. Links are followed; what is neither file nor\n"
    "             directory, and an input without any file, is refused. Needs cp = 1.\n"
    "frames:FILE  items, each a 4-byte little-endian length and that many bytes; several\n"
    "             files are one stream, which may be empty. Shard i takes frame j when j\n"
    "             mod n = i. Read from the beginning; what is in already is skipped.\n"
    "             frames:- is standard input.\n"
    "jsonl:FILE   lines of JSON; --batch of them are an item of kind `samples`, a sample per\n"
    "             line with `json` (the line), `doc` and `at` (file and first byte, u64).\n"
    "             LF or CR LF, the last line also without; a byte order mark and blank\n"
    "             lines are passed over. Bad: no JSON, no UTF-8, a NUL. Shard i takes line\n"
    "             j of all files when j mod n = i. jsonl:- is standard input.\n"
    "tar:FILE     WebDataset shards (ustar, pax, GNU); --batch samples are an item of kind\n"
    "             `samples`. Members in a row whose names agree up to the first dot of the\n"
    "             base name are a sample: field `__key__`, then one per member, named by\n"
    "             what follows that dot. No name is ever opened. Bad: links, names without\n"
    "             key or extension or with `..`, an extension twice; a damaged or truncated\n"
    "             archive, from there to its end. Shard i takes file k when k mod n = i.\n"
    "tokens:FILE  numbers of --token-type without a head (GPT-style .bin), or FILE.idx:\n"
    "             Megatron's documents, FILE.bin beside it. Items of kind `safetensors`:\n"
    "             `tokens` and next-token `labels`, I32 [batch, seq_len]; with an index\n"
    "             `positions`, counted from each document's first token. What the last\n"
    "             sequence of a file and the last item lack is token 0 with label -100.\n"
    "             Shard i takes sequence k of all files when k mod n = i. With cp > 1 each\n"
    "             position gets its part of every sequence, by the namespace's layout.\n"
    "             These three take names and braces, data-{000..127}.tar, in the order\n"
    "             given, and may be shuffled: records within each window of that many in a\n"
    "             row, by --seed and epoch. A window of lines or samples is in memory; one\n"
    "             of tokens is not. Lines and archives need cp = 1.\n"
    "--exec CMD   frames from a child, all of them this shard's. It gets\n"
    "             BATCHWEAVE_OFFSET (frames of this id that are in already: it starts\n"
    "             there itself) and BATCHWEAVE_SHARD (i/n). Its exit status must be 0.\n"
    "\n"
    "A batch has dp x cp x items slots, filled item-major: item 0 of all slices, then\n"
    "item 1; the last batch is filled with pads. The offset counts items.\n"
    "At the end of the input the id is finished. A damaged record, a file that changes,\n"
    "or a child that fails stops it, naming the place; everything before is published\n"
    "(of records: all windows before), and the id is not finished.\n"
    "The resume state holds a fingerprint of the input (names, sizes, shard, order,\n"
    "sequence length, command): another input is refused unless --new-input says so;\n"
    "it is then read from its beginning (a child still gets the offset).\n"
    "Of a finished id and the input that it read this is said, exit code 0; --reopen goes on.\n"
    "Another input is refused: --reopen --new-input takes it.\n";

const command command_produce = {
    .name = "produce",
    .operands =
        "URL --id P [--shard i/n] text:PATH … | frames:FILE … | jsonl:FILE … | tar:FILE … | "
        "tokens:FILE … | --exec CMD",
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .summary = "Packs real input into global batches and publishes them, exactly once",
    .details = details,
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output =
        "text: a summary\n"
        "json: "
        "{\"id\",\"finished\",\"offset\",\"batches\",\"items\",\"pads\",\"bytes\",\"tokens\",\n"
        "       \"skipped\",\"seconds\",\"stats\"};\n"
        "      of an id that had finished: {\"id\",\"finished\",\"before\":true,\"message\"}\n",
    .run = run,
};
