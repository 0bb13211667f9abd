// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* From the table of settings to the options of each object. */
#include "api/config.h"

#include "base/error.h"
#include "codec/packing.h"
#include <string.h>

/* The choices of `mode`, in their order in the table. */
enum { MODE_READ, MODE_WRITE, MODE_RAW };

static uint32_t number32(const bw_config *config, property_id id)
{
    return (uint32_t)config_number(config, id);
}

static bool flag(const bw_config *config, property_id id)
{
    return config_number(config, id) != 0;
}

void config_runtime(const bw_config *config, runtime_options *out)
{
    *out = (runtime_options){
        .threads = number32(config, PROPERTY_THREADS),
        .memory_bytes = config_number(config, PROPERTY_MEMORY),
        .log = (log_level)config_number(config, PROPERTY_LOG),
    };
}

void config_space(const bw_config *config, space_options *out)
{
    *out = (space_options){
        .stop = config_stop(config),
        .writable = config_number(config, PROPERTY_MODE) == MODE_WRITE,
        .raw = config_number(config, PROPERTY_MODE) == MODE_RAW,
        .durable = flag(config, PROPERTY_DURABLE),
        .reclaim = flag(config, PROPERTY_RECLAIM),
        .retry_limit_ns = (int64_t)config_number(config, PROPERTY_RETRY_LIMIT),
    };
}

bw_status config_genesis(const bw_config *config, genesis *out, bw_error *error)
{
    if (!config_has(config, PROPERTY_DP))
        return error_set(error, BW_INVALID, "dp is not set: the number of data-parallel positions");
    *out = (genesis){
        .dp = number32(config, PROPERTY_DP),
        .cp = config_has(config, PROPERTY_CP) ? number32(config, PROPERTY_CP) : 1,
        .items_default = number32(config, PROPERTY_ITEMS),
        .expected_producers = number32(config, PROPERTY_PRODUCERS),
        .block_size = number32(config, PROPERTY_BLOCK_SIZE),
        .tail_cap = number32(config, PROPERTY_TAIL_CAP),
        .part_bytes = config_number(config, PROPERTY_PART_SIZE),
        .page_min = number32(config, PROPERTY_PAGE_MIN),
        .has_max_lag = config_has(config, PROPERTY_MAX_LAG),
        .has_max_bytes = config_has(config, PROPERTY_MAX_BYTES),
        .max_lag = config_number(config, PROPERTY_MAX_LAG),
        .max_bytes = config_number(config, PROPERTY_MAX_BYTES),
        .schema = view_text(config_text(config, PROPERTY_SCHEMA)),
    };
    const char *layout = config_text(config, PROPERTY_LAYOUT);
    if (strlen(layout) > LAYOUT_BYTES_MAX)
        return error_set(error, BW_INVALID, "layout=\"%.80s\": contiguous, headtail, or empty",
                         layout);
    memcpy(out->layout, layout, strlen(layout) + 1);
    return BW_OK;
}

#define ZSTD_LEVEL_DEFAULT 3u

static bool parse_compress(const char *text, uint32_t *level)
{
    static const char zstd[] = "zstd";
    *level = 0;
    if (strcmp(text, "none") == 0)
        return true;
    if (strncmp(text, zstd, sizeof zstd - 1) != 0)
        return false;
    text += sizeof zstd - 1;
    if (*text == '\0') {
        *level = ZSTD_LEVEL_DEFAULT;
        return true;
    }
    if (*text++ != ':' || *text < '1' || *text > '9' || strlen(text) > 2)
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        *level = *level * 10 + (uint32_t)(*text - '0');
    return *text == '\0' && *level <= PACKING_LEVEL_MAX;
}

bw_status config_producer(const bw_config *config, producer_options *out, bw_error *error)
{
    *out = (producer_options){
        .stop = config_stop(config),
        .kind = (item_kind)config_number(config, PROPERTY_KIND),
        .reopen = flag(config, PROPERTY_REOPEN),
        .commit_timeout_ns = (int64_t)config_number(config, PROPERTY_COMMIT_TIMEOUT),
        .staged_bytes_max = config_number(config, PROPERTY_STAGED_BYTES),
        .staged_batches_max = number32(config, PROPERTY_STAGED_BATCHES),
        .events_max = number32(config, PROPERTY_EVENTS),
    };
    const char *compress = config_text(config, PROPERTY_COMPRESS);
    if (!parse_compress(compress, &out->zstd_level))
        return error_set(error, BW_INVALID, "compress=\"%.80s\": none, zstd, or zstd:1 … zstd:%u",
                         compress, PACKING_LEVEL_MAX);
    const char *media_type = config_text(config, PROPERTY_MEDIA_TYPE);
    if (strlen(media_type) > MEDIA_TYPE_MAX)
        return error_set(error, BW_INVALID, "media_type: more than %u bytes", MEDIA_TYPE_MAX);
    memcpy(out->media_type, media_type, strlen(media_type) + 1);
    const char *policy = config_text(config, PROPERTY_POLICY);
    out->cadence_by_store = strcmp(policy, "auto") == 0;
    return out->cadence_by_store ? BW_OK : cadence_parse(policy, &out->cadence, error);
}

