// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory runs out, or a hash cannot be computed, anywhere inside of an encoder or decoder: it says
 * BW_NOMEM and never that the bytes are damaged, owns nothing afterwards (the leak checker looks),
 * and the same call with memory gives what it always gives. */
#include "support.h"
#include "tests/unit/scarcity.h"

#include "base/alloc.h"
#include "codec/cursor.h"
#include "codec/fold.h"
#include "codec/key.h"
#include "codec/packing.h"
#include "codec/segment.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The n-th request fails, once and for good, for each n until the call makes fewer. */
static void walk(bw_status (*call)(void))
{
    for (int good = 0; good < 2; good++) {
        for (uint32_t n = 1;; n++) {
            const uint64_t before = scarcity.failed;
            scarcity.nth = n;
            scarcity.ever = good != 0;
            scarcity.scarce = true;
            const bw_status status = call();
            scarcity.scarce = false;
            if (scarcity.failed == before) {
                assert_int_equal(status, BW_OK);
                assert_true(n > 1);
                break;
            }
            assert_true(status == BW_NOMEM || (status == BW_OK && !scarcity.ever));
            assert_true(n < 20000);
        }
    }
}

static draft subject;
static buf object, bytes;
static segment_ref reference;
static const uint8_t uuid[UUID_BYTES];

static bw_status encode_manifest(void)
{
    buf out;
    buf_init(&out, object_bytes_max(OBJECT_MANIFEST));
    const bw_status status = manifest_encode(&subject.m, &out);
    buf_free(&out);
    return status;
}

static bw_status decode_manifest(void)
{
    manifest *m = NULL;
    bw_error error;
    scarcity.scarce = false;
    uint8_t *copy = mem_dup(object.data, object.size);
    scarcity.scarce = true;
    const bw_status status = manifest_decode(copy, object.size, SLICES, &m, &error);
    if (status == BW_OK)
        manifest_unref(m);
    else
        mem_free(copy);
    return status;
}

static bw_status fold(void)
{
    buf out;
    segment_ref ref;
    buf_init(&out, object_bytes_max(OBJECT_SEGMENT));
    const bw_status status = fold_build(&subject.m, &out, &ref);
    buf_free(&out);
    return status;
}

static bw_status open_segment(void)
{
    segment s;
    bw_error error;
    return segment_open(view_of(bytes.data, bytes.size), &reference, subject.m.uuid, SLICES, &s,
                        &error);
}

static bw_status append_block(void)
{
    buf out;
    descriptor d[3];
    buf_init(&out, 1 << 20);
    for (uint32_t k = 0; k < 3; k++)
        block_descriptor(&subject.m.tail, k, &d[k]);
    const bw_status status = block_encode(&subject.m.tail, 1, d, 3, &out);
    buf_free(&out);
    return status;
}

static bw_status add_terms(void)
{
    hash128 sum = {{0}};
    return block_add_terms(&subject.m.tail, 7, 0, subject.m.tail.records, &sum);
}

static bw_status index_of_children(void)
{
    segment_ref children[INDEX_CHILDREN], ref;
    buf out;
    memset(children, 0, sizeof children);
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++) {
        children[i].first = 10 * i;
        children[i].last = 10 * i + 9;
        children[i].bytes = 100;
    }
    buf_init(&out, object_bytes_max(OBJECT_SEGMENT));
    const bw_status status = segment_encode_index(uuid, children, &out, &ref);
    buf_free(&out);
    return status;
}

static bw_status name_a_part(void)
{
    object_key key;
    key_part(&key, view_text("p"), 1, 2, 3, 4);
    return key.text[0] != '\0' ? BW_OK : BW_NOMEM;
}

