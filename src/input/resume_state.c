// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/resume_state.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/sha256.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kind_names[RESUME_KINDS] = {"text",  "frames", "exec",
                                                     "jsonl", "tar",    "tokens"};

static void add_number(sha256 *hash, uint64_t value)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    sha256_add(hash, bytes, sizeof bytes);
}

/** A hash that says which kind of input, which version of this scheme and which shard. */
static void begin(sha256 *hash, resume_kind kind, uint32_t shard, uint32_t shards)
{
    sha256_begin(hash);
    sha256_add_text(hash, "batchweave input 1");
    sha256_add_text(hash, kind_names[kind]);
    add_number(hash, shard);
    add_number(hash, shards);
}

static void add_files(sha256 *hash, const documents *files)
{
    for (size_t i = 0; i < files->count; i++) {
        sha256_add_text(hash, files->list[i].name);
        add_number(hash, files->list[i].size);
    }
}

static bw_status end(sha256 *hash, char out[FINGERPRINT_HEX_BYTES], bw_error *error)
{
    char hex[SHA256_HEX_BYTES];
    const bw_status status = sha256_end_hex(hash, hex);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a fingerprint of the input");
    memcpy(out, hex, FINGERPRINT_HEX_BYTES - 1);
    out[FINGERPRINT_HEX_BYTES - 1] = '\0';
    return BW_OK;
}

bw_status resume_fingerprint_text(const documents *docs, uint32_t shard, uint32_t shards,
                                  uint64_t seq_len, char out[FINGERPRINT_HEX_BYTES],
                                  bw_error *error)
{
    sha256 hash;
    begin(&hash, RESUME_TEXT, shard, shards);
    add_number(&hash, seq_len);
    add_files(&hash, docs);
    return end(&hash, out, error);
}

bw_status resume_fingerprint_frames(const char *const *paths, size_t count, uint32_t shard,
                                    uint32_t shards, char out[FINGERPRINT_HEX_BYTES],
                                    bw_error *error)
{
    sha256 hash;
    begin(&hash, RESUME_FRAMES, shard, shards);
    for (size_t i = 0; i < count; i++) {
        struct stat seen = {0};
        if (strcmp(paths[i], "-") != 0 && stat(paths[i], &seen) != 0) {
            char text[128];
            error_set(error, BW_INPUT_BAD, "input %s: cannot be read: %s", paths[i],
                      strerror_r(errno, text, sizeof text));
            error_set_key(error, paths[i]);
            return BW_INPUT_BAD;
        }
        sha256_add_text(&hash, paths[i]);
        add_number(&hash, S_ISREG(seen.st_mode) ? (uint64_t)seen.st_size : 0);
    }
    return end(&hash, out, error);
}

bw_status resume_fingerprint_exec(const char *command, uint32_t shard, uint32_t shards,
                                  char out[FINGERPRINT_HEX_BYTES], bw_error *error)
{
    sha256 hash;
    begin(&hash, RESUME_EXEC, shard, shards);
    sha256_add_text(&hash, command);
    return end(&hash, out, error);
}

bw_status resume_fingerprint_records(resume_kind kind, const documents *files, uint32_t shard,
                                     uint32_t shards, const uint64_t *numbers, size_t count,
                                     char out[FINGERPRINT_HEX_BYTES], bw_error *error)
{
    sha256 hash;
    begin(&hash, kind, shard, shards);
    for (size_t i = 0; i < count; i++)
        add_number(&hash, numbers[i]);
    add_files(&hash, files);
    return end(&hash, out, error);
}

void resume_encode(const resume *state, char out[RESUME_BYTES_MAX], size_t *size)
{
    char epoch[32] = "", rest[96] = "";
    if (state->kind >= RESUME_JSONL) {
        snprintf(epoch, sizeof epoch, "\"epoch\":%" PRIu32 ",", state->epoch);
        snprintf(rest, sizeof rest,
                 ",\"index\":%" PRIu64 ",\"taken\":%" PRIu32 ",\"skipped\":%" PRIu64, state->index,
                 state->taken, state->skipped);
    }
    const int length = snprintf(out, RESUME_BYTES_MAX,
                                "{\"input\":\"%s\",\"fingerprint\":\"%s\",%s\"document\":%" PRIu64
                                ",\"at\":%" PRIu64 "%s,\"base\":%" PRIu64 "}",
                                kind_names[state->kind], state->fingerprint, epoch, state->document,
                                state->at, rest, state->base);
    *size = length < 0 ? 0 : (size_t)length; /* at most 251 by the widths of its fields */
}

