// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_s3/s3_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- calls and backends ---- */

static void clear_call(net_call *net, bool final)
{
    s3_call *call = s3_call_of(net);
    xml_free(call->reader);
    call->reader = NULL;
    s3_page_clear(&call->page);
    if (call->authorization.data != NULL)
        secret_wipe(call->authorization.data, call->authorization.capacity);
    if (!final)
        return;
    buf *const texts[] = {&call->path, &call->query, &call->url, &call->authorization, &call->body};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        buf_free(texts[i]);
    sigv4_key_clear(&call->key);
}

static void free_backend(net_backend *net)
{
    s3_backend *b = (s3_backend *)net;
    mem_free(b->origin);
    mem_free(b->host);
    mem_free(b->folder);
    mem_free(b->prefix);
    mem_free(b->region);
    mem_free(b->kms_key);
    mem_free(b->storage_class);
    mem_free(b->bucket_owner);
    mem_free(b);
}

/* AWS tells who may not list that an absent object is forbidden. */
static const char *const permissions[STORE_OP_KINDS] = {
    [STORE_GET] = "s3:GetObject; to be told of absent objects, s3:ListBucket",
    [STORE_READ] = "s3:GetObject; to be told of absent objects, s3:ListBucket",
    [STORE_HEAD] = "s3:GetObject; to be told of absent objects, s3:ListBucket",
    [STORE_PUT] = "s3:PutObject",
    [STORE_CREATE] = "s3:PutObject",
    [STORE_LIST] = "s3:ListBucket",
    [STORE_DELETE] = "s3:DeleteObject",
};

const net_dialect s3_dialect = {
    .name = "s3",
    .outcomes = &s3_outcomes,
    .permissions = permissions,
    .call_bytes = sizeof(s3_call),
    .build = s3_request_build,
    .error = s3_answer_error,
    .sink = s3_answer_sink,
    .end = s3_answer_end,
    .has_ended = s3_answer_has_ended,
    .about = s3_about,
    .bucket = s3_bucket,
    .clear = clear_call,
    .free_backend = free_backend,
};

/* ---- what may be asked for ---- */

static bool ends_in(const char *text, const char *end)
{
    const size_t size = strlen(text);
    const size_t tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static bw_status check_bucket(const char *bucket, bw_error *error)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    const size_t size = strlen(bucket);
    if (strncmp(bucket, "arn:", 4) == 0)
        return error_set(error, BW_UNSUPPORTED,
                         "%.100s: access points are named by their alias here, not by their ARN",
                         bucket);
    if (ends_in(bucket, "--x-s3"))
        return error_set(error, BW_UNSUPPORTED,
                         "%.100s: directory buckets (S3 Express) have sessions and listings of "
                         "their own, which are not supported",
                         bucket);
    if (size < 3 || size > 63 || strspn(bucket, legal) != size || bucket[0] == '.' ||
        bucket[0] == '-' || strstr(bucket, "..") != NULL)
        return error_set(error, BW_INVALID,
                         "\"%.100s\" is no name of a bucket: 3 to 63 lower-case letters, digits, "
                         "dots and hyphens",
                         bucket);
    return BW_OK;
}

static const char *text_of(const char *option)
{
    return option != NULL ? option : "";
}

static bw_status check_class(const char *name, bw_error *error)
{
    static const char *const archives[] = {"GLACIER", "DEEP_ARCHIVE", "SNOW"};
    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != strlen(name))
        return error_set(error, BW_INVALID,
                         "storage_class \"%.60s\": write it as S3 does, STANDARD_IA", name);
    for (size_t i = 0; i < sizeof archives / sizeof archives[0]; i++) {
        if (strcmp(name, archives[i]) == 0)
            return error_set(error, BW_UNSUPPORTED,
                             "storage_class %s: what is archived cannot be read before it is "
                             "restored",
                             name);
    }
    return BW_OK;
}

/* What goes into headers. */
static bw_status check_properties(const s3_options *options, bw_error *error)
{
    const char *owner = text_of(options->bucket_owner);
    const char *key = text_of(options->kms_key);
    if (owner[0] != '\0' && (strlen(owner) != 12 || strspn(owner, "0123456789") != 12))
        return error_set(error, BW_INVALID,
                         "bucket_owner \"%.40s\" is no account: write its twelve digits", owner);
    for (const char *c = key; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~')
            return error_set(error, BW_INVALID, "kms_key: write the key's id, alias or ARN");
    }
    return check_class(text_of(options->storage_class), error);
}

/* ---- the place ---- */

static bw_status find_endpoint(const s3_options *options, const s3_settings *settings,
                               const s3_backend *b, uri_origin *origin, bw_error *error)
{
    char text[NET_TEXT_MAX];
    const char *endpoint = options->endpoint[0] != '\0' ? options->endpoint : settings->endpoint;
    if (endpoint[0] == '\0') {
        const bool china = strncmp(b->region, "cn-", 3) == 0;
        (void)snprintf(text, sizeof text, "https://s3.%s.amazonaws.com%s", b->region,
                       china ? ".cn" : "");
        endpoint = text;
    }
    return net_find_origin(endpoint, options->plain_http, origin, error);
}

static bool is_virtual(const s3_options *options, const uri_origin *origin)
{
    if (options->style != S3_STYLE_AUTO)
        return options->style == S3_STYLE_VIRTUAL;
    const bool aws =
        ends_in(origin->host, ".amazonaws.com") || ends_in(origin->host, ".amazonaws.com.cn");
    /* The certificate's wildcard covers one label. */
    return aws && strchr(options->bucket, '.') == NULL;
}

