// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "api/place.h"

#include "base/alloc.h"
#include "http/uri.h"
#include "store_s3/s3_store.h"

#include <string.h>
#include <strings.h>

#define URL_BYTES_MAX 4096u

/* A URL of a bucket, taken apart in a text of its own. */
typedef struct bucket_url {
    char text[URL_BYTES_MAX];
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
    const size_t size = uri_decode(text, strlen(text), false);
    if (size == SIZE_MAX || memchr(text, '\0', size) != NULL)
        return false;
    text[size] = '\0';
    return true;
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

static bw_status take_apart(const char *rest, bucket_url *u, bw_error *error)
{
    const size_t size = strlen(rest);
    if (size >= sizeof u->text)
        return error_set(error, BW_INVALID, "the URL is too long");
    memcpy(u->text, rest, size + 1);
    char *query = strchr(u->text, '?');
    if (query != NULL)
        *query++ = '\0';
    char *prefix = strchr(u->text, '/');
    if (prefix != NULL)
        *prefix++ = '\0';
    u->bucket = u->text;
    u->prefix = prefix != NULL ? prefix : "";
    /* It may be a secret: not a word of it is repeated. */
    if (strpbrk(u->bucket, "@:") != NULL && strncmp(u->bucket, "arn:", 4) != 0)
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

static bw_status open_s3(const bucket_url *u, const bw_config *config, store **out, bw_error *error)
{
#define TEXT(id) config_text(source(u, config, PROPERTY_##id), PROPERTY_##id)
#define NUMBER(id) config_number(source(u, config, PROPERTY_##id), PROPERTY_##id)
    const s3_options options = {
        .bucket = u->bucket,
        .prefix = u->prefix,
        .endpoint = TEXT(ENDPOINT),
        .region = TEXT(REGION),
        .profile = TEXT(PROFILE),
        .ca_file = TEXT(CA_FILE),
        .style = (s3_style)NUMBER(STYLE),
        .sign_body = (s3_sign_body)NUMBER(SIGN_BODY),
        .anonymous = NUMBER(ANONYMOUS) != 0,
        .plain_http = NUMBER(PLAIN_HTTP) != 0,
        .request_timeout_ns = (int64_t)NUMBER(REQUEST_TIMEOUT),
    };
    const store_pacing pacing = {
        .requests_max = (uint32_t)NUMBER(REQUESTS),
        .retry_percent = (uint32_t)NUMBER(RETRY_BUDGET),
        .hedge = NUMBER(HEDGE) != 0,
    };
#undef TEXT
#undef NUMBER
    BW_TRY(s3_store_open(&options, out, error));
    (*out)->pacing = pacing;
    return BW_OK;
}

bw_status place_open(const char *url, const bw_config *config, bool writable, store **out,
                     bw_error *error)
{
    static const char s3[] = "s3://";
    if (strncasecmp(url, s3, sizeof s3 - 1) != 0)
        return store_open_url(url, writable, config_number(config, PROPERTY_DURABLE) != 0, out,
                              error);
    bucket_url *u = mem_zalloc(sizeof *u);
    bw_status status = BW_NOMEM;
    if (u != NULL)
        u->settings = bw_config_new();
    if (u != NULL && u->settings != NULL) {
        status = take_apart(url + sizeof s3 - 1, u, error);
        if (status == BW_OK)
            status = open_s3(u, config, out, error);
    } else {
        (void)error_set(error, BW_NOMEM, "out of memory");
    }
    if (u != NULL)
        bw_config_free(u->settings);
    mem_free(u);
    return status;
}
