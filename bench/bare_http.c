// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "bare_http.h"

#include "base/alloc.h"
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

/* As the product sets them: larger buffers are fewer system calls. */
#define BUFFER_BYTES (256L * 1024)

typedef struct bare_request {
    CURL *easy;
    uint8_t *bytes;
    size_t at, size;
} bare_request;

struct bare_http {
    bare_plan plan;
    CURLM *multi;
    uint8_t *bytes;
    struct curl_slist *headers;
    bare_request requests[BARE_DEPTH_MAX];
    uint64_t begun, over;
};

static size_t take(char *bytes, size_t one, size_t count, void *context)
{
    bare_request *r = context;
    const size_t size = one * count;
    if (size > r->size - r->at)
        return 0;
    memcpy(r->bytes + r->at, bytes, size);
    r->at += size;
    return size;
}

static size_t give(char *bytes, size_t one, size_t count, void *context)
{
    bare_request *r = context;
    const size_t room = one * count;
    const size_t size = r->size - r->at < room ? r->size - r->at : room;
    memcpy(bytes, r->bytes + r->at, size);
    r->at += size;
    return size;
}

static CURLcode set_up(bare_http *h, bare_request *r)
{
    char range[32];
    CURLcode code = curl_easy_setopt(r->easy, CURLOPT_URL, h->plan.url);
    code |= curl_easy_setopt(r->easy, CURLOPT_PRIVATE, r);
    code |= curl_easy_setopt(r->easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    code |= curl_easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
    code |= curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take);
    code |= curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
    if (!h->plan.puts) {
        (void)snprintf(range, sizeof range, "0-%zu", h->plan.bytes - 1);
        code |= curl_easy_setopt(r->easy, CURLOPT_RANGE, range);
        return code;
    }
    code |= curl_easy_setopt(r->easy, CURLOPT_UPLOAD, 1L);
    code |= curl_easy_setopt(r->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)h->plan.bytes);
    code |= curl_easy_setopt(r->easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    code |= curl_easy_setopt(r->easy, CURLOPT_READFUNCTION, give);
    code |= curl_easy_setopt(r->easy, CURLOPT_READDATA, r);
    code |= curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, h->headers);
    return code;
}

bw_status bare_new(const bare_plan *plan, bare_http **out, bw_error *error)
{
    bare_http *h = mem_zalloc(sizeof *h);
    if (h == NULL)
        return error_set(error, BW_NOMEM, "no memory");
    h->plan = *plan;
    h->multi = curl_multi_init();
    h->bytes = mem_zalloc(plan->bytes * plan->depth);
    h->headers = curl_slist_append(NULL, "Expect:");
    CURLcode code = h->multi != NULL && h->bytes != NULL ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < plan->depth && code == CURLE_OK; i++) {
        bare_request *r = &h->requests[i];
        r->easy = curl_easy_init();
        r->bytes = h->bytes + i * plan->bytes;
        r->size = plan->bytes;
        code = r->easy != NULL ? set_up(h, r) : CURLE_OUT_OF_MEMORY;
    }
    if (code != CURLE_OK) {
        bare_free(h);
        return error_set(error, BW_NOMEM, "libcurl: %s", curl_easy_strerror(code));
    }
    *out = h;
    return BW_OK;
}

void bare_free(bare_http *h)
{
    if (h == NULL)
        return;
    for (uint32_t i = 0; i < h->plan.depth; i++)
        curl_easy_cleanup(h->requests[i].easy);
    (void)curl_multi_cleanup(h->multi);
    curl_slist_free_all(h->headers);
    mem_free(h->bytes);
    mem_free(h);
}

static void begin(bare_http *h, bare_request *r)
{
    r->at = 0;
    h->begun++;
    (void)curl_multi_add_handle(h->multi, r->easy);
}

static bw_status end(bare_http *h, const CURLMsg *message, bw_error *error)
{
    bare_request *r = NULL;
    long status = 0;
    const CURLcode code = message->data.result;
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&r);
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_multi_remove_handle(h->multi, r->easy);
    if (code != CURLE_OK || status / 100 != 2 || r->at != h->plan.bytes)
        return error_set(error, BW_IO, "%s: %s, status %ld, %zu bytes", h->plan.url,
                         curl_easy_strerror(code), status, r->at);
    h->over++;
    if (h->begun < h->plan.requests)
        begin(h, r);
    return BW_OK;
}

bw_status bare_run(bare_http *h, bw_error *error)
{
    h->begun = h->over = 0;
    for (uint32_t i = 0; i < h->plan.depth && h->begun < h->plan.requests; i++)
        begin(h, &h->requests[i]);
    while (h->over < h->plan.requests) {
        int left = 0;
        if (curl_multi_perform(h->multi, &left) != CURLM_OK)
            return error_set(error, BW_IO, "curl_multi_perform");
        const CURLMsg *message = curl_multi_info_read(h->multi, &left);
        for (; message != NULL; message = curl_multi_info_read(h->multi, &left))
            BW_TRY(end(h, message, error));
        if (h->over < h->plan.requests)
            (void)curl_multi_poll(h->multi, NULL, 0, 1000, NULL);
    }
    return BW_OK;
}
