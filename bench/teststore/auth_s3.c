// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "auth.h"

#include "base/clock.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CANONICAL_MAX (1u << 16)
#define SKEW_MAX_MS (15 * 60 * 1000)
#define SHA256_BYTES 32u
/* Less than any character of a name: "a" comes before "a-b", which an equal sign would not have. */
#define SEPARATOR '\1'

typedef struct claim {
    char key[128], date[16], region[64], service[16];
    char headers[1024], signature[80];
} claim;

/** What stands behind `name=` up to the next comma or the end. */
static bool read_part(const char *text, const char *name, char *out, size_t size)
{
    const char *at = strstr(text, name);
    if (at == NULL)
        return false;
    at += strlen(name);
    const size_t length = strcspn(at, ", ");
    if (length == 0 || length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static bool read_claim(const char *text, claim *c)
{
    char scope[320], end[16];
    return text_begins(text, "AWS4-HMAC-SHA256 ") &&
           read_part(text, "Credential=", scope, sizeof scope) &&
           read_part(text, "SignedHeaders=", c->headers, sizeof c->headers) &&
           read_part(text, "Signature=", c->signature, sizeof c->signature) &&
           sscanf(scope, "%127[^/]/%15[^/]/%63[^/]/%15[^/]/%15s", c->key, c->date, c->region,
                  c->service, end) == 5 &&
           strcmp(end, "aws4_request") == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_query(buf *out, const request *r)
{
    buf pairs;
    buf_init(&pairs, CANONICAL_MAX);
    size_t starts[REQUEST_FIELDS_MAX];
    char *sorted[REQUEST_FIELDS_MAX] = {NULL};
    for (size_t i = 0; i < r->query_count; i++) {
        starts[i] = pairs.size;
        put_url(&pairs, r->query[i].name, false);
        buf_put_u8(&pairs, SEPARATOR);
        put_url(&pairs, r->query[i].value, false);
        buf_put_u8(&pairs, '\0');
    }
    for (size_t i = 0; i < r->query_count && buf_status(&pairs) == BW_OK; i++)
        sorted[i] = (char *)pairs.data + starts[i];
    qsort(sorted, buf_status(&pairs) == BW_OK ? r->query_count : 0, sizeof *sorted, by_text);
    for (size_t i = 0; i < r->query_count && buf_status(&pairs) == BW_OK; i++) {
        *strchr(sorted[i], SEPARATOR) = '=';
        buf_printf(out, "%s%s", i > 0 ? "&" : "", sorted[i]);
    }
    buf_free(&pairs);
}

/** Runs of spaces within a value count as one. */
static void put_value(buf *out, const char *value)
{
    for (const char *c = value; *c != '\0'; c++)
        if (*c != ' ' || c[1] != ' ')
            buf_put_u8(out, (uint8_t)*c);
}

static bool put_headers(buf *out, const request *r, const char *names)
{
    char copy[1024];
    bool host = false;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = copy, *next = NULL; name != NULL; name = next) {
        next = strchr(name, ';');
        if (next != NULL)
            *next++ = '\0';
        const char *value = request_header(r, name);
        if (value == NULL)
            return false;
        host |= strcmp(name, "host") == 0;
        buf_printf(out, "%s:", name);
        put_value(out, value);
        buf_put_u8(out, '\n');
    }
    return host;
}

static bool put_canonical(buf *out, const request *r, const claim *c, const char *payload)
{
    buf_printf(out, "%s\n", r->method_name);
    put_url(out, r->path, true);
    buf_put_u8(out, '\n');
    put_query(out, r);
    buf_put_u8(out, '\n');
    if (!put_headers(out, r, c->headers))
        return false;
    buf_printf(out, "\n%s\n%s", c->headers, payload);
    return buf_status(out) == BW_OK;
}

static void hmac(const void *key, size_t key_size, const char *text, uint8_t out[SHA256_BYTES])
{
    unsigned size = 0;
    HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, strlen(text), out, &size);
}

static void sign(const settings *s, const claim *c, const char *text,
                 char hex[2 * SHA256_BYTES + 1])
{
    char secret[256];
    uint8_t key[SHA256_BYTES], next[SHA256_BYTES];
    snprintf(secret, sizeof secret, "AWS4%s", s->secret_key);
    hmac(secret, strlen(secret), c->date, key);
    hmac(key, sizeof key, c->region, next);
    hmac(next, sizeof next, c->service, key);
    hmac(key, sizeof key, "aws4_request", next);
    hmac(next, sizeof next, text, key);
    hex_encode(key, sizeof key, hex);
}

static bool read_time(const char *text, int64_t *unix_ms)
{
    struct tm t = {0};
    int end = 0;
    if (sscanf(text, "%4d%2d%2dT%2d%2d%2dZ%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec, &end) != 6 ||
        text[end] != '\0')
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    *unix_ms = (int64_t)timegm(&t) * 1000;
    return true;
}

static failure check_signature(const exchange *x, const claim *c, const char *when)
{
    const char *payload = request_header(&x->request, "x-amz-content-sha256");
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1], text[512];
    buf canonical;
    if (payload == NULL)
        return FAILURE_NEEDS_HEADER;
    buf_init(&canonical, CANONICAL_MAX);
    const bool good =
        put_canonical(&canonical, &x->request, c, payload) &&
        EVP_Digest(canonical.data, canonical.size, digest, NULL, EVP_sha256(), NULL) == 1;
    buf_free(&canonical);
    if (!good)
        return FAILURE_BAD_SIGNATURE;
    hex_encode(digest, sizeof digest, hex);
    snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", when, c->date,
             c->region, c->service, hex);
    sign(x->settings, c, text, hex);
    return strlen(c->signature) == strlen(hex) && CRYPTO_memcmp(c->signature, hex, strlen(hex)) == 0
               ? FAILURE_NONE
               : FAILURE_BAD_SIGNATURE;
}

