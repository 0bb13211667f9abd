// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a reader pays per descriptor: the CRC and the full check of a segment. */
#include "bench.h"

#include "base/alloc.h"
#include "codec/segment.h"
#include <stdio.h>
#include <string.h>

#define DECODE_PRODUCERS 32u
#define DECODE_SLICES 8u
/* What a fold of the default tail cap (8 KiB) makes: a tail just above its half. */
#define FOLD_RECORDS 100u
/* About a millisecond: shorter than a time slice, so that most turns are not cut. */
#define TURN_RECORDS 200000u

typedef struct decode_side {
    buf object;
    uint32_t records;
    uint64_t repeats;
} decode_side;

static void make_descriptor(uint32_t k, char ids[][8], descriptor *d)
{
    const uint32_t producer = k % DECODE_PRODUCERS;
    const uint64_t seq = k / DECODE_PRODUCERS + 1;
    *d = (descriptor){
        .id = view_text(ids[producer]),
        .record = {.nonce = 0x9e3779b97f4a7c15ull * (k + 1),
                   .start = (seq - 1) * 64,
                   .end = seq * 64,
                   .seq = seq,
                   .epoch = 1},
        .shape = {.form = FORM_UNIFORM,
                  .kind = ITEM_RAW,
                  .parts = 1,
                  .items = 2,
                  .footer_bytes = 512,
                  .uniform = 102400,
                  .total_bytes = DECODE_SLICES * 102400 + 512,
                  .samples = 64,
                  .tokens = 8192},
    };
}

static bw_status make_segment(decode_side *side, bw_error *error)
{
    char ids[DECODE_PRODUCERS][8];
    for (uint32_t i = 0; i < DECODE_PRODUCERS; i++)
        snprintf(ids[i], sizeof ids[i], "p%u", i);
    descriptor *descriptors = mem_array(side->records, sizeof *descriptors);
    if (descriptors == NULL)
        return error_set(error, BW_NOMEM, "no memory for descriptors");
    for (uint32_t k = 0; k < side->records; k++)
        make_descriptor(k, ids, &descriptors[k]);
    buf bytes;
    buf_init(&bytes, object_bytes_max(OBJECT_SEGMENT));
    buf_init(&side->object, object_bytes_max(OBJECT_SEGMENT));
    const uint8_t uuid[UUID_BYTES] = {1};
    const hash128 sum = {{0}};
    segment_ref ref;
    bw_status status = block_encode(NULL, 0, descriptors, side->records, &bytes);
    if (status == BW_OK)
        status = segment_encode_block(uuid, 0, side->records, view_of(bytes.data, bytes.size), &sum,
                                      &side->object, &ref);
    buf_free(&bytes);
    mem_free(descriptors);
    return status == BW_OK ? BW_OK : error_set(error, status, "cannot encode a segment");
}

static bw_status run_decode(void *context, double *ns, bw_error *error)
{
    decode_side *side = context;
    const view object = view_of(side->object.data, side->object.size);
    segment s;
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < side->repeats; i++)
        BW_TRY(segment_decode(object, DECODE_SLICES, &s, error));
    *ns = (double)(bench_now() - start) / (double)side->repeats / (double)side->records;
    return BW_OK;
}

static bw_status add_decode(bench *b, const char *name, uint32_t records, bool judged,
                            bw_error *error)
{
    decode_side side = {.records = records, .repeats = bench_budget(b, TURN_RECORDS / records, 2)};
    bench_spread spread = {0};
    bw_status status = make_segment(&side, error);
    if (status == BW_OK)
        status = bench_alone(bench_rounds(b, 10), (bench_side){run_decode, &side}, &spread, error);
    buf_free(&side.object);
    BW_TRY(status);
    bench_row *row = bench_add(b, name, "ns", spread);
    if (judged)
        bench_limit(row, JUDGE_VALUE_MAX, 10);
    return BW_OK;
}

bw_status bench_decode(bench *b, bw_error *error)
{
    BW_TRY(add_decode(b, "decode.descriptor", 20000, true, error));
    return add_decode(b, "decode.descriptor.one_fold", FOLD_RECORDS, false, error);
}
