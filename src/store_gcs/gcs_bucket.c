// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_gcs/gcs_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX (256u << 10)

void gcs_about(const net_backend *net, store_facts *out)
{
    const gcs_backend *b = (const gcs_backend *)net;
    out->cloud = STORE_CLOUD_GCS;
    (void)snprintf(out->bucket, sizeof out->bucket, "%s", b->bucket);
    (void)snprintf(out->prefix, sizeof out->prefix, "%s", b->prefix);
    (void)snprintf(out->endpoint, sizeof out->endpoint, "%s", b->origin);
}

static bool is_text(const json_t *object, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value != NULL && strcmp(value, text) == 0;
}

/* A rule for each prefix; one that is for old versions only does living objects no harm. */
static void take_rule(store_bucket *out, const json_t *rule)
{
    const json_t *action = json_object_get(rule, "action");
    const json_t *condition = json_object_get(rule, "condition");
    const json_t *prefixes = json_object_get(condition, "matchesPrefix");
    const bool deletes = is_text(action, "type", "Delete");
    const bool old = json_is_false(json_object_get(condition, "isLive")) ||
                     json_object_get(condition, "numNewerVersions") != NULL ||
                     json_object_get(condition, "daysSinceNoncurrentTime") != NULL;
    out->old_end |= deletes && old;
    if (old || (!deletes && !is_text(action, "type", "SetStorageClass")))
        return;
    const store_rule_does does = deletes ? STORE_RULE_DELETES : STORE_RULE_MOVES;
    for (size_t i = 0; i < json_array_size(prefixes); i++) {
        const char *prefix = json_string_value(json_array_get(prefixes, i));
        store_bucket_add(out, does, "", prefix != NULL ? prefix : "");
    }
    if (json_array_size(prefixes) == 0)
        store_bucket_add(out, does, "", "");
}

bw_status gcs_bucket_parse(store_bucket *out, const void *bytes, size_t size)
{
    json_t *root = size == 0 ? NULL : json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return BW_CORRUPT;
    }
    const json_t *rules = json_object_get(json_object_get(root, "lifecycle"), "rule");
    const json_t *versions = json_object_get(json_object_get(root, "versioning"), "enabled");
    const char *kept = json_string_value(
        json_object_get(json_object_get(root, "softDeletePolicy"), "retentionDurationSeconds"));
    for (size_t i = 0; i < json_array_size(rules); i++)
        take_rule(out, json_array_get(rules, i));
    out->rules = out->rule_count > 0 ? STORE_ON : STORE_OFF;
    out->versions = json_is_true(versions) ? STORE_ON : STORE_OFF;
    out->kept_s = kept != NULL ? strtoull(kept, NULL, 10) : 0;
    json_decref(root);
    return BW_OK;
}

void gcs_bucket(store *s, store_bucket *out)
{
    store_op op;
    store_op_init(&op, STORE_GET, "bucket");
    op.of_bucket = true;
    buf_init(&op.out, ANSWER_BYTES_MAX);
    const store_outcome outcome = store_run(s, &op);
    if (outcome != STORE_OK || gcs_bucket_parse(out, op.out.data, op.out.size) != BW_OK)
        (void)snprintf(out->why, sizeof out->why, "%.200s",
                       op.error.code != BW_OK ? op.error.message : "the answer cannot be read");
    store_op_clear(&op);
}
