// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The GCS store on a server that speaks the JSON API: the endpoint is the first argument. Each
 * place is a bucket of its own. tools/stores starts servers and runs this.
 */
#include "contract.h"
#include "contract_ops.h"

#include "base/clock.h"
#include "http/http_client.h"
#include "store_gcs/gcs_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *endpoint;
static unsigned made;

/* Makes a bucket; the status. */
static int make(const char *bucket)
{
    char url[512], body[128];
    (void)snprintf(url, sizeof url, "%s/storage/v1/b?project=test", endpoint);
    (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", bucket);
    const struct iovec piece = {body, strlen(body)};
    http_request r = {.method = HTTP_POST,
                      .url = url,
                      .pieces = &piece,
                      .piece_count = 1,
                      .body_bytes = strlen(body),
                      .timeout_ns = 30 * NS_PER_S};
    r.headers[r.header_count++] = (http_header){"content-type", "application/json"};
    const http_options options = {
        .connect_timeout_ns = 5 * NS_PER_S, .stall_s = 20, .connections_max = 1};
    http_client *client = NULL;
    if (http_client_new(&options, &client, NULL) != BW_OK)
        abort();
    http_submit(client, &r);
    while (http_poll(client, TIME_NEVER) == NULL)
        continue;
    http_client_free(client);
    if (r.end != HTTP_ANSWERED)
        (void)fprintf(stderr, "%s: %s\n", url, r.why);
    return r.head.status;
}

/* What a URL can get wrong. */
#define PREFIX "Run 7/$a+b=c&d;e,f@g:h'(i)*!~\xc3\xa9"

typedef struct place {
    char bucket[64];
    const char *prefix;
} place;

static void *make_with(const char *prefix)
{
    place *p = calloc(1, sizeof *p);
    (void)snprintf(p->bucket, sizeof p->bucket, "contract-%d-%u", (int)getpid(), made++);
    p->prefix = prefix;
    if (make(p->bucket) != 200) {
        (void)fprintf(stderr, "the bucket %s cannot be made\n", p->bucket);
        exit(1);
    }
    return p;
}

static void *make_bucket(void)
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
    const gcs_options options = {.bucket = p->bucket,
                                 .prefix = p->prefix,
                                 .endpoint = endpoint,
                                 .ca_file = "",
                                 .anonymous = true,
                                 .request_timeout_ns = 30 * NS_PER_S};
    bw_error *error = bw_error_new();
    store *s = NULL;
    if (gcs_store_open(&options, &s, error) != BW_OK)
        (void)fprintf(stderr, "%s\n", bw_error_message(error));
    bw_error_free(error);
    return s;
}

int main(int count, char **words)
{
    /* The server forgets its buckets when it ends. */
    static const contract_factory factories[] = {
        {.name = "gcs",
         .make = make_bucket,
         .open = open_place,
         .destroy = free,
         .across_processes = true},
        {.name = "gcs, below a prefix",
         .make = make_prefix,
         .open = open_place,
         .destroy = free,
         .across_processes = true,
         .key_max = STORE_KEY_MAX - (sizeof PREFIX - 1) - 1},
    };
    if (count != 2 && count != 3) {
        (void)fprintf(stderr, "%s http://127.0.0.1:PORT [BUCKET to make, and no more]\n", words[0]);
        return 2;
    }
    endpoint = words[1];
    if (count == 3)
        return make(words[2]) == 200 ? 0 : 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof factories / sizeof factories[0]; i++) {
        contract_factory factory = factories[i];
        factory.checks_crc = true;
        failed += contract_run(&factory);
    }
    return failed;
}
