// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarsamples.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "input/tarmember.h"

#include <inttypes.h>
#include <string.h>

#define KEY_FIELD "__key__"

typedef struct tarsamples {
    reader base;
    filereader from;
    tar_member member; /* read ahead: the first of the next sample; name_bytes 0: none */
    const char *name;  /* of the member, without a leading ./ */
    size_t key_bytes;  /* of its key, the head of the name */
    char bad_key[TAR_KEY_BYTES_MAX];
    size_t bad_key_bytes; /* what of this key follows belongs to a sample that is bad; 0: none */
} tarsamples;

static bw_status seek(reader *r, record_place to, bw_error *error)
{
    tarsamples *t = (tarsamples *)r;
    const reader_options *o = &t->from.options;
    /* The beginning of the list is the beginning of each shard. */
    const uint64_t file = to.file == 0 && to.at == 0 ? o->shard : to.file;
    if (file % o->shards != o->shard || (file >= o->files->count && to.at > 0))
        return error_set(error, BW_INPUT_CHANGED, "the place to go on at lies outside the input");
    filereader_go(&t->from, file, to.at);
    t->member = (tar_member){0};
    t->bad_key_bytes = 0;
    return BW_OK;
}

static record_place place(const reader *r)
{
    const tarsamples *t = (const tarsamples *)r;
    return (record_place){.file = t->from.file,
                          .at = t->member.name_bytes > 0 ? t->member.at : filereader_at(&t->from)};
}

static uint64_t bytes(const reader *r)
{
    return filereader_bytes(&((const tarsamples *)r)->from);
}

static void close_samples(reader *r)
{
    filereader_go(&((tarsamples *)r)->from, 0, 0);
    mem_free(r);
}

/** On to this shard's next archive. */
static void next_file(tarsamples *t)
{
    filereader_go(&t->from, t->from.file + t->from.options.shards, 0);
    t->member = (tar_member){0};
    t->bad_key_bytes = 0;
}

static bw_status bad_member(const tarsamples *t, const char *what, bw_error *error)
{
    return record_fail(error, BW_INPUT_BAD, filereader_document(&t->from), t->member.at,
                       "member %.200s: %s", t->member.name, what);
}

/** Control characters would make messages lie. */
static bool is_text(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return utf8_is_valid(name, size);
}

static bool has_odd_segment(const char *name)
{
    for (;;) {
        const size_t size = strcspn(name, "/");
        if (size == 0 || (size == 1 && name[0] == '.') ||
            (size == 2 && name[0] == '.' && name[1] == '.'))
            return true;
        if (name[size] == '\0')
            return false;
        name += size + 1;
    }
}

/** Cuts the name of the member into key and extension. */
static const char *check_member(tarsamples *t)
{
    t->name = t->member.name;
    t->key_bytes = 0;
    while (strncmp(t->name, "./", 2) == 0)
        t->name += 2;
    const size_t skipped = (size_t)(t->name - t->member.name);
    if (t->member.type != '0')
        return "only regular files can be read (a link, or a special file)";
    if (!is_text(t->name, t->member.name_bytes - skipped))
        return "its name is not UTF-8, or has control characters";
    if (has_odd_segment(t->name))
        return "its name has an empty, . or .. segment";
    const char *slash = strrchr(t->name, '/');
    const char *base = slash != NULL ? slash + 1 : t->name;
    const char *dot = strchr(base, '.');
    if (dot == NULL || dot == base || dot[1] == '\0')
        return "its name has no key and extension, as in 000123.jpg";
    if ((size_t)(dot - t->name) > TAR_KEY_BYTES_MAX)
        return "its key is too long";
    t->key_bytes = (size_t)(dot - t->name);
    return NULL;
}

/** The next member that is no directory, checked. */
static bw_status next_member(tarsamples *t, const char **wrong, bw_error *error)
{
    do {
        const bw_status status = tar_member_next(&t->from, &t->member, error);
        if (status == BW_INPUT_BAD)
            next_file(t);
        BW_TRY(status);
    } while (t->member.type == '5');
    *wrong = check_member(t);
    return BW_OK;
}

