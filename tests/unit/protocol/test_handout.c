// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/handout.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const genesis g = {.uuid = {1},
                          .dp = 2,
                          .cp = 2,
                          .items_default = 2,
                          .block_size = 4,
                          .tail_cap = 256,
                          .part_bytes = 4096,
                          .page_min = 2};

static manifest at(uint64_t trim, uint64_t next)
{
    manifest m;
    memset(&m, 0, sizeof m);
    m.version = 12;
    m.trim = m.swept = trim;
    m.next = next;
    return m;
}

static handout *handout_of(uint32_t d, uint32_t c)
{
    handout *h;
    assert_int_equal(handout_new(&g, (position){d, c}, 2, MODE_SAME_BATCH, &h, NULL), BW_OK);
    return h;
}

/* The paper's example: 16 GPUs as D2 C2 TP2 PP2. */
static void sixteen_gpus(void **state)
{
    (void)state;
    const mesh m = {.dp = 2, .cp = 2, .tp = 2, .pp = 2};
    static const position expected[16] = {{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 0},
                                          {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 1}, {0, 1},
                                          {1, 0}, {1, 0}, {1, 1}, {1, 1}};
    for (uint32_t rank = 0; rank < 16; rank++) {
        position p;
        assert_int_equal(mesh_position(&m, rank, 16, &p, NULL), BW_OK);
        assert_int_equal(p.d, expected[rank].d);
        assert_int_equal(p.c, expected[rank].c);
    }
}

