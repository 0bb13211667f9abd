// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Everything that a reader gives, as texts that can be compared. */
#ifndef TESTS_READALL_H
#define TESTS_READALL_H

#include "base/alloc.h"
#include "base/error.h"
#include "input/record.h"
#include "scratch.h"

#define READ_MAX 4096u

typedef struct readout {
    char *texts[READ_MAX]; /* of each record; of a bad one its message behind a ! */
    record_place behind[READ_MAX];
    size_t count, bad;
    bw_status status; /* what ended it */
    char message[ERROR_MESSAGE_MAX + 1];
} readout;

/** `id{key=value,…}`; bytes that are no ASCII as hex. */
static inline char *record_text(const record *r)
{
    buf text;
    size_t size;
    buf_init(&text, SIZE_MAX);
    buf_printf(&text, "%s{", r->id);
    for (size_t i = 0; i < r->field_count; i++) {
        const record_field *f = &r->fields[i];
        buf_printf(&text, "%s%.*s=", i > 0 ? "," : "", (int)f->key_bytes,
                   (const char *)r->data.data + f->key_at);
        for (size_t k = 0; k < f->value_bytes; k++) {
            const uint8_t c = r->data.data[f->value_at + k];
            if (c >= 0x20 && c < 0x7f)
                buf_put_u8(&text, c);
            else
                buf_printf(&text, "<%02x>", c);
        }
    }
    buf_put(&text, "}", 2);
    assert_int_equal(buf_status(&text), BW_OK);
    return (char *)buf_take(&text, &size);
}

/** Reads to the end; `stop`: or to the first bad record. */
static inline void read_all(reader *from, bool stop, readout *out)
{
    memset(out, 0, sizeof *out);
    for (;;) {
        record r;
        bw_error error;
        error_clear(&error);
        record_init(&r, 1u << 20);
        bw_status status = from->next(from, &r, &error);
        if (status == BW_OK && from->fill != NULL)
            status = from->fill(from, &r, &error);
        assert_true(out->count < READ_MAX);
        if (status == BW_OK) {
            out->texts[out->count] = record_text(&r);
        } else if (status == BW_INPUT_BAD && !stop) {
            out->texts[out->count] = mem_alloc(ERROR_MESSAGE_MAX + 2);
            snprintf(out->texts[out->count], ERROR_MESSAGE_MAX + 2, "!%s", error.message);
            out->bad++;
        }
        record_free(&r);
        if (status != BW_OK && (status != BW_INPUT_BAD || stop)) {
            out->status = status;
            snprintf(out->message, sizeof out->message, "%s", error.message);
            return;
        }
        out->behind[out->count++] = from->place(from);
    }
}

static inline void readout_free(readout *r)
{
    for (size_t i = 0; i < r->count; i++)
        mem_free(r->texts[i]);
    r->count = 0;
}

#endif
