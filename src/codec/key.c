// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/key.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* u64 nonces print their value; hashes their bytes. */
#define NUMBER "%020" PRIu64
#define NONCE "%016" PRIx64

#define NUMBER_DIGITS 20u
#define EPOCH_DIGITS 10u
#define PART_DIGITS 6u
#define NONCE_DIGITS 16u

bool name_is_valid(view name)
{
    if (name.size == 0 || name.size > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        const uint8_t c = name.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        const bool mark = c == '.' || c == '_' || c == '-';
        if (!letter && !(mark && i > 0))
            return false;
        if (c == '.' && name.data[i - 1] == '.')
            return false;
    }
    return true;
}

__attribute__((format(printf, 2, 3))) static void print(object_key *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    // cppcheck-suppress ctuuninitvar ; it is written here
    const int size = vsnprintf(key->text, sizeof key->text, format, args);
    va_end(args);
    if ((size_t)size >= sizeof key->text) /* so is a negative one */
        key->text[0] = '\0';
}

/* As print, for what every look at the chain needs. */
static void print_number(object_key *key, view before, uint64_t number, view behind)
{
    char *at = key->text;
    memcpy(at, before.data, before.size);
    at += before.size + NUMBER_DIGITS;
    memcpy(at, behind.data, behind.size);
    at[behind.size] = '\0';
    for (size_t i = 0; i < NUMBER_DIGITS; i++, number /= 10)
        *--at = (char)('0' + number % 10);
}

void key_genesis(object_key *key)
{
    print(key, "genesis");
}

void key_hint(object_key *key)
{
    print(key, "hint");
}

void key_manifest(object_key *key, uint64_t version)
{
    print_number(key, view_text("manifest/"), version, view_text(".manifest"));
}

void key_marker(object_key *key, uint64_t block)
{
    print_number(key, view_text("retired/"), block, view_text(""));
}

void key_segment(object_key *key, uint64_t first, uint64_t last, const hash128 *hash)
{
    char hex[HASH_HEX_BYTES];
    hex_encode(hash->bytes, HASH_BYTES, hex);
    print(key, "segment/" NUMBER "-" NUMBER "-%s", first, last, hex);
}

void key_page(object_key *key, uint64_t version, uint64_t nonce)
{
    print(key, "page/" NUMBER "-" NONCE, version, nonce);
}

void key_probe(object_key *key, uint64_t nonce)
{
    print(key, "probe/" NONCE, nonce);
}

/* data/<xx>/<rest>, xx the first byte of the hash of the rest. */
static void print_data(object_key *key, const char *rest)
{
    hash128 hash;
    if (hash_bytes(rest, strlen(rest), &hash) == BW_OK)
        print(key, "data/%02x/%s", (unsigned)hash.bytes[0], rest);
    else
        key->text[0] = '\0';
}

void key_part(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce,
              uint32_t part)
{
    object_key rest;
    print(&rest, "%.*s/%010" PRIu32 "-" NUMBER "-" NONCE ".%06" PRIu32, (int)producer.size,
          (const char *)producer.data, epoch, seq, nonce, part);
    print_data(key, rest.text);
}

void key_state(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce)
{
    object_key rest;
    print(&rest, "%.*s/%010" PRIu32 "-" NUMBER "-" NONCE ".state", (int)producer.size,
          (const char *)producer.data, epoch, seq, nonce);
    print_data(key, rest.text);
}

/* Reading: sticky, like wire_reader. */
typedef struct scanner {
    const uint8_t *at, *end;
    bool failed;
} scanner;

static bool scan_text(scanner *s, const char *text)
{
    const size_t size = strlen(text);
    if (s->failed || size > (size_t)(s->end - s->at) || memcmp(s->at, text, size) != 0)
        return false;
    s->at += size;
    return true;
}

static void need_text(scanner *s, const char *text)
{
    if (!scan_text(s, text))
        s->failed = true;
}

