// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoints.h"
#include "human.h"
#include "jobstart.h"
#include "pace.h"
#include "ranks.h"
#include "signals.h"

#include "input/savefile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define CURSOR_BYTES_MAX (1u << 20)
#define RANKS_MAX 4096u
#define WAIT_REASON_BYTES_MAX 4096u

/** One run of `consume`. */
typedef struct run_state {
    cli *c;
    crew crew;
    const char *cursor_path, *out, *group;
    checkpoints checkpoints;
    char *cursor; /* JSON behind the last whole step, or NULL */
    bool saved;   /* it is in the file */
    uint64_t steps, steps_max, save_every;
    int64_t step_ns;
    uint64_t next_step; /* behind the last whole one */
    int64_t began_ns;
    pace pace;
} run_state;

static void interrupt_consumer(void *consumer)
{
    bw_consumer_interrupt(consumer, 1);
}

/** Plays the training of a step; ends early when a signal comes. */
static void train(int64_t ns)
{
    const int64_t until = now_ns() + ns;
    for (int64_t left = ns; left > 0 && signals_seen() == 0; left = until - now_ns()) {
        const int64_t nap = left < 50000000 ? left : 50000000;
        const struct timespec wait = {.tv_sec = 0, .tv_nsec = nap};
        nanosleep(&wait, NULL);
    }
}

static bw_status save_cursor(run_state *s, bw_error *error)
{
    if (s->saved || s->cursor == NULL || s->cursor_path == NULL)
        return BW_OK;
    /* The cursor must not outlive, in a loss of power, the files that it says were written. */
    bw_status status = s->out != NULL ? savefile_sync(s->out, error) : BW_OK;
    if (status == BW_OK)
        status = savefile_write(s->cursor_path, s->cursor, strlen(s->cursor), true, "cursor-save",
                                error);
    s->saved = status == BW_OK;
    return status;
}

/** The cursor of one is the cursor of all: they stand at the same step. */
static bw_status take_cursor(run_state *s, rank *one, bw_error *error)
{
    bw_cursor *cursor;
    const bw_status status = bw_consumer_cursor(one->consumer, &cursor, error);
    if (status != BW_OK)
        return status;
    free(s->cursor);
    s->cursor = strdup(bw_cursor_json(cursor));
    s->next_step = bw_cursor_step(cursor);
    s->saved = false;
    bw_cursor_free(cursor);
    return s->cursor != NULL ? BW_OK : BW_NOMEM;
}

/** All ranks have the step. */
static bw_status advance_cursor(run_state *s, rank *last)
{
    if (s->cursor_path == NULL)
        return BW_OK;
    const bw_status status = take_cursor(s, last, last->error);
    if (status != BW_OK)
        return status;
    return s->steps % s->save_every == 0 ? save_cursor(s, last->error) : BW_OK;
}

/**
 * Where the ranks begin is known now. A new run saves it before the first step: `latest` must not
 * be found out anew, at another step, after a kill before the first save.
 */
static bw_status note_start(run_state *s, bool resumed)
{
    cli *c = s->c;
    const bw_status status = take_cursor(s, &s->crew.ranks[0], c->error);
    if (status != BW_OK || s->cursor_path == NULL)
        return status;
    s->saved = resumed;
    return save_cursor(s, c->error);
}

/** Committed steps that this job has not reached, or -1 when that is not known; whether there will
 * be no more. */
static json_int_t steps_ahead(const run_state *s, rank *last, bool *sealed)
{
    char text[WAIT_REASON_BYTES_MAX];
    size_t length;
    json_error_t where;
    if (bw_consumer_wait_reason(last->consumer, text, sizeof text, &length, NULL) != BW_OK)
        return -1;
    json_t *reason = json_loads(text, 0, &where);
    const json_t *next = json_object_get(reason, "next_step");
    *sealed = json_is_true(json_object_get(reason, "sealed"));
    const json_int_t ahead =
        json_is_integer(next) ? json_integer_value(next) - (json_int_t)s->next_step : -1;
    json_decref(reason);
    return ahead;
}

/** How many there are in all, where that is known: of --steps, or of a sealed namespace. */
static uint64_t steps_in_all(const run_state *s, json_int_t ahead, bool sealed)
{
    const uint64_t end = sealed && ahead >= 0 ? s->steps + (uint64_t)ahead : 0;
    return s->steps_max > 0 && (end == 0 || s->steps_max < end) ? s->steps_max : end;
}

