// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_keys.h"

#include "base/alloc.h"
#include "base/jsontext.h"
#include "http/isotime.h"

#include <string.h>

/* Nobody lends keys for longer; it keeps the sums within 64 bits. */
#define LIFE_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

void s3_keys_clear(s3_keys *k)
{
    secret_clear(&k->key);
    secret_clear(&k->token);
    memset(k, 0, sizeof *k);
}

/* What ends up in a header: visible ASCII. */
static bool is_plain(const char *text)
{
    while (*text > ' ' && *text < 127)
        text++;
    return *text == '\0';
}

bw_status s3_keys_set(s3_keys *k, const char *key_id, const char *key, const char *token,
                      bw_error *error)
{
    const size_t size = strlen(key_id);
    if (size >= sizeof k->key_id || !is_plain(key_id) || !is_plain(token))
        return error_set(error, BW_INVALID,
                         "the access key id or the session token is none: too long, or with blanks "
                         "or bytes that are not ASCII");
    const bw_status status = secret_set(&k->key, key, strlen(key));
    const bw_status token_status = secret_set(&k->token, token, strlen(token));
    if (status != BW_OK || token_status != BW_OK)
        return error_set(error, status != BW_OK ? status : token_status,
                         "no memory for credentials, or they are too long");
    memcpy(k->key_id, key_id, size + 1);
    return BW_OK;
}

bw_status s3_keys_set_end(s3_keys *k, const char *expiration, int64_t now_ms, bw_error *error)
{
    const int64_t end_ms = *expiration == '\0' ? 0 : iso_time_ms(expiration);
    if (*expiration != '\0' && end_ms == 0)
        return error_set(error, BW_CORRUPT, "Expiration is no time as in 2030-01-31T12:00:00Z");
    k->expires_ns = 0;
    if (end_ms == 0)
        return BW_OK;
    if (end_ms <= now_ms)
        return error_set(error, BW_DENIED, "the keys have expired already");
    const int64_t left_ms = end_ms - now_ms < LIFE_MAX_MS ? end_ms - now_ms : LIFE_MAX_MS;
    k->expires_ns = clock_now(clock_system()) + left_ms * NS_PER_MS;
    return BW_OK;
}

/* ---- the document ---- */

typedef struct document {
    char key_id[S3_TEXT_MAX];
    char key[S3_TEXT_MAX];
    char token[16384];
    char expiration[64];
    char code[64];
} document;

/* The text of a string, if there is room for it and no NUL in it. */
static bool take_text(jsonstring s, char *to, size_t capacity)
{
    uint8_t bytes[4];
    size_t size = 0;
    for (size_t n = jsonstring_next(&s, bytes); n > 0; n = jsonstring_next(&s, bytes)) {
        if (size + n >= capacity || bytes[0] == '\0')
            return false;
        memcpy(to + size, bytes, n);
        size += n;
    }
    to[size] = '\0';
    return true;
}

static bool take_member(jsontext *t, document *d, const char *token_name)
{
    jsonstring name;
    jsonstring value;
    const struct {
        const char *name;
        char *to;
        size_t capacity;
    } fields[] = {
        {"AccessKeyId", d->key_id, sizeof d->key_id},
        {"SecretAccessKey", d->key, sizeof d->key},
        {token_name, d->token, sizeof d->token},
        {"Expiration", d->expiration, sizeof d->expiration},
        {"Code", d->code, sizeof d->code},
    };
    if (!jsontext_string(t, &name) || !jsontext_take(t, ':'))
        return false;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (!jsonstring_is(name, fields[i].name, strlen(fields[i].name)) || jsontext_peek(t) != '"')
            continue;
        return jsontext_string(t, &value) && (take_text(value, fields[i].to, fields[i].capacity) ||
                                              jsontext_fail(t, "a value is too long"));
    }
    return jsontext_value(t);
}

static bool take_object(jsontext *t, document *d, const char *token_name)
{
    bool more = jsontext_take(t, '{') && jsontext_peek(t) != '}';
    while (more && take_member(t, d, token_name)) {
        more = jsontext_peek(t) == ',';
        if (more)
            (void)jsontext_take(t, ',');
    }
    return jsontext_take(t, '}') && jsontext_done(t);
}

static bw_status take_document(s3_keys *k, const document *d, int64_t now_ms, bw_error *error)
{
    if (d->code[0] != '\0' && strcmp(d->code, "Success") != 0)
        return error_set(error, BW_DENIED, "it answered %s", is_plain(d->code) ? d->code : "?");
    if (d->key_id[0] == '\0' || d->key[0] == '\0')
        return error_set(error, BW_CORRUPT, "the answer has no AccessKeyId and SecretAccessKey");
    BW_TRY(s3_keys_set_end(k, d->expiration, now_ms, error));
    return s3_keys_set(k, d->key_id, d->key, d->token, error);
}

bw_status s3_keys_parse(s3_keys *k, const void *json, size_t size, const char *token_name,
                        int64_t now_ms, bw_error *error)
{
    jsontext t;
    document *d = mem_zalloc(sizeof *d);
    if (d == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    jsontext_open(&t, json, size);
    const bw_status status =
        take_object(&t, d, token_name)
            ? take_document(k, d, now_ms, error)
            : error_set(error, BW_CORRUPT, "the answer is no JSON object of keys: %s", t.bad);
    secret_wipe(d, sizeof *d);
    mem_free(d);
    return status;
}
