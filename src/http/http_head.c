// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_head.h"

#include "http/digest.h"

#include <string.h>
#include <strings.h>
#include <time.h>

void http_head_init(http_head *head)
{
    memset(head, 0, sizeof *head);
    head->retry_after_s = -1;
}

/* ---- values ---- */

typedef struct cursor_text {
    const char *at, *end;
} cursor_text;

static bool take(cursor_text *c, const char *literal)
{
    const size_t size = strlen(literal);
    if ((size_t)(c->end - c->at) < size || strncasecmp(c->at, literal, size) != 0)
        return false;
    c->at += size;
    return true;
}

/* At least one digit; false when it is none, or too large for a size. */
static bool take_number(cursor_text *c, uint64_t *out)
{
    uint64_t value = 0;
    const char *start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (value > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        value = value * 10 + (uint64_t)(*c->at - '0');
    }
    *out = value;
    return c->at > start;
}

static bool parse_whole(cursor_text c, uint64_t *out)
{
    return take_number(&c, out) && c.at == c.end;
}

static void parse_range(cursor_text c, http_head *head)
{
    head->has_range = head->has_total = false;
    if (!take(&c, "bytes "))
        return;
    const bool ranged = !take(&c, "*");
    if (ranged && (!take_number(&c, &head->range_first) || !take(&c, "-") ||
                   !take_number(&c, &head->range_last)))
        return;
    if (!take(&c, "/"))
        return;
    const bool total = !take(&c, "*") && take_number(&c, &head->range_total);
    if (c.at != c.end)
        return;
    head->has_range = ranged && head->range_first <= head->range_last &&
                      (!total || head->range_last < head->range_total);
    head->has_total = total && (head->has_range || !ranged);
}

static bool two_digits(const char *text, int *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *out = (text[0] - '0') * 10 + text[1] - '0';
    return true;
}

int64_t http_date_ms(const char *text, size_t size)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static const char form[] = "Sun, 06 Nov 1994 08:49:37 GMT";
    if (size != sizeof form - 1 || memcmp(text + 25, " GMT", 4) != 0)
        return 0;
    struct tm parts = {0};
    int century = 0;
    int year = 0;
    if (!two_digits(text + 5, &parts.tm_mday) || !two_digits(text + 12, &century) ||
        !two_digits(text + 14, &year) || !two_digits(text + 17, &parts.tm_hour) ||
        !two_digits(text + 20, &parts.tm_min) || !two_digits(text + 23, &parts.tm_sec))
        return 0;
    int month = 0;
    while (month < 12 && memcmp(months + (size_t)month * 3, text + 8, 3) != 0)
        month++;
    if (month == 12 || century < 19)
        return 0;
    parts.tm_mon = month;
    parts.tm_year = century * 100 + year - 1900;
    const time_t seconds = timegm(&parts);
    return seconds > 0 ? (int64_t)seconds * 1000 : 0;
}

/* Printable ASCII only, cut to what there is room for: it ends up in messages. */
static void copy_text(char *to, size_t capacity, cursor_text c)
{
    size_t size = 0;
    for (; c.at < c.end && size + 1 < capacity; c.at++) {
        if (*c.at > ' ' && *c.at < 127)
            to[size++] = *c.at;
    }
    to[size] = '\0';
}

/* Exactly `size` bytes in base64. */
static bool take_base64(cursor_text c, uint8_t *out, size_t size)
{
    uint8_t bytes[18];
    size_t count = 0;
    const size_t digits = (size_t)(c.end - c.at);
    if (digits != (size + 2) / 3 * 4 || !digest_base64_decode(c.at, digits, bytes, &count) ||
        count != size)
        return false;
    memcpy(out, bytes, size);
    return true;
}

/* A sum of parts, which has their number behind it, is none of the whole. */
static void take_crc32c(http_head *head, cursor_text c)
{
    uint8_t b[4];
    head->has_crc32c = take_base64(c, b, sizeof b);
    if (head->has_crc32c)
        head->crc32c = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* crc32c=…,md5=…, also as a line each. */
static void take_hashes(http_head *head, cursor_text c)
{
    while (c.at < c.end) {
        const char *comma = memchr(c.at, ',', (size_t)(c.end - c.at));
        cursor_text one = {c.at, comma != NULL ? comma : c.end};
        if (take(&one, "crc32c="))
            take_crc32c(head, one);
        c.at = comma != NULL ? comma + 1 : c.end;
    }
}

/* ---- lines ---- */

static void take_status(http_head *head, cursor_text c)
{
    uint64_t version = 0;
    uint64_t status = 0;
    const size_t bytes = head->bytes;
    http_head_init(head);
    head->bytes = bytes;
    (void)take(&c, "http/");
    uint64_t minor = 0;
    if (!take_number(&c, &version) || (take(&c, ".") && !take_number(&c, &minor)) ||
        !take(&c, " ") || !take_number(&c, &status))
        return;
    head->framed = version >= 2;
    head->status = status >= 100 && status <= 599 ? (int)status : 0;
}

static void take_field(http_head *head, cursor_text name, cursor_text value)
{
    static const char *const known[] = {
        "content-length",       "content-range",     "date",
        "last-modified",        "retry-after",       "x-amz-request-id",
        "x-ms-request-id",      "x-ms-error-code",   "x-amz-bucket-region",
        "x-guploader-uploadid", "transfer-encoding", "metadata-flavor",
        "content-md5",          "x-goog-hash",       "x-amz-checksum-crc32c"};
    size_t which = 0;
    const size_t size = (size_t)(name.end - name.at);
    while (which < sizeof known / sizeof known[0] &&
           (strlen(known[which]) != size || strncasecmp(known[which], name.at, size) != 0))
        which++;
    uint64_t number = 0;
    switch (which) {
    case 0:
        head->has_length = parse_whole(value, &head->length);
        break;
    case 1:
        parse_range(value, head);
        break;
    case 2:
        head->date_ms = http_date_ms(value.at, (size_t)(value.end - value.at));
        break;
    case 3:
        head->modified_ms = http_date_ms(value.at, (size_t)(value.end - value.at));
        break;
    case 4:
        head->retry_after_s = parse_whole(value, &number) && number <= 86400 ? (int64_t)number : -1;
        break;
    case 5:
    case 6:
    case 9:
        copy_text(head->request_id, sizeof head->request_id, value);
        break;
    case 7:
        copy_text(head->error_code, sizeof head->error_code, value);
        break;
    case 8:
        copy_text(head->region, sizeof head->region, value);
        break;
    case 10:
        head->chunked = take(&value, "chunked") && value.at == value.end;
        break;
    case 11:
        head->is_google = take(&value, "Google") && value.at == value.end;
        break;
    case 12:
        head->has_md5 = take_base64(value, head->md5, sizeof head->md5);
        break;
    case 13:
        take_hashes(head, value);
        break;
    case 14:
        take_crc32c(head, value);
        break;
    default:
        break;
    }
}

static cursor_text trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r' || to[-1] == '\n'))
        to--;
    return (cursor_text){from, to};
}

bool http_head_line(http_head *head, const char *line, size_t size)
{
    head->bytes += size;
    if (head->bytes > HTTP_HEAD_BYTES_MAX)
        return false;
    cursor_text whole = trimmed(line, line + size);
    if ((size_t)(whole.end - whole.at) >= 5 && strncasecmp(whole.at, "http/", 5) == 0) {
        take_status(head, whole);
        return true;
    }
    const char *colon = size == 0 ? NULL : memchr(line, ':', size);
    if (colon != NULL)
        take_field(head, (cursor_text){line, colon}, trimmed(colon + 1, line + size));
    return true;
}