static void a_mesh_must_be_the_world(void **state)
{
    (void)state;
    position p;
    bw_error error;
    const mesh m = {.dp = 2, .cp = 2, .tp = 2, .pp = 2};
    assert_int_equal(mesh_position(&m, 0, 8, &p, &error), BW_MESH_MISMATCH);
    assert_non_null(strstr(error.message, "world size 8 is not dp 2 x cp 2 x tp 2 x pp 2"));
    assert_int_equal(mesh_position(&m, 16, 16, &p, &error), BW_INVALID);
    const mesh none[] = {{.dp = 0, .cp = 2, .tp = 1, .pp = 1},
                         {.dp = 2, .cp = 0, .tp = 1, .pp = 1},
                         {.dp = 2, .cp = 1, .tp = 0, .pp = 1},
                         {.dp = 2, .cp = 1, .tp = 1, .pp = 0}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(mesh_position(&none[i], 0, 0, &p, &error), BW_INVALID);
    const mesh deep = {.dp = 1, .cp = 1, .tp = 4, .pp = 4};
    assert_int_equal(mesh_position(&deep, 0, 8, &p, &error), BW_MESH_MISMATCH);
    const mesh huge = {.dp = 1u << 31, .cp = 2, .tp = 1u << 31, .pp = 4};
    assert_int_equal(mesh_position(&huge, 0, 8, &p, &error), BW_MESH_MISMATCH);
    handout *h;
    assert_int_equal(handout_new(&g, (position){0, 0}, 3, MODE_SAME_BATCH, &h, &error),
                     BW_MESH_MISMATCH);
    assert_non_null(strstr(error.message, "legal here: what divides 2, or a multiple"));
    assert_int_equal(handout_new(&g, (position){2, 0}, 2, MODE_SAME_BATCH, &h, &error),
                     BW_MESH_MISMATCH);
    assert_int_equal(handout_new(&g, (position){0, 2}, 2, MODE_SAME_BATCH, &h, &error),
                     BW_MESH_MISMATCH);
}

static void starts(void **state)
{
    (void)state;
    handout *h = handout_of(0, 0);
    bw_error error;
    const manifest m = at(5, 20);
    const struct {
        start_kind kind;
        uint64_t step;
        bw_status status;
        uint64_t stands;
    } table[] = {
        {START_EARLIEST, 0, BW_OK, 5},  {START_LATEST, 0, BW_OK, 20},
        {START_STEP, 5, BW_OK, 5},      {START_STEP, 20, BW_OK, 20},
        {START_STEP, 4, BW_TRIMMED, 4}, {START_STEP, 21, BW_BEYOND_END, 21},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(handout_start(h, &m, table[i].kind, table[i].step, &error),
                         table[i].status);
        if (table[i].status == BW_OK)
            assert_int_equal(handout_step(h), table[i].stands);
        else
            assert_int_equal(error.step, table[i].stands);
    }
    handout_free(h);
}

static skip_range resume_skips[2] = {{2, 8}, {11, 14}}, far_skips[2] = {{18, 25}, {30, 35}};
static const struct {
    const char *name;
    cursor c;
    bw_status status;
    uint64_t step;
    bool checks;
    uint64_t nonce_step;
} resume_cases[] = {
    {"mid-step", {.uuid = {1}, .step = 7, .item = 1, .dp = 2, .has_nonce = true}, BW_OK, 7, 1, 7},
    {"at a step", {.uuid = {1}, .step = 7, .dp = 2, .has_nonce = true}, BW_OK, 7, 1, 6},
    {"at the end", {.uuid = {1}, .step = 20, .dp = 2, .has_nonce = true}, BW_OK, 20, 1, 19},
    {"no nonce", {.uuid = {1}, .step = 7, .dp = 2}, BW_OK, 7, 0, 0},
    {"its nonce was swept", {.uuid = {1}, .step = 5, .dp = 2, .has_nonce = true}, BW_OK, 5, 0, 0},
    {"foreign", {.uuid = {2}, .step = 7, .dp = 2}, BW_CURSOR_FOREIGN, 0, 0, 0},
    {"no dp of this namespace", {.uuid = {1}, .step = 7, .dp = 3}, BW_MESH_MISMATCH, 0, 0, 0},
    {"another dp", {.uuid = {1}, .step = 7, .dp = 4}, BW_OK, 7, 0, 0},
    {"of scale_batch, at a step",
     {.uuid = {1}, .step = 7, .dp = 2, .mode = MODE_SCALE_BATCH},
     BW_OK,
     7,
     0,
     0},
    {"of scale_batch, mid-step",
     {.uuid = {1}, .step = 7, .item = 1, .dp = 2, .mode = MODE_SCALE_BATCH},
     BW_CURSOR_INVALID,
     0,
     0,
     0},
    {"trimmed", {.uuid = {1}, .step = 4, .dp = 2}, BW_TRIMMED, 0, 0, 0},
    {"beyond", {.uuid = {1}, .step = 21, .dp = 2}, BW_BEYOND_END, 0, 0, 0},
    {"in a step to come", {.uuid = {1}, .step = 20, .item = 1, .dp = 2}, BW_BEYOND_END, 0, 0, 0},
    {"a skip leads out of what is trimmed",
     {.uuid = {1}, .step = 3, .dp = 2, .skip_count = 2, .skips = resume_skips},
     BW_OK,
     8,
     0,
     0},
    {"behind a skip",
     {.uuid = {1}, .step = 14, .dp = 2, .has_nonce = true, .skip_count = 2, .skips = resume_skips},
     BW_OK,
     14,
     1,
     10},
    {"a skip that began leads beyond the end",
     {.uuid = {1}, .step = 25, .dp = 2, .has_nonce = true, .skip_count = 1, .skips = far_skips},
     BW_OK,
     25,
     1,
     17},
    {"a skip that has yet to begin",
     {.uuid = {1}, .step = 35, .dp = 2, .skip_count = 2, .skips = far_skips},
     BW_BEYOND_END,
     0,
     0,
     0},
    {"an item behind a skip beyond the end",
     {.uuid = {1}, .step = 25, .item = 1, .dp = 2, .skip_count = 1, .skips = far_skips},
     BW_BEYOND_END,
     0,
     0,
     0},
};

static void resumes(void **state)
{
    (void)state;
    handout *h = handout_of(1, 1);
    bw_error error;
    const manifest m = at(5, 20);
    for (size_t i = 0; i < sizeof resume_cases / sizeof *resume_cases; i++) {
        const bw_status status = handout_resume(h, &m, &resume_cases[i].c, &error);
        if (status != resume_cases[i].status)
            fail_msg("%s: %s", resume_cases[i].name, bw_status_name(status));
        if (status != BW_OK)
            continue;
        uint64_t step = 0;
        if (handout_step(h) != resume_cases[i].step ||
            handout_nonce_step(h, &m, &step) != resume_cases[i].checks ||
            step != resume_cases[i].nonce_step)
            fail_msg("%s: step %llu, nonce step %llu", resume_cases[i].name,
                     (unsigned long long)handout_step(h), (unsigned long long)step);
    }
    handout_free(h);
}

/* A history that was rewritten behind the cursor. */
static void a_rewritten_history(void **state)
{
    (void)state;
    handout *h = handout_of(1, 1);
    bw_error error;
    const manifest m = at(5, 20);
    const cursor c = {.uuid = {1}, .step = 7, .dp = 2, .has_nonce = true, .nonce = 99};
    assert_int_equal(handout_resume(h, &m, &c, NULL), BW_OK);
    assert_int_equal(handout_check_nonce(h, 6, 99, &error), BW_OK);
    assert_int_equal(handout_check_nonce(h, 3, 98, &error), BW_OK);
    assert_int_equal(handout_check_nonce(h, 6, 98, &error), BW_CURSOR_REWRITTEN);
    assert_int_equal(error.step, 6);
    const cursor zero = {.uuid = {1}, .dp = 2, .has_nonce = true};
    const manifest young = at(0, 3);
    uint64_t step;
    assert_int_equal(handout_resume(h, &young, &zero, NULL), BW_OK);
    assert_false(handout_nonce_step(h, &young, &step));
    assert_int_equal(handout_check_nonce(h, 0, 1, &error), BW_OK); /* nothing to compare with */
    /* The step is not described yet, as far as this manifest knows. */
    assert_int_equal(handout_resume(h, &m, &c, NULL), BW_OK);
    assert_false(handout_nonce_step(h, &young, &step));
    handout_free(h);
    handout_free(NULL);
}

/* What a reader saves it can go on from, though the skip that it jumped reaches beyond the end. */
static void a_cursor_saved_beyond_the_end(void **state)
{
    (void)state;
    bw_error error;
    handout *h = handout_of(0, 1), *again = handout_of(0, 1);
    manifest m = at(0, 20);
    const cursor c = {.uuid = {1}, .step = 17, .dp = 2, .skip_count = 1, .skips = far_skips};
    cursor saved;
    assert_int_equal(handout_resume(h, &m, &c, &error), BW_OK);
    handout_advance(h, 1, 7);
    assert_int_equal(handout_step(h), 25);
    assert_int_equal(handout_cursor(h, m.version, &saved), BW_OK);
    assert_int_equal(handout_resume(again, &m, &saved, &error), BW_OK);
    assert_int_equal(handout_step(again), 25);
    m.sealed = true;
    assert_true(handout_at_end(again, &m));
    cursor_free(&saved);
    handout_free(again);
    handout_free(h);
}

static void items_and_steps_in_order(void **state)
{
    (void)state;
    handout *h = handout_of(0, 1);
    manifest m = at(0, 9);
    skip_range skips[2] = {{2, 5}, {6, 9}};
    const cursor c = {.uuid = {1}, .step = 0, .dp = 2, .skip_count = 2, .skips = skips};
    assert_int_equal(handout_resume(h, &m, &c, NULL), BW_OK);
    const uint64_t expected[] = {0, 0, 1, 1, 5, 5, 9};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(handout_step(h), expected[i]);
        assert_int_equal(handout_item(h), i % 2);
        assert_false(handout_at_end(h, &m));
        if (i < 6)
            handout_advance(h, 2, 40 + i);
    }
    assert_int_equal(handout_after(h, 1), 5);
    assert_int_equal(handout_after(h, 5), 9);
    assert_int_equal(handout_after(h, 100), 101);
    m.sealed = true;
    assert_true(handout_at_end(h, &m));

    cursor saved;
    assert_int_equal(handout_cursor(h, m.version, &saved), BW_OK);
    assert_int_equal(saved.step, 9);
    assert_int_equal(saved.item, 0);
    assert_int_equal(saved.nonce, 45);
    assert_true(saved.has_nonce);
    assert_int_equal(saved.version, 12);
    assert_int_equal(saved.skip_count, 2);
    handout *again = handout_of(0, 1);
    assert_int_equal(handout_resume(again, &m, &saved, NULL), BW_OK);
    uint64_t step;
    assert_true(handout_nonce_step(again, &m, &step));
    assert_int_equal(step, 5);
    cursor_free(&saved);
    handout_free(again);
    handout_free(h);
    h = handout_of(0, 0);
    assert_int_equal(handout_start(h, &m, START_EARLIEST, 0, NULL), BW_OK);
    assert_int_equal(handout_cursor(h, m.version, &saved), BW_OK);
    assert_false(saved.has_nonce);
    cursor_free(&saved);
    handout_free(h);
}

