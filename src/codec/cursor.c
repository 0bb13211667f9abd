// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/cursor.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* The longest canonical cursor has about 47 KB; room for white space, and a bound on what a parser
 * builds. */
#define CURSOR_TEXT_MAX (128u << 10)
#define CURSOR_KEYS 9u /* and `tags` and `way`, where there are any */
/* Of the longest cursor: the object, the lists of skips, tags and the way and each of them; and
 * what stands between keys, ranges and what is in them. */
#define OPENINGS_MAX (4u + SKIPS_MAX + TAGS_MAX + WAY_MAX)
#define COMMAS_MAX (CURSOR_KEYS + 1u + 2u * SKIPS_MAX + 2u * TAGS_MAX + 4u * WAY_MAX)
#define WAY_FIELDS 4u
#define NONCE_BYTES 8u

static bool skips_are_valid(const skip_range *skips, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (skips[i].first >= skips[i].end || skips[i].end > INT64_MAX ||
            (i > 0 && skips[i].first <= skips[i - 1].end))
            return false;
    }
    return count <= SKIPS_MAX;
}

static bool tags_are_valid(const tag_range *tags, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (tags[i].first > tags[i].last || tags[i].first > INT64_MAX ||
            (tags[i].last > INT64_MAX && tags[i].last != TAG_ANY) ||
            (i > 0 && tags[i].first - 1 <= tags[i - 1].last))
            return false;
    }
    return count <= TAGS_MAX;
}

/* Each within the one above. */
static bool way_is_valid(const segment_ref *way, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < WAY_MAX; i++) {
        if (way[i].first > way[i].last || way[i].last > INT64_MAX ||
            way[i].bytes <= OBJECT_EXTRA_BYTES || way[i].bytes > object_bytes_max(OBJECT_SEGMENT) ||
            (i > 0 && (way[i].first < way[i - 1].first || way[i].last > way[i - 1].last)))
            return false;
    }
    return count <= WAY_MAX;
}

static void put_way(const cursor *c, buf *out)
{
    char hash[2 * HASH_BYTES + 1];
    buf_put_text(out, ",\"way\":[");
    for (uint32_t i = 0; i < c->way_count; i++) {
        const segment_ref *s = &c->way[i];
        hex_encode(s->hash.bytes, HASH_BYTES, hash);
        buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",\"%s\"]", i > 0 ? "," : "",
                   s->first, s->last, s->bytes, hash);
    }
    buf_put_text(out, "]");
}

static void put_tags(const cursor *c, buf *out)
{
    buf_put_text(out, ",\"tags\":[");
    for (uint32_t i = 0; i < c->tag_count; i++) {
        buf_printf(out, "%s[%" PRIu64 ",", i > 0 ? "," : "", c->tags[i].first);
        if (c->tags[i].last == TAG_ANY)
            buf_put_text(out, "null]");
        else
            buf_printf(out, "%" PRIu64 "]", c->tags[i].last);
    }
    buf_put_text(out, "]");
}

bw_status cursor_encode(const cursor *c, buf *out)
{
    if (c->step > INT64_MAX || c->version > INT64_MAX || c->dp == 0 || c->mode > MODE_SCALE_BATCH ||
        !skips_are_valid(c->skips, c->skip_count) || !tags_are_valid(c->tags, c->tag_count) ||
        !way_is_valid(c->way, c->way_count))
        return BW_CURSOR_INVALID;
    char uuid[2 * UUID_BYTES + 1];
    hex_encode(c->uuid, UUID_BYTES, uuid);
    buf_printf(out,
               "{\"batchweave\":1,\"namespace\":\"%s\",\"step\":%" PRIu64 ",\"item\":%" PRIu32
               ",\"mode\":\"%s\",\"dp\":%" PRIu32 ",\"nonce\":",
               uuid, c->step, c->item, c->mode == MODE_SAME_BATCH ? "same_batch" : "scale_batch",
               c->dp);
    if (c->has_nonce)
        buf_printf(out, "\"%016" PRIx64 "\"", c->nonce);
    else
        buf_put_text(out, "null");
    buf_printf(out, ",\"version\":%" PRIu64 ",\"skips\":[", c->version);
    for (uint32_t i = 0; i < c->skip_count; i++)
        buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "", c->skips[i].first,
                   c->skips[i].end);
    buf_put_text(out, "]");
    if (c->tag_count > 0)
        put_tags(c, out);
    if (c->way_count > 0)
        put_way(c, out);
    buf_put_text(out, "}");
    return buf_status(out);
}

