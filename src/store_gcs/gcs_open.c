// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_gcs/gcs_chain.h"
#include "store_gcs/gcs_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void clear_call(net_call *net, bool final)
{
    gcs_call *call = gcs_call_of(net);
    if (!final)
        return;
    buf_free(&call->url);
    buf_free(&call->page);
    buf_free(&call->body);
    mem_free(call->pieces);
}

static void free_backend(net_backend *net)
{
    gcs_backend *b = (gcs_backend *)net;
    mem_free(b->origin);
    mem_free(b->bucket);
    mem_free(b->prefix);
    mem_free(b);
}

/* Google tells who may not list that an absent object is forbidden. */
static const char *const permissions[STORE_OP_KINDS] = {
    [STORE_GET] = "storage.objects.get; to be told of absent objects, storage.objects.list",
    [STORE_READ] = "storage.objects.get; to be told of absent objects, storage.objects.list",
    [STORE_HEAD] = "storage.objects.get; to be told of absent objects, storage.objects.list",
    [STORE_PUT] = "storage.objects.create; to replace an object, storage.objects.delete",
    [STORE_CREATE] = "storage.objects.create",
    [STORE_LIST] = "storage.objects.list",
    [STORE_DELETE] = "storage.objects.delete",
};

const net_dialect gcs_dialect = {
    .name = "gcs",
    .outcomes = &gcs_outcomes,
    .permissions = permissions,
    .call_bytes = sizeof(gcs_call),
    .build = gcs_request_build,
    .error = gcs_error,
    .object = gcs_object,
    .confirms_absence = true,
    .sink = gcs_list_sink,
    .end = gcs_end,
    .has_ended = net_call_has_ended,
    .about = gcs_about,
    .bucket = gcs_bucket,
    .clear = clear_call,
    .free_backend = free_backend,
};

static bw_status check_bucket(const char *bucket, bw_error *error)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    const size_t size = strlen(bucket);
    if (size < 3 || size > 222 || strspn(bucket, legal) != size || bucket[0] == '.' ||
        bucket[0] == '-')
        return error_set(error, BW_INVALID,
                         "\"%.100s\" is no name of a bucket: lower-case letters, digits, dots, "
                         "hyphens and underscores",
                         bucket);
    return BW_OK;
}

static bw_status find_keys(const gcs_options *options, gcs_backend *b, bw_error *error)
{
    net_chain *chain = gcs_chain_new(net_environment_copy(environ));
    if (chain == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    chain->plain_http = options->plain_http;
    if (b->net.ca_file != NULL)
        (void)snprintf(chain->ca_file, sizeof chain->ca_file, "%s", b->net.ca_file);
    return net_keyring_open(chain, &b->net.keyring, error);
}

static bw_status set_place(const gcs_options *options, gcs_backend *b, bw_error *error)
{
    uri_origin origin;
    bw_status status = BW_OK;
    char port[8] = "";
    const char *endpoint =
        options->endpoint[0] != '\0' ? options->endpoint : "https://storage.googleapis.com";
    BW_TRY(net_find_origin(endpoint, options->plain_http, &origin, error));
    if (origin.port != 0)
        (void)snprintf(port, sizeof port, ":%u", origin.port);
    b->origin = net_text(&status, "%s%s%s", origin.tls ? "https://" : "http://", origin.host, port);
    b->bucket = net_text(&status, "%s", options->bucket);
    b->prefix = net_text(&status, "%s%s", options->prefix, options->prefix[0] != '\0' ? "/" : "");
    b->net.name = net_text(&status, "gs://%s", options->bucket);
    if (options->ca_file[0] != '\0')
        b->net.ca_file = net_text(&status, "%s", options->ca_file);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a store");
    b->net.key_bytes_max = STORE_KEY_MAX - (uint32_t)strlen(b->prefix);
    return BW_OK;
}

bw_status gcs_store_open(const gcs_options *options, store **out, bw_error *error)
{
    BW_TRY(check_bucket(options->bucket, error));
    BW_TRY(net_check_prefix(options->prefix, GCS_PREFIX_MAX, error));
    gcs_backend *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    net_backend_init(&b->net, &gcs_dialect, options->request_timeout_ns, options->plain_http);
    b->net.http.http2 = options->http2;
    bw_status status = set_place(options, b, error);
    if (status == BW_OK && !options->anonymous)
        status = find_keys(options, b, error);
    if (status == BW_OK)
        status = net_store_new(&b->net, out, error);
    net_backend_release(&b->net); /* the handle has its own reference */
    return status;
}
