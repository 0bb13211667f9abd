// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_azure/azure_chain.h"
#include "store_azure/azure_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- calls and backends ---- */

static void clear_call(net_call *net, bool final)
{
    azure_call *call = azure_call_of(net);
    xml_free(call->reader);
    call->reader = NULL;
    azure_page_clear(&call->page);
    buf_reset(&call->answers);
    /* The URL may hold a shared access signature, the body of a batch tokens. */
    buf *const hidden[] = {&call->url, &call->authorization, &call->body};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (hidden[i]->size > 0)
            secret_wipe(hidden[i]->data, hidden[i]->capacity);
        buf_reset(hidden[i]);
    }
    if (!final)
        return;
    buf *const texts[] = {&call->path,   &call->url,  &call->authorization,
                          &call->target, &call->body, &call->answers};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        buf_free(texts[i]);
}

static void free_backend(net_backend *net)
{
    azure_backend *b = (azure_backend *)net;
    mem_free(b->account);
    mem_free(b->origin);
    mem_free(b->folder);
    mem_free(b->prefix);
    mem_free(b);
}

/* Of blobs. */
static const char *const permissions[STORE_OP_KINDS] = {
    [STORE_GET] = "read (r of a signature)",      [STORE_READ] = "read (r of a signature)",
    [STORE_HEAD] = "read (r of a signature)",     [STORE_PUT] = "write (w of a signature)",
    [STORE_CREATE] = "write (w of a signature)",  [STORE_LIST] = "list (l of a signature)",
    [STORE_DELETE] = "delete (d of a signature)",
};

const net_dialect azure_dialect = {
    .name = "azure",
    .outcomes = &azure_outcomes,
    .permissions = permissions,
    .call_bytes = sizeof(azure_call),
    .build = azure_request_build,
    .error = azure_error,
    .sink = azure_sink,
    .end = azure_end,
    .has_ended = net_call_has_ended,
    .about = azure_about,
    .clear = clear_call,
    .free_backend = free_backend,
};

static bw_status find_keys(const azure_options *options, azure_backend *b, bw_error *error)
{
    net_chain *chain = azure_chain_new(options->account, net_environment_copy(environ));
    if (chain == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    chain->plain_http = options->plain_http;
    if (b->net.ca_file != NULL)
        (void)snprintf(chain->ca_file, sizeof chain->ca_file, "%s", b->net.ca_file);
    return net_keyring_open(chain, &b->net.keyring, error);
}

/* ---- the place ---- */

static bw_status check_names(const azure_options *options, bw_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t account = strlen(options->account);
    const size_t container = strlen(options->container);
    if (account < 3 || account > 24 || strspn(options->account, letters) != account ||
        strchr(options->account, '-') != NULL)
        return error_set(
            error, BW_INVALID,
            "\"%.60s\" is no name of a storage account: 3 to 24 lower-case letters and "
            "digits",
            options->account);
    if (container < 3 || container > 63 || strspn(options->container, letters) != container ||
        options->container[0] == '-')
        return error_set(error, BW_INVALID,
                         "\"%.100s\" is no name of a container: 3 to 63 lower-case letters, digits "
                         "and hyphens",
                         options->container);
    return net_check_prefix(options->prefix, AZURE_PREFIX_MAX, error);
}

static bw_status set_place(const azure_options *options, azure_backend *b, bw_error *error)
{
    uri_origin origin;
    bw_status status = BW_OK;
    char text[URI_HOST_MAX + 32];
    char port[8] = "";
    (void)snprintf(text, sizeof text, "https://%s.blob.core.windows.net", options->account);
    BW_TRY(net_find_origin(options->endpoint[0] != '\0' ? options->endpoint : text,
                           options->plain_http, &origin, error));
    if (origin.port != 0)
        (void)snprintf(port, sizeof port, ":%u", origin.port);
    b->account = net_text(&status, "%s", options->account);
    b->origin = net_text(&status, "%s%s%s", origin.tls ? "https://" : "http://", origin.host, port);
    b->folder = options->account_in_path
                    ? net_text(&status, "/%s/%s", options->account, options->container)
                    : net_text(&status, "/%s", options->container);
    b->prefix = net_text(&status, "%s%s", options->prefix, options->prefix[0] != '\0' ? "/" : "");
    b->net.name = net_text(&status, "az://%s/%s", options->account, options->container);
    if (options->ca_file[0] != '\0')
        b->net.ca_file = net_text(&status, "%s", options->ca_file);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a store");
    b->net.key_bytes_max = STORE_KEY_MAX - (uint32_t)strlen(b->prefix);
    return BW_OK;
}

bw_status azure_store_open(const azure_options *options, store **out, bw_error *error)
{
    BW_TRY(check_names(options, error));
    azure_backend *b = mem_zalloc(sizeof *b);
    if (b == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    net_backend_init(&b->net, &azure_dialect, options->request_timeout_ns, options->plain_http);
    b->net.http.http2 = options->http2;
    bw_status status = set_place(options, b, error);
    if (status == BW_OK && !options->anonymous)
        status = find_keys(options, b, error);
    if (status == BW_OK)
        status = net_store_new(&b->net, out, error);
    net_backend_release(&b->net); /* the handle has its own reference */
    return status;
}
