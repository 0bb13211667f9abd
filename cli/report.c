// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include "pace.h"
#include "patience.h"
#include "signals.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct printer {
    cli *c;
    report_style style;
    report_filter filter;
    report_end enough;
    table rows;
    pace pace;
} printer;

/** A line of how far it is belongs to stderr. */
static bool show_progress(printer *p, const char *json)
{
    static const char progress[] = "{\"progress\":true,";
    char left[HUMAN_BYTES], size[HUMAN_BYTES], rate[HUMAN_BYTES + 8] = "";
    json_error_t where;
    if (!p->pace.wanted || strncmp(json, progress, sizeof progress - 1) != 0)
        return false;
    json_t *line = json_loads(json, 0, &where);
    const int64_t step = report_number(line, "step"), end = report_number(line, "end_step");
    const double done = (double)(step - report_number(line, "first_step"));
    const double all = (double)(end - report_number(line, "first_step"));
    const double bytes = (double)report_number(line, "bytes");
    const double seconds = (double)(now_ns() - p->pace.began_ns) / 1e9;
    if (bytes > 0)
        snprintf(rate, sizeof rate, ", %s/s", human_bytes(bytes / seconds, size));
    cli_notice("step %" PRId64 " of %" PRId64 ", %.1f steps/s%s%s", step, end,
               pace_rate(&p->pace, done), rate, pace_left(&p->pace, done, all, left));
    json_decref(line);
    patience_moved();
    return true;
}

static int print_line(void *context, const char *json)
{
    printer *p = context;
    if (show_progress(p, json))
        return signals_seen() != 0;
    if (p->c->json) {
        cli_write(json, strlen(json));
        cli_write("\n", 1);
    } else {
        json_error_t where;
        json_t *line = json_loads(json, 0, &where);
        if (line == NULL)
            puts(json);
        else if (p->filter == NULL || p->filter(p->c, line)) {
            if (p->style == REPORT_SHEET)
                sheet_print(line, stdout, 0);
            else
                table_row(&p->rows, line);
        }
        json_decref(line);
    }
    return !cli_flush() || signals_seen() != 0 || (p->enough != NULL && p->enough(p->c, json));
}

/** --timeout is also how long a report waits for the newest manifest. */
static bw_status apply_timeout(cli *c)
{
    if (c->timeout_ns < 0)
        return BW_OK;
    char text[32];
    snprintf(text, sizeof text, "%lldms", (long long)(c->timeout_ns / 1000000));
    return bw_config_set(c->config, "report_timeout", text, c->error);
}

static bw_status print_all(printer *p, const char *what)
{
    cli *c = p->c;
    pace_begin(&p->pace, c, 0);
    bw_status applied = apply_timeout(c);
    if (applied == BW_OK && p->pace.wanted)
        applied = bw_config_set(c->config, "progress", "true", c->error);
    if (applied != BW_OK)
        return applied;
    table_begin(&p->rows, stdout, 0);
    const bw_status status = bw_space_report(c->space, what, c->config, print_line, p, c->error);
    table_end(&p->rows);
    /* Stopped because nobody can read it: said as such at the end of the process. */
    if (status != BW_INTERRUPTED)
        return status;
    if (signals_seen() != 0)
        return cli_fail(c, status, "ended by a signal");
    return c->failed;
}

bw_status report_print(cli *c, const char *what, report_style style, report_filter filter)
{
    printer p = {.c = c, .style = style, .filter = filter};
    return print_all(&p, what);
}

int64_t report_number(const json_t *line, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(line, key));
}

bool report_true(const json_t *line, const char *key)
{
    return json_is_true(json_object_get(line, key));
}

/** `line` shows `row` from now on; without memory for that it stays as it is. */
static bool become(json_t *line, json_t *row)
{
    if (row == NULL)
        return true;
    json_object_clear(line);
    json_object_update(line, row);
    json_decref(row);
    return true;
}

bool report_step_columns(cli *c, json_t *line)
{
    char size[HUMAN_BYTES];
    (void)c;
    human_bytes((double)report_number(line, "bytes"), size);
    return become(line,
                  json_pack("{s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:s}", "step",
                            json_object_get(line, "step"), "producer",
                            json_object_get(line, "producer"), "batch",
                            json_object_get(line, "seq"), "start", json_object_get(line, "start"),
                            "end", json_object_get(line, "end"), "kind",
                            json_object_get(line, "kind"), "items", json_object_get(line, "items"),
                            "samples", json_object_get(line, "samples"), "tokens",
                            json_object_get(line, "tokens"), "bytes", size));
}

bool report_object_columns(cli *c, json_t *line)
{
    char when[HUMAN_BYTES];
    json_t *modified_ms = json_object_get(line, "modified_ms");
    (void)c;
    return become(line, json_pack("{s:O, s:O, s:s, s:O}", "kind", json_object_get(line, "kind"),
                                  "bytes", json_object_get(line, "bytes"), "modified",
                                  json_is_integer(modified_ms)
                                      ? human_time(report_number(line, "modified_ms"), when)
                                      : "-",
                                  "key", json_object_get(line, "key")));
}

bw_status report_run(cli *c, const char *what, report_style style, report_filter filter)
{
    const bw_status status = cli_open(c, "read");
    return status == BW_OK ? report_print(c, what, style, filter) : status;
}

bw_status report_follow(cli *c, const char *what, report_filter filter, report_end enough)
{
    printer p = {.c = c, .style = REPORT_TABLE, .filter = filter, .enough = enough};
    const bw_status status = cli_open(c, "read");
    return status == BW_OK ? print_all(&p, what) : status;
}

static int keep_line(void *context, const char *json)
{
    json_t **line = context;
    json_error_t where;
    *line = json_loads(json, 0, &where);
    return 1;
}

bw_status report_first(cli *c, const char *what, json_t **line)
{
    *line = NULL;
    const bw_status status = bw_space_report(c->space, what, c->config, keep_line, line, c->error);
    if (*line != NULL)
        return BW_OK;
    return status == BW_OK || status == BW_INTERRUPTED
               ? cli_fail(c, BW_BUG, "the report %s gave no line", what)
               : status;
}

bw_status report_set(cli *c, const char *property, const char *value)
{
    return value == NULL ? BW_OK : bw_config_set(c->config, property, value, c->error);
}