static uint64_t scan_number(scanner *s, size_t digits, uint64_t most)
{
    if (s->failed || digits > (size_t)(s->end - s->at)) {
        s->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const unsigned digit = (unsigned)*s->at++ - '0';
        if (digit > 9 || value > (most - digit) / 10) {
            s->failed = true;
            return 0;
        }
        value = value * 10 + digit;
    }
    return value;
}

static void scan_hex(scanner *s, void *bytes, size_t size)
{
    if (s->failed || 2 * size > (size_t)(s->end - s->at) ||
        hex_decode((const char *)s->at, 2 * size, bytes, size) != 0) {
        s->failed = true;
        return;
    }
    s->at += 2 * size;
}

static uint64_t scan_nonce(scanner *s)
{
    uint8_t bytes[NONCE_DIGITS / 2] = {0};
    scan_hex(s, bytes, sizeof bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void parse_data(scanner *s, key_fields *f)
{
    uint8_t prefix = 0;
    scan_hex(s, &prefix, 1);
    need_text(s, "/");
    const uint8_t *rest = s->at;
    const uint8_t *slash = s->failed ? NULL : memchr(rest, '/', (size_t)(s->end - rest));
    if (slash == NULL) {
        s->failed = true;
        return;
    }
    f->producer = view_of(rest, (size_t)(slash - rest));
    s->at = slash + 1;
    f->epoch = (uint32_t)scan_number(s, EPOCH_DIGITS, UINT32_MAX);
    need_text(s, "-");
    f->number = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
    need_text(s, "-");
    f->nonce = scan_nonce(s);
    if (scan_text(s, ".state"))
        f->kind = KEY_STATE;
    else {
        need_text(s, ".");
        f->part = (uint32_t)scan_number(s, PART_DIGITS, UINT32_MAX);
        f->kind = KEY_PART;
    }
    hash128 hash;
    if (!name_is_valid(f->producer) || hash_bytes(rest, (size_t)(s->end - rest), &hash) != BW_OK ||
        hash.bytes[0] != prefix)
        s->failed = true;
}

/* False: it is none of these, and nothing was read. */
static bool parse_numbered(scanner *s, key_fields *f)
{
    if (scan_text(s, "manifest/")) {
        f->kind = KEY_MANIFEST;
        f->number = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
        need_text(s, ".manifest");
    } else if (scan_text(s, "retired/")) {
        f->kind = KEY_MARKER;
        f->number = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
    } else if (scan_text(s, "segment/")) {
        f->kind = KEY_SEGMENT;
        f->number = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
        need_text(s, "-");
        f->last = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
        need_text(s, "-");
        scan_hex(s, f->hash.bytes, HASH_BYTES);
    } else if (scan_text(s, "page/")) {
        f->kind = KEY_PAGE;
        f->number = scan_number(s, NUMBER_DIGITS, UINT64_MAX);
        need_text(s, "-");
        f->nonce = scan_nonce(s);
    } else {
        return false;
    }
    return true;
}

void key_parse(view text, key_fields *fields)
{
    scanner s = {text.data, text.data, text.size == 0};
    *fields = (key_fields){.kind = KEY_FOREIGN};
    if (text.size == 0 || text.size > KEY_MAX)
        return;
    s.end = text.data + text.size;
    key_fields f = *fields;
    if (parse_numbered(&s, &f)) {
        /* first: looks at the chain are most of what is asked for */
    } else if (scan_text(&s, "tmp/")) {
        f.kind = s.at < s.end ? KEY_TMP : KEY_FOREIGN;
        s.at = s.end;
    } else if (view_equal(text, view_text("genesis"))) {
        f.kind = KEY_GENESIS;
        s.at = s.end;
    } else if (view_equal(text, view_text("hint"))) {
        f.kind = KEY_HINT;
        s.at = s.end;
    } else if (scan_text(&s, "probe/")) {
        f.kind = KEY_PROBE;
        f.nonce = scan_nonce(&s);
    } else if (scan_text(&s, "data/")) {
        parse_data(&s, &f);
    } else {
        s.failed = true;
    }
    if (!s.failed && s.at == s.end)
        *fields = f;
}
