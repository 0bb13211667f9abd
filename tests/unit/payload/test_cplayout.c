// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/cplayout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SEQUENCE 240u

/**
 * What position `rank` of `cp` holds, by the definition of the layouts written a second time: the
 * numbers of the elements.
 */
static size_t holds(cp_layout layout, uint32_t cp, uint32_t rank, uint64_t sequence, uint64_t *out)
{
    size_t n = 0;
    for (uint64_t i = 0; i < sequence; i++) {
        const uint64_t chunk = i * (layout == CP_HEADTAIL ? 2 * cp : cp) / sequence;
        const uint64_t owner = chunk < cp ? chunk : 2 * cp - 1 - chunk;
        if (owner == rank)
            out[n++] = i;
    }
    return n;
}

/** Walks give, from the old slices, exactly what the new position holds, in order. */
static void remapped_slices_are_those_of_the_full_sequence(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (unsigned l = CP_CONTIGUOUS; l <= CP_HEADTAIL; l++)
        for (uint32_t old_cp = 1; old_cp <= 12; old_cp++)
            for (uint32_t cp = 1; cp <= 12; cp++) {
                const cp_layout layout = (cp_layout)l;
                if (!cp_layout_fits(layout, SEQUENCE, old_cp) ||
                    !cp_layout_fits(layout, SEQUENCE, cp))
                    continue;
                for (uint32_t rank = 0; rank < cp; rank++) {
                    uint64_t wanted[SEQUENCE], old[SEQUENCE], got[SEQUENCE];
                    const size_t count = holds(layout, cp, rank, SEQUENCE, wanted);
                    cp_walk w;
                    cp_piece piece;
                    size_t n = 0, pieces = 0;
                    assert_int_equal(cp_walk_begin(&w, layout, SEQUENCE, old_cp, cp, rank, NULL),
                                     BW_OK);
                    for (; cp_walk_next(&w, &piece); pieces++) {
                        const size_t held = holds(layout, old_cp, piece.rank, SEQUENCE, old);
                        assert_true(piece.length > 0 && piece.from + piece.length <= held);
                        for (uint64_t i = 0; i < piece.length; i++)
                            got[n++] = old[piece.from + i];
                    }
                    assert_int_equal(n, count);
                    assert_memory_equal(got, wanted, count * sizeof *got);
                    if (old_cp == 2 * cp && layout == CP_HEADTAIL)
                        assert_int_equal(pieces, 4);
                    tried++;
                }
            }
    assert_true(tried > 500);
}

enum { DP = 2, CP = 2, TP = 2, PP = 2, GPUS = DP * CP * TP * PP };

/* Which data-parallel replica a GPU is in, and which context-parallel position of it it has:
 * rank = ((pp·DP + dp)·CP + cp)·TP + tp. */
static void seat_of(uint32_t rank, uint32_t *d, uint32_t *c)
{
    *c = rank / TP % CP;
    *d = rank / (TP * CP) % DP;
}

/** The 16 GPUs of the paper's example, D2 C2 TP2 PP2, on two sequences of eight tokens: whose
 * tokens are whose, written out by hand, and what they become when the job goes on with C4 and with
 * C1. */
static void the_mesh_of_sixteen(void **state)
{
    (void)state;
    static const struct {
        cp_layout layout;
        const char *held[CP]; /* of a sequence "01234567" */
        const char *of_four[4];
    } cases[] = {
        {CP_CONTIGUOUS, {"0123", "4567"}, {"01", "23", "45", "67"}},
        {CP_HEADTAIL, {"0167", "2345"}, {"07", "16", "25", "34"}},
    };
    for (size_t i = 0; i < 2; i++) {
        uint32_t readers[DP][8] = {{0}}; /* how many GPUs read a token of a replica's sequence */
        for (uint32_t rank = 0; rank < GPUS; rank++) {
            uint32_t d, c;
            uint64_t tokens[8];
            seat_of(rank, &d, &c);
            const size_t count = holds(cases[i].layout, CP, c, 8, tokens);
            assert_int_equal(count, 4);
            for (size_t k = 0; k < count; k++) {
                assert_int_equal(tokens[k], cases[i].held[c][k] - '0');
                readers[d][tokens[k]]++;
            }
        }
        for (uint32_t d = 0; d < DP; d++)
            for (uint32_t token = 0; token < 8; token++)
                assert_int_equal(readers[d][token], TP * PP);
        /* Twice as many positions, and half as many, from what these hold. */
        for (size_t other = 0; other < 2; other++)
            for (uint32_t cp = other == 0 ? 4 : 1, c = 0; c < cp; c++) {
                char got[9] = "";
                cp_walk w;
                cp_piece piece;
                size_t n = 0;
                assert_int_equal(cp_walk_begin(&w, cases[i].layout, 8, CP, cp, c, NULL), BW_OK);
                while (cp_walk_next(&w, &piece))
                    for (uint64_t k = 0; k < piece.length; k++)
                        got[n++] = cases[i].held[piece.rank][piece.from + k];
                assert_string_equal(got, cp == 4 ? cases[i].of_four[c] : "01234567");
            }
    }
}

static void what_cannot_be_cut_is_refused(void **state)
{
    (void)state;
    cp_walk w;
    bw_error error;
    assert_true(cp_layout_fits(CP_CONTIGUOUS, 6, 6));
    assert_false(cp_layout_fits(CP_HEADTAIL, 6, 6));
    assert_true(cp_layout_fits(CP_HEADTAIL, 12, 6));
    assert_false(cp_layout_fits(CP_CONTIGUOUS, 6, 0));
    assert_int_equal(cp_walk_begin(&w, CP_HEADTAIL, 12, 2, 3, 3, &error), BW_MESH_MISMATCH);
    assert_int_equal(cp_walk_begin(&w, CP_HEADTAIL, 12, 4, 3, 0, &error), BW_MESH_MISMATCH);
    assert_int_equal(cp_walk_begin(&w, CP_HEADTAIL, 12, 3, 4, 0, &error), BW_MESH_MISMATCH);
    assert_non_null(strstr(error.message, "multiple of 6 and of 8"));
    assert_int_equal(cp_walk_begin(&w, CP_CONTIGUOUS, 0, 3, 4, 0, &error), BW_OK);
    cp_piece piece;
    assert_false(cp_walk_next(&w, &piece));
}

static void names(void **state)
{
    (void)state;
    cp_layout layout;
    assert_true(cp_layout_find("contiguous", &layout) && layout == CP_CONTIGUOUS);
    assert_true(cp_layout_find("headtail", &layout) && layout == CP_HEADTAIL);
    assert_false(cp_layout_find("", &layout));
    assert_false(cp_layout_find("zigzag", &layout));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remapped_slices_are_those_of_the_full_sequence),
        cmocka_unit_test(the_mesh_of_sixteen),
        cmocka_unit_test(what_cannot_be_cut_is_refused),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
