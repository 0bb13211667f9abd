// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/stage.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

/* What an intent does not see of a staged batch. */
typedef struct staged {
    void *memory; /* copies of id, side bytes and state */
    uint64_t token;
    bool done;
} staged;

/* Parallel arrays, so that the ready prefix is handed out as it lies. Slot i holds seq
 * published_seq + 1 + i. */
struct stage {
    uint32_t batches_max;
    uint64_t bytes_max;
    uint32_t count;
    uint64_t bytes;
    uint64_t published_seq;
    uint64_t end_offset;
    descriptor *descriptors;
    view *states;
    state_ref *state_refs;
    staged *rest;
};

bw_status stage_new(uint64_t seq, uint64_t offset, uint32_t batches_max, uint64_t bytes_max,
                    stage **out)
{
    stage *s = mem_zalloc(sizeof *s);
    if (s == NULL)
        return BW_NOMEM;
    s->batches_max = batches_max > 0 ? batches_max : 1;
    s->bytes_max = bytes_max;
    s->published_seq = seq;
    s->end_offset = offset;
    s->descriptors = mem_array(s->batches_max, sizeof *s->descriptors);
    s->states = mem_array(s->batches_max, sizeof *s->states);
    s->state_refs = mem_array(s->batches_max, sizeof *s->state_refs);
    s->rest = mem_array(s->batches_max, sizeof *s->rest);
    if (s->descriptors == NULL || s->states == NULL || s->state_refs == NULL || s->rest == NULL) {
        stage_free(s);
        return BW_NOMEM;
    }
    *out = s;
    return BW_OK;
}

void stage_free(stage *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a stage half made has count 0
        mem_free(s->rest[i].memory);
    mem_free(s->descriptors);
    mem_free(s->states);
    mem_free(s->state_refs);
    mem_free(s->rest);
    mem_free(s);
}

bool stage_has_room(const stage *s, uint64_t bytes)
{
    MUST(s->count <= s->batches_max);
    MUST(s->count > 0 || s->bytes == 0);
    if (s->count == 0)
        return true;
    return s->count < s->batches_max && s->bytes < s->bytes_max && bytes <= s->bytes_max - s->bytes;
}

static view copy_view(uint8_t **at, view from)
{
    if (from.size > 0)
        memcpy(*at, from.data, from.size);
    const view copy = view_of(*at, from.size);
    *at += from.size;
    return copy;
}

bw_status stage_add(stage *s, const descriptor *d, uint64_t end_offset, view state,
                    const state_ref *state_object, uint64_t token, uint64_t *seq, bw_error *error)
{
    if (end_offset < s->end_offset)
        return error_set(error, BW_INVALID, "end offset %llu is before the last one, %llu",
                         (unsigned long long)end_offset, (unsigned long long)s->end_offset);
    if (s->count == s->batches_max)
        return error_set(error, BW_BUG, "a batch was staged without room");
    const size_t state_bytes = state_object == NULL ? state.size : 0;
    uint8_t *memory = mem_alloc(d->id.size + d->shape.side.size + state_bytes + 1);
    if (memory == NULL)
        return error_set(error, BW_NOMEM, "no memory to stage a batch");

    MUST(s->count < s->batches_max);
    MUST(d->shape.total_bytes <= UINT64_MAX - s->bytes);
    const uint32_t slot = s->count++;
    descriptor *copy = &s->descriptors[slot];
    uint8_t *at = memory;
    *copy = *d;
    copy->id = copy_view(&at, d->id);
    copy->shape.side = copy_view(&at, d->shape.side);
    copy->record.seq = s->published_seq + s->count;
    copy->record.start = s->end_offset;
    copy->record.end = end_offset;
    if (state_object != NULL) {
        s->states[slot] = (view){0};
        s->state_refs[slot] = *state_object;
    } else {
        s->states[slot] = copy_view(&at, state);
        s->state_refs[slot] = (state_ref){0};
    }
    MUST((size_t)(at - memory) <= d->id.size + d->shape.side.size + state_bytes);
    MUST(copy->record.start <= copy->record.end);
    s->rest[slot] = (staged){.memory = memory, .token = token};
    s->bytes += d->shape.total_bytes;
    s->end_offset = end_offset;
    *seq = copy->record.seq;
    return BW_OK;
}

void stage_done(stage *s, uint64_t seq)
{
    MUST_OR(seq > s->published_seq, return );
    MUST_OR(seq - s->published_seq <= s->count, return );
    MUST(!s->rest[seq - s->published_seq - 1].done);
    s->rest[seq - s->published_seq - 1].done = true;
}

uint32_t stage_ready(stage *s, uint32_t max, const descriptor **descriptors, const view **states,
                     const state_ref **state_refs)
{
    uint32_t ready = 0;
    while (ready < s->count && ready < max && (s->rest[ready].done || MUTANT(stage_not_contiguous)))
        ready++;
    MUST(ready <= s->count);
    MUST(ready == 0 || s->descriptors[0].record.seq == s->published_seq + 1);
    MUST(ready == 0 || s->descriptors[ready - 1].record.seq == s->published_seq + ready);
    *descriptors = s->descriptors;
    *states = s->states;
    *state_refs = s->state_refs;
    return ready;
}

void stage_published(stage *s, uint32_t count, uint64_t first_step,
                     void (*each)(void *context, uint64_t token, uint64_t step), void *context)
{
    MUST_OR(count <= s->count, return );
    for (uint32_t i = 0; i < count; i++) {
        MUST(s->rest[i].done);
        MUST(s->bytes >= s->descriptors[i].shape.total_bytes);
        if (each != NULL)
            each(context, s->rest[i].token, first_step + i);
        mem_free(s->rest[i].memory);
        s->bytes -= s->descriptors[i].shape.total_bytes;
    }
    const uint32_t left = s->count - count;
    memmove(s->descriptors, s->descriptors + count, left * sizeof *s->descriptors);
    memmove(s->states, s->states + count, left * sizeof *s->states);
    memmove(s->state_refs, s->state_refs + count, left * sizeof *s->state_refs);
    memmove(s->rest, s->rest + count, left * sizeof *s->rest);
    s->count = left;
    s->published_seq += count;
    MUST(left > 0 || s->bytes == 0);
    MUST(left == 0 || s->descriptors[0].record.seq == s->published_seq + 1);
}

uint32_t stage_batches(const stage *s)
{
    return s->count;
}

uint64_t stage_bytes(const stage *s)
{
    return s->bytes;
}

uint64_t stage_last_seq(const stage *s)
{
    return s->published_seq + s->count;
}

uint64_t stage_published_seq(const stage *s)
{
    return s->published_seq;
}

uint64_t stage_end_offset(const stage *s)
{
    return s->end_offset;
}
