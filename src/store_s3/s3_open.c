// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_s3/s3_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)
#define STALL_S 20u
/* Of one handle; each executor thread has its own. */
#define CONNECTIONS_MAX 16u
#define TEXT_BYTES_MAX 4096u

void s3_backend_release(s3_backend *b)
{
    if (b == NULL || atomic_fetch_sub(&b->references, 1u) != 1u)
        return;
    s3_keyring_free(b->keyring);
    mem_free(b->name);
    mem_free(b->origin);
    mem_free(b->host);
    mem_free(b->folder);
    mem_free(b->prefix);
    mem_free(b->region);
    mem_free(b->ca_file);
    mem_free(b);
}

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

/* Segments that no path changes: none empty, "." or "..", nothing unprintable. */
static bw_status check_prefix(const char *prefix, bw_error *error)
{
    bool good = strlen(prefix) <= S3_PREFIX_MAX;
    for (const char *at = prefix; good && *prefix != '\0';) {
        const size_t size = strcspn(at, "/");
        good = size > 0 && !(size <= 2 && strncmp(at, "..", size) == 0);
        for (size_t i = 0; i < size && good; i++)
            good = (unsigned char)at[i] >= ' ' && at[i] != 127;
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    if (!good)
        return error_set(error, BW_INVALID,
                         "the prefix \"%.100s\" has segments that are empty, . or .., or more than "
                         "%u bytes",
                         prefix, S3_PREFIX_MAX);
    return BW_OK;
}

/* ---- the place ---- */

/** A text of the backend's own; NULL and *status when there is no memory. */
static char *text_of(bw_status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static char *text_of(bw_status *status, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = size >= 0 && (size_t)size < sizeof text ? mem_strdup(text) : NULL;
    if (copy == NULL)
        *status = BW_NOMEM;
    return copy;
}

static bw_status find_endpoint(const s3_options *options, const s3_settings *settings,
                               const s3_backend *b, uri_origin *origin, bw_error *error)
{
    char text[S3_TEXT_MAX];
    const char *endpoint = options->endpoint[0] != '\0' ? options->endpoint : settings->endpoint;
    if (endpoint[0] == '\0') {
        const bool china = strncmp(b->region, "cn-", 3) == 0;
        (void)snprintf(text, sizeof text, "https://s3.%s.amazonaws.com%s", b->region,
                       china ? ".cn" : "");
        endpoint = text;
    }
    BW_TRY(uri_parse_origin(endpoint, origin, error));
    if (!origin->tls && !origin->loopback && !options->plain_http)
        return error_set(error, BW_INVALID,
                         "endpoint %.120s: plain http to another machine shows everybody on the "
                         "way what is stored; write https, or plain_http=true",
                         endpoint);
    return BW_OK;
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
    b->region = text_of(&status, "%s", region);
    BW_TRY(status);
    BW_TRY(find_endpoint(options, settings, b, &origin, error));
    const bool own_host = is_virtual(options, &origin);
    if (origin.port != 0)
        (void)snprintf(port, sizeof port, ":%u", origin.port);
    b->host = own_host ? text_of(&status, "%s.%s%s", options->bucket, origin.host, port)
                       : text_of(&status, "%s%s", origin.host, port);
    b->origin =
        text_of(&status, "%s%s", origin.tls ? "https://" : "http://", b->host ? b->host : "");
    b->folder = own_host ? text_of(&status, "/") : text_of(&status, "/%s", options->bucket);
    b->prefix = text_of(&status, "%s%s", options->prefix, options->prefix[0] != '\0' ? "/" : "");
    b->name = text_of(&status, "s3://%s", options->bucket);
    const char *ca_file = options->ca_file[0] != '\0' ? options->ca_file : settings->ca_file;
    if (ca_file[0] != '\0')
        b->ca_file = text_of(&status, "%s", ca_file);
    b->sign_body =
        options->sign_body == S3_SIGN_ALWAYS || (options->sign_body == S3_SIGN_AUTO && !origin.tls);
    return status;
}

/* Takes over `environment`. */
static bw_status find_keys(const s3_options *options, const s3_settings *settings,
                           s3_environment *environment, s3_backend *b, bw_error *error)
{
    s3_chain chain = {.settings = *settings, .plain_http = options->plain_http};
    /* The token service is asked as the store is. */
    (void)snprintf(chain.settings.region, sizeof chain.settings.region, "%s", b->region);
    (void)snprintf(chain.settings.ca_file, sizeof chain.settings.ca_file, "%s",
                   b->ca_file != NULL ? b->ca_file : "");
    return s3_keyring_open(&chain, environment, &b->keyring, error);
}

static bw_status set_up(const s3_options *options, s3_backend *b, bw_error *error)
{
    s3_settings settings;
    s3_environment *environment = s3_environment_copy(environ);
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
    s3_environment_free(environment);
    return status;
}

bw_status s3_store_open(const s3_options *options, store **out, bw_error *error)
{
    BW_TRY(check_bucket(options->bucket, error));
    BW_TRY(check_prefix(options->prefix, error));
    s3_backend *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    atomic_init(&b->references, 1u);
    atomic_init(&b->skew_ms, 0);
    atomic_init(&b->no_batch, false);
    b->request_timeout_ns = options->request_timeout_ns;
    bw_status status = set_up(options, b, error);
    b->http = (http_options){.connect_timeout_ns = CONNECT_TIMEOUT_NS,
                             .stall_s = STALL_S,
                             .connections_max = CONNECTIONS_MAX,
                             .plain_http = options->plain_http,
                             .ca_file = b->ca_file};
    if (status == BW_OK)
        status = s3_store_new(b, out, error);
    s3_backend_release(b); /* the handle has its own reference */
    return status;
}
