// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_keys.h"

#include "base/alloc.h"
#include "http/isotime.h"
#include "http/jsonmembers.h"

#include <string.h>

bw_status s3_keys_set(net_keys *k, const char *key_id, const char *key, const char *token,
                      bw_error *error)
{
    const size_t size = strlen(key_id);
    if (size >= sizeof k->key_id || !net_is_plain(key_id) || !net_is_plain(token))
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

bw_status s3_keys_set_end(net_keys *k, const char *expiration, int64_t now_ms, bw_error *error)
{
    const int64_t end_ms = *expiration == '\0' ? 0 : iso_time_ms(expiration);
    if (*expiration != '\0' && end_ms == 0)
        return error_set(error, BW_CORRUPT, "Expiration is no time as in 2030-01-31T12:00:00Z");
    return net_keys_set_end(k, end_ms, now_ms, error);
}

/* ---- the document ---- */

typedef struct document {
    const char *token_name;
    char key_id[NET_TEXT_MAX];
    char key[NET_TEXT_MAX];
    char token[16384];
    char expiration[64];
    char code[64];
} document;

static bw_status on_member(void *context, const char *path, const char *text, size_t size)
{
    document *d = context;
    const struct {
        const char *name;
        char *to;
        size_t capacity;
    } fields[] = {
        {"AccessKeyId", d->key_id, sizeof d->key_id},
        {"SecretAccessKey", d->key, sizeof d->key},
        {d->token_name, d->token, sizeof d->token},
        {"Expiration", d->expiration, sizeof d->expiration},
        {"Code", d->code, sizeof d->code},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(path, fields[i].name) != 0)
            continue;
        if (size >= fields[i].capacity)
            return BW_CORRUPT;
        memcpy(fields[i].to, text, size + 1);
    }
    return BW_OK;
}

static bw_status take_document(net_keys *k, const document *d, int64_t now_ms, bw_error *error)
{
    if (d->code[0] != '\0' && strcmp(d->code, "Success") != 0)
        return error_set(error, BW_DENIED, "it answered %s", net_is_plain(d->code) ? d->code : "?");
    if (d->key_id[0] == '\0' || d->key[0] == '\0')
        return error_set(error, BW_CORRUPT, "the answer has no AccessKeyId and SecretAccessKey");
    BW_TRY(s3_keys_set_end(k, d->expiration, now_ms, error));
    return s3_keys_set(k, d->key_id, d->key, d->token, error);
}

bw_status s3_keys_parse(net_keys *k, const void *json, size_t size, const char *token_name,
                        int64_t now_ms, bw_error *error)
{
    const char *bad = NULL;
    document *d = mem_zalloc(sizeof *d);
    if (d == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    d->token_name = token_name;
    bw_status status = jsonmembers_each(json, size, on_member, d, &bad);
    if (status == BW_OK)
        status = take_document(k, d, now_ms, error);
    else
        status = error_set(error, status, "the answer is no JSON object of keys: %s", bad);
    secret_wipe(d, sizeof *d);
    mem_free(d);
    return status;
}
