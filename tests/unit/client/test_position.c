// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/consumer.h"
#include <stdlib.h>
#include <string.h>

static const genesis mesh_2x3 = {.dp = 2, .cp = 3};
static const genesis single = {.dp = 1, .cp = 1};

typedef struct answer {
    bw_status status;
    position at;
    bool alone, commits;
    uint32_t ranks;
    bw_error error;
} answer;

static answer resolve(const genesis *g, consumer_options options)
{
    answer a = {.status = BW_OK};
    if (options.tp == 0)
        options.tp = 1;
    if (options.pp == 0)
        options.pp = 1;
    error_clear(&a.error);
    consumer_seat seat;
    a.status = position_resolve(&options, g, &seat, &a.error);
    a.at = seat.position;
    a.alone = seat.alone;
    a.commits = seat.commits;
    a.ranks = seat.ranks;
    return a;
}

static void environment(const char *rank, const char *world)
{
    assert_int_equal(rank == NULL ? unsetenv("RANK") : setenv("RANK", rank, 1), 0);
    assert_int_equal(world == NULL ? unsetenv("WORLD_SIZE") : setenv("WORLD_SIZE", world, 1), 0);
}

static void stands_at(const answer *a, uint32_t d, uint32_t c)
{
    assert_int_equal(a->status, BW_OK);
    assert_int_equal(a->at.d, d);
    assert_int_equal(a->at.c, c);
}

static void test_position_given(void **state)
{
    (void)state;
    environment("5", "6"); /* what is said counts more */
    const answer a = resolve(&mesh_2x3, (consumer_options){.has_position = true, .d = 1, .c = 0});
    stands_at(&a, 1, 0);
    assert_false(a.alone);
    environment(NULL, NULL);
}

static void test_rank_given(void **state)
{
    (void)state;
    environment("0", "6");
    answer a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 4, .world = 6});
    stands_at(&a, 1, 1);
    a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 6, .world = 6});
    assert_int_equal(a.status, BW_INVALID);
    environment(NULL, NULL);
}

/* rank = ((pp·DP + d)·CP + c)·TP + tp */
static void test_ranks_that_share_a_position(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 24; rank++) {
        const answer a = resolve(
            &mesh_2x3,
            (consumer_options){.has_rank = true, .rank = rank, .world = 24, .tp = 2, .pp = 2});
        stands_at(&a, rank / 6 % 2, rank / 2 % 3);
        assert_int_equal(a.ranks, 24);
    }
}

/* How many ranks poll: the world, or where nobody tells it what the mesh has. */
static void test_ranks_of_the_job(void **state)
{
    (void)state;
    environment("2", "6");
    assert_int_equal(resolve(&mesh_2x3, (consumer_options){.dp = 0}).ranks, 6);
    environment(NULL, NULL);
    assert_int_equal(resolve(&single, (consumer_options){.dp = 0}).ranks, 1);
    assert_int_equal(resolve(&mesh_2x3, (consumer_options){.has_position = true}).ranks, 6);
    assert_int_equal(
        resolve(&mesh_2x3, (consumer_options){.has_position = true, .dp = 4, .tp = 2, .pp = 8})
            .ranks,
        4 * 3 * 2 * 8);
    const consumer_options huge = {
        .has_position = true, .dp = 1u << 20, .tp = 1u << 20, .pp = UINT32_MAX};
    assert_int_equal(resolve(&mesh_2x3, huge).ranks, UINT32_MAX);
}

static void test_world_of_another_size(void **state)
{
    (void)state;
    answer a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 0, .world = 12});
    assert_int_equal(a.status, BW_MESH_MISMATCH);
    assert_non_null(strstr(a.error.message, "tp and pp")); /* the likely cause */
    a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 0, .world = 12, .tp = 3});
    assert_int_equal(a.status, BW_MESH_MISMATCH);
    a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 0, .world = 4, .cp = 2});
    assert_int_equal(a.status, BW_MESH_MISMATCH);
    assert_non_null(strstr(a.error.message, "cp 2"));
}

static void test_environment(void **state)
{
    (void)state;
    environment("2", "6");
    const answer a = resolve(&mesh_2x3, (consumer_options){.dp = 0});
    stands_at(&a, 0, 2);
    static const char *const wrong[][2] = {
        {"2", NULL}, {NULL, "6"},         {"2", ""},   {"-1", "6"},
        {"2", "6x"}, {"2", "4294967296"}, {" 2", "6"}, {"two", "6"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        environment(wrong[i][0], wrong[i][1]);
        const answer refused = resolve(&mesh_2x3, (consumer_options){.dp = 0});
        assert_int_equal(refused.status, BW_INVALID);
        assert_non_null(strstr(refused.error.message, "WORLD_SIZE"));
    }
    environment(NULL, NULL);
}

static const char *const names[] = {"RANK",
                                    "WORLD_SIZE",
                                    "SLURM_PROCID",
                                    "SLURM_NTASKS",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "TORCHELASTIC_RUN_ID"};

/* `said` is NAME=value …, all else absent. */
static void says(const char *const *said)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(unsetenv(names[i]), 0);
    for (; *said != NULL; said++) {
        char name[64];
        const size_t length = strcspn(*said, "=");
        memcpy(name, *said, length);
        name[length] = '\0';
        assert_int_equal(setenv(name, *said + length + 1, 1), 0);
    }
}
#define SAYS(...) says((const char *const[]){__VA_ARGS__ NULL})
#define RANK_4(rank, world) rank "=4", world "=6",

