// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/bytestream.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (256u * 1024u)
#define TICK_MS 200

static bw_status fail(bytestream *s, int number, bw_error *error)
{
    char text[128];
    s->failed = true;
    error_set(error, BW_INPUT_BAD, "input %s at byte %" PRIu64 ": cannot be read: %s", s->name,
              s->offset, strerror_r(number, text, sizeof text));
    error_set_key(error, s->name);
    return BW_INPUT_BAD;
}

bw_status bytestream_open(bytestream *s, int fd, const char *name, int (*tick)(void *),
                          void *context, bw_error *error)
{
    *s = (bytestream){.fd = fd, .name = name, .tick = tick, .context = context};
    struct stat seen;
    if (fstat(fd, &seen) != 0)
        return fail(s, errno, error);
    if (S_ISDIR(seen.st_mode))
        return fail(s, EISDIR, error);
    /* A shell may have handed over a file that is read up to some place already: skipping by
     * seeking is relative, so only the end must be known. */
    const off_t here = S_ISREG(seen.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    s->regular = here >= 0;
    s->file_end = s->regular && seen.st_size > here ? (uint64_t)(seen.st_size - here) : 0;
    s->buffer = mem_alloc(BUFFER_BYTES);
    if (s->buffer == NULL)
        return error_set(error, BW_NOMEM, "no memory to read %s", name);
    return BW_OK;
}

/** Waits until reading does not block; a regular file never does. */
static bw_status await(bytestream *s, bw_error *error)
{
    while (!s->regular) {
        struct pollfd wait = {.fd = s->fd, .events = POLLIN};
        const int ready = poll(&wait, 1, TICK_MS);
        if (ready > 0)
            break;
        if (ready < 0 && errno != EINTR)
            return fail(s, errno, error);
        if (s->tick != NULL && s->tick(s->context) != 0)
            return error_set(error, BW_INTERRUPTED, "interrupted while waiting for input %s",
                             s->name);
    }
    return BW_OK;
}

/** One read into `out`; `*got` is 0 at the end. */
static bw_status read_once(bytestream *s, void *out, size_t size, size_t *got, bw_error *error)
{
    for (;;) {
        BW_TRY(await(s, error));
        const ssize_t n = read(s->fd, out, size);
        if (n >= 0) {
            *got = (size_t)n;
            return BW_OK;
        }
        if (errno != EINTR && errno != EAGAIN)
            return fail(s, errno, error);
    }
}

static size_t take(bytestream *s, uint8_t *out, size_t size)
{
    const size_t have = s->fill - s->at;
    const size_t taken = size < have ? size : have;
    if (out != NULL && taken > 0)
        memcpy(out, s->buffer + s->at, taken);
    s->at += taken;
    s->offset += taken;
    return taken;
}

bw_status bytestream_read(bytestream *s, void *out, size_t size, size_t *got, bw_error *error)
{
    uint8_t *to = out;
    *got = 0;
    while (*got < size) {
        *got += take(s, to + *got, size - *got);
        if (*got == size)
            break;
        /* What is at least a buffer goes straight to the caller. */
        const bool direct = size - *got >= BUFFER_BYTES;
        size_t n;
        BW_TRY(read_once(s, direct ? to + *got : s->buffer, direct ? size - *got : BUFFER_BYTES, &n,
                         error));
        if (n == 0)
            break;
        if (direct) {
            *got += n;
            s->offset += n;
        } else {
            s->at = 0;
            s->fill = n;
        }
    }
    return BW_OK;
}

bw_status bytestream_peek(bytestream *s, size_t size, const uint8_t **bytes, size_t *got,
                          bw_error *error)
{
    const size_t have = s->fill - s->at;
    if (have < size && s->at > 0) {
        memmove(s->buffer, s->buffer + s->at, have);
        s->at = 0;
        s->fill = have;
    }
    while (s->fill - s->at < size) {
        size_t n;
        BW_TRY(read_once(s, s->buffer + s->fill, BUFFER_BYTES - s->fill, &n, error));
        if (n == 0)
            break;
        s->fill += n;
    }
    *bytes = s->buffer + s->at;
    *got = s->fill - s->at < size ? s->fill - s->at : size;
    return BW_OK;
}

bw_status bytestream_until(bytestream *s, uint8_t stop, buf *out, size_t max, uint64_t *taken,
                           bool *found, bw_error *error)
{
    *taken = 0;
    *found = false;
    while (!*found) {
        const uint8_t *bytes;
        size_t have;
        BW_TRY(bytestream_peek(s, 1, &bytes, &have, error));
        if (have == 0)
            break;
        have = s->fill - s->at;
        const uint8_t *end = memchr(bytes, stop, have);
        *found = end != NULL;
        const size_t piece = *found ? (size_t)(end - bytes) + 1 : have;
        const uint64_t room = *taken < max ? max - *taken : 0;
        if (out != NULL)
            buf_put(out, bytes, piece < room ? piece : (size_t)room);
        if (out != NULL && buf_status(out) != BW_OK)
            return error_set(error, buf_status(out), "no memory to read %s", s->name);
        *taken += take(s, NULL, piece);
    }
    return BW_OK;
}

/** A regular file: by seeking, as far as it reaches. */
static bw_status seek_over(bytestream *s, uint64_t size, uint64_t *skipped, bw_error *error)
{
    const uint64_t left = s->file_end > s->offset ? s->file_end - s->offset : 0;
    *skipped = size < left ? size : left;
    if (*skipped > 0 && lseek(s->fd, (off_t)*skipped, SEEK_CUR) < 0)
        return fail(s, errno, error);
    s->offset += *skipped;
    return BW_OK;
}

bw_status bytestream_skip(bytestream *s, uint64_t size, uint64_t *got, bw_error *error)
{
    const uint64_t have = s->fill - s->at;
    *got = take(s, NULL, size < have ? (size_t)size : (size_t)have);
    if (s->regular && *got < size) {
        uint64_t skipped;
        BW_TRY(seek_over(s, size - *got, &skipped, error));
        *got += skipped;
        return BW_OK;
    }
    while (*got < size) {
        size_t n;
        BW_TRY(read_once(s, s->buffer, BUFFER_BYTES, &n, error));
        if (n == 0)
            break;
        s->at = 0;
        s->fill = n;
        const uint64_t rest = size - *got;
        *got += take(s, NULL, rest < n ? (size_t)rest : n);
    }
    return BW_OK;
}

void bytestream_close(bytestream *s)
{
    mem_free(s->buffer);
    s->buffer = NULL;
}