static void show_progress(run_state *s, rank *last)
{
    char left[HUMAN_BYTES];
    bool sealed = false;
    if (!pace_due(&s->pace))
        return;
    const json_int_t ahead = steps_ahead(s, last, &sealed);
    const double steps = (double)s->steps, all = (double)steps_in_all(s, ahead, sealed);
    cli_notice("step %" PRIu64 ", %.1f steps/s, %" JSON_INTEGER_FORMAT " more are committed%s",
               s->next_step, pace_rate(&s->pace, steps), ahead,
               pace_left(&s->pace, steps, all, left));
}

/** Rank 0 pins for the job; the others have no say. */
static bw_status pin_step(run_state *s, rank *last)
{
    rank *first = &s->crew.ranks[0];
    if (s->group == NULL || first->index != 0)
        return BW_OK;
    const bw_status status =
        checkpoints_step(&s->checkpoints, s->steps, s->c->timeout_ns, first->consumer, last->error);
    if (status != BW_GROUP_GONE)
        return status;
    cli_notice("%s; the job goes on, and pins no more", bw_error_message(last->error));
    s->checkpoints.every = 0;
    return BW_OK;
}

static bw_status on_step(void *context, rank *last)
{
    run_state *s = context;
    for (uint32_t i = 0; i < s->crew.count; i++)
        if (s->crew.ranks[i].line != NULL)
            cli_write(s->crew.ranks[i].line, strlen(s->crew.ranks[i].line));
    if (!cli_flush()) /* a digest is out before the cursor passes its step */
        return cli_output_failed(s->c);
    train(s->step_ns);
    s->steps++;
    s->next_step = last->next_step;
    bw_status status = advance_cursor(s, last);
    if (status == BW_OK)
        status = pin_step(s, last);
    show_progress(s, last);
    if (status != BW_OK)
        return status;
    if (signals_seen() != 0)
        return BW_INTERRUPTED;
    return s->steps_max > 0 && s->steps >= s->steps_max ? BW_END : BW_OK;
}

/** The cursor file, when there is one: NULL without. */
static bw_status load_cursor(run_state *s, bw_cursor **cursor)
{
    cli *c = s->c;
    char *text;
    size_t size;
    *cursor = NULL;
    if (s->cursor_path == NULL)
        return BW_OK;
    bw_status status = savefile_read(s->cursor_path, CURSOR_BYTES_MAX, &text, &size, c->error);
    if (status == BW_NOT_FOUND)
        return BW_OK;
    if (status != BW_OK)
        return status;
    status = bw_cursor_parse(text, size, cursor, c->error);
    savefile_free(text);
    if (status != BW_OK)
        return cli_fail(c, status, "%s: %s", s->cursor_path, bw_error_message(c->error));
    return BW_OK;
}

static bw_status set_place(run_state *s, uint32_t index)
{
    cli *c = s->c;
    char number[16];
    if (!args_given(c, "world"))
        return BW_OK;
    bw_status status = bw_config_set(c->config, "world", args_text(c, "world"), c->error);
    if (status == BW_OK) {
        snprintf(number, sizeof number, "%" PRIu32, index);
        status = bw_config_set(c->config, "rank", number, c->error);
    }
    return status;
}

static bool shares_place(const crew *all, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (bw_consumer_d(all->ranks[i].consumer) == bw_consumer_d(all->ranks[index].consumer) &&
            bw_consumer_c(all->ranks[i].consumer) == bw_consumer_c(all->ranks[index].consumer))
            return true;
    return false;
}

/** A world that is a multiple of the positions most likely counts ranks that share one. */
static bw_status mesh_failed(run_state *s, uint32_t world)
{
    cli *c = s->c;
    const uint32_t positions = bw_space_dp(c->space) * bw_space_cp(c->space);
    if (world <= positions || world % positions != 0)
        return BW_MESH_MISMATCH;
    return cli_fail(c, BW_MESH_MISMATCH, "%s (--set tp=N, --set pp=N)", bw_error_message(c->error));
}