static uint64_t step_of_cursor(const handout *h, const manifest *m)
{
    cursor saved;
    assert_int_equal(handout_cursor(h, m->version, &saved), BW_OK);
    const uint64_t step = saved.step;
    assert_int_equal(saved.tag_count, 2);
    assert_true(saved.tags[1].first == 7 && saved.tags[1].last == TAG_ANY);
    cursor_free(&saved);
    return step;
}

/* The cursor is the same on the rank that knows which steps are passed and on the one that does
 * not, until an item is handed out. */
static void tags_pass_over_steps(void **state)
{
    (void)state;
    handout *h = handout_of(0, 1), *unknowing = handout_of(1, 0);
    manifest m = at(0, 9);
    skip_range skips[1] = {{5, 6}};
    tag_range tags[2] = {{3, 4}, {7, TAG_ANY}};
    const cursor c = {
        .uuid = {1}, .dp = 2, .skip_count = 1, .skips = skips, .tag_count = 2, .tags = tags};
    assert_int_equal(handout_resume(h, &m, &c, NULL), BW_OK);
    assert_int_equal(handout_resume(unknowing, &m, &c, NULL), BW_OK);
    assert_true(handout_passes(h, 0, 2) && handout_passes(h, 0, 5) && handout_passes(h, 1, 0));
    assert_false(handout_passes(h, 0, 3) || handout_passes(h, 0, 4) || handout_passes(h, 0, 7));
    assert_false(handout_passes(h, 0, UINT64_MAX));
    /* Steps 0, 1, 2 are passed, 3 is read, 4 and 6 are passed (5 is skipped), 7 and 8 too. */
    handout_reach(h, 3);
    assert_int_equal(handout_reading(h), 3);
    assert_int_equal(step_of_cursor(h, &m), 0);
    assert_int_equal(step_of_cursor(unknowing, &m), 0);
    assert_false(handout_at_end(h, &m));
    handout_advance(h, 2, 40);
    assert_int_equal(step_of_cursor(h, &m), 3);
    assert_int_equal(handout_item(h), 1);
    assert_false(handout_passes(h, 3, 0)); /* it is begun */
    handout_reach(h, 9);
    assert_int_equal(handout_reading(h), 3);
    handout_advance(h, 2, 40);
    assert_int_equal(step_of_cursor(h, &m), 4);
    assert_int_equal(handout_reading(h), 4);
    handout_reach(h, 5);
    assert_int_equal(handout_reading(h), 6);
    handout_reach(h, 9);
    assert_int_equal(handout_reading(h), 9);
    assert_int_equal(step_of_cursor(h, &m), 4);
    m.sealed = true;
    assert_true(handout_at_end(h, &m));
    assert_false(handout_at_end(unknowing, &m));
    /* The nonce is of the step that was handed out from. */
    cursor saved;
    uint64_t step;
    assert_int_equal(handout_cursor(h, m.version, &saved), BW_OK);
    assert_int_equal(handout_resume(unknowing, &m, &saved, NULL), BW_OK);
    assert_true(handout_nonce_step(unknowing, &m, &step));
    assert_int_equal(step, 3);
    cursor_free(&saved);
    handout_free(unknowing);
    handout_free(h);
}