static bw_status parse_start(const char *text, consumer_options *out, bw_error *error)
{
    if (strcmp(text, "earliest") == 0) {
        out->start = START_EARLIEST;
        return BW_OK;
    }
    if (strcmp(text, "latest") == 0) {
        out->start = START_LATEST;
        return BW_OK;
    }
    uint64_t step = 0;
    bool digits = *text != '\0';
    for (const char *at = text; digits && *at != '\0'; at++) {
        digits = *at >= '0' && *at <= '9' && step <= (uint64_t)INT64_MAX / 10 - 1;
        step = step * 10 + (uint64_t)(*at - '0');
    }
    if (!digits)
        return error_set(error, BW_INVALID, "start=\"%.80s\": earliest, latest or a step", text);
    out->start = START_STEP;
    out->start_step = step;
    return BW_OK;
}

bw_status config_consumer(const bw_config *config, consumer_options *out, bw_error *error)
{
    *out = (consumer_options){
        .stop = config_stop(config),
        .has_position = config_has(config, PROPERTY_D),
        .has_rank = config_has(config, PROPERTY_RANK),
        .d = number32(config, PROPERTY_D),
        .c = number32(config, PROPERTY_C),
        .rank = number32(config, PROPERTY_RANK),
        .world = number32(config, PROPERTY_WORLD),
        .dp = number32(config, PROPERTY_DP),
        .cp = number32(config, PROPERTY_CP),
        .tp = number32(config, PROPERTY_TP),
        .pp = number32(config, PROPERTY_PP),
        .has_start = config_is_set(config, PROPERTY_START),
        .launch = config_text(config, PROPERTY_LAUNCH),
        .has_tags = *config_text(config, PROPERTY_TAGS) != '\0',
        .skip_to_tip = flag(config, PROPERTY_SKIP_TO_TIP),
        .prefetch = number32(config, PROPERTY_PREFETCH),
        .lend = flag(config, PROPERTY_LEND),
        .verify = flag(config, PROPERTY_VERIFY),
    };
    const char *mode = config_text(config, PROPERTY_RESCALE);
    if (strcmp(mode, cursor_mode_name(MODE_SCALE_BATCH)) == 0)
        out->mode = MODE_SCALE_BATCH;
    else if (strcmp(mode, cursor_mode_name(MODE_SAME_BATCH)) != 0)
        return error_set(error, BW_INVALID, "rescale=\"%.80s\": same_batch or scale_batch", mode);
    if (out->has_position && out->has_rank)
        return error_set(error, BW_INVALID, "set d and c, or rank and world, not both");
    if (out->has_rank != config_has(config, PROPERTY_WORLD))
        return error_set(error, BW_INVALID, "rank and world belong together: %s is not set",
                         out->has_rank ? "world" : "rank");
    if (config_has(config, PROPERTY_C) && !out->has_position)
        return error_set(error, BW_INVALID, "c is set and d is not");
    const char *tags = config_text(config, PROPERTY_TAGS);
    if (out->has_tags && !tags_parse(tags, out->tags, &out->tag_count))
        return error_set(error, BW_INVALID,
                         "tags=\"%.80s\": all, or up to %u of N, N-M and N-, by commas, ascending "
                         "and apart",
                         tags, TAGS_MAX);
    return parse_start(config_text(config, PROPERTY_START), out, error);
}

void config_doctor(const bw_config *config, doctor_job *out)
{
    const uint32_t producers = number32(config, PROPERTY_PRODUCERS);
    *out = (doctor_job){
        .ranks = number32(config, PROPERTY_RANKS),
        .producers = producers != 0 ? producers : 1,
        .step_ms = number32(config, PROPERTY_STEP_MS),
        .price_put = number32(config, PROPERTY_PRICE_PUT),
        .price_get = number32(config, PROPERTY_PRICE_GET),
        .price_delete = number32(config, PROPERTY_PRICE_DELETE),
    };
}

void config_report(const bw_config *config, report_options *out)
{
    *out = (report_options){
        .stop = config_stop(config),
        .has_first = config_has(config, PROPERTY_FIRST),
        .has_last = config_has(config, PROPERTY_LAST),
        .first = config_number(config, PROPERTY_FIRST),
        .last = config_number(config, PROPERTY_LAST),
        .key = config_text(config, PROPERTY_KEY),
        .prefix = config_text(config, PROPERTY_PREFIX),
        .deep = flag(config, PROPERTY_DEEP),
        .apply = flag(config, PROPERTY_APPLY),
        .manifests_only = flag(config, PROPERTY_MANIFESTS_ONLY),
        .orphans = flag(config, PROPERTY_ORPHANS),
        .progress = flag(config, PROPERTY_PROGRESS),
        .steps_max = config_number(config, PROPERTY_STEPS_MAX),
        .blocks_max = number32(config, PROPERTY_BLOCKS_MAX),
        .timeout_ns = (int64_t)config_number(config, PROPERTY_REPORT_TIMEOUT),
    };
}