static bw_status open_rank(run_state *s, uint32_t i, const bw_cursor *cursor)
{
    cli *c = s->c;
    rank *r = &s->crew.ranks[i];
    r->crew = &s->crew;
    r->index = args_given(c, "rank") ? (uint32_t)args_number(c, "rank") : i;
    r->error = bw_error_new();
    r->delivery = (delivery){.digest = args_given(c, "digest"), .folder = s->out};
    if (r->error == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    bw_status status = set_place(s, r->index);
    if (status == BW_OK)
        status = bw_consumer_open(c->space, s->group, c->config, cursor, c->timeout_ns,
                                  &r->consumer, c->error);
    if (status == BW_OK)
        r->primary = !shares_place(&s->crew, i);
    if (status == BW_MESH_MISMATCH && args_given(c, "world"))
        return mesh_failed(s, (uint32_t)args_number(c, "world"));
    return status;
}

static bw_status open_ranks(run_state *s, const bw_cursor *cursor)
{
    bw_status status = BW_OK;
    patience_begin("the ranks read the head of the chain");
    for (uint32_t i = 0; status == BW_OK && i < s->crew.count; i++)
        status = open_rank(s, i, cursor);
    patience_end();
    for (uint32_t i = 0; status == BW_OK && i < s->crew.count; i++)
        signals_add(interrupt_consumer, s->crew.ranks[i].consumer);
    return status;
}

static void close_ranks(run_state *s)
{
    signals_clear();
    for (uint32_t i = 0; i < s->crew.count; i++) {
        rank *r = &s->crew.ranks[i];
        bw_consumer_close(r->consumer);
        delivery_end(&r->delivery);
        bw_error_free(r->error);
    }
    free(s->crew.ranks);
    free(s->cursor);
}

/** Digests leave standard output to themselves. */
static void print_summary(const run_state *s, const char *ended)
{
    uint64_t items = 0, pads = 0, bytes = 0;
    for (uint32_t i = 0; i < s->crew.count; i++) {
        items += s->crew.ranks[i].delivery.items;
        pads += s->crew.ranks[i].delivery.pads;
        bytes += s->crew.ranks[i].delivery.bytes;
    }
    FILE *out = args_given(s->c, "digest") ? stderr : stdout;
    const double seconds = (double)(now_ns() - s->began_ns) / SECOND_NS;
    char steps[HUMAN_BYTES], count[HUMAN_BYTES], padding[HUMAN_BYTES], size[HUMAN_BYTES];
    if (s->c->json)
        fprintf(out,
                "{\"ended\":\"%s\",\"steps\":%" PRIu64 ",\"next_step\":%" PRIu64
                ",\"items\":%" PRIu64 ",\"pads\":%" PRIu64 ",\"bytes\":%" PRIu64
                ",\"seconds\":%.3f}\n",
                ended, s->steps, s->next_step, items, pads, bytes, seconds);
    else
        fprintf(out, "%s: %s, next is %" PRIu64 "; %s and %s, %s in %.1f s\n", ended,
                human_count((int64_t)s->steps, "step", steps), s->next_step,
                human_count((int64_t)items, "item", count),
                human_count((int64_t)pads, "pad", padding), human_bytes((double)bytes, size),
                seconds);
}

/** How the run ended: its failure, or the summary. The newest whole step is saved in any case. */
static bw_status conclude(run_state *s, bw_status status)
{
    cli *c = s->c;
    const rank *failed = s->crew.failed;
    if (status != BW_END && status != c->failed && failed != NULL &&
        bw_error_code(failed->error) == status) {
        cli_fail(c, status, "rank %" PRIu32 ": %s", failed->index, bw_error_message(failed->error));
        cli_add_facts(c, failed->error);
    }
    const bw_status saved = save_cursor(s, c->error);
    if (status == BW_INTERRUPTED)
        cli_fail(c, status, "interrupted before step %" PRIu64, s->next_step);
    if (status != BW_END)
        return status;
    if (saved != BW_OK)
        return saved;
    const bool all = s->steps_max == 0 || s->steps < s->steps_max;
    print_summary(s, all ? "end" : "steps");
    return BW_OK;
}

/** Ranks of one process are one launch, whatever else its environment says. */
static bw_status set_launch(run_state *s)
{
    cli *c = s->c;
    char id[48];
    bw_status status = BW_OK;
    if (args_given(c, "launch"))
        return bw_config_set(c->config, "launch", args_text(c, "launch"), c->error);
    if (!args_given(c, "rank") && args_given(c, "world")) {
        uint64_t number;
        if (getentropy(&number, sizeof number) != 0)
            return cli_fail(c, BW_IO, "the system gives no random number for a launch id");
        (void)snprintf(id, sizeof id, "consume-%016" PRIx64, number);
        status = bw_config_set(c->config, "launch", id, c->error);
    }
    return status;
}

static bw_status check_group(cli *c)
{
    if (args_given(c, "group"))
        return BW_OK;
    static const char *const needs[] = {"launch", "pin-every", "keep"};
    for (size_t k = 0; k < COUNT_OF(needs); k++)
        if (args_given(c, needs[k]))
            return cli_fail(c, BW_INVALID, "--%s needs --group", needs[k]);
    return BW_OK;
}

/* Who speaks for the job writes its group. */
static bw_status open_space(run_state *s, bw_cursor **cursor)
{
    cli *c = s->c;
    const bool commits =
        s->group != NULL && (!args_given(c, "rank") || args_number(c, "rank") == 0);
    const bw_status status = load_cursor(s, cursor);
    return status == BW_OK ? cli_resume(c, commits ? "write" : "read", *cursor) : status;
}

static bw_status consume(run_state *s)
{
    cli *c = s->c;
    bw_cursor *cursor = NULL;
    bool moved = false;
    bw_status status = open_space(s, &cursor);
    if (status == BW_OK)
        status = jobstart(c, s->group, &cursor, &moved);
    if (status == BW_OK && s->group != NULL)
        status = set_launch(s);
    if (status == BW_OK && s->out != NULL)
        status = savefile_mkdir(s->out, c->error);
    /* Now, not when steps are trained that cannot be saved. */
    if (status == BW_OK && s->cursor_path != NULL) {
        savefile_sweep_beside(s->cursor_path);
        status = savefile_try(s->cursor_path, c->error);
    }
    if (status == BW_OK)
        status = open_ranks(s, cursor);
    if (status == BW_OK)
        status = note_start(s, !moved);
    bw_cursor_free(cursor);
    if (status == BW_OK && s->group != NULL)
        status = checkpoints_begin(&s->checkpoints, c, s->group);
    if (status != BW_OK)
        return status;
    s->began_ns = now_ns();
    pace_begin(&s->pace, c, 0);
    return conclude(s, crew_run(&s->crew));
}

static bw_status check_place(cli *c)
{
    if (!args_given(c, "rank"))
        return BW_OK;
    if (!args_given(c, "world"))
        return cli_fail(c, BW_INVALID, "--rank needs --world, the number of ranks");
    if (args_number(c, "rank") >= args_number(c, "world"))
        return cli_fail(c, BW_INVALID, "--rank %s: below --world expected", args_text(c, "rank"));
    return BW_OK;
}

static bw_status run(cli *c)
{
    bw_status status = check_place(c);
    if (status == BW_OK)
        status = check_group(c);
    if (status != BW_OK)
        return status;
    const bool one = args_given(c, "rank") || !args_given(c, "world");
    run_state s = {
        .c = c,
        .cursor_path = args_text(c, "cursor"),
        .out = args_text(c, "out"),
        .group = args_text(c, "group"),
        .checkpoints = {.every = args_number(c, "pin-every"), .keep = args_number(c, "keep")},
        .steps_max = args_number(c, "steps"),
        .save_every = args_number(c, "save-every"),
        .step_ns = (int64_t)args_number(c, "step-ms") * 1000000};
    s.crew.count = one ? 1 : (uint32_t)args_number(c, "world");
    s.crew.timeout_ns = c->timeout_ns;
    s.crew.on_step = on_step;
    s.crew.context = &s;
    s.crew.ranks = calloc(s.crew.count, sizeof *s.crew.ranks);
    if (s.crew.ranks == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    status = consume(&s);
    close_ranks(&s);
    return status;
}

static const option options[] = {
    {.name = "world",
     .value = "N",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = RANKS_MAX,
     .help = "number of ranks; without --rank, all of them in this process"},
    {.name = "rank",
     .value = "R",
     .type = OPTION_INTEGER,
     .max = UINT32_MAX,
     .help = "this one only, of --world; without both: what torchrun, Slurm or MPI say"},
    {.name = "from",
     .value = "earliest|latest|STEP",
     .type = OPTION_TEXT,
     .preset = "earliest",
     .help = "where to start; with --group only when given; latest without one only with all"
             " ranks in this process"},
    {.name = "tags",
     .value = "LIST",
     .type = OPTION_TEXT,
     .help = "read only steps of these tags: N, N-M or N- (no end), by commas; all: every tag; else"
             " as the cursor says"},
    {.name = "skip-to-tip",
     .type = OPTION_SWITCH,
     .help = "go on at the next step to be committed; the cursor says what was skipped"},
    {.name = "skip",
     .value = "FIRST-END",
     .type = OPTION_TEXT,
     .help =
         "of the cursor in --cursor on, leave out steps from FIRST up to END, END not included"},
    {.name = "group",
     .value = "NAME",
     .type = OPTION_TEXT,
     .help = "the job's name: it keeps what it has not pinned, and starts at its newest pin"},
    {.name = "launch",
     .value = "ID",
     .type = OPTION_TEXT,
     .help = "one for all ranks, another at each start; else Slurm's or torchrun's"},
    {.name = "pin-every",
     .value = "K",
     .type = OPTION_INTEGER,
     .preset = "0",
     .max = UINT32_MAX,
     .help = "play checkpoints: rank 0 pins every K steps"},
    {.name = "keep",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "1",
     .min = 1,
     .max = CHECKPOINTS_MAX,
     .help = "pins kept; older ones are released by the same commit"},
    {.name = "cursor",
     .value = "FILE",
     .type = OPTION_TEXT,
     .help = "go on from it when it is there; saved atomically when every rank has the step"},
    {.name = "save-every",
     .value = "K",
     .type = OPTION_INTEGER,
     .preset = "1",
     .min = 1,
     .max = UINT32_MAX,
     .help = "steps between saves of the cursor"},
    {.name = "digest", .type = OPTION_SWITCH, .help = "a line of JSON per step and slice"},
    {.name = "out",
     .value = "DIR",
     .type = OPTION_TEXT,
     .help = "each item that is no pad as DIR/<step>/<d>.<c>.<item>, written atomically"},
    {.name = "steps",
     .value = "N",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = INT64_MAX,
     .help = "stop after so many"},
    {.name = "step-ms",
     .value = "MS",
     .type = OPTION_INTEGER,
     .preset = "0",
     .max = 86400000,
     .help = "play a trainer: so long a step"},
};

static const example examples[] = {
    {"consume file:///data/run7 --world 8 --digest", "all ranks in one process, to look"},
    {"consume file:///data/run7 --rank 3 --world 8 --cursor r3.json --out ./rank3",
     "one rank; the same command again goes on at the cursor"},
    {"consume file:///data/run7 --world 8 --group train --pin-every 100 --keep 3",
     "a job with checkpoints: gc deletes what none of them reaches"},
    {"consume file:///data/run7 --world 8 --group rl --cursor rl.json --skip-to-tip",
     "rollouts that are stale by now are skipped at each start"},
    {"consume file:///data/run7 --world 8 --from latest --steps 10 --timeout 60",
     "the next ten steps, each within a minute"},
};

static const char details[] =
    "Ranks that differ only in tensor or pipeline parallelism share a position: --set tp=N,\n"
    "--set pp=N. Ranks of one process go in lockstep, as a trainer does. The run ends at the end "
    "of a\n"
    "sealed namespace, or after --steps; a signal ends it between steps, with the cursor\n"
    "saved. A start is read from --cursor when that file exists, else from --from.\n"
    "After a crash the steps behind the saved cursor are delivered again, byte for byte.\n"
    "--timeout is the time to wait for one item (STARVED); without it the command waits,\n"
    "saying why.\n";

const command command_consume = {
    .name = "consume",
    .operands = "URL [--rank R] --world N",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Reads steps as the ranks of a training job do",
    .details = details,
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a summary\n"
              "json: "
              "{\"ended\":\"end\"|\"steps\",\"steps\",\"next_step\",\"items\",\"pads\",\"bytes\","
              "\"seconds\"}; pads are not among the items\n"
              "--digest: instead, one object per step and slice, ordered by step (the summary\n"
              "      goes to stderr): "
              "{\"step\",\"d\",\"c\",\"items\":[{\"item\",\"bytes\",\"sha256\",\"pad\"}]}\n",
    .run = run,
};
