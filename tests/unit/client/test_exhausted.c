// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out in the middle of a call: mem_array, through --wrap. */
#include "stand.h"

#include "base/alloc.h"
#include <stdatomic.h>

static atomic_bool exhausted;

void *__real_mem_array(size_t count, size_t size);
void *__wrap_mem_array(size_t count, size_t size);

void *__wrap_mem_array(size_t count, size_t size)
{
    return atomic_load(&exhausted) ? NULL : __real_mem_array(count, size);
}

/* What it says was read from the batch after that had been freed. */
static void test_a_batch_without_memory_says_its_size(void **state)
{
    (void)state;
    stand s;
    bw_batch *b = NULL;
    stand_open(&s, 2, "", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    atomic_store(&exhausted, true);
    stand_expect(&s, batch_new(p, 3, &b, &s.error), BW_NOMEM);
    atomic_store(&exhausted, false);
    assert_string_equal(s.error.message, "no memory for a batch of 2 × 3 items");
    stand_put(&s, p, "x", 1);
    stand_expect(&s, producer_close(p, 10 * NS_PER_S, &s.error), BW_OK);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_without_memory_says_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
