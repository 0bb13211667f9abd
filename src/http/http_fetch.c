// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_fetch.h"

#include "base/clock.h"
#include "http/secret.h"

/* How late a stop is noticed. */
#define SLICE_NS (50 * NS_PER_MS)

bw_status http_answer_init(buf *answer)
{
    buf_init(answer, HTTP_ANSWER_BYTES_MAX);
    return buf_reserve(answer, HTTP_ANSWER_BYTES_MAX);
}

void http_answer_free(buf *answer)
{
    if (answer->data != NULL)
        secret_wipe(answer->data, answer->capacity);
    buf_free(answer);
}

static bool take(http_request *request, const uint8_t *bytes, size_t size)
{
    buf *answer = request->owner;
    buf_put(answer, bytes, size);
    return buf_status(answer) == BW_OK;
}

static bw_status judge(const http_request *r, bw_error *error)
{
    if (r->starved)
        return error_set(error, BW_NOMEM, "%s", r->why);
    switch (r->end) {
    case HTTP_ANSWERED:
        return BW_OK;
    case HTTP_STOPPED:
        return error_set(error, BW_TOO_LARGE, "the answer has more than %u bytes",
                         HTTP_ANSWER_BYTES_MAX);
    case HTTP_NOT_SENT:
    case HTTP_REFUSED:
        return error_set(error, BW_IO, "cannot be reached: %s", r->why);
    default:
        return error_set(error, BW_IO, "did not answer: %s", r->why);
    }
}

bw_status http_fetch(const http_options *options, http_request *request, const atomic_bool *stop,
                     buf *answer, bw_error *error)
{
    http_client *client = NULL;
    BW_TRY(http_client_new(options, &client, error));
    secret_wipe(answer->data, answer->size);
    buf_reset(answer);
    request->sink = take;
    request->owner = answer;
    http_submit(client, request);
    const http_request *over = NULL;
    bool stopped = false;
    while (over == NULL && !stopped) {
        over = http_poll(client, SLICE_NS);
        stopped = over == NULL && stop != NULL && atomic_load(stop);
    }
    http_client_free(client);
    return stopped ? error_set(error, BW_INTERRUPTED, "stopped") : judge(request, error);
}