static bw_status copy_a_cursor(void)
{
    skip_range skips[2] = {{1, 2}, {4, 6}};
    tag_range tags[1] = {{5, TAG_ANY}};
    const cursor from = {
        .step = 9, .dp = 1, .skip_count = 2, .skips = skips, .tag_count = 1, .tags = tags};
    cursor to;
    hash128 hash;
    bw_status status = cursor_copy(&to, &from);
    if (status == BW_OK) {
        status = cursor_skip(&to, 9, 12);
        assert_int_equal(to.skip_count, status == BW_OK ? 3 : 2);
        if (status == BW_OK)
            status = cursor_hash(&to, &hash);
        cursor_free(&to);
    }
    return status;
}

static bw_status pack_an_item(void)
{
    static char text[3000];
    packer *p = NULL;
    uint8_t *packed = NULL, out[3000];
    frame_item item = {.plain_bytes = sizeof text, .codec = CODEC_ZSTD};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 7 * (i % 11) % 20);
    bw_status status = packer_new(3, &p);
    if (status == BW_OK)
        status = packer_begin(p, sizeof text);
    if (status == BW_OK) {
        packer_add(p, view_of(text, 1000));
        packer_add(p, view_of(text + 1000, 2000));
        status = packer_end(p, &packed, &item.stored_bytes);
    }
    if (status == BW_OK)
        status = frame_unpack(view_of(packed, item.stored_bytes), &item, 1, out, NULL);
    mem_free(packed);
    packer_free(p);
    return status;
}

/* jansson's memory runs out as well: it takes that for a fault of the text, and we do not. */
static bw_status decode_cursor(void)
{
    static const char text[] =
        "{\"batchweave\":1,\"namespace\":\"00000000000000000000000000000000\","
        "\"step\":1,\"item\":0,\"mode\":\"same_batch\",\"dp\":1,\"nonce\":null,"
        "\"version\":9,\"skips\":[[2,4],[6,8]],\"tags\":[[3,4],[7,null]]}";
    cursor c;
    bw_error error;
    const bw_status status = cursor_decode(view_text(text), &c, &error);
    if (status == BW_OK)
        cursor_free(&c);
    return status;
}

static void skips_are_checked_and_compared(void **state)
{
    (void)state;
    skip_range a[2] = {{1, 2}, {4, 6}}, b[2] = {{1, 2}, {4, 7}}, far[1] = {{3, (uint64_t)1 << 63}};
    const cursor one = {.step = 9, .dp = 1, .skip_count = 2, .skips = a};
    const cursor two = {.step = 9, .dp = 1, .skip_count = 2, .skips = b};
    const cursor beyond = {.step = 9, .dp = 1, .skip_count = 1, .skips = far};
    buf out;
    assert_true(cursor_equal(&one, &one));
    assert_false(cursor_equal(&one, &two));
    buf_init(&out, 10000);
    assert_int_not_equal(cursor_encode(&beyond, &out), BW_OK);
    buf_free(&out);
}

static void no_memory_is_no_damage(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bw_status (*call)(void);
    } calls[] = {
        {"encode a manifest", encode_manifest},
        {"decode a manifest", decode_manifest},
        {"fold", fold},
        {"open a segment", open_segment},
        {"append to a block", append_block},
        {"add terms", add_terms},
        {"encode an index", index_of_children},
        {"name a part", name_a_part},
        {"copy and hash a cursor", copy_a_cursor},
        {"pack an item", pack_an_item},
        {"decode a cursor", decode_cursor},
    };
    rng r;
    json_set_alloc_funcs(malloc, free); /* as they are wrapped here */
    rng_seed(&r, 11);
    draft_init(&subject, &r, 20, 12);
    buf_init(&object, object_bytes_max(OBJECT_MANIFEST));
    buf_init(&bytes, object_bytes_max(OBJECT_SEGMENT));
    assert_int_equal(manifest_encode(&subject.m, &object), BW_OK);
    assert_int_equal(fold_build(&subject.m, &bytes, &reference), BW_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        print_message("%s\n", calls[i].name);
        walk(calls[i].call);
    }
    assert_true(scarcity.failed > 100);
    buf_free(&bytes);
    buf_free(&object);
    draft_free(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_is_no_damage),
        cmocka_unit_test(skips_are_checked_and_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
