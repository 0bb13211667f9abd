// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What services say that hand out tokens, and files of credentials. The first byte says which. */
#include "fuzz.h"
#include "store_gcs/gcs_credentials.h"
#include "store_net/net_token.h"
#include <string.h>

#define NOW_MS INT64_C(1900000000000)
#define SENT "planted-assertion"

static void try_answer(const uint8_t *data, size_t size, int http_status)
{
    secret sent = {NULL, 0};
    net_keys keys;
    memset(&keys, 0, sizeof keys);
    bw_error error = {.code = BW_OK};
    PROMISE(secret_set(&sent, SENT, sizeof SENT - 1) == BW_OK);
    const net_token_ask ask = {.what = "it", .hidden = {&sent}, .head = {.status = http_status}};
    const bw_status status = net_token_parse(&ask, data, size, NOW_MS, &keys, &error);
    PROMISE(status == error.code &&
            (status == BW_OK || http_status != 200 || status == BW_CORRUPT || status == BW_DENIED ||
             status == BW_TOO_LARGE));
    PROMISE((status == BW_OK) == secret_is_set(&keys.token));
    if (status == BW_OK) {
        PROMISE(strncmp(secret_text(&keys.token), "Bearer ", 7) == 0);
        PROMISE(net_is_plain(secret_text(&keys.token) + 7) && keys.expires_ns >= 0);
    }
    PROMISE(strstr(error.message, "planted-asse") == NULL);
    for (const char *c = error.message; *c != '\0'; c++)
        PROMISE(*c >= ' ' && *c < 127);
    net_keys_clear(&keys);
    secret_clear(&sent);
}

static void try_credentials(const uint8_t *data, size_t size)
{
    gcs_credentials k;
    bw_error error = {.code = BW_OK};
    const bw_status status = gcs_credentials_parse(&k, data, size, &error);
    PROMISE(status == error.code && (status == BW_OK || status == BW_CORRUPT));
    PROMISE(k.header_count <= GCS_SOURCE_HEADERS_MAX);
    /* All of it ends up in JSON, in URLs, or in headers. */
    PROMISE(strpbrk(k.email, "\"\\\r\n ") == NULL && strpbrk(k.token_uri, "\"\\\r\n ") == NULL);
    PROMISE(strpbrk(k.key_id, "\"\\\r\n ") == NULL && strpbrk(k.lifetime_s, "\"\\ ") == NULL);
    for (size_t i = 0; i < k.header_count; i++)
        PROMISE(strpbrk(secret_text(&k.header_values[i]), "\r\n") == NULL);
    gcs_credentials_clear(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'C')
        try_credentials(data + 1, size - 1);
    else
        try_answer(data + 1, size - 1, data[0] == 'T' ? 200 : 403);
    return 0;
}
