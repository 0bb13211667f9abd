// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Tar archives. The first two bytes: whether checksums are made to fit (plain mutation would die at
 * them), and the largest sample; the rest is the file. */
#include "input/tarsamples.h"
#include "memfile.h"

#include "base/alloc.h"

#define HEAD 2u
#define BLOCK 512u
#define FIELDS_BYTES 8192u
/** Of the stream's buffer, of headers of headers. */
#define READER_BYTES ((size_t)3 << 20)

static uint64_t octal(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        if (at[i] >= '0' && at[i] <= '7')
            value = value * 8 + (uint64_t)(at[i] - '0');
    return value;
}

/** Seals what stands where headers do. */
static void seal(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + BLOCK <= size;) {
        uint8_t *block = bytes + at;
        unsigned sum = 0, zeros = 0;
        for (size_t i = 0; i < BLOCK; i++)
            zeros += block[i] == 0;
        if (zeros < BLOCK) {
            char digits[8];
            memset(block + 148, ' ', 8);
            for (size_t i = 0; i < BLOCK; i++)
                sum += block[i];
            snprintf(digits, sizeof digits, "%06o", sum);
            memcpy(block + 148, digits, 7);
        }
        const uint64_t skipped =
            octal(block + 124, 12) / BLOCK + (octal(block + 124, 12) % BLOCK != 0);
        if (skipped > size / BLOCK)
            return;
        at += BLOCK + (size_t)skipped * BLOCK;
    }
}

/** Every value lies in the file; keys are safe names. */
static void check_record(const record *r, view bytes, uint32_t max)
{
    PROMISE(r->field_count >= 2 && r->data.size <= max + FIELDS_BYTES);
    const record_field *key = record_find(r, "__key__", 7);
    PROMISE(key == &r->fields[0] && key->value_bytes > 0);
    const char *name = (const char *)r->data.data + key->value_at;
    PROMISE(name[0] != '/' && memmem(name, key->value_bytes, "//", 2) == NULL);
    PROMISE(!(key->value_bytes >= 3 && memcmp(name, "../", 3) == 0));
    PROMISE(memmem(name, key->value_bytes, "/../", 4) == NULL);
    for (size_t i = 1; i < r->field_count; i++) {
        const record_field *f = &r->fields[i];
        PROMISE(f->key_bytes > 0 && f->value_bytes <= max);
        PROMISE(memmem(bytes.data, bytes.size, r->data.data + f->value_at, f->value_bytes) != NULL);
        PROMISE(record_find(r, r->data.data + f->key_at, f->key_bytes) == f);
    }
}

static void read_archive(reader *r, const reader_options *o, view bytes)
{
    /* A record or a failure takes at least a header. */
    for (size_t i = 0; i <= bytes.size / BLOCK + 2; i++) {
        const record_place before = r->place(r);
        record out;
        bw_error error = {.code = BW_OK};
        record_init(&out, o->record_bytes_max + FIELDS_BYTES);
        const bw_status status = r->next(r, &out, &error);
        if (status == BW_OK) {
            check_record(&out, bytes, o->record_bytes_max);
            if (i % 4 == 0)
                check_place(r, before, &out, r->place(r), o->record_bytes_max + FIELDS_BYTES);
        }
        record_free(&out);
        if (status == BW_END)
            return;
        PROMISE(status == BW_OK || status == BW_INPUT_BAD);
        if (status != BW_OK)
            check_told(status, &error);
    }
    promise_broken(__FILE__, __LINE__, "the archive ends");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    uint8_t *copy = mem_dup(data + HEAD, size - HEAD);
    PROMISE(copy != NULL);
    if ((data[0] & 3) != 0)
        seal(copy, size - HEAD);
    const view bytes = view_of(copy, size - HEAD);
    if (looks_compressed(bytes)) {
        mem_free(copy);
        return 0;
    }
    char path[64];
    memfile_set(bytes, path);
    document d = {.path = path, .name = path, .size = bytes.size};
    const documents files = {.list = &d, .count = 1};
    const reader_options o = {.files = &files, .shards = 1, .record_bytes_max = data[1] * 64u};
    reader *r = NULL;
    meter_start();
    PROMISE(tarsamples_open(&o, &r, NULL) == BW_OK);
    read_archive(r, &o, bytes);
    PROMISE(meter_peak() <= READER_BYTES + 4 * size);
    r->close(r);
    mem_free(copy);
    return 0;
}
