// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor.h"

#include "api/check.h"
#include "api/config.h"
#include "api/place.h"
#include "api/policy.h"
#include "client/json.h"
#include <batchweave/doctor.h>
#include <inttypes.h>
#include <stdio.h>

#define LINE_BYTES_MAX 16384u

_Static_assert(BW_DOCTOR_RACERS == DOCTOR_RACERS, "the header says how many");

typedef struct listener {
    bw_doctor_race_fn race;
    bw_line_fn line;
    void *context;
    uint32_t faults, warnings;
    bw_status broken; /* a line could not be made */
} listener;

static int hand_out(listener *l, buf *out)
{
    const char *line = buf_text(out); /* its NUL may need more memory */
    l->broken = buf_status(out);
    const int enough = l->broken != BW_OK || l->line(l->context, line) != 0;
    buf_free(out);
    return enough;
}

static void put_figure(buf *out, const doctor_figure *figure)
{
    uint64_t unit = 1;
    char text[48];
    for (uint32_t k = 0; k < figure->decimals; k++)
        unit *= 10;
    if (unit == 1) {
        json_put_u64(out, figure->name, figure->value);
        return;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64, figure->value / unit,
                   (int)figure->decimals, figure->value % unit);
    json_put_raw(out, figure->name, text);
}

static int tell(void *context, const doctor_finding *f)
{
    static const char *const verdicts[] = {"ok", "warning", "fault"};
    listener *l = context;
    buf out;
    l->faults += f->verdict == DOCTOR_FAULT;
    l->warnings += f->verdict == DOCTOR_WARNING;
    buf_init(&out, LINE_BYTES_MAX);
    json_put_object(&out, NULL);
    json_put_text(&out, "check", f->check);
    json_put_text(&out, "verdict", verdicts[f->verdict]);
    if (f->verdict == DOCTOR_FAULT)
        json_put_text(&out, "code", bw_status_name(f->code));
    else
        json_put_null(&out, "code");
    json_put_text(&out, "message", f->text);
    for (uint32_t k = 0; k < f->word_count; k++)
        json_put_text(&out, f->words[k].name, f->words[k].text);
    for (uint32_t k = 0; k < f->figure_count; k++)
        put_figure(&out, &f->figures[k]);
    if (f->denied_by != NULL)
        policy_put(&out, f->denied_by, f->denied);
    json_put_object_end(&out);
    return hand_out(l, &out);
}

static int run_race(void *context, const char *where, void *board)
{
    const listener *l = context;
    return l->race(l->context, where, board);
}

static bw_status sum_up(listener *l, bw_status status, bw_error *error)
{
    buf out;
    buf_init(&out, LINE_BYTES_MAX);
    json_put_object(&out, NULL);
    json_put_bool(&out, "summary", true);
    json_put_bool(&out, "fit", l->faults == 0);
    json_put_u64(&out, "faults", l->faults);
    json_put_u64(&out, "warnings", l->warnings);
    json_put_object_end(&out);
    return hand_out(l, &out) == 0 ? status
                                  : error_set(error, BW_INTERRUPTED, "the doctor was stopped");
}

static bw_status visit(doctor *d, const char *url, const bw_config *config, bw_error *error)
{
    doctor_job asked;
    store *s = NULL;
    if (!place_is_bucket(url))
        return doctor_directory(d, url, error);
    config_doctor(config, &asked);
    BW_TRY(place_open(url, config, true, &s, error));
    const bw_status status = doctor_bucket(d, s, url, &asked, error);
    store_close(s);
    return status;
}

bw_status bw_doctor_check(const char *url, const bw_config *config, void *board,
                          bw_doctor_race_fn race, bw_line_fn line, void *context, bw_error *error)
{
    CHECK_NOT_NULL(url);
    CHECK_NOT_NULL(line);
    listener l = {.race = race, .line = line, .context = context};
    doctor d = {.tell = tell,
                .race = race != NULL && board != NULL ? run_race : NULL,
                .context = &l,
                .board = board};
    const bw_status status = visit(&d, url, config, error);
    if (l.broken != BW_OK)
        return error_set(error, l.broken, "a line of the doctor: %s", bw_status_text(l.broken));
    const bool told = status != BW_INTERRUPTED && (status == BW_OK || l.faults > 0);
    return told ? sum_up(&l, status, error) : status;
}

size_t bw_doctor_board_bytes(void)
{
    return doctor_board_bytes();
}

bw_status bw_doctor_race(const char *where, const bw_config *config, void *board, unsigned racer,
                         bw_error *error)
{
    CHECK_NOT_NULL(where);
    CHECK_NOT_NULL(board);
    store *s = NULL;
    if (place_is_bucket(where)) {
        BW_TRY(place_open(where, config, true, &s, error));
    } else {
        /* Whether a create wins is asked here, not whether it lasts: without syncs, so that racers
         * come close to each other. */
        const store_file_options options = {.durable = false, .writable = true};
        BW_TRY(store_file_open(where, &options, &s, error));
    }
    const bw_status status = doctor_race(s, board, racer, error);
    store_close(s);
    return status;
}

void bw_doctor_abandon(void *board)
{
    if (board != NULL)
        doctor_race_abandon(board);
}
