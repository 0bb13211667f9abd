// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/rng.h"
#include "payload/cplayout.h"
#include "payload/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CP_MAX 8u
#define ROWS 3u
#define SEQUENCE 48u
#define CELL 2u

/** The full batch: a [ROWS, SEQUENCE, CELL] bf16, t [SEQUENCE] u8, and `ends`, the same for all. */
static uint8_t a[ROWS][SEQUENCE][CELL * 2], t[SEQUENCE], ends[12];

/** The item of one position, cut from the full batch element by element. */
static void cut_item(cp_layout layout, uint32_t cp, uint32_t rank, const char *axis, buf *out)
{
    const uint64_t length = SEQUENCE / cp;
    uint8_t a_part[sizeof a], t_part[sizeof t];
    size_t n = 0;
    for (uint64_t i = 0; i < SEQUENCE; i++) {
        const uint64_t chunk = i * (layout == CP_HEADTAIL ? 2 * cp : cp) / SEQUENCE;
        if ((chunk < cp ? chunk : 2 * cp - 1 - chunk) != rank)
            continue;
        t_part[n] = t[i];
        for (uint64_t row = 0; row < ROWS; row++)
            memcpy(a_part + (row * length + n) * sizeof a[0][0], a[row][i], sizeof a[0][0]);
        n++;
    }
    const uint64_t a_shape[] = {ROWS, length, CELL}, t_shape[] = {length}, ends_shape[] = {3};
    const tensor tensors[] = {
        {"a", 1, TENSOR_BF16, a_shape, 3, a_part, ROWS * length * sizeof a[0][0]},
        {"t", 1, TENSOR_U8, t_shape, 1, t_part, length},
        {"ends", 4, TENSOR_I32, ends_shape, 1, ends, sizeof ends},
    };
    const tensor_note notes[] = {
        {CP_AXIS_KEY "a", axis}, {CP_AXIS_KEY "t", "0"}, {"made by", "a test"}};
    assert_int_equal(safetensors_write(tensors, 3, notes, 3, out, NULL), BW_OK);
}

static void cut_all(cp_layout layout, uint32_t cp, buf *items, cp_item *views)
{
    for (uint32_t k = 0; k < cp; k++) {
        buf_init(&items[k], 1u << 20);
        cut_item(layout, cp, k, "1", &items[k]);
        views[k] = (cp_item){items[k].data, items[k].size};
    }
}

static void free_all(buf *items, uint32_t cp)
{
    for (uint32_t k = 0; k < cp; k++)
        buf_free(&items[k]);
}

static void fill(void)
{
    rng r;
    rng_seed(&r, 5);
    rng_bytes(&r, a, sizeof a);
    rng_bytes(&r, t, sizeof t);
    rng_bytes(&r, ends, sizeof ends);
}

/** Slices made anew are, byte for byte, the items that a producer for that mesh would have made. */
static void remapped_items_are_those_of_the_full_batch(void **state)
{
    (void)state;
    fill();
    static const uint32_t cps[] = {1, 2, 3, 4, 6, 8};
    for (unsigned l = CP_CONTIGUOUS; l <= CP_HEADTAIL; l++)
        for (size_t i = 0; i < 6; i++)
            for (size_t k = 0; k < 6; k++) {
                const cp_layout layout = (cp_layout)l;
                buf items[CP_MAX];
                cp_item views[CP_MAX];
                cut_all(layout, cps[i], items, views);
                for (uint32_t rank = 0; rank < cps[k]; rank++) {
                    buf wanted, got;
                    buf_init(&wanted, 1u << 20);
                    buf_init(&got, 1u << 20);
                    cut_item(layout, cps[k], rank, "1", &wanted);
                    assert_int_equal(cp_remap(layout, views, cps[i], cps[k], rank, &got, NULL),
                                     BW_OK);
                    assert_int_equal(got.size, wanted.size);
                    assert_memory_equal(got.data, wanted.data, wanted.size);
                    buf_free(&wanted);
                    buf_free(&got);
                }
                free_all(items, cps[i]);
            }
}

/** Two zigzag slices laid end to end are not the slice of half as many positions. */
static void head_tail_is_not_concatenation(void **state)
{
    (void)state;
    uint8_t first[SEQUENCE];
    cp_walk w;
    cp_piece piece;
    size_t n = 0;
    assert_int_equal(cp_walk_begin(&w, CP_HEADTAIL, SEQUENCE, 2, 1, 0, NULL), BW_OK);
    while (cp_walk_next(&w, &piece))
        first[n++] = (uint8_t)piece.rank;
    assert_int_equal(n, 4);
    assert_memory_equal(first, "\0\1\1\0", 4);
}

static void refuse(cp_item *views, uint32_t old_cp, uint32_t cp, bw_status code, const char *needle)
{
    buf out;
    bw_error error;
    error_clear(&error);
    buf_init(&out, 1u << 20);
    assert_int_equal(cp_remap(CP_HEADTAIL, views, old_cp, cp, 0, &out, &error), code);
    if (strstr(error.message, needle) == NULL)
        fail_msg("%s", error.message);
    assert_int_equal(out.size, 0);
    buf_free(&out);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    fill();
    buf items[CP_MAX];
    cp_item views[CP_MAX];
    cut_all(CP_HEADTAIL, 2, items, views);
    refuse(views, 2, 5, BW_MESH_MISMATCH, "cannot be cut");
    refuse(views, 0, 1, BW_INVALID, "position");
    views[1].size--;
    refuse(views, 2, 1, BW_CORRUPT, "safetensors");
    views[1].size++;
    /* The shared tensor differs. */
    size_t at;
    safetensors s;
    assert_int_equal(safetensors_open(&s, views[1].bytes, views[1].size, NULL), BW_OK);
    assert_true(safetensors_find(&s, "ends", 4, &at));
    const size_t place = (size_t)(safetensors_bytes(&s, at) - items[1].data);
    safetensors_close(&s);
    items[1].data[place] ^= 1;
    refuse(views, 2, 1, BW_CORRUPT, "ends: declares no sequence axis, and is not the same");
    items[1].data[place] ^= 1;
    /* Slices of different meshes, of other tensors, with an axis that is none. */
    buf other;
    buf_init(&other, 1u << 20);
    cut_item(CP_HEADTAIL, 4, 1, "1", &other);
    cp_item mixed[2] = {views[0], {other.data, other.size}};
    refuse(mixed, 2, 1, BW_CORRUPT, "different type or shape");
    buf_reset(&other);
    assert_int_equal(safetensors_write(NULL, 0, NULL, 0, &other, NULL), BW_OK);
    mixed[1] = (cp_item){other.data, other.size};
    refuse(mixed, 2, 1, BW_CORRUPT, "not in all of them");
    mixed[0] = mixed[1];
    mixed[1] = views[0];
    refuse(mixed, 2, 1, BW_CORRUPT, "0 and 3 tensors");
    static const char *const axes[] = {"3", "-1", "x", "", "1 1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        buf_reset(&other);
        cut_item(CP_HEADTAIL, 1, 0, axes[i], &other);
        mixed[0] = (cp_item){other.data, other.size};
        refuse(mixed, 1, 2, BW_CORRUPT, "a: its declared sequence axis is none");
    }
    buf_free(&other);
    free_all(items, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remapped_items_are_those_of_the_full_batch),
        cmocka_unit_test(head_tail_is_not_concatenation),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