/* Which steps are one training step would depend on tags of steps that are not read yet. */
static void tags_need_a_training_step_of_one_step(void **state)
{
    (void)state;
    const manifest m = at(0, 9);
    tag_range tags[1] = {{3, 4}};
    const cursor c = {.uuid = {1}, .dp = 4, .mode = MODE_SCALE_BATCH, .tag_count = 1, .tags = tags};
    bw_error error;
    handout *h;
    assert_int_equal(handout_new(&g, (position){3, 1}, 4, MODE_SCALE_BATCH, &h, NULL), BW_OK);
    assert_int_equal(handout_resume(h, &m, &c, &error), BW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "2 steps"));
    handout_free(h);
    assert_int_equal(handout_new(&g, (position){0, 1}, 1, MODE_SCALE_BATCH, &h, NULL), BW_OK);
    assert_int_equal(handout_resume(h, &m, &c, &error), BW_OK);
    handout_free(h);
}

static descriptor uniform(uint64_t length)
{
    return (descriptor){
        .id = view_text("p"),
        .record = {.nonce = 3, .seq = 1, .epoch = 1},
        .shape = {
            .form = FORM_UNIFORM, .parts = 1, .items = 2, .footer_bytes = 100, .uniform = length}};
}

static void plans_name_the_slice(void **state)
{
    (void)state;
    handout *h = handout_of(1, 0); /* slice 2 */
    bw_error error;
    fetch_plan plan;
    const manifest m = at(0, 9);
    assert_int_equal(handout_start(h, &m, START_EARLIEST, 0, NULL), BW_OK);
    descriptor d = uniform(200);
    assert_int_equal(handout_plan(h, 0, 0, &d, &plan, &error), BW_OK);
    assert_int_equal(plan.slice, 2);
    assert_false(plan.needs_footer);
    assert_int_equal(plan.where.part, 0);
    assert_int_equal(plan.where.offset, 512);
    assert_int_equal(plan.where.bytes, 200);
    assert_int_equal(plan.footer.offset, 1024);
    assert_int_equal(plan.footer.bytes, 100);
    d = uniform(3000); /* one slice a part */
    d.shape.parts = 4;
    assert_int_equal(handout_plan(h, 5, 0, &d, &plan, &error), BW_OK);
    assert_int_equal(plan.where.part, 2);
    assert_int_equal(plan.where.offset, 0);
    assert_int_equal(plan.footer.part, 3);

    const cursor c = {.uuid = {1}, .step = 3, .item = 2, .dp = 2};
    assert_int_equal(handout_resume(h, &m, &c, NULL), BW_OK);
    assert_int_equal(handout_plan(h, 3, 0, &d, &plan, &error), BW_CURSOR_INVALID);
    assert_int_equal(handout_plan(h, 4, 0, &d, &plan, &error), BW_OK);
    d.shape.form = FORM_INLINE;
    d.shape.side = view_of("\x80", 1);
    assert_int_not_equal(handout_plan(h, 4, 0, &d, &plan, &error), BW_OK);
    assert_int_equal(error.step, 4);
    handout_free(h);
}

