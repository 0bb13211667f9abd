// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tokenfile.h"

#include "base/alloc.h"
#include "base/error.h"
#include "input/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Megatron's index: magic, version u64, dtype u8, counts u64 u64, then three arrays: lengths of
 * sequences i32, their first bytes i64, first sequences of documents i64. */
#define MAGIC "MMIDIDX\0\0"
#define MAGIC_BYTES 9u
#define HEAD_BYTES 34u
#define LENGTH_BYTES 4u
#define POINTER_BYTES 8u
/** Tokens, and entries of an index, are converted by so many bytes at a time. */
#define PIECE_BYTES 65536u

static const struct {
    const char *name;
    unsigned bytes;
    bool is_signed;
    unsigned code; /* of Megatron; 0: none */
} types[] = {
    {"", 1, false, 1}, {"", 1, true, 2},     {"", 2, true, 3}, {"u16", 2, false, 8},
    {"", 4, true, 4},  {"u32", 4, false, 0}, {"", 8, true, 5},
};

bool token_type_find(const char *name, token_type *type)
{
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].name[0] != '\0' && strcmp(types[i].name, name) == 0) {
            *type = (token_type)i;
            return true;
        }
    return false;
}

static uint64_t little_endian(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/** The index is told apart from its .bin by name: it has an entry of its own in no list. */
static document index_document(const tokenfile *t, char path[PATH_MAX])
{
    const int stem = (int)strlen(t->bin->path) - 3;
    snprintf(path, PATH_MAX, "%.*sidx", stem, t->bin->path);
    return (document){.path = path, .name = path};
}

static bw_status bad_index(const tokenfile *t, uint64_t at, const char *what, bw_error *error)
{
    char path[PATH_MAX];
    const document d = index_document(t, path);
    return record_fail(error, BW_INPUT_BAD, &d, at, "%s", what);
}

static bw_status open_file(const document *doc, int *fd, uint64_t *size, bw_error *error)
{
    struct stat seen;
    char text[128];
    *fd = open(doc->path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &seen) != 0)
        return record_fail(error, BW_INPUT_BAD, doc, 0, "cannot be opened: %s",
                           strerror_r(errno, text, sizeof text));
    if (!S_ISREG(seen.st_mode))
        return record_fail(error, BW_INPUT_BAD, doc, 0, "not a regular file");
    *size = (uint64_t)seen.st_size;
    return BW_OK;
}

/** Whole, or BW_INPUT_CHANGED. */
static bw_status read_at(int fd, const document *doc, uint64_t at, void *out, size_t size,
                         bw_error *error)
{
    uint8_t *to = out;
    for (size_t got = 0; got < size;) {
        const ssize_t n = pread(fd, to + got, size - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            /* It could be read when it was checked; and no record is to blame. */
            char text[128];
            return record_fail(error, BW_INPUT_CHANGED, doc, at + got, "cannot be read: %s",
                               strerror_r(errno, text, sizeof text));
        }
        if (n == 0)
            return record_fail(error, BW_INPUT_CHANGED, doc, at + got, "the file became shorter");
        got += (size_t)n;
    }
    return BW_OK;
}

static bw_status read_index(const tokenfile *t, uint64_t at, void *out, size_t size,
                            bw_error *error)
{
    char path[PATH_MAX];
    const document d = index_document(t, path);
    return read_at(t->index_fd, &d, at, out, size, error);
}

static uint64_t pointers_at(const tokenfile *t)
{
    return HEAD_BYTES + LENGTH_BYTES * t->sequences;
}

static uint64_t documents_at(const tokenfile *t)
{
    return pointers_at(t) + POINTER_BYTES * t->sequences;
}

