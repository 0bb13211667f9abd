// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/framestream.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "input/bytestream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Memory for a frame grows by at most this much ahead of its bytes. */
#define STEP_BYTES (256u << 10)
#define LENGTH_BYTES 4u
/** Passing over frames of a file never waits, but may take long. */
#define TICK_FRAMES 4096u

struct framestream {
    framestream_options options;
    size_t path; /* index of the one that is read, or to open next */
    bool is_open, owns_fd;
    bytestream bytes;
    uint64_t bytes_before; /* of the sources that were closed */
    uint64_t index;        /* of the next frame, over all shards and files */
};

bw_status framestream_open(const framestream_options *options, framestream **stream,
                           bw_error *error)
{
    if (options->shards == 0 || options->shard >= options->shards ||
        (options->fd < 0 && options->count == 0))
        return error_set(error, BW_INVALID, "shard %u/%u of frames is not valid", options->shard,
                         options->shards);
    framestream *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory to read frames");
    made->options = *options;
    *stream = made;
    return BW_OK;
}

static void close_source(framestream *s)
{
    if (!s->is_open)
        return;
    bytestream_close(&s->bytes);
    s->bytes_before += s->bytes.offset;
    if (s->owns_fd)
        close(s->bytes.fd);
    s->is_open = false;
}

static bw_status open_source(framestream *s, bw_error *error)
{
    const framestream_options *o = &s->options;
    int fd = o->fd;
    const char *name = o->name;
    s->owns_fd = false;
    if (fd < 0) {
        name = o->paths[s->path];
        s->owns_fd = strcmp(name, "-") != 0;
        fd = s->owns_fd ? open(name, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    }
    if (fd < 0) {
        char text[128];
        error_set(error, BW_INPUT_BAD, "input %s: cannot be opened: %s", name,
                  strerror_r(errno, text, sizeof text));
        error_set_key(error, name);
        return BW_INPUT_BAD;
    }
    s->is_open = true;
    const bw_status status = bytestream_open(&s->bytes, fd, name, o->tick, o->context, error);
    if (status != BW_OK)
        close_source(s);
    return status;
}

static bw_status bad_frame(const framestream *s, uint64_t at, const char *what, bw_error *error)
{
    error_set(error, BW_INPUT_BAD, "input %s at byte %" PRIu64 ", frame %" PRIu64 ": %s",
              s->bytes.name, at, s->index, what);
    error_set_key(error, s->bytes.name);
    return BW_INPUT_BAD;
}

/** A length that is text was most likely printed by a program that meant to write frames. */
static bool is_text(const uint8_t head[LENGTH_BYTES], char shown[LENGTH_BYTES + 1])
{
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        const bool space = head[i] == '\n' || head[i] == '\r' || head[i] == '\t';
        if (!space && (head[i] < 0x20 || head[i] > 0x7e))
            return false;
        shown[i] = space ? ' ' : (char)head[i];
    }
    shown[LENGTH_BYTES] = '\0';
    return true;
}

static bw_status too_long(const framestream *s, uint64_t at, const uint8_t head[LENGTH_BYTES],
                          uint32_t length, bw_error *error)
{
    char what[160], shown[LENGTH_BYTES + 1];
    const int size = snprintf(what, sizeof what, "declares %u bytes, at most %u are allowed",
                              length, s->options.frame_bytes_max);
    if (size > 0 && is_text(head, shown))
        snprintf(what + size, sizeof what - (size_t)size,
                 "; its length field holds \"%s\": is it text rather than frames?", shown);
    return bad_frame(s, at, what, error);
}

