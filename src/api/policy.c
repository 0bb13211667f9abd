// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Who does what (docs/stores.md has it as a table): a producer writes anything but markers; a
 * trainer's first rank commits groups and pins, which may fold a segment; a sweeper deletes. All of
 * them read, list, and make and remove probes.
 *
 * S3 and Google Cloud tell who may not list that an absent object is forbidden: the chain's end
 * could not be told from a lack of rights, so that everybody may list. No condition on the prefix
 * is added to that right: a read has none, and would not meet it.
 */
#include "api/policy.h"

#include "client/json.h"

#include <stdio.h>
#include <string.h>

#define PATTERN_BYTES 1200u
#define BELOW_MAX 8u

typedef struct role {
    const char *name;
    const char *writes[BELOW_MAX]; /* patterns of names below the namespace */
    const char *deletes[BELOW_MAX];
} role;

static const role roles[] = {
    {"producer", {"*"}, {"probe/*", "tmp/*"}},
    {"trainer",
     {"manifest/*", "segment/*", "page/*", "hint", "probe/*", "tmp/*"},
     {"probe/*", "tmp/*"}},
    {"sweeper",
     {"manifest/*", "segment/*", "page/*", "retired/*", "hint", "probe/*", "tmp/*"},
     {"*"}},
};

/* ---- S3: a policy of IAM ---- */

static void put_resources(buf *out, const store_facts *facts, const char *const *patterns)
{
    json_put_array(out, "Resource");
    for (size_t i = 0; i < BELOW_MAX && patterns[i] != NULL; i++) {
        char arn[PATTERN_BYTES];
        (void)snprintf(arn, sizeof arn, "arn:aws:s3:::%s/%s%s", facts->bucket, facts->prefix,
                       patterns[i]);
        json_put_text(out, NULL, arn);
    }
    json_put_array_end(out);
}

static void put_statement(buf *out, const store_facts *facts, const char *action,
                          const char *const *patterns)
{
    json_put_object(out, NULL);
    json_put_text(out, "Effect", "Allow");
    json_put_text(out, "Action", action);
    put_resources(out, facts, patterns);
    json_put_object_end(out);
}

static void put_s3(buf *out, const store_facts *facts, const role *r)
{
    static const char *const all[BELOW_MAX] = {"*"};
    char bucket[PATTERN_BYTES];
    (void)snprintf(bucket, sizeof bucket, "arn:aws:s3:::%s", facts->bucket);
    json_put_text(out, "Version", "2012-10-17");
    json_put_array(out, "Statement");
    put_statement(out, facts, "s3:GetObject", all);
    put_statement(out, facts, "s3:PutObject", r->writes);
    put_statement(out, facts, "s3:DeleteObject", r->deletes);
    json_put_object(out, NULL);
    json_put_text(out, "Effect", "Allow");
    json_put_text(out, "Action", "s3:ListBucket");
    json_put_text(out, "Resource", bucket);
    json_put_object_end(out);
    json_put_array_end(out);
}

/* ---- Google Cloud: a custom role, bound to the bucket ---- */

static bool deletes_all(const role *r)
{
    return strcmp(r->deletes[0], "*") == 0;
}

static void put_gcs(buf *out, const store_facts *facts, const role *r)
{
    char title[64];
    (void)facts;
    (void)snprintf(title, sizeof title, "BatchWeave %s", r->name);
    json_put_text(out, "title", title);
    json_put_text(out, "stage", "GA");
    json_put_array(out, "includedPermissions");
    json_put_text(out, NULL, "storage.objects.create");
    if (deletes_all(r)) /* to replace an object is to delete it: without it there are no hints */
        json_put_text(out, NULL, "storage.objects.delete");
    json_put_text(out, NULL, "storage.objects.get");
    json_put_text(out, NULL, "storage.objects.list");
    json_put_array_end(out);
}

/* ---- Azure: a custom role, on the container ---- */

static void put_azure(buf *out, const store_facts *facts, const role *r)
{
#define BLOBS "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
    char text[PATTERN_BYTES];
    (void)snprintf(text, sizeof text, "BatchWeave %s", r->name);
    json_put_text(out, "Name", text);
    json_put_bool(out, "IsCustom", true);
    json_put_array(out, "Actions");
    json_put_array_end(out);
    json_put_array(out, "DataActions");
    json_put_text(out, NULL, BLOBS "read"); /* with it names are listed */
    json_put_text(out, NULL, BLOBS "write");
    if (deletes_all(r))
        json_put_text(out, NULL, BLOBS "delete");
    json_put_array_end(out);
    json_put_array(out, "AssignableScopes");
    (void)snprintf(text, sizeof text,
                   "/subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Storage/"
                   "storageAccounts/ACCOUNT/blobServices/default/containers/%s",
                   facts->bucket);
    json_put_text(out, NULL, text);
    json_put_array_end(out);
#undef BLOBS
}

void policy_put(buf *out, const store_facts *facts, store_op_kind kind)
{
    static void (*const put[])(buf * out, const store_facts *facts, const role *r) = {
        [STORE_CLOUD_S3] = put_s3,
        [STORE_CLOUD_GCS] = put_gcs,
        [STORE_CLOUD_AZURE] = put_azure,
    };
    json_put_object(out, "policies");
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (kind == STORE_DELETE && !deletes_all(&roles[i]))
            continue;
        json_put_object(out, roles[i].name);
        put[facts->cloud](out, facts, &roles[i]);
        json_put_object_end(out);
    }
    json_put_object_end(out);
}
