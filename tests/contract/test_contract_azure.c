// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The Azure store on a real server: the endpoint is the first argument, with the account in its
 * path; account and key are in the environment. Each place is a container of its own. tools/stores
 * starts servers and runs this.
 */
#include "contract.h"
#include "contract_ops.h"

#include "base/clock.h"
#include "http/digest.h"
#include "http/http_client.h"
#include "store_azure/azure_sign.h"
#include "store_azure/azure_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *endpoint;
static unsigned made;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

/* A request on the container itself; the status. */
static int ask(http_method method, const char *container)
{
    const char *account = variable("AZURE_STORAGE_ACCOUNT");
    const char *text = variable("AZURE_STORAGE_KEY");
    char date[64], path[128], url[512];
    uint8_t key[256];
    size_t key_bytes = 0;
    const time_t now = time(NULL);
    struct tm t;
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &t));
    (void)snprintf(path, sizeof path, "/%s/%s", account, container);
    (void)snprintf(url, sizeof url, "%s%s?restype=container", endpoint, path);
    const uri_parameter parameter = {"restype", "container"};
    http_request r = {.method = method, .url = url, .timeout_ns = 30 * NS_PER_S};
    r.headers[r.header_count++] = (http_header){"x-ms-date", date};
    r.headers[r.header_count++] = (http_header){"x-ms-version", "2021-12-02"};
    const azure_signing signing = {.method = method == HTTP_PUT ? "PUT" : "DELETE",
                                   .account = account,
                                   .path = path,
                                   .parameters = &parameter,
                                   .parameter_count = 1,
                                   .headers = r.headers,
                                   .header_count = r.header_count};
    buf authorization;
    http_client *client = NULL;
    const http_options options = {
        .connect_timeout_ns = 5 * NS_PER_S, .stall_s = 20, .connections_max = 1};
    buf_init(&authorization, 4096);
    if (strlen(text) > sizeof key || !digest_base64_decode(text, strlen(text), key, &key_bytes) ||
        azure_sign(&signing, key, key_bytes, &authorization) != BW_OK ||
        http_client_new(&options, &client, NULL) != BW_OK)
        abort();
    r.headers[r.header_count++] = (http_header){"authorization", buf_text(&authorization)};
    http_submit(client, &r);
    while (http_poll(client, TIME_NEVER) == NULL)
        continue;
    http_client_free(client);
    buf_free(&authorization);
    if (r.end != HTTP_ANSWERED)
        (void)fprintf(stderr, "%s: %s\n", url, r.why);
    return r.head.status;
}

/* What a URL or a signature can get wrong. */
#define PREFIX "Run 7/$a+b=c&d;e,f@g:h'(i)*!~\xc3\xa9"

typedef struct place {
    char container[64];
    const char *prefix;
} place;

static void *make_with(const char *prefix)
{
    place *p = calloc(1, sizeof *p);
    (void)snprintf(p->container, sizeof p->container, "contract-%d-%u", (int)getpid(), made++);
    p->prefix = prefix;
    const int status = ask(HTTP_PUT, p->container);
    if (status != 201) {
        (void)fprintf(stderr, "the container %s cannot be made: %d\n", p->container, status);
        exit(1);
    }
    return p;
}

static void *make_container(void)
{
    return make_with("");
}

static void *make_prefix(void)
{
    return make_with(PREFIX);
}

static store *open_place(void *context)
{
    const place *p = context;
    const azure_options options = {.account = variable("AZURE_STORAGE_ACCOUNT"),
                                   .container = p->container,
                                   .prefix = p->prefix,
                                   .endpoint = endpoint,
                                   .ca_file = "",
                                   .account_in_path = true,
                                   .request_timeout_ns = 30 * NS_PER_S};
    bw_error *error = bw_error_new();
    store *s = NULL;
    if (azure_store_open(&options, &s, error) != BW_OK)
        (void)fprintf(stderr, "%s\n", bw_error_message(error));
    bw_error_free(error);
    return s;
}

static void destroy_place(void *context)
{
    place *p = context;
    (void)ask(HTTP_DELETE, p->container);
    free(p);
}

int main(int count, char **words)
{
    static const contract_factory factories[] = {
        {.name = "azure",
         .make = make_container,
         .open = open_place,
         .destroy = destroy_place,
         .across_processes = true},
        {.name = "azure, below a prefix",
         .make = make_prefix,
         .open = open_place,
         .destroy = destroy_place,
         .across_processes = true,
         .key_max = STORE_KEY_MAX - (sizeof PREFIX - 1) - 1},
    };
    if (count != 2 && count != 3) {
        (void)fprintf(stderr, "%s http://127.0.0.1:PORT [CONTAINER to make, and no more]\n",
                      words[0]);
        return 2;
    }
    endpoint = words[1];
    if (count == 3)
        return ask(HTTP_PUT, words[2]) == 201 ? 0 : 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof factories / sizeof factories[0]; i++)
        failed += contract_run(&factories[i]);
    return failed;
}
