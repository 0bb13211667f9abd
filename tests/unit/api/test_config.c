// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <stdlib.h>
#include <string.h>

static void refuse(bw_config *config, const char *name, const char *value, const char *hint)
{
    bw_error *error = bw_error_new();
    assert_int_equal(bw_config_set(config, name, value, error), BW_INVALID);
    assert_int_equal(bw_error_code(error), BW_INVALID);
    if (strstr(bw_error_message(error), hint) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", bw_error_message(error), hint);
    bw_error_free(error);
}

static void test_table_is_complete(void **state)
{
    (void)state;
    bw_config *config = bw_config_new();
    assert_true(bw_config_count() > 30);
    for (size_t i = 0; i < bw_config_count(); i++) {
        const char *name = bw_config_name(i), *preset = bw_config_default(i);
        assert_true(strlen(name) > 0 && strlen(bw_config_help(i)) > 0);
        assert_true(strlen(bw_config_scope(i)) > 0 && strlen(bw_config_type(i)) > 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name, bw_config_name(k));
        if (preset == NULL) {
            assert_null(bw_config_get(config, name));
            continue;
        }
        assert_string_equal(bw_config_get(config, name), preset);
        assert_int_equal(bw_config_set(config, name, preset, NULL), BW_OK);
        assert_string_equal(bw_config_get(config, name), preset);
    }
    assert_string_equal(bw_config_name(bw_config_count()), "");
    assert_null(bw_config_default(bw_config_count()));
    bw_config_free(config);
    bw_config_free(NULL);
}

static void test_values(void **state)
{
    (void)state;
    bw_config *config = bw_config_new();
    static const char *const good[][2] = {
        {"memory", "0"},           {"memory", "4096"},
        {"memory", "12B"},         {"memory", "3KiB"},
        {"memory", "1TiB"},        {"retry_limit", "20ms"},
        {"retry_limit", "86400s"}, {"durable", "false"},
        {"kind", "safetensors"},   {"max_lag", "9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(bw_config_set(config, good[i][0], good[i][1], NULL), BW_OK);
        assert_string_equal(bw_config_get(config, good[i][0]), good[i][1]);
    }
    refuse(config, "memroy", "1", "no setting \"memroy\"");
    refuse(config, "memory", "1kb", "KiB");
    refuse(config, "memory", "", "KiB");
    refuse(config, "memory", "-1", "KiB");
    refuse(config, "memory", "18446744073709551616", "KiB");
    refuse(config, "memory", "16777216TiB", "KiB");
    refuse(config, "memory", "1.5GiB", "KiB");
    refuse(config, "retry_limit", "5", "ms or s");
    refuse(config, "retry_limit", "86401s", "out of range");
    refuse(config, "threads", "0", "out of range: 1 … 64");
    refuse(config, "threads", "65", "out of range");
    refuse(config, "threads", "4 ", "decimal digits");
    refuse(config, "durable", "yes", "false|true");
    refuse(config, "kind", "ra", "raw|samples|safetensors");
    refuse(config, "kind", "", "raw|samples|safetensors");
    refuse(config, NULL, "1", "NULL");
    refuse(config, "threads", NULL, "NULL");
    refuse(NULL, "threads", "1", "NULL");
    /* What was refused changed nothing. */
    assert_string_equal(bw_config_get(config, "memory"), "1TiB");
    assert_string_equal(bw_config_get(config, "threads"), "4");
    char *long_text = malloc(70000);
    memset(long_text, 'x', 69999);
    long_text[69999] = '\0';
    refuse(config, "schema", long_text, "65536");
    free(long_text);
    bw_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_complete),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
