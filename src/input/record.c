// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/record.h"

#include "base/alloc.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void record_init(record *r, size_t bytes_max)
{
    *r = (record){0};
    buf_init(&r->data, bytes_max);
}

void record_free(record *r)
{
    buf_free(&r->data);
    mem_free(r->fields);
    mem_free(r->id);
    record_init(r, r->data.max);
}

bw_status record_open_field(record *r, const void *key, size_t key_bytes)
{
    void *fields = r->fields;
    if (mem_grow(&fields, &r->field_capacity, r->field_count + 1, sizeof *r->fields) != 0)
        return BW_NOMEM;
    r->fields = fields;
    record_field *f = &r->fields[r->field_count];
    f->key_at = r->data.size;
    f->key_bytes = key_bytes;
    buf_put(&r->data, key, key_bytes);
    f->value_at = r->data.size;
    f->value_bytes = 0;
    if (buf_status(&r->data) == BW_OK)
        r->field_count++;
    return buf_status(&r->data);
}

void record_close_field(record *r)
{
    record_field *f = &r->fields[r->field_count - 1];
    f->value_bytes = r->data.size - f->value_at;
}

bw_status record_add_field(record *r, const char *key, const void *value, size_t value_bytes)
{
    BW_TRY(record_open_field(r, key, strlen(key)));
    buf_put(&r->data, value, value_bytes);
    record_close_field(r);
    return buf_status(&r->data);
}

const record_field *record_find(const record *r, const void *key, size_t key_bytes)
{
    for (size_t i = 0; i < r->field_count; i++)
        if (r->fields[i].key_bytes == key_bytes &&
            memcmp(r->data.data + r->fields[i].key_at, key, key_bytes) == 0)
            return &r->fields[i];
    return NULL;
}

bw_status record_set_id(record *r, const char *format, ...)
{
    buf text;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    buf_init(&text, SIZE_MAX);
    bw_status status = length < 0 ? BW_TOO_LARGE : buf_reserve(&text, (size_t)length + 1);
    if (status == BW_OK) {
        (void)vsnprintf((char *)text.data, (size_t)length + 1, format, again);
        size_t size;
        mem_free(r->id);
        r->id = (char *)buf_take(&text, &size);
    }
    va_end(again);
    buf_free(&text);
    return status;
}

bw_status(record_fail)(bw_error *error, bw_status code, const document *file, uint64_t at,
                       const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    error_set(error, code, "input %s at byte %" PRIu64 ": %s", file->name, at, what);
    error_set_key(error, file->name);
    return code;
}
