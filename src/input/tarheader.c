// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarheader.h"

#include <string.h>

/* Places and widths of the fields (POSIX.1-1988 and later). */
#define NAME_AT 0u
#define NAME_BYTES 100u
#define SIZE_AT 124u
#define SIZE_BYTES 12u
#define CHECKSUM_AT 148u
#define CHECKSUM_BYTES 8u
#define TYPE_AT 156u
#define MAGIC_AT 257u
#define PREFIX_AT 345u
#define PREFIX_BYTES 155u

bool tar_is_end(const uint8_t *block)
{
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        if (block[i] != 0)
            return false;
    return true;
}

/** Octal digits with spaces before and a space or NUL behind. */
static bool read_octal(const uint8_t *field, size_t size, uint64_t *value)
{
    size_t i = 0, digits = 0;
    *value = 0;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++, digits++) {
        if (*value >> 61 != 0)
            return false;
        *value = *value * 8 + (uint64_t)(field[i] - '0');
    }
    for (; i < size; i++)
        if (field[i] != ' ' && field[i] != 0)
            return false;
    return digits > 0;
}

/** GNU's form for what octal cannot hold: the first bit set, then big-endian. */
static bool read_number(const uint8_t *field, size_t size, uint64_t *value)
{
    if ((field[0] & 0x80) == 0)
        return read_octal(field, size, value);
    if (field[0] != 0x80)
        return false; /* negative, or beyond 88 bits */
    *value = 0;
    for (size_t i = 1; i < size; i++) {
        if (*value >> 55 != 0)
            return false;
        *value = *value << 8 | field[i];
    }
    return true;
}

/** As sums of unsigned bytes; some old programs summed signed ones. */
static bool checksum_fits(const uint8_t *block)
{
    uint64_t written;
    int64_t plain = 0, with_sign = 0;
    if (!read_octal(block + CHECKSUM_AT, CHECKSUM_BYTES, &written))
        return false;
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++) {
        const bool own = i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_BYTES;
        plain += own ? ' ' : block[i];
        with_sign += own ? ' ' : (int8_t)block[i];
    }
    return written == (uint64_t)plain || (with_sign >= 0 && written == (uint64_t)with_sign);
}

static void read_name(const uint8_t *block, char out[TAR_NAME_BYTES_MAX + 1])
{
    const size_t name = strnlen((const char *)block + NAME_AT, NAME_BYTES);
    /* "ustar" NUL is POSIX, with a prefix; "ustar" space is GNU, which has other fields there. */
    const bool posix = memcmp(block + MAGIC_AT, "ustar", 6) == 0;
    const size_t prefix = posix ? strnlen((const char *)block + PREFIX_AT, PREFIX_BYTES) : 0;
    size_t at = 0;
    if (prefix > 0) {
        memcpy(out, block + PREFIX_AT, prefix);
        out[prefix] = '/';
        at = prefix + 1;
    }
    memcpy(out + at, block + NAME_AT, name);
    out[at + name] = '\0';
}

const char *tar_read_header(const uint8_t *block, tar_header *out)
{
    if (!checksum_fits(block))
        return "not a tar header (its checksum is wrong)";
    if (!read_number(block + SIZE_AT, SIZE_BYTES, &out->size))
        return "a tar header with a size that is no number";
    out->type = (char)block[TYPE_AT];
    read_name(block, out->name);
    return NULL;
}

static bool is_key(const uint8_t *key, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(key, text, size) == 0;
}

static bool read_decimal(const uint8_t *at, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (at[i] < '0' || at[i] > '9' || *value > (INT64_MAX - 9) / 10)
            return false;
        *value = *value * 10 + (uint64_t)(at[i] - '0');
    }
    return size > 0;
}

/** One `key=value` of a pax header. */
static const char *read_pair(const uint8_t *pair, size_t size, tar_pax *out)
{
    const uint8_t *equals = memchr(pair, '=', size);
    if (equals == NULL)
        return "a pax record without =";
    const size_t key = (size_t)(equals - pair), value_bytes = size - key - 1;
    if (is_key(pair, key, "path")) {
        out->path = equals + 1;
        out->path_bytes = value_bytes;
    } else if (is_key(pair, key, "size")) {
        out->has_size = true;
        if (!read_decimal(equals + 1, value_bytes, &out->size))
            return "a pax size that is no number";
    } else if (key >= 11 && memcmp(pair, "GNU.sparse.", 11) == 0) {
        return "a sparse file; store it whole";
    }
    return NULL;
}

const char *tar_read_pax(const uint8_t *records, size_t size, tar_pax *out)
{
    *out = (tar_pax){0};
    while (size > 0) {
        const uint8_t *space = memchr(records, ' ', size);
        uint64_t length = 0;
        const size_t digits = space != NULL ? (size_t)(space - records) : 0;
        if (digits == 0 || digits > 10 || !read_decimal(records, digits, &length) ||
            length > size || length < digits + 3 || records[length - 1] != '\n')
            return "a pax header whose records do not fit their lengths";
        const char *wrong = read_pair(records + digits + 1, (size_t)length - digits - 2, out);
        if (wrong != NULL)
            return wrong;
        records += length;
        size -= (size_t)length;
    }
    return NULL;
}