/** What is left to read; NULL once something did not fit. */
typedef struct scanner {
    const char *at, *end;
} scanner;

static bool scan_text(scanner *s, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, text, size) != 0)
        return false;
    s->at += size;
    return true;
}

/** A canonical decimal: no sign, no leading zero, within 64 bits. */
static bool scan_number(scanner *s, uint64_t *value)
{
    const char *start = s->at;
    *value = 0;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
        const uint64_t digit = (uint64_t)(*s->at - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
        s->at++;
    }
    return s->at > start && (*start != '0' || s->at == start + 1);
}

static bool scan_small(scanner *s, uint32_t *value)
{
    uint64_t number;
    if (!scan_number(s, &number) || number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

static bool scan_fingerprint(scanner *s, char out[FINGERPRINT_HEX_BYTES])
{
    uint8_t bytes[(FINGERPRINT_HEX_BYTES - 1) / 2];
    if ((size_t)(s->end - s->at) < FINGERPRINT_HEX_BYTES - 1 ||
        hex_decode(s->at, FINGERPRINT_HEX_BYTES - 1, bytes, sizeof bytes) != 0)
        return false;
    memcpy(out, s->at, FINGERPRINT_HEX_BYTES - 1);
    out[FINGERPRINT_HEX_BYTES - 1] = '\0';
    s->at += FINGERPRINT_HEX_BYTES - 1;
    return true;
}

static bool scan_kind(scanner *s, resume_kind *kind)
{
    for (unsigned i = 0; i < RESUME_KINDS; i++)
        if (scan_text(s, kind_names[i])) {
            *kind = (resume_kind)i;
            return true;
        }
    return false;
}

static bool scan_epoch(scanner *s, resume *state)
{
    return state->kind < RESUME_JSONL ||
           (scan_text(s, ",\"epoch\":") && scan_small(s, &state->epoch));
}

static bool scan_rest(scanner *s, resume *state)
{
    return state->kind < RESUME_JSONL ||
           (scan_text(s, ",\"index\":") && scan_number(s, &state->index) &&
            scan_text(s, ",\"taken\":") && scan_small(s, &state->taken) &&
            scan_text(s, ",\"skipped\":") && scan_number(s, &state->skipped));
}

bw_status resume_decode(const void *bytes, size_t size, resume *state, bw_error *error)
{
    scanner s = {.at = bytes, .end = (const char *)bytes + size};
    *state = (resume){0};
    if (size > 0 && scan_text(&s, "{\"input\":\"") && scan_kind(&s, &state->kind) &&
        scan_text(&s, "\",\"fingerprint\":\"") && scan_fingerprint(&s, state->fingerprint) &&
        scan_text(&s, "\"") && scan_epoch(&s, state) && scan_text(&s, ",\"document\":") &&
        scan_number(&s, &state->document) && scan_text(&s, ",\"at\":") &&
        scan_number(&s, &state->at) && scan_rest(&s, state) && scan_text(&s, ",\"base\":") &&
        scan_number(&s, &state->base) && scan_text(&s, "}") && s.at == s.end)
        return BW_OK;
    return error_set(error, BW_INPUT_CHANGED,
                     "the resume state of this producer id was written by another program");
}

bw_status resume_decode_hex(const char *digits, resume *state, bw_error *error)
{
    uint8_t bytes[RESUME_BYTES_MAX];
    const size_t size = strlen(digits) / 2;
    const bool fits = size <= sizeof bytes && strlen(digits) % 2 == 0 &&
                      hex_decode(digits, 2 * size, bytes, size) == 0;
    return resume_decode(bytes, fits ? size : 0, state, error);
}
