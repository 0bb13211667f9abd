// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_keys.h"

#include "base/buf.h"

#include <string.h>

/* Nobody lends keys for longer; it keeps the sums within 64 bits. */
#define LIFE_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

void net_keys_clear(net_keys *k)
{
    secret_clear(&k->key);
    secret_clear(&k->token);
    memset(k, 0, sizeof *k);
}

bool net_keys_are_set(const net_keys *k)
{
    return secret_is_set(&k->key) || secret_is_set(&k->token);
}

bw_status net_keys_set_end(net_keys *k, int64_t end_ms, int64_t now_ms, bw_error *error)
{
    k->expires_ns = 0;
    if (end_ms == 0)
        return BW_OK;
    if (end_ms <= now_ms)
        return error_set(error, BW_DENIED, "the keys have expired already");
    const int64_t left_ms = end_ms - now_ms < LIFE_MAX_MS ? end_ms - now_ms : LIFE_MAX_MS;
    k->expires_ns = clock_now(clock_system()) + left_ms * NS_PER_MS;
    return BW_OK;
}

bool net_is_plain(const char *text)
{
    while (*text > ' ' && *text < 127)
        text++;
    return *text == '\0';
}

bw_status net_keys_set_bearer(net_keys *k, const char *token, bw_error *error)
{
    static const char scheme[] = {'B', 'e', 'a', 'r', 'e', 'r', ' '};
    buf text;
    if (*token == '\0' || !net_is_plain(token))
        return error_set(error, BW_CORRUPT,
                         "the token is none: empty, or with blanks, line ends or bytes that are "
                         "not ASCII");
    buf_init(&text, SECRET_BYTES_MAX);
    /* All of its room at once: growing would leave copies behind. */
    (void)buf_reserve(&text, sizeof scheme + strlen(token));
    buf_put(&text, scheme, sizeof scheme);
    buf_put_text(&text, token);
    bw_status status = buf_status(&text);
    if (status == BW_OK)
        status = secret_set(&k->token, (const char *)text.data, text.size);
    if (text.data != NULL)
        secret_wipe(text.data, text.capacity);
    buf_free(&text);
    return status == BW_OK ? BW_OK
                           : error_set(error, status, "no memory for a token, or it is too long");
}
