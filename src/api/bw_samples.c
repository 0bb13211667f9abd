// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <batchweave/samples.h>

#include "api/check.h"
#include "base/alloc.h"
#include "payload/samples.h"
#include <string.h>

#define COUNT_BYTES 4u /* what an item without samples takes */

struct bw_samples {
    buf out;
    samples_builder builder;
};

bw_samples *bw_samples_new(size_t bytes_max)
{
    bw_samples *s = mem_zalloc(sizeof *s);
    if (s == NULL)
        return NULL;
    buf_init(&s->out, bytes_max < COUNT_BYTES ? COUNT_BYTES : bytes_max);
    samples_begin(&s->builder, &s->out);
    if (buf_status(&s->out) != BW_OK) {
        mem_free(s);
        return NULL;
    }
    return s;
}

void bw_samples_free(bw_samples *s)
{
    if (s == NULL)
        return;
    buf_free(&s->out);
    mem_free(s);
}

void bw_samples_reset(bw_samples *s)
{
    buf_reset(&s->out);
    samples_begin(&s->builder, &s->out);
}

/* A call that fails must leave the item as it was, so that the caller can close it and begin
 * another. */
static bw_status checked(bw_samples *s, const samples_builder *before, size_t size, bw_error *error)
{
    const bw_status status = samples_end(&s->builder);
    if (status == BW_OK)
        return BW_OK;
    const bw_status why = buf_status(&s->out) != BW_OK ? buf_status(&s->out) : status;
    s->out.size = size;
    s->out.failed = BW_OK;
    s->builder = *before;
    (void)samples_end(&s->builder);
    return error_set(error, why, "the samples: %s", bw_status_text(why));
}

bw_status bw_samples_begin(bw_samples *s, bw_error *error)
{
    CHECK_NOT_NULL(s);
    const samples_builder before = s->builder;
    const size_t size = s->out.size;
    samples_add(&s->builder);
    return checked(s, &before, size, error);
}

bw_status bw_samples_field(bw_samples *s, const char *key, const void *bytes, size_t size,
                           bw_error *error)
{
    CHECK_NOT_NULL(s);
    CHECK_NOT_NULL(key);
    if (bytes == NULL && size > 0)
        return error_set(error, BW_INVALID, "bw_samples_field: bytes is NULL");
    const samples_builder before = s->builder;
    const size_t size_before = s->out.size;
    samples_add_field(&s->builder, key, strlen(key), bytes, size);
    return checked(s, &before, size_before, error);
}

bw_status bw_samples_view(const bw_samples *s, const void **bytes, size_t *size)
{
    if (s == NULL || bytes == NULL || size == NULL)
        return BW_INVALID;
    *bytes = s->out.data;
    *size = s->out.size;
    return buf_status(&s->out);
}

bw_status bw_samples_read(const void *bytes, size_t size, bw_field_fn field, void *context,
                          bw_error *error)
{
    CHECK_NOT_NULL(field);
    if (bytes == NULL && size > 0)
        return error_set(error, BW_INVALID, "bw_samples_read: bytes is NULL");
    samples_reader r;
    sample_field f;
    BW_TRY(samples_open(&r, bytes, size, error));
    for (uint32_t sample = 0; samples_next(&r); sample++)
        while (samples_next_field(&r, &f))
            if (field(context, sample, (const char *)f.key, f.key_bytes, f.value, f.value_bytes) !=
                0)
                return error_set(error, BW_INTERRUPTED, "the reader stopped");
    return BW_OK;
}
