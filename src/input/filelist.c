// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/filelist.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GROUPS_MAX 8u
#define DIGITS_MAX 18u

typedef struct expander {
    documents *out;
    bw_error *error;
    const char *pattern; /* whole, for messages */
    unsigned groups;     /* that are open above this place */
} expander;

static bw_status bad_pattern(const expander *e, const char *what)
{
    return error_set(e->error, BW_INVALID, "input %.300s: %s", e->pattern, what);
}

static bw_status bad_file(const expander *e, const char *path, const char *what)
{
    error_set(e->error, BW_INPUT_BAD, "input %s: %s", path, what);
    error_set_key(e->error, path);
    return BW_INPUT_BAD;
}

static bw_status add_file(expander *e, const char *path)
{
    struct stat seen = {0};
    char text[128], what[160];
    const bool piped = strcmp(path, "-") == 0;
    if (!piped && stat(path, &seen) != 0) {
        snprintf(what, sizeof what, "cannot be read: %s", strerror_r(errno, text, sizeof text));
        return bad_file(e, path, what);
    }
    if (S_ISDIR(seen.st_mode))
        return bad_file(e, path, "a directory; give its files, as in dir/data-{000..127}.tar");
    if (!utf8_is_valid(path, strlen(path)))
        return bad_file(e, path, "the name is not UTF-8; rename it");
    if (e->out->count >= DOCUMENTS_MAX)
        return error_set(e->error, BW_TOO_LARGE, "more than %u input files", DOCUMENTS_MAX);
    void *list = e->out->list;
    if (mem_grow(&list, &e->out->capacity, e->out->count + 1, sizeof(document)) != 0)
        return error_set(e->error, BW_NOMEM, "no memory for the list of input files");
    e->out->list = list;
    document *added = &e->out->list[e->out->count];
    added->path = mem_strdup(path);
    added->name = mem_strdup(piped ? "standard input" : path);
    added->size = S_ISREG(seen.st_mode) ? (uint64_t)seen.st_size : 0;
    e->out->count++; /* before the check, so that documents_free releases either string */
    if (added->path == NULL || added->name == NULL)
        return error_set(e->error, BW_NOMEM, "no memory for the list of input files");
    return BW_OK;
}

static bw_status expand(expander *e, const char *head, size_t head_bytes, const char *rest);

/** `head`, one choice, and what follows the group. */
static bw_status expand_choice(expander *e, const char *head, size_t head_bytes, const char *choice,
                               size_t choice_bytes, const char *rest)
{
    char path[PATH_MAX];
    if (head_bytes + choice_bytes >= sizeof path)
        return bad_pattern(e, "a path of it is too long");
    memcpy(path, head, head_bytes);
    memcpy(path + head_bytes, choice, choice_bytes);
    e->groups++;
    const bw_status status = expand(e, path, head_bytes + choice_bytes, rest);
    e->groups--;
    return status;
}

/** Digits up to `stop`; the number of them, 0 when there is anything else. */
static size_t number(const char *at, const char *stop, uint64_t *value)
{
    *value = 0;
    for (const char *c = at; c < stop; c++) {
        if (*c < '0' || *c > '9')
            return 0;
        *value = *value * 10 + (uint64_t)(*c - '0');
    }
    const size_t count = (size_t)(stop - at);
    return count <= DIGITS_MAX ? count : 0;
}

/** {FROM..TO}: upwards or downwards; as wide as the wider end when one begins with 0. */
static bw_status expand_range(expander *e, const char *head, size_t head_bytes, const char *group,
                              const char *dots, const char *close)
{
    uint64_t from, to;
    const size_t a = number(group, dots, &from), b = number(dots + 2, close, &to);
    if (a == 0 || b == 0)
        return bad_pattern(e, "{FROM..TO} needs two plain numbers");
    const uint64_t count = (from < to ? to - from : from - to) + 1;
    if (count > DOCUMENTS_MAX)
        return error_set(e->error, BW_TOO_LARGE, "more than %u input files", DOCUMENTS_MAX);
    const bool padded = (a > 1 && group[0] == '0') || (b > 1 && dots[2] == '0');
    const int width = padded ? (int)(a > b ? a : b) : 1;
    for (uint64_t i = 0; i < count; i++) {
        char digits[24];
        const int size =
            snprintf(digits, sizeof digits, "%0*" PRIu64, width, from < to ? from + i : from - i);
        BW_TRY(expand_choice(e, head, head_bytes, digits, (size_t)size, close + 1));
    }
    return BW_OK;
}

static bw_status expand_group(expander *e, const char *head, size_t head_bytes, const char *open)
{
    const char *group = open + 1, *close = strpbrk(group, "{}");
    if (close == NULL || *close == '{')
        return bad_pattern(e, "a brace that is not closed, or is within another");
    if (e->groups >= GROUPS_MAX)
        return bad_pattern(e, "too many braces");
    const char *dots = strstr(group, ".."), *comma = strchr(group, ',');
    if (comma == NULL || comma > close) {
        if (dots == NULL || dots > close)
            return bad_pattern(e, "{000..127} or {a,b} is expected between braces");
        return expand_range(e, head, head_bytes, group, dots, close);
    }
    for (const char *choice = group; choice <= close;) {
        const size_t size = strcspn(choice, ",}");
        BW_TRY(expand_choice(e, head, head_bytes, choice, size, close + 1));
        choice += size + 1;
    }
    return BW_OK;
}

/** `head` is expanded already. */
static bw_status expand(expander *e, const char *head, size_t head_bytes, const char *rest)
{
    char path[PATH_MAX];
    const size_t plain = strcspn(rest, "{}");
    if (head_bytes + plain >= sizeof path)
        return bad_pattern(e, "a path of it is too long");
    memcpy(path, head, head_bytes);
    memcpy(path + head_bytes, rest, plain);
    path[head_bytes + plain] = '\0';
    if (rest[plain] == '\0')
        return add_file(e, path);
    if (rest[plain] == '}')
        return bad_pattern(e, "a brace that was not opened");
    return expand_group(e, path, head_bytes + plain, rest + plain);
}

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const document *const *)a)->path, (*(const document *const *)b)->path);
}

/** The list keeps its order, so another one is sorted. */
static bw_status check_twice(const documents *docs, bw_error *error)
{
    const document **sorted = mem_array(docs->count, sizeof(void *));
    if (sorted == NULL)
        return error_set(error, BW_NOMEM, "no memory for the list of input files");
    for (size_t i = 0; i < docs->count; i++)
        sorted[i] = &docs->list[i];
    qsort(sorted, docs->count, sizeof(void *), by_path);
    bw_status status = BW_OK;
    for (size_t i = 1; status == BW_OK && i < docs->count; i++)
        if (by_path(&sorted[i - 1], &sorted[i]) == 0)
            status = error_set(error, BW_INVALID, "input file %s is given twice", sorted[i]->path);
    mem_free(sorted);
    return status;
}

bw_status filelist_expand(const char *const *patterns, size_t count, documents *out,
                          bw_error *error)
{
    *out = (documents){0};
    for (size_t i = 0; i < count; i++) {
        expander e = {.out = out, .error = error, .pattern = patterns[i]};
        struct stat seen;
        const bool literal = strpbrk(patterns[i], "{}") == NULL || stat(patterns[i], &seen) == 0;
        BW_TRY(literal ? add_file(&e, patterns[i]) : expand(&e, "", 0, patterns[i]));
        if (strcmp(patterns[i], "-") == 0 && count > 1)
            return error_set(error, BW_INVALID, "standard input is given beside files");
    }
    return check_twice(out, error);
}
