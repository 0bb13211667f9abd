// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* R2: uploads end in any order, only the contiguous done prefix is published. */
#include "protocol/stage.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t add(stage *s, uint64_t bytes, uint64_t end, const char *text, uint64_t token)
{
    uint64_t seq = 0;
    const uint8_t side[3] = {1, 2, 3};
    const descriptor d = {
        .id = view_text("p"),
        .record = {.nonce = token, .epoch = 2},
        .shape = {.form = FORM_INLINE, .total_bytes = bytes, .side = view_of(side, sizeof side)}};
    assert_int_equal(stage_add(s, &d, end, view_text(text), NULL, token, &seq, NULL), BW_OK);
    return seq;
}

typedef struct told {
    uint64_t tokens[8], steps[8];
    uint32_t count;
} told;

static void tell(void *context, uint64_t token, uint64_t step)
{
    told *t = context;
    t->tokens[t->count] = token;
    t->steps[t->count++] = step;
}

static void only_the_done_prefix_is_ready(void **state)
{
    (void)state;
    stage *s;
    const descriptor *d;
    const view *states;
    const state_ref *refs;
    told t = {.count = 0};
    assert_int_equal(stage_new(4, 40, 8, 1000, &s), BW_OK);
    assert_int_equal(add(s, 100, 50, "a", 1), 5);
    assert_int_equal(add(s, 100, 50, "bb", 2), 6);
    assert_int_equal(add(s, 100, 70, "", 3), 7);
    assert_int_equal(stage_ready(s, 8, &d, &states, &refs), 0);
    stage_done(s, 6);
    stage_done(s, 7);
    assert_int_equal(stage_ready(s, 8, &d, &states, &refs), 0);
    stage_done(s, 5);
    assert_int_equal(stage_ready(s, 2, &d, &states, &refs), 2);
    assert_int_equal(stage_ready(s, 8, &d, &states, &refs), 3);
    assert_int_equal(d[0].record.start, 40);
    assert_int_equal(d[0].record.end, 50);
    assert_int_equal(d[1].record.start, 50);
    assert_int_equal(d[2].record.end, 70);
    assert_int_equal(d[2].record.seq, 7);
    assert_int_equal(d[0].record.epoch, 2);
    assert_int_equal(d[0].shape.side.size, 3);
    assert_memory_equal(d[0].shape.side.data, "\1\2\3", 3);
    assert_true(view_equal(states[1], view_text("bb")));
    assert_non_null(states[2].data); /* empty, and still no object */

    stage_published(s, 2, 100, tell, &t);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.tokens[1], 2);
    assert_int_equal(t.steps[1], 101);
    assert_int_equal(stage_batches(s), 1);
    assert_int_equal(stage_bytes(s), 100);
    assert_int_equal(stage_published_seq(s), 6);
    assert_int_equal(stage_last_seq(s), 7);
    assert_int_equal(stage_end_offset(s), 70);
    assert_int_equal(stage_ready(s, 8, &d, &states, &refs), 1);
    assert_int_equal(d[0].record.seq, 7);
    stage_published(s, 1, 102, NULL, NULL);
    assert_int_equal(stage_batches(s), 0);
    stage_free(s);
    stage_free(NULL);
}

static void room_is_bounded(void **state)
{
    (void)state;
    stage *s;
    bw_error error;
    uint64_t seq;
    assert_int_equal(stage_new(0, 0, 2, 1000, &s), BW_OK);
    assert_true(stage_has_room(s, 5000)); /* alone, a larger one is let through */
    (void)add(s, 900, 1, "", 1);
    assert_true(stage_has_room(s, 100));
    assert_false(stage_has_room(s, 101));
    (void)add(s, 100, 2, "", 2);
    assert_false(stage_has_room(s, 0));
    const descriptor d = {.id = view_text("p")};
    assert_int_equal(stage_add(s, &d, 1, view_text(""), NULL, 3, &seq, &error), BW_INVALID);
    assert_int_equal(stage_add(s, &d, 3, view_text(""), NULL, 3, &seq, &error), BW_BUG);
    stage_free(s);
    /* Full by bytes, with places left. */
    assert_int_equal(stage_new(0, 0, 8, 1000, &s), BW_OK);
    (void)add(s, 1000, 1, "", 1);
    assert_false(stage_has_room(s, 0));
    stage_free(s);
}

static void a_state_may_be_an_object(void **state)
{
    (void)state;
    stage *s;
    const descriptor *d;
    const view *states;
    const state_ref *refs;
    uint64_t seq;
    const state_ref object = {.epoch = 1, .seq = 1, .nonce = 8, .bytes = 300};
    const descriptor one = {.id = view_text("p")};
    assert_int_equal(stage_new(0, 0, 0, 1000, &s), BW_OK);
    assert_int_equal(stage_add(s, &one, 1, view_text("x"), &object, 3, &seq, NULL), BW_OK);
    stage_done(s, seq);
    assert_int_equal(stage_ready(s, 8, &d, &states, &refs), 1);
    assert_null(states[0].data);
    assert_int_equal(refs[0].nonce, 8);
    stage_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_done_prefix_is_ready),
        cmocka_unit_test(room_is_bounded),
        cmocka_unit_test(a_state_may_be_an_object),
    };
    return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
