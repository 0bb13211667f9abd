// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The S3 store on a real server: the endpoint is the first argument, keys are in the environment.
 * Each place is a bucket of its own, so that keys may be as long as S3 has them; a second factory
 * gives each place a prefix with odd characters. tools/stores starts servers and runs this.
 */
#include "contract.h"
#include "contract_ops.h"

#include "base/clock.h"
#include "http/http_client.h"
#include "http/sigv4.h"
#include "store_s3/s3_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *endpoint;
static unsigned made;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

/* A request on the bucket itself; the status. */
static int ask(http_method method, const char *bucket)
{
    const char *host = strstr(endpoint, "://") + 3;
    const char *region = variable("AWS_REGION");
    char time[SIGV4_TIME_BYTES], path[128], url[512];
    char payload[] = SIGV4_UNSIGNED;
    sigv4_key key = {{0}, {0}};
    secret hidden = {NULL, 0};
    buf authorization;
    sigv4_time(clock_wall_ms(clock_system()), time);
    (void)snprintf(path, sizeof path, "/%s", bucket);
    (void)snprintf(url, sizeof url, "%s%s", endpoint, path);
    const sigv4_header rows[] = {
        {"host", host}, {"x-amz-content-sha256", payload}, {"x-amz-date", time}};
    const sigv4_request request = {.method = method == HTTP_PUT ? "PUT" : "DELETE",
                                   .path = path,
                                   .query = "",
                                   .headers = rows,
                                   .header_count = 3,
                                   .payload = payload,
                                   .time = time,
                                   .region = region[0] != '\0' ? region : "us-east-1",
                                   .service = "s3"};
    buf_init(&authorization, 4096);
    const char *text = variable("AWS_SECRET_ACCESS_KEY");
    http_client *client = NULL;
    const http_options options = {
        .connect_timeout_ns = 5 * NS_PER_S, .stall_s = 20, .connections_max = 1};
    http_request r = {.method = method, .url = url, .timeout_ns = 30 * NS_PER_S};
    if (secret_set(&hidden, text, strlen(text)) != BW_OK ||
        sigv4_sign(&request, variable("AWS_ACCESS_KEY_ID"), &hidden, &key, &authorization) !=
            BW_OK ||
        http_client_new(&options, &client, NULL) != BW_OK)
        abort();
    for (size_t i = 0; i < 3; i++)
        r.headers[r.header_count++] = (http_header){rows[i].name, rows[i].value};
    r.headers[r.header_count++] = (http_header){"authorization", buf_text(&authorization)};
    http_submit(client, &r);
    while (http_poll(client, TIME_NEVER) == NULL)
        continue;
    http_client_free(client);
    secret_clear(&hidden);
    buf_free(&authorization);
    if (r.end != HTTP_ANSWERED)
        (void)fprintf(stderr, "%s: %s\n", url, r.why);
    return r.head.status;
}

/* What a URL or a signature can get wrong. */
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
    if (ask(HTTP_PUT, p->bucket) != 200) {
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
    const s3_options options = {.bucket = p->bucket,
                                .prefix = p->prefix,
                                .endpoint = endpoint,
                                .region = "",
                                .profile = "",
                                .ca_file = "",
                                .request_timeout_ns = 30 * NS_PER_S};
    bw_error *error = bw_error_new();
    store *s = NULL;
    if (s3_store_open(&options, &s, error) != BW_OK)
        (void)fprintf(stderr, "%s\n", bw_error_message(error));
    bw_error_free(error);
    return s;
}

static void destroy_place(void *context)
{
    place *p = context;
    store *s = open_place(p);
    for (bool more = true; more;) {
        store_op op;
        store_op_init(&op, STORE_LIST, "");
        more = store_run(s, &op) == STORE_OK && op.list.count > 0;
        const char *keys[STORE_DELETE_MAX];
        store_op gone;
        store_op_init(&gone, STORE_DELETE, "");
        for (size_t i = 0; i < op.list.count; i++)
            keys[gone.key_count++] = op.list.entries[i].key;
        gone.keys = keys;
        more = more && store_run(s, &gone) == STORE_OK;
        store_op_clear(&op);
    }
    store_close(s);
    (void)ask(HTTP_DELETE, p->bucket);
    free(p);
}

int main(int count, char **words)
{
    static const contract_factory factories[] = {
        {.name = "s3",
         .make = make_bucket,
         .open = open_place,
         .destroy = destroy_place,
         .across_processes = true},
        {.name = "s3, below a prefix",
         .make = make_prefix,
         .open = open_place,
         .destroy = destroy_place,
         .across_processes = true,
         .key_max = STORE_KEY_MAX - (sizeof PREFIX - 1) - 1},
    };
    const bool slow = count == 3 && strcmp(words[2], "seaweedfs") == 0;
    if (count != 2 && !slow) {
        (void)fprintf(stderr, "%s http://127.0.0.1:PORT [seaweedfs]\n", words[0]);
        return 2;
    }
    endpoint = words[1];
    int failed = 0;
    for (size_t i = 0; i < sizeof factories / sizeof factories[0]; i++) {
        contract_factory factory = factories[i];
        factory.checks_crc = true;
        factory.any_order = slow;
        factory.races = slow ? 4 : 0;
        failed += contract_run(&factory);
    }
    return failed;
}
