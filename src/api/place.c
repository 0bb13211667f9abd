// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "api/place.h"

#include "base/alloc.h"
#include "http/uri.h"
#include "store_azure/azure_store.h"
#include "store_gcs/gcs_store.h"
#include "store_s3/s3_store.h"

#include <string.h>
#include <strings.h>

#define URL_BYTES_MAX 4096u

/* A URL of a bucket, taken apart in a text of its own. */
typedef struct bucket_url {
    char text[URL_BYTES_MAX];
    const char *account; /* Azure's, before the container */
    const char *bucket, *prefix;
    bw_config *settings; /* of the query */
} bucket_url;

static bool is_store_setting(const char *name)
{
    for (size_t i = 0; i < bw_config_count(); i++) {
        if (strcmp(bw_config_name(i), name) == 0)
            return strcmp(bw_config_scope(i), "store") == 0;
    }
    return false;
}

/* false: a % without two hex digits, or a NUL. */
static bool decode(char *text)
{
    const size_t size = uri_decode(text, false);
    return size == strlen(text);
}

static bw_status parse_query(char *query, bw_config *settings, bw_error *error)
{
    for (char *next; query != NULL && *query != '\0'; query = next) {
        next = strchr(query, '&');
        if (next != NULL)
            *next++ = '\0';
        char *value = strchr(query, '=');
        if (value == NULL)
            return error_set(error, BW_INVALID, "\"%.80s\" in a URL: write name=value", query);
        *value++ = '\0';
        if (!decode(query) || !decode(value))
            return error_set(error, BW_INVALID,
                             "a URL: %% must be followed by two hex digits that are not 00");
        if (!is_store_setting(query))
            return error_set(error, BW_INVALID,
                             "\"%.80s\" is no setting for a URL; `batchweave help settings` lists "
                             "those of the scope store",
                             query);
        BW_TRY(bw_config_set(settings, query, value, error));
    }
    return BW_OK;
}

static bw_status take_apart(const char *rest, bool has_account, bucket_url *u, bw_error *error)
{
    const size_t size = strlen(rest);
    if (size >= sizeof u->text)
        return error_set(error, BW_INVALID, "the URL is too long");
    memcpy(u->text, rest, size + 1);
    char *query = strchr(u->text, '?');
    if (query != NULL)
        *query++ = '\0';
    u->account = u->text;
    char *bucket = has_account ? strchr(u->text, '/') : NULL;
    if (bucket != NULL)
        *bucket++ = '\0';
    u->bucket = bucket != NULL ? bucket : has_account ? "" : u->text;
    char *prefix = has_account && bucket == NULL ? NULL : strchr(u->bucket, '/');
    if (prefix != NULL)
        *prefix++ = '\0';
    u->prefix = prefix != NULL ? prefix : "";
    /* It may be a secret: not a word of it is repeated. */
    if (strpbrk(u->text, "@:") != NULL && strncmp(u->text, "arn:", 4) != 0)
        return error_set(error, BW_INVALID,
                         "a URL of a bucket has no keys, user or port: s3://bucket/prefix; keys "
                         "are found in the environment or a profile");
    if (strchr(rest, '#') != NULL)
        return error_set(error, BW_INVALID, "a URL of a bucket has no fragment; write %%23");
    if (prefix != NULL && *prefix != '\0' && prefix[strlen(prefix) - 1] == '/')
        prefix[strlen(prefix) - 1] = '\0';
    if (prefix != NULL && !decode(prefix))
        return error_set(error, BW_INVALID,
                         "a URL: %% must be followed by two hex digits that are not 00");
    return parse_query(query, u->settings, error);
}

/* The settings of the URL, else of the configuration. */
static const bw_config *source(const bucket_url *u, const bw_config *config, property_id id)
{
    return config_is_set(u->settings, id) ? u->settings : config;
}

#define TEXT(id) config_text(source(u, config, PROPERTY_##id), PROPERTY_##id)
#define NUMBER(id) config_number(source(u, config, PROPERTY_##id), PROPERTY_##id)

static bw_status open_s3(const bucket_url *u, const bw_config *config, store **out, bw_error *error)
{
    const s3_options options = {
        .bucket = u->bucket,
        .prefix = u->prefix,
        .endpoint = TEXT(ENDPOINT),
        .region = TEXT(REGION),
        .profile = TEXT(PROFILE),
        .ca_file = TEXT(CA_FILE),
        .style = (s3_style)NUMBER(STYLE),
        .sign_body = (s3_sign_body)NUMBER(SIGN_BODY),
        .condition = (s3_condition)NUMBER(CONDITION),
        .kms_key = TEXT(KMS_KEY),
        .storage_class = TEXT(STORAGE_CLASS),
        .bucket_owner = TEXT(BUCKET_OWNER),
        .requester_pays = NUMBER(REQUESTER_PAYS) != 0,
        .anonymous = NUMBER(ANONYMOUS) != 0,
        .plain_http = NUMBER(PLAIN_HTTP) != 0,
        .http2 = NUMBER(HTTP) == 1,
        .request_timeout_ns = (int64_t)NUMBER(REQUEST_TIMEOUT),
    };
    return s3_store_open(&options, out, error);
}