/** Head and sizes. `documents` counts the documents: one less than the entries of the array. */
static bw_status read_head(tokenfile *t, uint64_t size, bw_error *error)
{
    uint8_t head[HEAD_BYTES];
    if (size < HEAD_BYTES)
        return bad_index(t, size, "the index ends within its head", error);
    BW_TRY(read_index(t, 0, head, sizeof head, error));
    if (memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return bad_index(t, 0, "not the index of a Megatron data set (MMIDIDX)", error);
    if (little_endian(head + 9, 8) != 1)
        return bad_index(t, 9, "an index of another version than 1", error);
    unsigned type = 0;
    while (type < sizeof types / sizeof types[0] &&
           (types[type].code == 0 || types[type].code != head[17]))
        type++;
    if (type == sizeof types / sizeof types[0])
        return bad_index(t, 17, "a type of tokens that is no whole number", error);
    t->type = (token_type)type;
    t->sequences = little_endian(head + 18, 8);
    t->documents = little_endian(head + 26, 8);
    const uint64_t most = size / LENGTH_BYTES;
    if (t->sequences > most || t->documents > most || t->documents == 0)
        return bad_index(t, 18, "counts that the index has no room for", error);
    const uint64_t wanted = documents_at(t) + POINTER_BYTES * t->documents;
    if (size != wanted)
        return bad_index(t, size < wanted ? size : wanted,
                         size < wanted ? "the index is truncated"
                                       : "more than the index should hold (a multimodal one?)",
                         error);
    t->documents--;
    return BW_OK;
}

/** Entry `i` of an array, by pieces that are read once; `i` goes upwards. */
typedef struct array {
    const tokenfile *t;
    uint64_t at;
    size_t entry;
    uint64_t first, held; /* entries in the piece */
    uint8_t *piece;
} array;

static bw_status entry_of(array *a, uint64_t i, uint64_t count, uint64_t *value, bw_error *error)
{
    if (i >= a->first + a->held) {
        const uint64_t room = PIECE_BYTES / a->entry;
        a->first = i;
        a->held = count - i < room ? count - i : room;
        BW_TRY(read_index(a->t, a->at + i * a->entry, a->piece, (size_t)a->held * a->entry, error));
    }
    *value = little_endian(a->piece + (i - a->first) * a->entry, a->entry);
    return BW_OK;
}

/** Sequences lie one behind the other, from the first byte of the .bin to its last. */
static bw_status check_sequences(const tokenfile *t, array *lengths, array *pointers,
                                 uint64_t bin_size, bw_error *error)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < t->sequences; i++) {
        uint64_t length, pointer;
        BW_TRY(entry_of(lengths, i, t->sequences, &length, error));
        BW_TRY(entry_of(pointers, i, t->sequences, &pointer, error));
        if (length > INT32_MAX)
            return bad_index(t, HEAD_BYTES + LENGTH_BYTES * i, "a negative length", error);
        if (pointer != end)
            return bad_index(t, pointers_at(t) + POINTER_BYTES * i,
                             "a sequence that does not begin where the one before it ends", error);
        end += length * types[t->type].bytes;
    }
    if (end != bin_size)
        return record_fail(error, BW_INPUT_BAD, t->bin, bin_size,
                           "it has %" PRIu64 " bytes, by its index %" PRIu64, bin_size, end);
    return BW_OK;
}

static bw_status check_documents(const tokenfile *t, array *starts, bw_error *error)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i <= t->documents; i++) {
        uint64_t start;
        BW_TRY(entry_of(starts, i, t->documents + 1, &start, error));
        if (start < before || start > t->sequences || (i == 0 && start != 0) ||
            (i == t->documents && start != t->sequences))
            return bad_index(t, documents_at(t) + POINTER_BYTES * i,
                             "documents that are not runs of the sequences", error);
        before = start;
    }
    return BW_OK;
}

static bw_status check_index(tokenfile *t, uint64_t index_size, uint64_t bin_size, bw_error *error)
{
    BW_TRY(read_head(t, index_size, error));
    uint8_t *pieces = mem_alloc(3 * (size_t)PIECE_BYTES);
    if (pieces == NULL)
        return error_set(error, BW_NOMEM, "no memory to read an index");
    array lengths = {.t = t, .at = HEAD_BYTES, .entry = LENGTH_BYTES, .piece = pieces};
    array pointers = {
        .t = t, .at = pointers_at(t), .entry = POINTER_BYTES, .piece = pieces + PIECE_BYTES};
    array starts = {.t = t,
                    .at = documents_at(t),
                    .entry = POINTER_BYTES,
                    .piece = pieces + 2 * (size_t)PIECE_BYTES};
    bw_status status = check_sequences(t, &lengths, &pointers, bin_size, error);
    if (status == BW_OK)
        status = check_documents(t, &starts, error);
    mem_free(pieces);
    return status;
}

/** NAME.idx becomes NAME.bin. */
static bool is_index(document *entry)
{
    const size_t size = strlen(entry->path);
    if (size < 5 || strcmp(entry->path + size - 4, ".idx") != 0)
        return false;
    memcpy(entry->path + size - 3, "bin", 3);
    memcpy(entry->name + size - 3, "bin", 3);
    return true;
}

bw_status tokenfile_open(document *entry, token_type type, tokenfile *out, bw_error *error)
{
    *out = (tokenfile){.fd = -1, .index_fd = -1, .bin = entry, .type = type};
    out->indexed = is_index(entry);
    uint64_t size, index_size = 0;
    if (strlen(entry->path) >= PATH_MAX)
        return record_fail(error, BW_INPUT_BAD, entry, 0, "the path is too long");
    if (out->indexed) {
        char path[PATH_MAX];
        const document d = index_document(out, path);
        BW_TRY(open_file(&d, &out->index_fd, &index_size, error));
    }
    BW_TRY(open_file(entry, &out->fd, &size, error));
    entry->size = size;
    if (out->indexed)
        BW_TRY(check_index(out, index_size, size, error));
    const unsigned bytes = types[out->type].bytes;
    if (size % bytes != 0)
        return record_fail(error, BW_INPUT_BAD, entry, size,
                           "the file ends within a token of %u bytes", bytes);
    out->tokens = size / bytes;
    return BW_OK;
}

