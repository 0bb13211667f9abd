// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/runtime.h"

#include "api/check.h"
#include "api/config.h"

const char *bw_version(void)
{
    return BATCHWEAVE_VERSION;
}

bw_status bw_runtime_open(const bw_config *config, bw_runtime **runtime, bw_error *error)
{
    CHECK_NOT_NULL(runtime);
    runtime_options options;
    config_runtime(config, &options);
    return runtime_open(&options, runtime, error);
}

void bw_runtime_close(bw_runtime *runtime)
{
    runtime_close(runtime);
}
