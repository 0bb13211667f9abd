// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/isotime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"2009-10-12T17:50:30Z", INT64_C(1255369830000)},
        {"2009-10-12T17:50:30.000Z", INT64_C(1255369830000)},
        {"2009-10-12T17:50:30.123456789Z", INT64_C(1255369830000)},
        {"2009-10-12T19:50:30+02:00", INT64_C(1255369830000)},
        {"2009-10-12T12:20:30-0530", INT64_C(1255369830000)},
        {"2009-10-12T17:50:30+0000", INT64_C(1255369830000)},
        {"2009-10-12T17:50:30", 0},
        {"2009-10-12T17:50:30+02", 0},
        {"2009-10-12T17:50:30+2:000", 0},
        {"2009-10-12T17:50:30Zulu", 0},
        {"2009-10-12 17:50:30Z", 0},
        {"2009/10/12T17:50:30Z", 0},
        {"2009-10-12T17-50-30Z", 0},
        {"20o9-10-12T17:50:30Z", 0},
        {"2009-1x-12T17:50:30Z", 0},
        {"1969-12-31T23:59:59Z", 0},
        {"1255369830", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (iso_time_ms(rows[i].text) != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)iso_time_ms(rows[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
