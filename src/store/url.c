// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <limits.h>
#include <string.h>

#define SCHEME_MAX 32u

/** Length of a scheme followed by `:` at the start of `url`; 0 when it is a plain path. */
static size_t scheme_size(const char *url)
{
    size_t size = 0;
    for (char c = url[0]; c != ':'; c = url[++size]) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && !(later && size > 0))
            return 0;
    }
    /* A relative path may hold a colon; a URL of ours has an authority or an absolute path. */
    return size <= SCHEME_MAX && url[size + 1] == '/' ? size : 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/** Decodes `%xx`; the path of a file URL has neither query nor fragment. */
static bw_status decode_path(const char *url, const char *from, char *path, size_t capacity,
                             bw_error *error)
{
    size_t size = 0;
    while (*from != '\0') {
        int byte = (unsigned char)*from++;
        if (byte == '?' || byte == '#')
            return error_set(error, BW_INVALID,
                             "%s: a file URL has no query and no fragment; write %s in a name", url,
                             byte == '?' ? "%3f" : "%23");
        if (byte == '%') {
            const int high = hex_digit(from[0]);
            const int low = high < 0 ? -1 : hex_digit(from[1]);
            if (low < 0 || (high == 0 && low == 0))
                return error_set(error, BW_INVALID,
                                 "%s: %% must be followed by two hex digits that are not 00", url);
            byte = high * 16 + low;
            from += 2;
        }
        if (size + 1 >= capacity)
            return error_set(error, BW_INVALID, "%.60s…: the path is too long", url);
        path[size++] = (char)byte;
    }
    path[size] = '\0';
    return BW_OK;
}

static bw_status file_url_path(const char *url, const char *rest, char *path, size_t capacity,
                               bw_error *error)
{
    static const char local[] = "//localhost/";
    if (strncmp(rest, local, sizeof local - 1) == 0)
        rest += sizeof local - 2;
    else if (strncmp(rest, "///", 3) == 0)
        rest += 2;
    else if (rest[1] == '/')
        return error_set(error, BW_INVALID,
                         "%s: a file URL names no other host; write file:///absolute/path", url);
    return decode_path(url, rest, path, capacity, error);
}

bw_status store_url_path(const char *url, char *path, size_t capacity, bw_error *error)
{
    if (url[0] == '\0')
        return error_set(error, BW_INVALID, "the URL of the namespace is empty");
    if (strncasecmp(url, "file:", 5) == 0 && url[5] != '/')
        return error_set(error, BW_INVALID, "%s: write file:///absolute/path, or a plain path",
                         url);
    const size_t size = scheme_size(url);
    if (size == 4 && strncasecmp(url, "file", 4) == 0)
        return file_url_path(url, url + 5, path, capacity, error);
    if (size > 0)
        return error_set(error, BW_UNSUPPORTED,
                         "no store for the scheme '%.*s' here; there is file:///path", (int)size,
                         url);
    const size_t bytes = strlen(url);
    if (bytes >= capacity)
        return error_set(error, BW_INVALID, "%.60s…: the path is too long", url);
    memcpy(path, url, bytes + 1);
    return BW_OK;
}

bw_status store_open_url(const char *url, bool writable, bool durable, store **out, bw_error *error)
{
    const store_file_options options = {.durable = durable, .writable = writable};
    char path[PATH_MAX];
    BW_TRY(store_url_path(url, path, sizeof path, error));
    return store_file_open(path, &options, out, error);
}