/* Only the spelling is taken from the host's name: whether it is kept is proven at each opening for
 * writing. */
static bw_status choose_condition(const s3_options *options, const uri_origin *origin,
                                  s3_backend *b, bw_error *error)
{
    static const s3_spelling spellings[] = {
        [S3_CONDITION_S3] = {"if-none-match", "*"},
        /* Alibaba, OSS error 0026-00000002. */
        [S3_CONDITION_OSS] = {"x-oss-forbid-overwrite", "true"},
        [S3_CONDITION_IBM] = {"x-ibm-forbid-overwrite", "true"},
    };
    static const char *const tencent[] = {".myqcloud.com", ".tencentcos.cn"};
    s3_condition condition = options->condition;
    for (size_t i = 0; i < 2 && condition == S3_CONDITION_AUTO; i++) {
        if (ends_in(origin->host, tencent[i]))
            return error_set(error, BW_UNSUPPORTED,
                             "%.100s: Tencent COS creates if absent by x-cos-forbid-overwrite, "
                             "which is not supported: what it answers was never seen here",
                             origin->host);
    }
    if (condition == S3_CONDITION_AUTO)
        condition = ends_in(origin->host, ".aliyuncs.com") ? S3_CONDITION_OSS : S3_CONDITION_S3;
    b->condition = &spellings[condition];
    return BW_OK;
}

static bw_status set_place(const s3_options *options, const s3_settings *settings, s3_backend *b,
                           bw_error *error)
{
    uri_origin origin;
    bw_status status = BW_OK;
    char port[8] = "";
    const char *region = options->region[0] != '\0'    ? options->region
                         : settings->region[0] != '\0' ? settings->region
                                                       : "us-east-1";
    if (strspn(region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
        strlen(region))
        return error_set(error, BW_INVALID, "region \"%.60s\" is no name of a region", region);
    b->region = net_text(&status, "%s", region);
    BW_TRY(status);
    BW_TRY(find_endpoint(options, settings, b, &origin, error));
    BW_TRY(choose_condition(options, &origin, b, error));
    const bool own_host = is_virtual(options, &origin);
    if (origin.port != 0)
        (void)snprintf(port, sizeof port, ":%u", origin.port);
    b->host = own_host ? net_text(&status, "%s.%s%s", options->bucket, origin.host, port)
                       : net_text(&status, "%s%s", origin.host, port);
    b->origin =
        net_text(&status, "%s%s", origin.tls ? "https://" : "http://", b->host ? b->host : "");
    b->folder = own_host ? net_text(&status, "/") : net_text(&status, "/%s", options->bucket);
    b->prefix = net_text(&status, "%s%s", options->prefix, options->prefix[0] != '\0' ? "/" : "");
    b->net.name = net_text(&status, "s3://%s", options->bucket);
    b->kms_key = net_text(&status, "%s", text_of(options->kms_key));
    b->storage_class = net_text(&status, "%s", text_of(options->storage_class));
    b->bucket_owner = net_text(&status, "%s", text_of(options->bucket_owner));
    b->requester_pays = options->requester_pays;
    b->net.key_bytes_max = STORE_KEY_MAX - (uint32_t)strlen(b->prefix != NULL ? b->prefix : "");
    const char *ca_file = options->ca_file[0] != '\0' ? options->ca_file : settings->ca_file;
    if (ca_file[0] != '\0')
        b->net.ca_file = net_text(&status, "%s", ca_file);
    b->sign_body =
        options->sign_body == S3_SIGN_ALWAYS || (options->sign_body == S3_SIGN_AUTO && !origin.tls);
    return status;
}

/* Takes over `environment`. */
static bw_status find_keys(const s3_options *options, const s3_settings *settings,
                           net_environment *environment, s3_backend *b, bw_error *error)
{
    s3_chain *chain = s3_chain_new(settings, environment);
    if (chain == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    chain->net.plain_http = options->plain_http;
    /* The token service is asked as the store is. */
    (void)snprintf(chain->settings.region, sizeof chain->settings.region, "%s", b->region);
    (void)snprintf(chain->net.ca_file, sizeof chain->net.ca_file, "%s",
                   b->net.ca_file != NULL ? b->net.ca_file : "");
    return net_keyring_open(&chain->net, &b->net.keyring, error);
}

static bw_status set_up(const s3_options *options, s3_backend *b, bw_error *error)
{
    s3_settings settings;
    net_environment *environment = net_environment_copy(environ);
    if (environment == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    bw_status status = s3_settings_find(options->profile, environment, &settings, error);
    if (status == BW_OK) {
        status = set_place(options, &settings, b, error);
        if (status == BW_NOMEM)
            (void)error_set(error, status, "no memory for a store");
    }
    if (status == BW_OK && !options->anonymous)
        return find_keys(options, &settings, environment, b, error);
    net_environment_free(environment);
    return status;
}

bw_status s3_store_open(const s3_options *options, store **out, bw_error *error)
{
    BW_TRY(check_bucket(options->bucket, error));
    BW_TRY(net_check_prefix(options->prefix, S3_PREFIX_MAX, error));
    BW_TRY(check_properties(options, error));
    s3_backend *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    net_backend_init(&b->net, &s3_dialect, options->request_timeout_ns, options->plain_http);
    b->net.http.http2 = options->http2;
    bw_status status = set_up(options, b, error);
    if (status == BW_OK)
        status = net_store_new(&b->net, out, error);
    net_backend_release(&b->net); /* the handle has its own reference */
    return status;
}