static void test_slurm_and_mpi(void **state)
{
    (void)state;
    const consumer_options none = {.dp = 0};
    answer a;
    SAYS(RANK_4("SLURM_PROCID", "SLURM_NTASKS"));
    a = resolve(&mesh_2x3, none);
    stands_at(&a, 1, 1);
    assert_false(a.commits);
    SAYS(RANK_4("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
    a = resolve(&mesh_2x3, none);
    stands_at(&a, 1, 1);
    SAYS(RANK_4("PMI_RANK", "PMI_SIZE"));
    a = resolve(&mesh_2x3, none);
    stands_at(&a, 1, 1);
    SAYS(RANK_4("PMI_RANK", "PMI_SIZE") RANK_4("SLURM_PROCID", "SLURM_NTASKS"));
    a = resolve(&mesh_2x3, none);
    stands_at(&a, 1, 1);
    SAYS("PMI_RANK=4", "SLURM_PROCID=4", "SLURM_NTASKS=6", ); /* one of them half */
    a = resolve(&mesh_2x3, none);
    assert_int_equal(a.status, BW_INVALID);
    assert_non_null(strstr(a.error.message, "of PMI_RANK and PMI_SIZE"));
    SAYS("SLURM_NTASKS=6", ); /* a shell in an allocation is no task */
    a = resolve(&single, none);
    stands_at(&a, 0, 0);
    assert_true(a.alone);
    SAYS();
}

static void test_launchers_that_disagree(void **state)
{
    (void)state;
    const consumer_options none = {.dp = 0};
    answer a;
    SAYS("SLURM_PROCID=0", "SLURM_NTASKS=6",
         RANK_4("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
    a = resolve(&mesh_2x3, none);
    assert_int_equal(a.status, BW_INVALID);
    assert_non_null(strstr(a.error.message, "0 of 6 by SLURM_PROCID"));
    assert_non_null(strstr(a.error.message, "4 of 6 by OMPI_COMM_WORLD_RANK"));
    a = resolve(&mesh_2x3, (consumer_options){.has_rank = true, .rank = 4, .world = 6});
    stands_at(&a, 1, 1);                                             /* what is said counts more */
    SAYS("PMI_RANK=4", "PMI_SIZE=12", RANK_4("RANK", "WORLD_SIZE")); /* also in size only */
    a = resolve(&mesh_2x3, none);
    assert_int_equal(a.status, BW_INVALID);
    /* srun starts torchrun on two nodes, which starts three processes on each. */
    SAYS("SLURM_PROCID=1", "SLURM_NTASKS=2", RANK_4("RANK", "WORLD_SIZE"));
    a = resolve(&mesh_2x3, none);
    assert_int_equal(a.status, BW_INVALID);
    assert_int_equal(setenv("TORCHELASTIC_RUN_ID", "none", 1), 0);
    a = resolve(&mesh_2x3, none);
    stands_at(&a, 1, 1);
    SAYS();
}

static void test_nothing_said(void **state)
{
    (void)state;
    environment(NULL, NULL);
    answer a = resolve(&mesh_2x3, (consumer_options){.dp = 0});
    assert_int_equal(a.status, BW_INVALID);
    assert_non_null(strstr(a.error.message, "6 positions"));
    environment("", "");
    a = resolve(&single, (consumer_options){.dp = 0});
    stands_at(&a, 0, 0);
    assert_true(a.alone);
    environment(NULL, NULL);
}

/* Two ranks that share the only position are not alone. */
static void test_alone(void **state)
{
    (void)state;
    answer a =
        resolve(&single, (consumer_options){.has_rank = true, .rank = 1, .world = 2, .tp = 2});
    stands_at(&a, 0, 0);
    assert_false(a.alone);
    a = resolve(&single, (consumer_options){.has_rank = true, .rank = 0, .world = 1});
    stands_at(&a, 0, 0);
    assert_true(a.alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_position_given),
        cmocka_unit_test(test_rank_given),
        cmocka_unit_test(test_ranks_that_share_a_position),
        cmocka_unit_test(test_world_of_another_size),
        cmocka_unit_test(test_ranks_of_the_job),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_slurm_and_mpi),
        cmocka_unit_test(test_launchers_that_disagree),
        cmocka_unit_test(test_nothing_said),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