/** The length of the next frame; opens the next file at the end of one, BW_END behind the last. */
static bw_status next_length(framestream *s, uint32_t *length, bw_error *error)
{
    const size_t sources = s->options.fd >= 0 ? 1 : s->options.count;
    for (;;) {
        if (s->path >= sources)
            return BW_END;
        if (!s->is_open)
            BW_TRY(open_source(s, error));
        const uint64_t at = s->bytes.offset;
        uint8_t head[LENGTH_BYTES];
        size_t got;
        BW_TRY(bytestream_read(&s->bytes, head, sizeof head, &got, error));
        if (got > 0 && got < sizeof head)
            return bad_frame(s, at, "the input ends within the length of a frame", error);
        if (got == sizeof head) {
            *length = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
                      (uint32_t)head[3] << 24;
            if (*length <= s->options.frame_bytes_max)
                return BW_OK;
            return too_long(s, at, head, *length, error);
        }
        close_source(s);
        s->path++;
    }
}

static bw_status ends_within(const framestream *s, uint64_t at, uint32_t length, uint64_t got,
                             bw_error *error)
{
    char what[96];
    snprintf(what, sizeof what, "the input ends after %" PRIu64 " of %u bytes", got, length);
    return bad_frame(s, at, what, error);
}

static bw_status skip_frame(framestream *s, uint32_t length, bw_error *error)
{
    const uint64_t at = s->bytes.offset - LENGTH_BYTES;
    uint64_t got;
    BW_TRY(bytestream_skip(&s->bytes, length, &got, error));
    if (got < length)
        return ends_within(s, at, length, got, error);
    s->index++;
    return BW_OK;
}

static bw_status read_frame(framestream *s, uint32_t length, buf *frame, bw_error *error)
{
    const uint64_t at = s->bytes.offset - LENGTH_BYTES;
    uint32_t left = length;
    while (left > 0) {
        const uint32_t step = left < STEP_BYTES ? left : STEP_BYTES;
        size_t got;
        if (buf_reserve(frame, step) != BW_OK)
            return error_set(error, BW_NOMEM, "no memory for a frame of %u bytes", length);
        BW_TRY(bytestream_read(&s->bytes, frame->data + frame->size, step, &got, error));
        frame->size += got;
        left -= (uint32_t)got;
        if (got < step)
            return ends_within(s, at, length, length - left, error);
    }
    s->index++;
    return BW_OK;
}

static bool is_mine(const framestream *s)
{
    return s->index % s->options.shards == s->options.shard;
}

bw_status framestream_skip(framestream *s, uint64_t frames, bw_error *error)
{
    for (uint64_t passed = 0; passed < frames;) {
        uint32_t length;
        if (s->index % TICK_FRAMES == TICK_FRAMES - 1 && s->options.tick != NULL &&
            s->options.tick(s->options.context) != 0)
            return error_set(error, BW_INTERRUPTED, "interrupted after %" PRIu64 " frames", passed);
        const bw_status status = next_length(s, &length, error);
        if (status == BW_END)
            return error_set(error, BW_INPUT_CHANGED,
                             "the input holds %" PRIu64 " frames of this shard, but %" PRIu64
                             " are published already",
                             passed, frames);
        BW_TRY(status);
        const bool mine = is_mine(s);
        BW_TRY(skip_frame(s, length, error));
        passed += mine ? 1 : 0;
    }
    return BW_OK;
}

bw_status framestream_next(framestream *s, void **frame, size_t *size, bw_error *error)
{
    uint32_t length;
    for (;;) {
        BW_TRY(next_length(s, &length, error));
        if (is_mine(s))
            break;
        BW_TRY(skip_frame(s, length, error));
    }
    buf bytes;
    buf_init(&bytes, length > 0 ? length : 1);
    bw_status status = buf_reserve(&bytes, length > 0 && length < STEP_BYTES ? length : 1);
    if (status == BW_OK)
        status = read_frame(s, length, &bytes, error);
    else
        error_set(error, status, "no memory for a frame of %u bytes", length);
    if (status == BW_OK)
        *frame = buf_take(&bytes, size);
    buf_free(&bytes);
    return status;
}

uint64_t framestream_bytes(const framestream *s)
{
    return s->bytes_before + (s->is_open ? s->bytes.offset : 0);
}

void framestream_free(void *frame)
{
    mem_free(frame);
}

void framestream_close(framestream *s)
{
    if (s == NULL)
        return;
    close_source(s);
    mem_free(s);
}
