// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Items of kind safetensors: what is accepted owns each byte once, names no tensor twice, and says
 * the same when it is written by us and read again. */
#include "base/alloc.h"
#include "fuzz.h"
#include "payload/safetensors.h"

#include <string.h>

/** malloc rounds up. */
#define ROUNDING 64u

static size_t text_of(jsonstring text, char *out)
{
    uint8_t c[4];
    size_t size = 0, n;
    while ((n = jsonstring_next(&text, c)) > 0) {
        memcpy(out + size, c, n);
        size += n;
    }
    return size;
}

/** The same tensors in one of ours; names need no more room than they take as written. */
static void write_again(const safetensors *s)
{
    tensor *tensors = mem_array(s->count + 1, sizeof *tensors);
    uint64_t *shapes = mem_array(s->count + 1, TENSOR_RANK_MAX * sizeof *shapes);
    char *names = mem_alloc(s->header_bytes + 1), *name = names;
    PROMISE(tensors != NULL && shapes != NULL && names != NULL);
    for (size_t i = 0; i < s->count; i++) {
        const tensor_entry *e = &s->tensors[i];
        uint64_t *shape = shapes + i * TENSOR_RANK_MAX;
        safetensors_shape(s, i, shape);
        tensors[i] = (tensor){.name = name,
                              .name_bytes = text_of(safetensors_name(s, i), name),
                              .type = (tensor_type)e->type,
                              .shape = shape,
                              .rank = e->rank,
                              .bytes = safetensors_bytes(s, i),
                              .size = (size_t)(e->end - e->begin)};
        name += tensors[i].name_bytes;
    }
    buf out;
    safetensors again;
    buf_init(&out, SIZE_MAX);
    PROMISE(safetensors_write(tensors, s->count, NULL, 0, &out, NULL) == BW_OK);
    PROMISE(safetensors_open(&again, out.data, out.size, NULL) == BW_OK);
    PROMISE(again.count == s->count && again.data_bytes == s->data_bytes);
    for (size_t i = 0; i < s->count; i++) {
        size_t at;
        uint64_t shape[TENSOR_RANK_MAX];
        PROMISE(safetensors_find(s, tensors[i].name, tensors[i].name_bytes, &at) && at == i);
        PROMISE(safetensors_find(&again, tensors[i].name, tensors[i].name_bytes, &at));
        safetensors_shape(&again, at, shape);
        PROMISE(again.tensors[at].rank == tensors[i].rank &&
                memcmp(shape, tensors[i].shape, tensors[i].rank * sizeof *shape) == 0);
        PROMISE(memcmp(safetensors_bytes(&again, at), tensors[i].bytes, tensors[i].size) == 0);
    }
    safetensors_close(&again);
    buf_free(&out);
    mem_free(names);
    mem_free(shapes);
    mem_free(tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    safetensors s;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = safetensors_open(&s, data, size, &error);
    PROMISE(meter_peak() <= size + ROUNDING);
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT);
        check_told(status, &error);
        return 0;
    }
    uint64_t end = 0;
    for (size_t i = 0; i < s.count; i++) {
        PROMISE(s.tensors[i].begin == end);
        end = s.tensors[i].end;
    }
    PROMISE(end == s.data_bytes && s.data + s.data_bytes == data + size);
    uint32_t at = 0;
    jsonstring key, value;
    while (safetensors_note(&s, &at, &key, &value))
        PROMISE(key.raw >= data && value.raw + value.raw_bytes < data + size);
    write_again(&s);
    safetensors_close(&s);
    return 0;
}
