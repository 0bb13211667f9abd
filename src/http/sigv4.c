// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/sigv4.h"

#include "base/error.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define CANONICAL_MAX 65536u
#define DATE_BYTES 9u /* 20130524 and NUL */
#define HEX_BYTES (2 * DIGEST_SHA256_BYTES + 1)

void sigv4_key_clear(sigv4_key *key)
{
    secret_wipe(key, sizeof *key);
}

void sigv4_time(int64_t wall_ms, char out[SIGV4_TIME_BYTES])
{
    const time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out, SIGV4_TIME_BYTES, "%Y%m%dT%H%M%SZ", &parts) != SIGV4_TIME_BYTES - 1)
        memcpy(out, "19700101T000000Z", SIGV4_TIME_BYTES); /* a clock that no store believes */
}

static void put_header_names(const sigv4_request *r, buf *out)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (i > 0)
            buf_put_u8(out, ';');
        buf_put_text(out, r->headers[i].name);
    }
}

/* A value without blanks around it, and with one where there are several. */
static void put_trimmed(buf *out, const char *value)
{
    while (*value == ' ')
        value++;
    size_t size = strlen(value);
    while (size > 0 && value[size - 1] == ' ')
        size--;
    for (size_t i = 0; i < size; i++) {
        if (value[i] != ' ' || value[i + 1] != ' ')
            buf_put_u8(out, (uint8_t)value[i]);
    }
}

void sigv4_canonical(const sigv4_request *r, buf *out)
{
    buf_printf(out, "%s\n%s\n%s\n", r->method, r->path, r->query);
    for (size_t i = 0; i < r->header_count; i++) {
        buf_printf(out, "%s:", r->headers[i].name);
        put_trimmed(out, r->headers[i].value);
        buf_put_u8(out, '\n');
    }
    buf_put_u8(out, '\n');
    put_header_names(r, out);
    buf_printf(out, "\n%s", r->payload);
}

/* date/region/service/aws4_request */
static bw_status make_scope(const sigv4_request *r, char *scope, size_t capacity)
{
    const int size =
        snprintf(scope, capacity, "%.8s/%s/%s/aws4_request", r->time, r->region, r->service);
    return size > 0 && (size_t)size < capacity ? BW_OK : BW_INVALID;
}

static bw_status make_key(const sigv4_request *r, const char *scope, const secret *s,
                          sigv4_key *key)
{
    if (strcmp(key->scope, scope) == 0)
        return BW_OK;
    static const char prefix[] = {'A', 'W', 'S', '4'};
    char start[SECRET_BYTES_MAX / 64];
    uint8_t a[DIGEST_SHA256_BYTES];
    uint8_t b[DIGEST_SHA256_BYTES];
    if (s->size + sizeof prefix > sizeof start)
        return BW_INVALID;
    memcpy(start, prefix, sizeof prefix);
    memcpy(start + sizeof prefix, secret_text(s), s->size);
    bw_status status = digest_hmac(start, s->size + sizeof prefix, r->time, DATE_BYTES - 1, a);
    if (status == BW_OK)
        status = digest_hmac(a, sizeof a, r->region, strlen(r->region), b);
    if (status == BW_OK)
        status = digest_hmac(b, sizeof b, r->service, strlen(r->service), a);
    if (status == BW_OK)
        status = digest_hmac(a, sizeof a, "aws4_request", 12, key->key);
    if (status == BW_OK)
        memcpy(key->scope, scope, strlen(scope) + 1);
    secret_wipe(start, sizeof start);
    secret_wipe(a, sizeof a);
    secret_wipe(b, sizeof b);
    return status;
}

static size_t canonical_bytes_max(const sigv4_request *r)
{
    size_t size = strlen(r->path) + strlen(r->query) + 256;
    for (size_t i = 0; i < r->header_count; i++)
        size += 2 * strlen(r->headers[i].name) + strlen(r->headers[i].value) + 3;
    return size;
}

static bw_status hash_canonical(const sigv4_request *r, char hex[HEX_BYTES])
{
    buf canonical;
    uint8_t digest[DIGEST_SHA256_BYTES];
    buf_init(&canonical, CANONICAL_MAX);
    /* Room for all of it at first: growing would leave copies behind. */
    (void)buf_reserve(&canonical, canonical_bytes_max(r));
    sigv4_canonical(r, &canonical);
    bw_status status = buf_status(&canonical);
    if (status == BW_OK)
        status = digest_sha256(&(struct iovec){canonical.data, canonical.size}, 1, digest);
    if (status == BW_OK)
        hex_encode(digest, sizeof digest, hex);
    /* It may hold a session token. */
    if (canonical.data != NULL)
        secret_wipe(canonical.data, canonical.capacity);
    buf_free(&canonical);
    return status;
}

bw_status sigv4_sign(const sigv4_request *r, const char *key_id, const secret *s, sigv4_key *key,
                     buf *authorization)
{
    char scope[sizeof key->scope];
    char hex[HEX_BYTES];
    char text[320];
    uint8_t signature[DIGEST_SHA256_BYTES];
    BW_TRY(make_scope(r, scope, sizeof scope));
    BW_TRY(make_key(r, scope, s, key));
    BW_TRY(hash_canonical(r, hex));
    const int size =
        snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", r->time, scope, hex);
    if (size < 0 || (size_t)size >= sizeof text)
        return BW_INVALID;
    BW_TRY(digest_hmac(key->key, sizeof key->key, text, (size_t)size, signature));
    hex_encode(signature, sizeof signature, hex);
    buf_printf(authorization, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=", key_id, scope);
    put_header_names(r, authorization);
    buf_printf(authorization, ",Signature=%s", hex);
    return buf_status(authorization);
}
