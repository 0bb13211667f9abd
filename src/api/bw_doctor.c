// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor.h"

#include "api/check.h"
#include "client/json.h"
#include <batchweave/doctor.h>

#define LINE_BYTES_MAX 8192u

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
    for (uint32_t k = 0; k < f->figure_count; k++)
        json_put_u64(&out, f->figures[k].name, f->figures[k].value);
    json_put_object_end(&out);
    return hand_out(l, &out);
}

static int run_race(void *context, const char *place, void *board)
{
    const listener *l = context;
    return l->race(l->context, place, board);
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

bw_status bw_doctor_check(const char *url, void *board, bw_doctor_race_fn race, bw_line_fn line,
                          void *context, bw_error *error)
{
    CHECK_NOT_NULL(url);
    CHECK_NOT_NULL(line);
    listener l = {.race = race, .line = line, .context = context};
    doctor d = {.tell = tell,
                .race = race != NULL && board != NULL ? run_race : NULL,
                .context = &l,
                .board = board};
    const bw_status status = doctor_run(&d, url, error);
    if (l.broken != BW_OK)
        return error_set(error, l.broken, "a line of the doctor: %s", bw_status_text(l.broken));
    const bool told = status != BW_INTERRUPTED && (status == BW_OK || l.faults > 0);
    return told ? sum_up(&l, status, error) : status;
}

size_t bw_doctor_board_bytes(void)
{
    return doctor_board_bytes();
}

bw_status bw_doctor_race(const char *place, void *board, unsigned racer, bw_error *error)
{
    CHECK_NOT_NULL(place);
    CHECK_NOT_NULL(board);
    return doctor_race(place, board, racer, error);
}

void bw_doctor_abandon(void *board)
{
    if (board != NULL)
        doctor_race_abandon(board);
}
