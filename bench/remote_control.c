// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What is said to the test store beside its requests, and what it counted. */
#include "remote.h"

#include "base/buf.h"
#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 20)

void remote_url(const remote *r, const char *name, const char *settings, char url[REMOTE_URL_BYTES])
{
    (void)snprintf(url, REMOTE_URL_BYTES,
                   "s3://" REMOTE_BUCKET "/%s?endpoint=http://127.0.0.1:%" PRIu32 "&style=path%s%s",
                   name, r->port, settings[0] != '\0' ? "&" : "", settings);
}

static size_t take(char *bytes, size_t one, size_t count, void *context)
{
    buf_put(context, bytes, one * count);
    return one * count;
}

/** `body` NULL: a GET. */
static bw_status speak(const remote *r, const char *path, const char *body, buf *answer,
                       bw_error *error)
{
    char url[128];
    long status = 0;
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        return error_set(error, BW_NOMEM, "no memory for a request");
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%" PRIu32 "/_control%s", r->port, path);
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, url);
    code |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    code |= curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    code |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    code |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    if (body != NULL)
        code |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    if (code == CURLE_OK)
        code = curl_easy_perform(easy);
    if (code == CURLE_OK)
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    return code == CURLE_OK && status == 200
               ? BW_OK
               : error_set(error, BW_IO, "the test store says %ld: %.200s", status,
                           answer->size > 0 ? buf_text(answer) : curl_easy_strerror(code));
}

bw_status remote_configure(const remote *r, const char *settings, bw_error *error)
{
    buf answer;
    buf_init(&answer, ANSWER_BYTES_MAX);
    const bw_status status = speak(r, "", settings, &answer, error);
    buf_free(&answer);
    return status;
}

static uint64_t number_of(const json_t *value)
{
    return (uint64_t)json_integer_value(value);
}

static uint64_t requests_of(json_t *report, const char *verb)
{
    json_t *statuses = json_object_get(json_object_get(report, "requests"), verb);
    const char *status = NULL;
    json_t *count = NULL;
    uint64_t sum = 0;
    json_object_foreach(statuses, status, count) sum += number_of(count);
    return sum;
}

static uint64_t bytes_of(const json_t *report, const char *direction, const char *verb)
{
    return number_of(json_object_get(json_object_get(report, direction), verb));
}

bw_status remote_count(const remote *r, remote_counts *out, bw_error *error)
{
    buf answer;
    json_t *report = NULL;
    buf_init(&answer, ANSWER_BYTES_MAX);
    bw_status status = speak(r, "/counters", NULL, &answer, error);
    if (status == BW_OK)
        report = json_loadb((const char *)answer.data, answer.size, 0, NULL);
    buf_free(&answer);
    BW_TRY(status);
    if (report == NULL)
        return error_set(error, BW_IO, "the test store's counters are no JSON");
    *out = (remote_counts){.reads = requests_of(report, "get") + requests_of(report, "head"),
                           .read_bytes = bytes_of(report, "bytes_out", "get"),
                           .written_bytes = bytes_of(report, "bytes_in", "put") +
                                            bytes_of(report, "bytes_in", "create")};
    const json_t *rules = json_object_get(report, "rules");
    for (size_t i = 0; i < json_array_size(rules) && i < REMOTE_RULES_MAX; i++)
        out->matched[i] = number_of(json_object_get(json_array_get(rules, i), "matched"));
    json_decref(report);
    return BW_OK;
}