/** What of the sample's key follows is passed over; without a key, only this member. */
static void give_up_sample(tarsamples *t, const char *key, size_t key_bytes)
{
    t->bad_key_bytes = key_bytes;
    memcpy(t->bad_key, key, key_bytes);
}

static bool is_given_up(const tarsamples *t)
{
    return t->bad_key_bytes > 0 && t->key_bytes == t->bad_key_bytes &&
           memcmp(t->name, t->bad_key, t->key_bytes) == 0;
}

/** The first member of the next sample stands in `member`. */
static bw_status find_sample(tarsamples *t, bw_error *error)
{
    for (;;) {
        const char *wrong = NULL;
        if (t->from.file >= t->from.options.files->count)
            return BW_END;
        BW_TRY(filereader_open(&t->from, error));
        if (t->member.name_bytes > 0 && !is_given_up(t))
            return BW_OK;
        const bw_status status = next_member(t, &wrong, error);
        if (status == BW_END) {
            next_file(t);
            continue;
        }
        BW_TRY(status);
        if (wrong != NULL) {
            const bool follows = t->bad_key_bytes > 0;
            const bw_status bad = bad_member(t, wrong, error);
            t->member.name_bytes = 0;
            if (!follows)
                return bad;
            continue; /* between members of a sample that is bad already */
        }
        if (!is_given_up(t))
            t->bad_key_bytes = 0;
    }
}

/** The member becomes a field of the record. NULL: *status tells. */
static const char *add_member(tarsamples *t, record *out, bw_status *status, bw_error *error)
{
    const char *extension = t->name + t->key_bytes + 1;
    const size_t size = strlen(extension);
    const uint64_t limit = t->from.options.record_bytes_max;
    if (record_find(out, extension, size) != NULL)
        return "the sample has this extension twice";
    if (t->member.size > limit || out->data.size + size + t->member.size > limit)
        return "the sample is larger than a record may be (--frame-max)";
    *status = record_open_field(out, extension, size);
    if (*status != BW_OK) {
        error_set(error, *status, "no memory for a sample");
        return NULL;
    }
    *status = tar_member_read(&t->from, &t->member, &out->data, error);
    record_close_field(out);
    return NULL;
}

/** Members up to the first of another key, which stays in `member`. */
static bw_status gather(tarsamples *t, const char *key, size_t key_bytes, record *out,
                        bw_error *error)
{
    for (;;) {
        bw_status status = BW_OK;
        const char *wrong = add_member(t, out, &status, error);
        if (wrong == NULL && status == BW_OK)
            status = next_member(t, &wrong, error);
        else if (status == BW_INPUT_BAD)
            next_file(t);
        if (status == BW_END) {
            next_file(t);
            return BW_OK;
        }
        BW_TRY(status);
        if (wrong != NULL) {
            const bw_status bad = bad_member(t, wrong, error);
            give_up_sample(t, key, key_bytes);
            t->member.name_bytes = 0;
            return bad;
        }
        if (t->key_bytes != key_bytes || memcmp(t->name, key, key_bytes) != 0)
            return BW_OK;
    }
}

static bw_status next_sample(tarsamples *t, record *out, bw_error *error)
{
    BW_TRY(find_sample(t, error));
    char key[TAR_KEY_BYTES_MAX + 1];
    const size_t key_bytes = t->key_bytes;
    memcpy(key, t->name, key_bytes);
    key[key_bytes] = '\0';
    bw_status status = record_add_field(out, KEY_FIELD, key, key_bytes);
    if (status == BW_OK)
        status = record_set_id(out, "%s:%s", filereader_document(&t->from)->name, key);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a sample");
    return gather(t, key, key_bytes, out, error);
}

static bw_status next(reader *r, record *out, bw_error *error)
{
    tarsamples *t = (tarsamples *)r;
    const bw_status status = next_sample(t, out, error);
    r->broken = filereader_broken(&t->from);
    return status;
}

bw_status tarsamples_open(const reader_options *options, reader **out, bw_error *error)
{
    tarsamples *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory to read archives");
    made->base = (reader){
        .seek = seek, .next = next, .place = place, .bytes = bytes, .close = close_samples};
    made->from.options = *options;
    made->from.file = options->shard;
    *out = &made->base;
    return BW_OK;
}
