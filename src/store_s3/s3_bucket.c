// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_internal.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES_MAX (256u << 10)

void s3_about(const net_backend *net, store_facts *out)
{
    static const char scheme[] = "s3://";
    const s3_backend *b = (const s3_backend *)net;
    out->cloud = STORE_CLOUD_S3;
    (void)snprintf(out->bucket, sizeof out->bucket, "%s", net->name + sizeof scheme - 1);
    (void)snprintf(out->prefix, sizeof out->prefix, "%s", b->prefix);
    (void)snprintf(out->endpoint, sizeof out->endpoint, "%s", b->origin);
    (void)snprintf(out->region, sizeof out->region, "%s", b->region);
}

/* One setting; the answer is fed to `reader`, which is freed. */
static store_outcome ask(store *s, const char *setting, xml *reader, store_bucket *out)
{
    store_op op;
    store_op_init(&op, STORE_GET, setting);
    op.of_bucket = true;
    buf_init(&op.out, ANSWER_BYTES_MAX);
    store_outcome outcome = reader != NULL ? store_run(s, &op) : STORE_RETRY;
    if (outcome == STORE_OK &&
        (xml_feed(reader, op.out.data, op.out.size) != BW_OK || xml_end(reader) != BW_OK))
        outcome = STORE_FATAL;
    if (outcome != STORE_OK && outcome != STORE_NOT_FOUND) {
        const size_t size = strlen(out->why);
        (void)snprintf(out->why + size, sizeof out->why - size, "%s%s: %.110s",
                       size > 0 ? "; " : "", setting,
                       op.error.code != BW_OK ? op.error.message : "the answer cannot be read");
    }
    store_op_clear(&op);
    xml_free(reader);
    return outcome;
}

static bw_status on_versioning(void *context, const char *path, const char *text)
{
    store_bucket *out = context;
    if (strcmp(path, "VersioningConfiguration") == 0 && out->versions == STORE_UNREADABLE)
        out->versions = STORE_OFF;
    else if (strcmp(path, "VersioningConfiguration/Status") == 0)
        out->versions = strcmp(text, "Enabled") == 0 ? STORE_ON : STORE_OFF;
    return BW_OK;
}

/* ---- rules ---- */

static void end_rule(s3_rules *r)
{
    if (r->enabled && !r->tagged) {
        r->out->old_end |= r->old_end;
        if (r->deletes)
            store_bucket_add(r->out, STORE_RULE_DELETES, r->name, r->prefix);
        if (r->archives)
            store_bucket_add(r->out, STORE_RULE_ARCHIVES, r->name, r->prefix);
        if (r->moves)
            store_bucket_add(r->out, STORE_RULE_MOVES, r->name, r->prefix);
    }
    *r = (s3_rules){.out = r->out};
}

static void take_class(s3_rules *r, const char *class)
{
    if (strcmp(class, "GLACIER") == 0 || strcmp(class, "DEEP_ARCHIVE") == 0)
        r->archives = true;
    else
        r->moves = true;
}

static bw_status on_rule(void *context, const char *path, const char *text)
{
    static const char rule[] = "LifecycleConfiguration/Rule";
    s3_rules *r = context;
    if (strcmp(path, "LifecycleConfiguration") == 0)
        r->out->rules = r->out->rule_count > 0 ? STORE_ON : STORE_OFF;
    if (strncmp(path, rule, sizeof rule - 1) != 0)
        return BW_OK;
    const char *field = path + sizeof rule - 1;
    if (*field == '\0')
        end_rule(r);
    else if (strcmp(field, "/ID") == 0)
        net_copy_printable(r->name, sizeof r->name, text);
    else if (strcmp(field, "/Status") == 0)
        r->enabled = strcmp(text, "Enabled") == 0;
    else if (strcmp(field, "/Prefix") == 0 || strcmp(field, "/Filter/Prefix") == 0 ||
             strcmp(field, "/Filter/And/Prefix") == 0)
        (void)snprintf(r->prefix, sizeof r->prefix, "%s", text);
    else if (strcmp(field, "/Filter/Tag") == 0 || strcmp(field, "/Filter/And/Tag") == 0)
        r->tagged = true; /* our objects have none */
    else if (strcmp(field, "/Expiration/Days") == 0 || strcmp(field, "/Expiration/Date") == 0)
        r->deletes = true;
    else if (strcmp(field, "/NoncurrentVersionExpiration") == 0)
        r->old_end = true;
    else if (strcmp(field, "/Transition/StorageClass") == 0)
        take_class(r, text);
    return BW_OK;
}

bw_status s3_rules_new(s3_rules *rules, store_bucket *out, xml **reader)
{
    *rules = (s3_rules){.out = out};
    return xml_new(ANSWER_BYTES_MAX, on_rule, rules, reader);
}

void s3_bucket(store *s, store_bucket *out)
{
    s3_rules rules;
    xml *reader = NULL;
    (void)xml_new(ANSWER_BYTES_MAX, on_versioning, out, &reader);
    if (ask(s, "versioning", reader, out) != STORE_OK)
        out->versions = STORE_UNREADABLE;
    reader = NULL;
    (void)s3_rules_new(&rules, out, &reader);
    const store_outcome outcome = ask(s, "lifecycle", reader, out);
    if (outcome == STORE_NOT_FOUND)
        out->rules = STORE_OFF;
    else if (outcome != STORE_OK)
        out->rules = STORE_UNREADABLE;
}
