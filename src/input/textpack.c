// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/textpack.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct textpack {
    const documents *docs;
    uint32_t shards;
    size_t seq_len;
    text_position position; /* of the next byte to read */
    int fd;                 /* of the document at the position, or -1 */
    struct timespec modified;
    uint8_t *tokens; /* seq_len bytes */
    text_fragment *fragments;
    size_t fragment_capacity;
    struct bw_error failure; /* code BW_OK while nothing failed */
};

bw_status textpack_open(const documents *docs, uint32_t shard, uint32_t shards, size_t seq_len,
                        text_position from, textpack **pack, bw_error *error)
{
    if (shards == 0 || shard >= shards || seq_len == 0 || seq_len > SEQ_LEN_MAX)
        return error_set(error, BW_INVALID, "shard %u/%u or sequence length %zu is not valid",
                         shard, shards, seq_len);
    if (from.document == 0 && from.at == 0)
        from.document = shard;
    if (from.document % shards != shard ||
        (from.at > 0 && (from.document >= docs->count || from.at > docs->list[from.document].size)))
        return error_set(error, BW_INVALID,
                         "position %" PRIu64 ":%" PRIu64 " lies outside the input", from.document,
                         from.at);
    textpack *made = mem_zalloc(sizeof *made);
    if (made != NULL)
        made->tokens = mem_alloc(seq_len);
    if (made == NULL || made->tokens == NULL) {
        mem_free(made);
        return error_set(error, BW_NOMEM, "no memory for a sequence of %zu bytes", seq_len);
    }
    made->docs = docs;
    made->shards = shards;
    made->seq_len = seq_len;
    made->position = from;
    made->fd = -1;
    *pack = made;
    return BW_OK;
}

static const document *current(const textpack *pack)
{
    return &pack->docs->list[pack->position.document];
}

static bw_status fail(textpack *pack, bw_status code, const char *what, int number)
{
    char text[128] = "";
    const char *path = current(pack)->path;
    error_set(&pack->failure, code, "input %s at byte %" PRIu64 ": %s%s%s", path, pack->position.at,
              what, number != 0 ? ": " : "",
              number != 0 ? strerror_r(number, text, sizeof text) : "");
    error_set_key(&pack->failure, path);
    return code;
}

/** The size is the listed one, and nobody wrote since it was opened. */
static bw_status check_unchanged(textpack *pack, bool opening)
{
    struct stat seen;
    if (fstat(pack->fd, &seen) != 0)
        return fail(pack, BW_INPUT_BAD, "cannot be read", errno);
    if (opening)
        pack->modified = seen.st_mtim;
    if (!S_ISREG(seen.st_mode) || (uint64_t)seen.st_size != current(pack)->size ||
        seen.st_mtim.tv_sec != pack->modified.tv_sec ||
        seen.st_mtim.tv_nsec != pack->modified.tv_nsec)
        return fail(pack, BW_INPUT_CHANGED, "the file changed since this run listed it", 0);
    return BW_OK;
}

static bw_status open_document(textpack *pack)
{
    pack->fd = open(current(pack)->path, O_RDONLY | O_CLOEXEC);
    if (pack->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return fail(pack, BW_INPUT_CHANGED, "the file vanished since this run listed it", 0);
    if (pack->fd < 0)
        return fail(pack, BW_INPUT_BAD, "cannot be opened", errno);
    return check_unchanged(pack, true);
}

static void close_document(textpack *pack)
{
    if (pack->fd >= 0)
        close(pack->fd);
    pack->fd = -1;
}

/**
 * Reads up to `room` bytes of the current document; on failure `*got` counts what was read before
 * it.
 */
static bw_status read_piece(textpack *pack, uint8_t *out, size_t room, size_t *got)
{
    *got = 0;
    if (pack->fd < 0)
        BW_TRY(open_document(pack));
    const uint64_t left = current(pack)->size - pack->position.at;
    const size_t want = left < room ? (size_t)left : room;
    while (*got < want) {
        const ssize_t n = pread(pack->fd, out + *got, want - *got, (off_t)(pack->position.at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(pack, BW_INPUT_BAD, "cannot be read", errno);
        if (n == 0)
            return fail(pack, BW_INPUT_CHANGED, "the file became shorter", 0);
        *got += (size_t)n;
        pack->position.at += (uint64_t)n;
    }
    return BW_OK;
}

/**
 * Room is made before the bytes are read: the position never passes a byte that no fragment holds.
 */
static bw_status reserve_fragment(textpack *pack, const text_sequence *sequence)
{
    void *list = pack->fragments;
    if (mem_grow(&list, &pack->fragment_capacity, sequence->count + 1, sizeof(text_fragment)) != 0)
        return error_set(&pack->failure, BW_NOMEM, "no memory for the fragments of a sequence");
    pack->fragments = list;
    return BW_OK;
}

/** One fragment of the current document, or the step to the next document when this one is read. */
static bw_status fill_once(textpack *pack, text_sequence *sequence)
{
    const uint64_t at = pack->position.at;
    if (at == current(pack)->size) {
        if (pack->fd >= 0)
            BW_TRY(check_unchanged(pack, false));
        close_document(pack);
        pack->position = (text_position){.document = pack->position.document + pack->shards};
        return BW_OK;
    }
    BW_TRY(reserve_fragment(pack, sequence));
    uint8_t *bytes = pack->tokens + sequence->tokens;
    size_t got;
    const bw_status status = read_piece(pack, bytes, pack->seq_len - sequence->tokens, &got);
    if (got > 0)
        pack->fragments[sequence->count++] = (text_fragment){
            .document = (size_t)pack->position.document, .at = at, .bytes = bytes, .size = got};
    sequence->tokens += got;
    return status;
}

bw_status textpack_next(textpack *pack, text_sequence *sequence, bw_error *error)
{
    *sequence = (text_sequence){0};
    while (pack->failure.code == BW_OK && sequence->tokens < pack->seq_len &&
           pack->position.document < pack->docs->count)
        fill_once(pack, sequence);
    sequence->fragments = pack->fragments;
    if (sequence->tokens > 0)
        return BW_OK;
    if (pack->failure.code != BW_OK) {
        error_copy(error, &pack->failure);
        return pack->failure.code;
    }
    return BW_END;
}

text_position textpack_position(const textpack *pack)
{
    return pack->position;
}

void textpack_close(textpack *pack)
{
    if (pack == NULL)
        return;
    close_document(pack);
    mem_free(pack->fragments);
    mem_free(pack->tokens);
    mem_free(pack);
}
