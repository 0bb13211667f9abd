// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/jsonmembers.h"

#include "base/alloc.h"
#include "base/jsontext.h"
#include "http/secret.h"

#include <string.h>

typedef struct reading {
    jsontext t;
    jsonmembers_fn member;
    void *context;
    bw_status status; /* that `member` returned */
    char path[JSONMEMBERS_PATH_MAX];
    char text[JSONMEMBERS_TEXT_MAX];
} reading;

/* Decoded, with a NUL behind; the size, or SIZE_MAX when there is no room, or a NUL in it. */
static size_t decode(jsonstring s, char *to, size_t capacity)
{
    uint8_t bytes[4];
    size_t size = 0;
    for (size_t n = jsonstring_next(&s, bytes); n > 0; n = jsonstring_next(&s, bytes)) {
        if (size + n >= capacity || bytes[0] == '\0')
            return SIZE_MAX;
        memcpy(to + size, bytes, n);
        size += n;
    }
    to[size] = '\0';
    return size;
}

static bool tell(reading *r, size_t size)
{
    if (size == SIZE_MAX)
        return jsontext_fail(&r->t, "a value is too long, or has a NUL");
    r->status = r->member(r->context, r->path, r->text, size);
    return r->status == BW_OK || jsontext_fail(&r->t, "a value is none");
}

static bool take_scalar(reading *r)
{
    jsonstring s;
    const uint8_t first = jsontext_peek(&r->t);
    if (first == '"')
        return jsontext_string(&r->t, &s) && tell(r, decode(s, r->text, sizeof r->text));
    const uint8_t *from = r->t.at;
    if (!jsontext_value(&r->t))
        return false;
    const size_t size = (size_t)(r->t.at - from);
    if (first == '[' || first == '{' || first == 'n')
        return true;
    if (size >= sizeof r->text)
        return tell(r, SIZE_MAX);
    memcpy(r->text, from, size);
    r->text[size] = '\0';
    return tell(r, size);
}

static bool take_object(reading *r, size_t path_size, unsigned depth);

static bool take_member(reading *r, size_t path_size, unsigned depth)
{
    jsonstring name;
    if (!jsontext_string(&r->t, &name) || !jsontext_take(&r->t, ':'))
        return false;
    char *to = r->path + path_size;
    if (path_size > 0)
        *to++ = '/';
    /* One byte for the slash behind it. */
    const size_t size = decode(name, to, sizeof r->path - 1 - (size_t)(to - r->path));
    if (size == SIZE_MAX || strchr(to, '/') != NULL)
        return jsontext_value(&r->t);
    if (jsontext_peek(&r->t) == '{' && depth < JSONMEMBERS_DEPTH_MAX)
        return take_object(r, (size_t)(to - r->path) + size, depth + 1);
    return take_scalar(r);
}

static bool take_object(reading *r, size_t path_size, unsigned depth)
{
    bool more = jsontext_take(&r->t, '{') && jsontext_peek(&r->t) != '}';
    while (more && take_member(r, path_size, depth)) {
        more = jsontext_peek(&r->t) == ',';
        if (more)
            (void)jsontext_take(&r->t, ',');
    }
    return jsontext_take(&r->t, '}');
}

bw_status jsonmembers_each(const void *json, size_t size, jsonmembers_fn member, void *context,
                           const char **bad)
{
    reading *r = mem_zalloc(sizeof *r);
    *bad = "no memory";
    if (r == NULL)
        return BW_NOMEM;
    r->member = member;
    r->context = context;
    jsontext_open(&r->t, json, size);
    const bool good = take_object(r, 0, 1) && jsontext_done(&r->t);
    const bw_status status = good ? BW_OK : r->status != BW_OK ? r->status : BW_CORRUPT;
    *bad = r->t.bad;
    secret_wipe(r, sizeof *r);
    mem_free(r);
    return status;
}
