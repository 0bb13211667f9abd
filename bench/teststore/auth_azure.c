// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "auth.h"

#include "base/clock.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CANONICAL_MAX (1u << 16)
#define SKEW_MAX_MS (15 * 60 * 1000)
#define SHA256_BYTES 32u

static int by_name(const void *a, const void *b)
{
    const field *one = a, *other = b;
    return strcmp(one->name, other->name);
}

static void put_standard(buf *out, const request *r)
{
    static const char *const names[] = {"content-encoding",
                                        "content-language",
                                        "content-length",
                                        "content-md5",
                                        "content-type",
                                        "date",
                                        "if-modified-since",
                                        "if-match",
                                        "if-none-match",
                                        "if-unmodified-since",
                                        "range"};
    buf_printf(out, "%s\n", r->method_name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = request_header(r, names[i]);
        const bool nothing = value == NULL || (i == 2 && strcmp(value, "0") == 0);
        buf_printf(out, "%s\n", nothing ? "" : value);
    }
}

static void put_canonical(buf *out, const exchange *x)
{
    const request *r = &x->request;
    field sorted[REQUEST_FIELDS_MAX] = {0};
    size_t count = 0;
    put_standard(out, r);
    for (size_t i = 0; i < r->header_count; i++)
        if (text_begins(r->headers[i].name, "x-ms-"))
            sorted[count++] = r->headers[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s:%s\n", sorted[i].name, sorted[i].value);
    buf_printf(out, "/%s%.*s", x->settings->account, (int)strcspn(r->target, "?"), r->target);
    memcpy(sorted, r->query, r->query_count * sizeof *sorted);
    qsort(sorted, r->query_count, sizeof *sorted, by_name);
    for (size_t i = 0; i < r->query_count; i++)
        buf_printf(out, "\n%s:%s", sorted[i].name, sorted[i].value);
}

static bool date_holds(const exchange *x)
{
    const char *when = request_header(&x->request, "x-ms-date");
    struct tm t = {0};
    if (when == NULL)
        when = request_header(&x->request, "date");
    if (when == NULL || strptime(when, "%a, %d %b %Y %H:%M:%S GMT", &t) == NULL)
        return false;
    const int64_t age_ms =
        clock_wall_ms(clock_system()) + faults_skew_ms(x->faults) - (int64_t)timegm(&t) * 1000;
    return age_ms <= SKEW_MAX_MS && age_ms >= -SKEW_MAX_MS;
}

/** The account's key, as its owner has it: base64. */
static size_t read_key(const char *text, uint8_t key[96])
{
    for (size_t size = 1; size <= 90; size++)
        if (read_base64(text, key, size))
            return size;
    return 0;
}

static failure check_shared_key(const exchange *x, const char *claimed)
{
    uint8_t key[96], digest[SHA256_BYTES], theirs[SHA256_BYTES];
    const size_t key_size = read_key(x->settings->account_key, key);
    unsigned size = 0;
    buf canonical;
    if (!date_holds(x))
        return FAILURE_SKEWED;
    buf_init(&canonical, CANONICAL_MAX);
    put_canonical(&canonical, x);
    const bool good =
        buf_status(&canonical) == BW_OK && HMAC(EVP_sha256(), key, (int)key_size, canonical.data,
                                                canonical.size, digest, &size) != NULL;
    buf_free(&canonical);
    return good && read_base64(claimed, theirs, sizeof theirs) &&
                   CRYPTO_memcmp(theirs, digest, sizeof theirs) == 0
               ? FAILURE_NONE
               : FAILURE_BAD_SIGNATURE;
}

failure auth_azure(const exchange *x)
{
    const settings *s = x->settings;
    const char *text = request_header(&x->request, "authorization");
    if (s->account_key == NULL || (text != NULL && text_begins(text, "Bearer ")))
        return auth_bearer(x);
    if (text == NULL)
        return FAILURE_NO_CREDENTIALS;
    const size_t size = strlen(s->account);
    if (!text_begins(text, "SharedKey ") || strncmp(text + 10, s->account, size) != 0 ||
        text[10 + size] != ':')
        return FAILURE_BAD_SCOPE;
    return check_shared_key(x, text + 10 + size + 1);
}
