// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The memory store, bare and under each decorator, which must not change what a store promises. */
#include "contract.h"
#include "store/decorators.h"
#include "store/mem.h"

#include <stdlib.h>

static void *mem_make(void)
{
    mem_space *space = NULL;
    return mem_space_new(&space) == BW_OK ? space : NULL;
}

static store *mem_open_plain(void *place)
{
    store *s = NULL;
    return store_mem_open(place, &s, NULL) == BW_OK ? s : NULL;
}

static void mem_destroy(void *place)
{
    mem_space_free(place);
}

static store *mem_open_retry(void *place)
{
    const store_retry_options options = {.clock = clock_system(),
                                         .seed = 1,
                                         .backoff_min_ns = NS_PER_MS,
                                         .backoff_max_ns = NS_PER_MS,
                                         .limit_ns = NS_PER_S,
                                         .attempts_max = 5};
    store *s = NULL;
    return store_retry_wrap(mem_open_plain(place), &options, &s, NULL) == BW_OK ? s : NULL;
}

/* Faults that the retry decorator hides from whoever is above it. */
static store *mem_open_retry_over_faults(void *place)
{
    store *faulty = NULL;
    if (store_fault_wrap(mem_open_plain(place),
                         "retry-before:get::3;retry-before:read::2;short-read:get::7;short-read:"
                         "read::5;retry-before:put::2;retry-after:put::5;retry-before:list::1;"
                         "retry-after:delete::1;retry-before:map::1;retry-before:head::1",
                         &faulty, NULL) != BW_OK)
        return NULL;
    const store_retry_options options = {.clock = clock_system(),
                                         .seed = 2,
                                         .backoff_min_ns = 1000,
                                         .backoff_max_ns = NS_PER_MS,
                                         .limit_ns = 10 * NS_PER_S,
                                         .attempts_max = 10};
    store *s = NULL;
    return store_retry_wrap(faulty, &options, &s, NULL) == BW_OK ? s : NULL;
}

static store *mem_open_fault(void *place)
{
    store *s = NULL;
    return store_fault_wrap(mem_open_plain(place), "", &s, NULL) == BW_OK ? s : NULL;
}

/* A window of one: everything waits for its turn. */
static store *mem_open_admit(void *place)
{
    store *s = NULL;
    return store_admit_wrap(mem_open_plain(place), clock_system(), 1, NULL, &s, NULL) == BW_OK
               ? s
               : NULL;
}

static void trace_nothing(void *context, const store_op *op)
{
    (void)context;
    (void)op;
}

static store_meter meter;

static store *mem_open_meter(void *place)
{
    store *traced = NULL;
    if (store_trace_wrap(mem_open_plain(place), trace_nothing, NULL, &traced, NULL) != BW_OK)
        return NULL;
    store *s = NULL;
    return store_meter_wrap(traced, &meter, &s, NULL) == BW_OK ? s : NULL;
}

int main(void)
{
    static const contract_factory factories[] = {
        {.name = "mem", .make = mem_make, .open = mem_open_plain, .destroy = mem_destroy},
        {.name = "retry(mem)", .make = mem_make, .open = mem_open_retry, .destroy = mem_destroy},
        {.name = "retry(faults(mem))",
         .make = mem_make,
         .open = mem_open_retry_over_faults,
         .destroy = mem_destroy},
        {.name = "fault(mem)", .make = mem_make, .open = mem_open_fault, .destroy = mem_destroy},
        {.name = "admit(mem)", .make = mem_make, .open = mem_open_admit, .destroy = mem_destroy},
        {.name = "meter(trace(mem))",
         .make = mem_make,
         .open = mem_open_meter,
         .destroy = mem_destroy},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof factories / sizeof factories[0]; i++) {
        contract_factory factory = factories[i];
        factory.checks_crc = true;
        failed += contract_run(&factory);
    }
    return failed;
}
