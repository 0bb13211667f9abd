// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tokens.h"

#include "base/alloc.h"
#include "base/error.h"

#include <inttypes.h>
#include <string.h>

typedef struct tokens {
    reader base;
    tokenfile *files;
    uint64_t *first; /* of each file: its first sequence, over all files; one more: their number */
    size_t count;
    size_t open; /* one file at a time: there may be more of them than a process may have open */
    uint32_t shard, shards;
    size_t seq_len;
    uint64_t index; /* of this shard's next sequence */
    uint64_t read;
    int32_t *numbers; /* seq_len + 1 */
} tokens;

static bw_status seek(reader *r, record_place to, bw_error *error)
{
    (void)error;
    ((tokens *)r)->index = to.index;
    return BW_OK;
}

static record_place place(const reader *r)
{
    return (record_place){.index = ((const tokens *)r)->index};
}

static uint64_t bytes(const reader *r)
{
    return ((const tokens *)r)->read;
}

static void close_tokens(reader *r)
{
    tokens *t = (tokens *)r;
    if (t->open < t->count)
        tokenfile_close(&t->files[t->open]);
    mem_free(t->files);
    mem_free(t->first);
    mem_free(t->numbers);
    mem_free(t);
}

static bw_status next(reader *r, record *out, bw_error *error)
{
    tokens *t = (tokens *)r;
    uint64_t sequence;
    (void)error;
    if (__builtin_mul_overflow(t->index, t->shards, &sequence) ||
        __builtin_add_overflow(sequence, t->shard, &sequence) || sequence >= t->first[t->count])
        return BW_END;
    out->place = (record_place){.index = sequence};
    t->index++;
    return BW_OK;
}

/** Makes file `i` the open one. */
static bw_status use_file(tokens *t, size_t i, bw_error *error)
{
    if (t->open == i)
        return BW_OK;
    if (t->open < t->count)
        tokenfile_close(&t->files[t->open]);
    t->open = i;
    const bw_status status = tokenfile_reopen(&t->files[i], error);
    if (status != BW_OK) {
        tokenfile_close(&t->files[i]);
        t->open = t->count;
    }
    return status;
}

static size_t file_of(const tokens *t, uint64_t sequence)
{
    size_t low = 0, high = t->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (t->first[middle] <= sequence)
            low = middle;
        else
            high = middle;
    }
    /* Files without a sequence begin where the next one does. */
    return low;
}

/** The numbers as bytes of a field. */
static bw_status add_numbers(record *out, const char *key, const int32_t *numbers, size_t count)
{
    BW_TRY(record_open_field(out, key, strlen(key)));
    for (size_t i = 0; i < count; i++)
        buf_put_u32(&out->data, (uint32_t)numbers[i]);
    record_close_field(out);
    return buf_status(&out->data);
}

/** The first `have` of the numbers are right; the rest is filled up. */
static bw_status add_filled(const tokens *t, record *out, const char *key, int32_t *numbers,
                            size_t have, int32_t filler, bw_error *error)
{
    for (size_t i = have; i < t->seq_len; i++)
        numbers[i] = filler;
    const bw_status status = add_numbers(out, key, numbers, t->seq_len);
    return status == BW_OK ? BW_OK : error_set(error, status, "no memory for a sequence");
}

static bw_status fill(reader *r, record *out, bw_error *error)
{
    tokens *t = (tokens *)r;
    const size_t i = file_of(t, out->place.index);
    const tokenfile *f = &t->files[i];
    BW_TRY(use_file(t, i, error));
    const uint64_t at = (out->place.index - t->first[i]) * t->seq_len;
    const uint64_t left = f->tokens - at;
    const size_t have = left < t->seq_len + 1 ? (size_t)left : t->seq_len + 1;
    const size_t inputs = have < t->seq_len ? have : t->seq_len;
    BW_TRY(tokenfile_read(f, at, have, t->numbers, error));
    t->read += have;
    int32_t kept = have > t->seq_len ? t->numbers[t->seq_len] : 0;
    BW_TRY(add_filled(t, out, "tokens", t->numbers, inputs, 0, error));
    memmove(t->numbers, t->numbers + 1, (t->seq_len - 1) * sizeof *t->numbers);
    t->numbers[t->seq_len - 1] = kept;
    BW_TRY(add_filled(t, out, "labels", t->numbers, have - 1, TOKENS_IGNORED, error));
    if (f->indexed) {
        BW_TRY(tokenfile_positions(f, at, inputs, t->numbers, error));
        BW_TRY(add_filled(t, out, "positions", t->numbers, inputs, 0, error));
    }
    out->tokens = have - 1;
    if (record_set_id(out, "%s@%" PRIu64, f->bin->name, at) != BW_OK)
        return error_set(error, BW_NOMEM, "no memory for a sequence");
    return BW_OK;
}

uint64_t tokens_sequences(const reader *r)
{
    const tokens *t = (const tokens *)r;
    return t->first[t->count];
}

bool tokens_indexed(const reader *r)
{
    return ((const tokens *)r)->files[0].indexed;
}

static bw_status open_all(tokens *t, documents *files, token_type type, bw_error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        const bw_status status = tokenfile_open(&files->list[i], type, &t->files[i], error);
        tokenfile_close(&t->files[i]);
        BW_TRY(status);
        if (t->files[i].indexed != t->files[0].indexed)
            return error_set(error, BW_INVALID,
                             "input %s: files with an index and files without do not mix",
                             files->list[i].name);
        const uint64_t labels = t->files[i].tokens > 0 ? t->files[i].tokens - 1 : 0;
        t->first[i + 1] = t->first[i] + (labels + t->seq_len - 1) / t->seq_len;
    }
    return BW_OK;
}

bw_status tokens_open(documents *files, uint32_t shard, uint32_t shards, size_t seq_len,
                      token_type type, reader **out, bw_error *error)
{
    tokens *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory to read tokens");
    made->base = (reader){.seek = seek,
                          .next = next,
                          .fill = fill,
                          .place = place,
                          .bytes = bytes,
                          .close = close_tokens};
    made->shard = shard;
    made->shards = shards;
    made->seq_len = seq_len;
    made->count = made->open = files->count;
    made->files = mem_array(files->count, sizeof *made->files);
    made->first = mem_array(files->count + 1, sizeof *made->first);
    made->numbers = mem_array(seq_len + 1, sizeof *made->numbers);
    bw_status status = BW_OK;
    if (made->files == NULL || made->first == NULL || made->numbers == NULL)
        status = error_set(error, BW_NOMEM, "no memory to read tokens");
    if (status == BW_OK)
        status = open_all(made, files, type, error);
    if (status != BW_OK)
        close_tokens(&made->base);
    else
        *out = &made->base;
    return status;
}
