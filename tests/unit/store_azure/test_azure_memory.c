// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "azure_stand.h"
#include "tests/unit/store_net/memory_walk.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static net_chain *make(chain_stand *t)
{
    return azure_chain_new("acct", net_environment_copy(t->variables));
}

static void set_key(chain_stand *t)
{
    stand_set(t, "AZURE_STORAGE_KEY", "UExBTlRFRC1rZXk=");
}

static void set_signature(chain_stand *t)
{
    stand_set(t, "AZURE_STORAGE_CONNECTION_STRING", "SharedAccessSignature=sig=" PLANTED);
}

static void test_all_sources(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_token(1, 3600))};
    memory_walk(NULL, 0, set_key, make);
    memory_walk(NULL, 0, set_signature, make);
    memory_walk(steps, 1, stand_workload, make);
    memory_walk(steps, 1, stand_service, make);
    memory_walk(steps, 1, stand_machine, make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