static bool read_number(const json_t *value, uint64_t most, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return *out <= most;
}

static bool read_hex(const json_t *value, uint8_t *bytes, size_t size)
{
    return json_is_string(value) &&
           hex_decode(json_string_value(value), json_string_length(value), bytes, size) == 0;
}

static bool read_nonce(const json_t *value, cursor *c)
{
    uint8_t bytes[NONCE_BYTES];
    c->nonce = 0;
    c->has_nonce = !json_is_null(value);
    if (!c->has_nonce)
        return value != NULL;
    if (!read_hex(value, bytes, sizeof bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        c->nonce = c->nonce << 8 | bytes[i];
    return true;
}

static bool read_mode(const json_t *value, cursor *c)
{
    const char *mode = json_string_value(value);
    if (mode == NULL)
        return false;
    c->mode = strcmp(mode, "scale_batch") == 0 ? MODE_SCALE_BATCH : MODE_SAME_BATCH;
    return c->mode == MODE_SCALE_BATCH || strcmp(mode, "same_batch") == 0;
}

static bw_status read_skips(const json_t *value, cursor *c, bw_error *error)
{
    const size_t count = json_array_size(value);
    if (!json_is_array(value) || count > SKIPS_MAX)
        return error_set(error, BW_CURSOR_INVALID,
                         "cursor: `skips` is no list of at most %u ranges", SKIPS_MAX);
    c->skips = mem_array(count, sizeof *c->skips);
    if (c->skips == NULL)
        return error_set(error, BW_NOMEM, "cursor: no memory for %zu skips", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *range = json_array_get(value, i);
        if (json_array_size(range) != 2 ||
            !read_number(json_array_get(range, 0), INT64_MAX, &c->skips[i].first) ||
            !read_number(json_array_get(range, 1), INT64_MAX, &c->skips[i].end))
            return error_set(error, BW_CURSOR_INVALID, "cursor: skip %zu is no [first, end]", i);
    }
    c->skip_count = (uint32_t)count;
    if (!skips_are_valid(c->skips, c->skip_count))
        return error_set(error, BW_CURSOR_INVALID,
                         "cursor: skips are not ascending, apart and longer than nothing");
    return BW_OK;
}

static bw_status read_tags(const json_t *value, cursor *c, bw_error *error)
{
    const size_t count = json_array_size(value);
    if (count == 0 || count > TAGS_MAX)
        return error_set(error, BW_CURSOR_INVALID, "cursor: `tags` is no list of 1 to %u ranges",
                         TAGS_MAX);
    c->tags = mem_array(count, sizeof *c->tags);
    if (c->tags == NULL)
        return error_set(error, BW_NOMEM, "cursor: no memory for %zu ranges of tags", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *range = json_array_get(value, i), *last = json_array_get(range, 1);
        c->tags[i].last = TAG_ANY;
        if (json_array_size(range) != 2 ||
            !read_number(json_array_get(range, 0), INT64_MAX, &c->tags[i].first) ||
            (!json_is_null(last) && !read_number(last, INT64_MAX, &c->tags[i].last)))
            return error_set(error, BW_CURSOR_INVALID,
                             "cursor: range %zu of tags is no [first, last]", i);
    }
    c->tag_count = (uint32_t)count;
    if (!tags_are_valid(c->tags, c->tag_count))
        return error_set(error, BW_CURSOR_INVALID, "cursor: tags are not ascending and apart");
    return BW_OK;
}

static bw_status read_way(const json_t *value, cursor *c, bw_error *error)
{
    const size_t count = json_array_size(value);
    if (count == 0 || count > WAY_MAX)
        return error_set(error, BW_CURSOR_INVALID, "cursor: `way` is no list of 1 to %u segments",
                         WAY_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *named = json_array_get(value, i);
        segment_ref *s = &c->way[i];
        s->level = (uint8_t)(count - 1 - i);
        if (json_array_size(named) != WAY_FIELDS ||
            !read_number(json_array_get(named, 0), INT64_MAX, &s->first) ||
            !read_number(json_array_get(named, 1), INT64_MAX, &s->last) ||
            !read_number(json_array_get(named, 2), INT64_MAX, &s->bytes) ||
            !read_hex(json_array_get(named, 3), s->hash.bytes, HASH_BYTES))
            return error_set(error, BW_CURSOR_INVALID,
                             "cursor: segment %zu of the way is no [first, last, bytes, hash]", i);
    }
    c->way_count = (uint32_t)count;
    if (!way_is_valid(c->way, c->way_count))
        return error_set(error, BW_CURSOR_INVALID,
                         "cursor: the way is no segments, each within the one before");
    return BW_OK;
}

static bw_status read_fields(const json_t *root, cursor *c, bw_error *error)
{
    uint64_t format, item = 0, dp = 0;
    const char *fault = NULL;
    if (!json_is_object(root))
        return error_set(error, BW_CURSOR_INVALID, "cursor: not a JSON object");
    if (!read_number(json_object_get(root, "batchweave"), 1, &format) || format != 1)
        fault = "batchweave";
    else if (!read_hex(json_object_get(root, "namespace"), c->uuid, UUID_BYTES))
        fault = "namespace";
    else if (!read_number(json_object_get(root, "step"), INT64_MAX, &c->step))
        fault = "step";
    else if (!read_number(json_object_get(root, "item"), UINT32_MAX, &item))
        fault = "item";
    else if (!read_mode(json_object_get(root, "mode"), c))
        fault = "mode";
    else if (!read_number(json_object_get(root, "dp"), UINT32_MAX, &dp) || dp == 0)
        fault = "dp";
    else if (!read_nonce(json_object_get(root, "nonce"), c))
        fault = "nonce";
    else if (!read_number(json_object_get(root, "version"), INT64_MAX, &c->version))
        fault = "version";
    if (fault != NULL)
        return error_set(error, BW_CURSOR_INVALID, "cursor: `%s` is missing or not valid", fault);
    c->item = (uint32_t)item;
    c->dp = (uint32_t)dp;
    BW_TRY(read_skips(json_object_get(root, "skips"), c, error));
    const json_t *tags = json_object_get(root, "tags"), *way = json_object_get(root, "way");
    if (tags != NULL)
        BW_TRY(read_tags(tags, c, error));
    if (way != NULL)
        BW_TRY(read_way(way, c, error));
    if (json_object_size(root) != CURSOR_KEYS + (tags != NULL) + (way != NULL))
        return error_set(error, BW_CURSOR_INVALID, "cursor: a key that is not known");
    return BW_OK;
}

/* A parser takes a hundred bytes and more for a list of two characters, so that 128 KiB of them
 * would take megabytes: they are counted before. No text of a cursor holds any of these characters.
 */
static bool structure_fits(view json)
{
    uint32_t openings = 0, commas = 0;
    for (size_t i = 0; i < json.size; i++) {
        openings += json.data[i] == '[' || json.data[i] == '{';
        commas += json.data[i] == ',';
    }
    return openings <= OPENINGS_MAX && commas <= COMMAS_MAX;
}

static bw_status decode_once(view json, cursor *c, bw_error *error)
{
    json_error_t why;
    memset(c, 0, sizeof *c);
    json_t *root = json_loadb((const char *)json.data, json.size, JSON_REJECT_DUPLICATES, &why);
    if (root == NULL && json_error_code(&why) == json_error_out_of_memory)
        return error_set(error, BW_NOMEM, "cursor: no memory to read the JSON");
    if (root == NULL)
        return error_set(error, BW_CURSOR_INVALID, "cursor: line %d column %d: %s", why.line,
                         why.column, why.text);
    const bw_status status = read_fields(root, c, error);
    json_decref(root);
    if (status != BW_OK)
        cursor_free(c);
    return status;
}

bw_status cursor_decode(view json, cursor *c, bw_error *error)
{
    memset(c, 0, sizeof *c);
    if (json.size == 0 || json.size > CURSOR_TEXT_MAX)
        return error_set(error, BW_CURSOR_INVALID, "cursor: %zu bytes of JSON", json.size);
    if (!structure_fits(json))
        return error_set(error, BW_CURSOR_INVALID, "cursor: more lists or values than any has");
    /* jansson may call it an invalid token, or lose a member, when memory ran out. */
    bw_status status = decode_once(json, c, error);
    if (status != BW_CURSOR_INVALID)
        return status;
    status = decode_once(json, c, error);
    void *memory = mem_alloc(json.size);
    if (status != BW_OK && memory == NULL)
        status = error_set(error, BW_NOMEM, "cursor: no memory to read the JSON");
    mem_free(memory);
    return status;
}

bw_status cursor_copy(cursor *to, const cursor *from)
{
    *to = *from;
    to->skips = mem_dup(from->skips, from->skip_count * sizeof *from->skips);
    to->tags = mem_dup(from->tags, from->tag_count * sizeof *from->tags);
    if (to->skips != NULL && to->tags != NULL)
        return BW_OK;
    cursor_free(to);
    return BW_NOMEM;
}

/* The ranges before, the one in which all that touch it have gone up, the ranges behind. */
static uint32_t insert(const skip_range *from, uint32_t count, skip_range new, skip_range *to)
{
    uint32_t made = 0, i = 0;
    for (; i < count && from[i].end < new.first; i++)
        to[made++] = from[i];
    for (; i < count && from[i].first <= new.end; i++) {
        new.first = from[i].first < new.first ? from[i].first : new.first;
        new.end = from[i].end > new.end ? from[i].end : new.end;
    }
    to[made++] = new;
    for (; i < count; i++)
        to[made++] = from[i];
    return made;
}

bw_status cursor_skip(cursor *c, uint64_t first, uint64_t end)
{
    if (first >= end || end > INT64_MAX)
        return BW_CURSOR_INVALID;
    skip_range *skips = mem_array((size_t)c->skip_count + 1, sizeof *skips);
    if (skips == NULL)
        return BW_NOMEM;
    const uint32_t count =
        insert(c->skips, c->skip_count, (skip_range){.first = first, .end = end}, skips);
    if (count > SKIPS_MAX) {
        mem_free(skips);
        return BW_CURSOR_INVALID;
    }
    mem_free(c->skips);
    c->skips = skips;
    c->skip_count = count;
    return BW_OK;
}

void cursor_free(cursor *c)
{
    mem_free(c->skips);
    mem_free(c->tags);
    memset(c, 0, sizeof *c);
}

bool cursor_equal(const cursor *a, const cursor *b)
{
    bool equal = a->step == b->step && a->item == b->item && a->mode == b->mode && a->dp == b->dp &&
                 a->skip_count == b->skip_count && a->tag_count == b->tag_count;
    for (uint32_t i = 0; equal && i < a->skip_count; i++)
        equal = a->skips[i].first == b->skips[i].first && a->skips[i].end == b->skips[i].end;
    for (uint32_t i = 0; equal && i < a->tag_count; i++)
        equal = a->tags[i].first == b->tags[i].first && a->tags[i].last == b->tags[i].last;
    return equal;
}

bw_status cursor_hash(const cursor *c, hash128 *out)
{
    buf bytes;
    buf_init(&bytes, 64 + (size_t)(SKIPS_MAX + TAGS_MAX) * 16);
    buf_put_u64(&bytes, c->step);
    buf_put_u32(&bytes, c->item);
    buf_put_u8(&bytes, (uint8_t)c->mode);
    buf_put_u32(&bytes, c->dp);
    buf_put_u32(&bytes, c->skip_count);
    for (uint32_t i = 0; i < c->skip_count; i++) {
        buf_put_u64(&bytes, c->skips[i].first);
        buf_put_u64(&bytes, c->skips[i].end);
    }
    if (c->tag_count > 0)
        buf_put_u32(&bytes, c->tag_count);
    for (uint32_t i = 0; i < c->tag_count; i++) {
        buf_put_u64(&bytes, c->tags[i].first);
        buf_put_u64(&bytes, c->tags[i].last);
    }
    bw_status status = buf_status(&bytes);
    if (status == BW_OK)
        status = hash_bytes(bytes.data, bytes.size, out);
    buf_free(&bytes);
    return status;
}

/* ---- which tags are read ---- */

/* Decimal digits at `*at`, which moves behind them. */
static bool take_number(const char **at, uint64_t *out)
{
    uint64_t value = 0;
    const char *from = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (uint64_t)(**at - '0');
        if (value > INT64_MAX)
            return false;
    }
    *out = value;
    return *at > from && *at - from <= 19;
}

bool tags_parse(const char *text, tag_range tags[TAGS_MAX], uint32_t *count)
{
    *count = 0;
    if (strcmp(text, "all") == 0)
        return true;
    for (const char *at = text;; at++) {
        if (*count == TAGS_MAX)
            return false;
        tag_range *t = &tags[(*count)++];
        if (!take_number(&at, &t->first))
            return false;
        t->last = t->first;
        if (*at == '-') {
            at++;
            t->last = TAG_ANY;
            if (*at != '\0' && *at != ',' && !take_number(&at, &t->last))
                return false;
        }
        if (*at == '\0')
            return tags_are_valid(tags, *count);
        if (*at != ',')
            return false;
    }
}

bool tag_is_wanted(const tag_range *tags, uint32_t count, uint64_t tag)
{
    bool wanted = count == 0;
    for (uint32_t i = 0; i < count && !wanted; i++)
        wanted = tags[i].first <= tag && tag <= tags[i].last;
    return wanted;
}