/* Whoever sets these relies on them: elsewhere they are refused, not passed over. */
static bw_status check_not_of_s3(const bucket_url *u, const bw_config *config, bw_error *error)
{
    static const property_id of_s3[] = {PROPERTY_CONDITION, PROPERTY_KMS_KEY,
                                        PROPERTY_STORAGE_CLASS, PROPERTY_BUCKET_OWNER,
                                        PROPERTY_REQUESTER_PAYS};
    for (size_t i = 0; i < sizeof of_s3 / sizeof of_s3[0]; i++) {
        if (config_is_set(u->settings, of_s3[i]) || config_is_set(config, of_s3[i]))
            return error_set(error, BW_UNSUPPORTED, "%s is a setting of s3:// alone",
                             bw_config_name(of_s3[i]));
    }
    return BW_OK;
}

static bw_status open_azure(const bucket_url *u, const bw_config *config, store **out,
                            bw_error *error)
{
    BW_TRY(check_not_of_s3(u, config, error));
    const char *endpoint = TEXT(ENDPOINT);
    const s3_style style = (s3_style)NUMBER(STYLE);
    const azure_options options = {
        .account = u->account,
        .container = u->bucket,
        .prefix = u->prefix,
        .endpoint = endpoint,
        .ca_file = TEXT(CA_FILE),
        /* As emulators have it, which stand at an endpoint of their own. */
        .account_in_path =
            style == S3_STYLE_PATH || (style == S3_STYLE_AUTO && endpoint[0] != '\0'),
        .anonymous = NUMBER(ANONYMOUS) != 0,
        .plain_http = NUMBER(PLAIN_HTTP) != 0,
        .http2 = NUMBER(HTTP) == 1,
        .request_timeout_ns = (int64_t)NUMBER(REQUEST_TIMEOUT),
    };
    return azure_store_open(&options, out, error);
}

static bw_status open_gcs(const bucket_url *u, const bw_config *config, store **out,
                          bw_error *error)
{
    BW_TRY(check_not_of_s3(u, config, error));
    const gcs_options options = {
        .bucket = u->bucket,
        .prefix = u->prefix,
        .endpoint = TEXT(ENDPOINT),
        .ca_file = TEXT(CA_FILE),
        .anonymous = NUMBER(ANONYMOUS) != 0,
        .plain_http = NUMBER(PLAIN_HTTP) != 0,
        .http2 = NUMBER(HTTP) == 1,
        .request_timeout_ns = (int64_t)NUMBER(REQUEST_TIMEOUT),
    };
    return gcs_store_open(&options, out, error);
}

static store_pacing pacing_of(const bucket_url *u, const bw_config *config)
{
    return (store_pacing){
        .requests_max = (uint32_t)NUMBER(REQUESTS),
        .retry_percent = (uint32_t)NUMBER(RETRY_BUDGET),
        .hedge = NUMBER(HEDGE) != 0,
    };
}

typedef struct place_scheme {
    const char *start;
    bool has_account;
    bw_status (*open)(const bucket_url *u, const bw_config *config, store **out, bw_error *error);
} place_scheme;

static const place_scheme *scheme_of(const char *url)
{
    static const place_scheme schemes[] = {
        {"s3://", false, open_s3}, {"az://", true, open_azure}, {"gs://", false, open_gcs}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncasecmp(url, schemes[i].start, strlen(schemes[i].start)) == 0)
            return &schemes[i];
    }
    return NULL;
}

bool place_is_bucket(const char *url)
{
    return scheme_of(url) != NULL;
}

bw_status place_open(const char *url, const bw_config *config, bool writable, store **out,
                     bw_error *error)
{
    const place_scheme *scheme = scheme_of(url);
    if (scheme == NULL)
        return store_open_url(url, writable, config_number(config, PROPERTY_DURABLE) != 0, out,
                              error);
    bucket_url *u = mem_zalloc(sizeof *u);
    bw_status status = BW_NOMEM;
    if (u != NULL)
        u->settings = bw_config_new();
    if (u != NULL && u->settings != NULL) {
        status = take_apart(url + strlen(scheme->start), scheme->has_account, u, error);
        if (status == BW_OK)
            status = scheme->open(u, config, out, error);
        if (status == BW_OK)
            (*out)->pacing = pacing_of(u, config);
    } else {
        (void)error_set(error, BW_NOMEM, "out of memory");
    }
    if (u != NULL)
        bw_config_free(u->settings);
    mem_free(u);
    return status;
}
