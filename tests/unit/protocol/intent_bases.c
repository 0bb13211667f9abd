// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "intent_bases.h"

#include <string.h>

const token128 mine = {{1}}, other = {{2}};
genesis bases_genesis;
intent_scratch *bases_scratch;
static buf published;

int bases_begin(void **state)
{
    (void)state;
    bases_genesis = (genesis){.dp = 1,
                              .cp = 1,
                              .items_default = 1,
                              .block_size = 4,
                              .tail_cap = 1024,
                              .part_bytes = 4096,
                              .page_min = 2};
    buf_init(&published, 1u << 20);
    return intent_scratch_new(&bases_scratch) == BW_OK ? 0 : -1;
}

int bases_end(void **state)
{
    (void)state;
    buf_free(&published);
    intent_scratch_free(bases_scratch);
    return 0;
}

producer_entry entry_of(const char *id, uint32_t epoch, const token128 *token)
{
    return (producer_entry){
        .id = view_text(id), .epoch = epoch, .token = *token, .state = view_text("s")};
}

manifest base_of(producer_entry *entries, uint32_t count)
{
    static const uint8_t empty[20];
    manifest base;
    memset(&base, 0, sizeof base);
    memcpy(base.uuid, bases_genesis.uuid, UUID_BYTES);
    base.version = 9;
    base.producers = entries;
    base.producer_count = count;
    base.tail.bytes = view_of(empty, sizeof empty);
    for (uint32_t i = 0; i < count; i++)
        base.finished_producers += entries[i].finished;
    return base;
}

void base_publish(manifest *base, producer_entry *e, uint32_t count)
{
    char id[NAME_MAX_BYTES + 1] = {0};
    descriptor d[64];
    assert_true(count <= 64 && e->id.size <= NAME_MAX_BYTES);
    memcpy(id, e->id.data, e->id.size);
    for (uint32_t k = 0; k < count; k++) {
        d[k] = batch_of(id, k + 1, 200);
        hash128 term;
        assert_int_equal(descriptor_term(k, &d[k], &term), BW_OK);
        hash_add(&base->sum, &term);
    }
    buf_reset(&published);
    assert_int_equal(block_encode(NULL, 0, d, count, &published), BW_OK);
    assert_int_equal(block_decode(view_of(published.data, published.size), 1, &base->tail, NULL),
                     BW_OK);
    base->next = count;
    base->committed_bytes = 200 * (uint64_t)count;
    e->seq = e->offset = count;
    e->last_publish = 9;
}

intent_aid aid_of(void)
{
    return (intent_aid){
        .genesis = &bases_genesis, .nonce = {{9}}, .clock_ms = 77, .committer = view_text("me")};
}

descriptor batch_of(const char *id, uint64_t seq, uint64_t bytes)
{
    return (descriptor){
        .id = view_text(id),
        .record = {.nonce = seq, .start = seq - 1, .end = seq, .seq = seq, .epoch = 1},
        .shape = {.form = FORM_UNIFORM,
                  .parts = 1,
                  .items = 1,
                  .footer_bytes = 60,
                  .uniform = 128,
                  .total_bytes = bytes},
    };
}

intent_verdict try_intent(intent *i, const manifest *base, manifest *draft, intent_result *result)
{
    const intent_aid aid = aid_of();
    return intent_apply(i, base, &aid, bases_scratch, draft, result);
}

manifest *next_of(const manifest *draft, const manifest *base)
{
    buf out;
    bw_error error;
    manifest *m;
    size_t size;
    buf_init(&out, object_bytes_max(OBJECT_MANIFEST));
    assert_int_equal(manifest_encode(draft, &out), BW_OK);
    uint8_t *object = buf_take(&out, &size);
    if (manifest_decode(object, size, 1, &m, &error) != BW_OK)
        fail_msg("a candidate breaks the format: %s", error.message);
    assert_int_equal(m->version, base->version + 1);
    assert_memory_equal(&m->previous, &base->hash, sizeof base->hash);
    assert_true(m->trim >= base->trim && m->swept >= base->swept);
    return m;
}

void sound(const manifest *draft, const manifest *base)
{
    manifest_unref(next_of(draft, base));
}

void harmless_again(intent *i, const manifest *draft, const manifest *base)
{
    manifest *next = next_of(draft, base), again;
    intent_result result;
    assert_int_equal(try_intent(i, next, &again, &result), INTENT_ALREADY);
    manifest_unref(next);
}
