// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/key.h"

#include <string.h>

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

/* Writing: sticky, like wire_writer. Digits one by one, not by printf: every look at the chain
 * makes a name. */
typedef struct printer {
    object_key *key;
    size_t size;
    bool failed;
} printer;

static printer print(object_key *key)
{
    return (printer){.key = key};
}

/* A name that has no room, or a number more digits than its place, leaves the key empty. */
static void print_done(const printer *p)
{
    p->key->text[p->failed ? 0 : p->size] = '\0';
}

/* Where the next `size` bytes go; NULL: no room for them and the NUL. */
static inline char *print_room(printer *p, size_t size)
{
    p->failed = p->failed || size >= sizeof p->key->text - p->size;
    if (p->failed)
        return NULL;
    char *at = p->key->text + p->size;
    p->size += size;
    return at;
}

static inline void print_view(printer *p, view text)
{
    char *at = print_room(p, text.size);
    if (at != NULL && text.size > 0)
        memcpy(at, text.data, text.size);
}

static inline void print_text(printer *p, const char *text)
{
    print_view(p, view_text(text));
}

static inline void print_number(printer *p, uint64_t number, size_t digits)
{
    char *at = print_room(p, digits);
    if (at == NULL)
        return;
    for (size_t i = digits; i > 0; i--, number /= 10)
        at[i - 1] = (char)('0' + number % 10);
    p->failed = number > 0;
}

static void print_hex(printer *p, const void *bytes, size_t size)
{
    char *at = print_room(p, 2 * size);
    if (at != NULL)
        hex_encode(bytes, size, at); /* and a NUL, for which there is room */
}

/* A u64 prints its value, its highest digit first. */
static void print_nonce(printer *p, uint64_t nonce)
{
    uint8_t bytes[NONCE_DIGITS / 2];
    for (size_t i = sizeof bytes; i > 0; i--, nonce >>= 8)
        bytes[i - 1] = (uint8_t)nonce;
    print_hex(p, bytes, sizeof bytes);
}

static void print_all(object_key *key, const char *text)
{
    printer p = print(key);
    print_text(&p, text);
    print_done(&p);
}

void key_genesis(object_key *key)
{
    print_all(key, "genesis");
}

void key_hint(object_key *key)
{
    print_all(key, "hint");
}

void key_manifest(object_key *key, uint64_t version)
{
    printer p = print(key);
    print_text(&p, "manifest/");
    print_number(&p, version, NUMBER_DIGITS);
    print_text(&p, ".manifest");
    print_done(&p);
}

void key_marker(object_key *key, uint64_t block)
{
    printer p = print(key);
    print_text(&p, "retired/");
    print_number(&p, block, NUMBER_DIGITS);
    print_done(&p);
}

void key_segment(object_key *key, uint64_t first, uint64_t last, const hash128 *hash)
{
    printer p = print(key);
    print_text(&p, "segment/");
    print_number(&p, first, NUMBER_DIGITS);
    print_text(&p, "-");
    print_number(&p, last, NUMBER_DIGITS);
    print_text(&p, "-");
    print_hex(&p, hash->bytes, HASH_BYTES);
    print_done(&p);
}

void key_page(object_key *key, uint64_t version, uint64_t nonce)
{
    printer p = print(key);
    print_text(&p, "page/");
    print_number(&p, version, NUMBER_DIGITS);
    print_text(&p, "-");
    print_nonce(&p, nonce);
    print_done(&p);
}

void key_probe(object_key *key, uint64_t nonce)
{
    printer p = print(key);
    print_text(&p, "probe/");
    print_nonce(&p, nonce);
    print_done(&p);
}

/* data/<xx>/<rest>, xx the first byte of the hash of the rest. */
#define REST_AT 8u

static printer print_batch(object_key *key, view producer, uint32_t epoch, uint64_t seq,
                           uint64_t nonce)
{
    printer p = print(key);
    print_text(&p, "data/../");
    print_view(&p, producer);
    print_text(&p, "/");
    print_number(&p, epoch, EPOCH_DIGITS);
    print_text(&p, "-");
    print_number(&p, seq, NUMBER_DIGITS);
    print_text(&p, "-");
    print_nonce(&p, nonce);
    return p;
}

static void print_batch_done(printer *p)
{
    hash128 hash;
    if (p->failed || hash_bytes(p->key->text + REST_AT, p->size - REST_AT, &hash) != BW_OK) {
        p->failed = true;
    } else {
        const size_t size = p->size;
        p->size = strlen("data/");
        print_hex(p, hash.bytes, 1);
        print_text(p, "/");
        p->size = size;
    }
    print_done(p);
}

void key_part(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce,
              uint32_t part)
{
    printer p = print_batch(key, producer, epoch, seq, nonce);
    print_text(&p, ".");
    print_number(&p, part, PART_DIGITS);
    print_batch_done(&p);
}

void key_state(object_key *key, view producer, uint32_t epoch, uint64_t seq, uint64_t nonce)
{
    printer p = print_batch(key, producer, epoch, seq, nonce);
    print_text(&p, ".state");
    print_batch_done(&p);
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