failure auth_s3(const exchange *x)
{
    const settings *s = x->settings;
    const request *r = &x->request;
    if (s->access_key == NULL)
        return FAILURE_NONE;
    const char *text = request_header(r, "authorization");
    const char *when = request_header(r, "x-amz-date");
    const char *token = request_header(r, "x-amz-security-token");
    claim c;
    int64_t signed_ms = 0;
    if (text == NULL)
        return FAILURE_NO_CREDENTIALS;
    if (!read_claim(text, &c) || strcmp(c.service, "s3") != 0)
        return FAILURE_BAD_SCOPE;
    if (when == NULL || !read_time(when, &signed_ms) || strncmp(when, c.date, 8) != 0)
        return FAILURE_DENIED;
    if (strcmp(c.key, s->access_key) != 0)
        return FAILURE_UNKNOWN_KEY;
    const int64_t now_ms = clock_wall_ms(clock_system()) + faults_skew_ms(x->faults);
    if (now_ms - signed_ms > SKEW_MAX_MS || signed_ms - now_ms > SKEW_MAX_MS)
        return FAILURE_SKEWED;
    if (strcmp(c.region, s->region) != 0)
        return FAILURE_BAD_SCOPE;
    if (s->session_token != NULL && (token == NULL || strcmp(token, s->session_token) != 0))
        return FAILURE_EXPIRED;
    return check_signature(x, &c, when);
}

failure auth_s3_body(const exchange *x)
{
    const char *claimed = request_header(&x->request, "x-amz-content-sha256");
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    if (x->settings->access_key == NULL || claimed == NULL ||
        strcmp(claimed, "UNSIGNED-PAYLOAD") == 0)
        return FAILURE_NONE;
    const blob *b = x->body;
    if (EVP_Digest(b == NULL ? (const void *)"" : b->bytes, b == NULL ? 0 : b->size, digest, NULL,
                   EVP_sha256(), NULL) != 1)
        return FAILURE_INTERNAL;
    hex_encode(digest, sizeof digest, hex);
    return strcmp(hex, claimed) == 0 ? FAILURE_NONE : FAILURE_BAD_SHA256;
}

failure auth_bearer(const exchange *x)
{
    const char *text = request_header(&x->request, "authorization");
    if (x->settings->bearer == NULL)
        return FAILURE_NONE;
    if (text == NULL)
        return FAILURE_NO_CREDENTIALS;
    return text_begins(text, "Bearer ") && strcmp(text + 7, x->settings->bearer) == 0
               ? FAILURE_NONE
               : FAILURE_UNKNOWN_KEY;
}