/** No record is to blame when a file that was checked cannot be opened. */
static bw_status open_again(const document *doc, int *fd, uint64_t *size, bw_error *error)
{
    const bw_status status = open_file(doc, fd, size, error);
    if (status != BW_INPUT_BAD)
        return status;
    if (error != NULL)
        error->code = BW_INPUT_CHANGED;
    return BW_INPUT_CHANGED;
}

bw_status tokenfile_reopen(tokenfile *t, bw_error *error)
{
    uint64_t size;
    if (t->indexed) {
        char path[PATH_MAX];
        const document d = index_document(t, path);
        BW_TRY(open_again(&d, &t->index_fd, &size, error));
        if (size != documents_at(t) + POINTER_BYTES * (t->documents + 1))
            return record_fail(error, BW_INPUT_CHANGED, &d, size,
                               "the index changed since this run checked it");
    }
    BW_TRY(open_again(t->bin, &t->fd, &size, error));
    if (size != t->bin->size)
        return record_fail(error, BW_INPUT_CHANGED, t->bin, size,
                           "the file changed since this run checked it");
    return BW_OK;
}

void tokenfile_close(tokenfile *t)
{
    if (t->fd >= 0)
        close(t->fd);
    if (t->index_fd >= 0)
        close(t->index_fd);
    t->fd = t->index_fd = -1;
}

bw_status tokenfile_read(const tokenfile *t, uint64_t at, size_t count, int32_t *out,
                         bw_error *error)
{
    uint8_t piece[4096];
    const unsigned bytes = types[t->type].bytes;
    const size_t room = sizeof piece / bytes;
    for (size_t done = 0; done < count;) {
        const size_t step = count - done < room ? count - done : room;
        BW_TRY(read_at(t->fd, t->bin, (at + done) * bytes, piece, step * bytes, error));
        for (size_t i = 0; i < step; i++) {
            const uint64_t value = little_endian(piece + i * bytes, bytes);
            const bool negative = types[t->type].is_signed && (value >> (8 * bytes - 1) & 1) != 0;
            if (negative || value > INT32_MAX)
                return record_fail(error, BW_INPUT_BAD, t->bin, (at + done + i) * bytes,
                                   "a token that is negative or beyond 2,147,483,647 (another "
                                   "--token-type?)");
            out[done + i] = (int32_t)value;
        }
        done += step;
    }
    return BW_OK;
}

static bw_status index_entry(const tokenfile *t, uint64_t at, uint64_t *value, bw_error *error)
{
    uint8_t bytes[8];
    BW_TRY(read_index(t, at, bytes, sizeof bytes, error));
    *value = little_endian(bytes, sizeof bytes);
    return BW_OK;
}

/** The last of `count` ascending entries that is at most `wanted`; the first is. */
static bw_status last_at_most(const tokenfile *t, uint64_t array_at, uint64_t count,
                              uint64_t wanted, uint64_t *index, bw_error *error)
{
    uint64_t low = 0, high = count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        uint64_t value;
        BW_TRY(index_entry(t, array_at + POINTER_BYTES * middle, &value, error));
        if (value <= wanted)
            low = middle;
        else
            high = middle;
    }
    *index = low;
    return BW_OK;
}

/** Token at which sequence `i` begins; behind the last: the end. */
static bw_status sequence_token(const tokenfile *t, uint64_t i, uint64_t *token, bw_error *error)
{
    *token = t->tokens;
    if (i < t->sequences) {
        BW_TRY(index_entry(t, pointers_at(t) + POINTER_BYTES * i, token, error));
        *token /= types[t->type].bytes;
    }
    return BW_OK;
}

/** First token and end of the document that holds token `at`. */
static bw_status document_of(const tokenfile *t, uint64_t at, uint64_t *begin, uint64_t *end,
                             bw_error *error)
{
    *begin = 0;
    *end = t->tokens;
    if (!t->indexed || t->documents == 0)
        return BW_OK;
    uint64_t sequence, doc, first, next;
    BW_TRY(
        last_at_most(t, pointers_at(t), t->sequences, at * types[t->type].bytes, &sequence, error));
    BW_TRY(last_at_most(t, documents_at(t), t->documents, sequence, &doc, error));
    const uint64_t place = documents_at(t) + POINTER_BYTES * doc;
    BW_TRY(index_entry(t, place, &first, error));
    BW_TRY(index_entry(t, place + POINTER_BYTES, &next, error));
    BW_TRY(sequence_token(t, first, begin, error));
    BW_TRY(sequence_token(t, next, end, error));
    /* An index that changed under way must not lead anywhere. */
    if (*begin > at || *end <= at)
        return bad_index(t, place, "the index changed since this run checked it", error);
    return BW_OK;
}

bw_status tokenfile_positions(const tokenfile *t, uint64_t at, size_t count, int32_t *out,
                              bw_error *error)
{
    for (size_t done = 0; done < count;) {
        uint64_t begin, end;
        BW_TRY(document_of(t, at + done, &begin, &end, error));
        for (; done < count && at + done < end; done++) {
            const uint64_t position = at + done - begin;
            out[done] = position < INT32_MAX ? (int32_t)position : INT32_MAX;
        }
    }
    return BW_OK;
}