static void a_footer_places_the_slice(void **state)
{
    (void)state;
    handout *h = handout_of(1, 1); /* slice 3 */
    bw_error error;
    fetch_plan plan;
    descriptor d = uniform(0);
    const uint64_t lengths[4] = {200, 300, 400, 130};
    footer_slice slices[4];
    memset(slices, 0, sizeof slices);
    for (int i = 0; i < 4; i++)
        slices[i].framed_bytes = lengths[i];
    tgb_extent extent;
    assert_int_equal(tgb_pack(lengths, 4, g.part_bytes, 100, NULL, &extent), BW_OK);
    d.shape.form = FORM_FOOTER;
    d.shape.uniform = extent.footer_offset;
    d.shape.total_bytes = extent.total_bytes;
    footer f = {.nonce = 3, .dp = 2, .cp = 2, .items = 2, .slice_count = 4, .slices = slices};
    assert_int_equal(handout_plan(h, 0, 0, &d, &plan, &error), BW_OK);
    assert_true(plan.needs_footer);
    assert_int_equal(plan.footer.offset, extent.footer_offset);
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_OK);
    assert_false(plan.needs_footer);
    assert_int_equal(plan.where.offset, 256 + 320 + 448);
    assert_int_equal(plan.where.bytes, 130);

    assert_int_equal(handout_plan(h, 0, 0, &d, &plan, &error), BW_OK);
    f.nonce = 4;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    f.nonce = 3;
    slices[0].framed_bytes = 2000;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    assert_true(plan.needs_footer);
    slices[0].framed_bytes = 0; /* cannot be packed */
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    slices[0].framed_bytes = SLICE_BYTES_MAX + 1;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    slices[0].framed_bytes = lengths[0];
    const footer others[] = {
        {.nonce = 3, .items = 2, .slice_count = 3, .slices = slices},
        {.nonce = 3, .items = 1, .slice_count = 4, .slices = slices},
        {.nonce = 3, .items = 2, .slice_count = 4, .slices = slices, .kind = ITEM_SAFETENSORS},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(handout_place(h, &others[i], &plan, &error), BW_CORRUPT);
        assert_non_null(strstr(error.message, "is not its descriptor's"));
    }
    /* The descriptor says otherwise where the footer lies, or how much there is. */
    const fetch_plan right = plan;
    plan.footer.offset += 64;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    plan = right;
    plan.shape.total_bytes++;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    plan = right;
    plan.shape.parts++;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_CORRUPT);
    plan = right;
    assert_int_equal(handout_place(h, &f, &plan, &error), BW_OK);
    handout_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_gpus),
        cmocka_unit_test(a_mesh_must_be_the_world),
        cmocka_unit_test(starts),
        cmocka_unit_test(resumes),
        cmocka_unit_test(a_rewritten_history),
        cmocka_unit_test(a_cursor_saved_beyond_the_end),
        cmocka_unit_test(items_and_steps_in_order),
        cmocka_unit_test(tags_pass_over_steps),
        cmocka_unit_test(tags_need_a_training_step_of_one_step),
        cmocka_unit_test(plans_name_the_slice),
        cmocka_unit_test(a_footer_places_the_slice),
    };
    return cmocka_run_group_tests_name("handout", tests, NULL, NULL);
}
