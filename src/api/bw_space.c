// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/space.h"

#include "api/check.h"
#include "api/config.h"
#include "api/place.h"
#include "base/alloc.h"
#include "client/consumer.h"
#include "client/fetch.h"
#include "client/reports.h"

bw_status bw_space_init(bw_runtime *runtime, const char *url, const bw_config *config,
                        bw_error *error)
{
    CHECK_NOT_NULL(runtime);
    CHECK_NOT_NULL(url);
    BW_TRY(runtime_check_process(runtime, error));
    BW_TRY(config_check_stop(config, error));
    space_options options;
    genesis draft;
    config_space(config, &options);
    BW_TRY(config_genesis(config, &draft, error));
    BW_TRY(genesis_check(&draft, error)); /* before the place of a file store is made */
    store *s = NULL;
    BW_TRY(place_open(url, config, true, &s, error));
    return config_ended(config, space_init_on(runtime, s, &options, &draft, error), error);
}

bw_status bw_space_open(bw_runtime *runtime, const char *url, const bw_config *config,
                        int64_t timeout_ns, bw_space **space, bw_error *error)
{
    return bw_space_resume(runtime, url, config, NULL, timeout_ns, space, error);
}

bw_status bw_space_resume(bw_runtime *runtime, const char *url, const bw_config *config,
                          const bw_cursor *from, int64_t timeout_ns, bw_space **space,
                          bw_error *error)
{
    CHECK_NOT_NULL(runtime);
    CHECK_NOT_NULL(url);
    CHECK_NOT_NULL(space);
    BW_TRY(runtime_check_process(runtime, error));
    BW_TRY(config_check_stop(config, error));
    space_options options;
    config_space(config, &options);
    if (from != NULL)
        handout_resume_point(&from->cursor, &options.from);
    store *s = NULL;
    BW_TRY(place_open(url, config, options.writable, &s, error));
    return config_ended(config, space_open_on(runtime, s, url, &options, timeout_ns, space, error),
                        error);
}

void bw_space_close(bw_space *space)
{
    space_close(space);
}

const char *bw_space_uuid(const bw_space *space)
{
    return space != NULL ? space->uuid : "";
}

uint32_t bw_space_dp(const bw_space *space)
{
    return space != NULL && space->genesis != NULL ? space->genesis->dp : 0;
}

uint32_t bw_space_cp(const bw_space *space)
{
    return space != NULL && space->genesis != NULL ? space->genesis->cp : 0;
}

uint32_t bw_space_items_default(const bw_space *space)
{
    return space != NULL && space->genesis != NULL ? space->genesis->items_default : 0;
}

bw_status bw_space_seal(bw_space *space, unsigned flags, int64_t timeout_ns, bw_error *error)
{
    CHECK_NOT_NULL(space);
    BW_TRY(space_check_process(space, error));
    if ((flags & ~BW_SEAL_FORCE) != 0)
        return error_set(error, BW_INVALID, "bw_space_seal: unknown flags 0x%x", flags);
    return space_seal(space, (flags & BW_SEAL_FORCE) != 0, timeout_ns, error);
}

bw_status bw_space_report(bw_space *space, const char *what, const bw_config *config,
                          bw_line_fn line, void *context, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(what);
    CHECK_NOT_NULL(line);
    BW_TRY(space_check_process(space, error));
    BW_TRY(config_check_stop(config, error));
    report_options options;
    config_report(config, &options);
    return config_ended(config, report_run(space, what, &options, line, context, error), error);
}

bw_status bw_space_item(bw_space *space, uint64_t step, uint32_t d, uint32_t c, uint32_t item,
                        int64_t timeout_ns, bw_item **out, bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(out);
    BW_TRY(space_check_process(space, error));
    return fetch_item(space, step, (position){d, c}, item, timeout_ns, out, error);
}

bw_status bw_space_step_meta(bw_space *space, uint64_t step, int64_t timeout_ns, char **json,
                             bw_error *error)
{
    CHECK_NOT_NULL(space);
    CHECK_NOT_NULL(json);
    BW_TRY(space_check_process(space, error));
    return fetch_meta(space, step, timeout_ns, json, error);
}

void bw_text_free(char *text)
{
    mem_free(text);
}
