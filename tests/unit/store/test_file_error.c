// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_every_errno_has_a_meaning(void **state)
{
    static const struct {
        int number;
        store_outcome outcome;
        bw_status status;
        const char *says;
    } expected[] = {
        {ENOSPC, STORE_RETRY, BW_NO_SPACE, "make room"},
        {EDQUOT, STORE_RETRY, BW_NO_SPACE, "quota"},
        {EROFS, STORE_DENIED, BW_DENIED, ""},
        {EACCES, STORE_DENIED, BW_DENIED, ""},
        {EPERM, STORE_DENIED, BW_DENIED, ""},
        {ELOOP, STORE_DENIED, BW_DENIED, "links"},
        {EMFILE, STORE_RETRY, BW_IO, "ulimit -n"},
        {ENFILE, STORE_RETRY, BW_IO, "machine"},
        {ENOMEM, STORE_RETRY, BW_NOMEM, ""},
        {EINTR, STORE_RETRY, BW_IO, ""},
        {EIO, STORE_RETRY, BW_IO, "device"},
        {ESTALE, STORE_FATAL, BW_IO, "mount"},
        {ENODEV, STORE_FATAL, BW_IO, "mount"},
        {ENOENT, STORE_FATAL, BW_IO, "vanished"},
        {EFBIG, STORE_FATAL, BW_TOO_LARGE, "ulimit"},
        {EXFULL, STORE_FATAL, BW_IO, ""},
    };
    store *s = open_fast(*state);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        store_op op;
        store_op_init(&op, STORE_PUT, "some/key");
        file_fail(backend_of(s), &op, expected[i].number, "cannot do it");
        assert_int_equal(op.outcome, expected[i].outcome);
        assert_int_equal(store_op_status(&op), expected[i].status);
        assert_non_null(strstr(op.error.message, "cannot do it: "));
        assert_non_null(strstr(op.error.message, expected[i].says));
        assert_string_equal(op.error.key, "some/key");
        store_op_init(&op, STORE_CREATE, "some/key");
        file_fail(backend_of(s), &op, expected[i].number, "cannot do it");
        assert_int_equal(op.outcome,
                         expected[i].outcome == STORE_DENIED ? STORE_FATAL : expected[i].outcome);
        assert_int_equal(store_op_status(&op), expected[i].status);
    }
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILE_CASE(test_every_errno_has_a_meaning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
