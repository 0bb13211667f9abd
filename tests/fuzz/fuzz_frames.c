// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The reader of frames. The first four bytes: shards, shard, how the bytes come (file or pipe), the
 * largest frame; the rest is the stream. A second reading of it, written here, must agree. */
#include "fuzz.h"
#include "input/framestream.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD 4u
#define LENGTH_BYTES 4u
#define PIPE_BYTES_MAX 4096u

/* What must be next: a frame of this shard, the end, or damage. */
typedef struct expected {
    const uint8_t *at, *end;
    uint64_t index;
} expected;

static bw_status expect_next(expected *e, const framestream_options *o, view *frame)
{
    for (;;) {
        const size_t left = (size_t)(e->end - e->at);
        if (left == 0)
            return BW_END;
        if (left < LENGTH_BYTES)
            return BW_INPUT_BAD;
        const uint32_t length = load_u32(e->at);
        if (length > o->frame_bytes_max || length > left - LENGTH_BYTES)
            return BW_INPUT_BAD;
        *frame = view_of(e->at + LENGTH_BYTES, length);
        e->at += LENGTH_BYTES + length;
        if (e->index++ % o->shards == o->shard)
            return BW_OK;
    }
}

static uint64_t read_all(framestream *stream, const framestream_options *o, view bytes)
{
    expected e = {bytes.data, bytes.data + bytes.size, 0};
    for (uint64_t frames = 0;; frames++) {
        void *frame = NULL;
        size_t size = 0;
        view wanted;
        bw_error error = {.code = BW_OK};
        const bw_status due = expect_next(&e, o, &wanted);
        PROMISE(framestream_next(stream, &frame, &size, &error) == due);
        if (due != BW_OK) {
            PROMISE(frame == NULL);
            if (due == BW_INPUT_BAD)
                check_told(due, &error);
            return frames;
        }
        PROMISE(view_equal(view_of(frame, size), wanted));
        framestream_free(frame);
    }
}

/* Passing over one more than there are is noticed; passing over all leaves none. */
static void check_skips(framestream_options *o, uint64_t frames, uint64_t more)
{
    framestream *stream = NULL;
    PROMISE(lseek(o->fd, 0, SEEK_SET) == 0);
    PROMISE(framestream_open(o, &stream, NULL) == BW_OK);
    bw_error error = {.code = BW_OK};
    const bw_status status = framestream_skip(stream, frames + more, &error);
    if (more > 0)
        PROMISE(status == BW_INPUT_CHANGED || status == BW_INPUT_BAD);
    else
        PROMISE(status == BW_OK);
    if (status != BW_OK)
        check_told(status, &error);
    framestream_close(stream);
}

static int open_file(view bytes)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("frames", MFD_CLOEXEC);
    PROMISE(fd >= 0 && ftruncate(fd, (off_t)bytes.size) == 0);
    PROMISE(bytes.size == 0 || pwrite(fd, bytes.data, bytes.size, 0) == (ssize_t)bytes.size);
    PROMISE(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static int open_pipe(view bytes)
{
    int ends[2];
    PROMISE(pipe2(ends, O_CLOEXEC) == 0);
    PROMISE(bytes.size == 0 || write(ends[1], bytes.data, bytes.size) == (ssize_t)bytes.size);
    close(ends[1]);
    return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const view bytes = view_of(data + HEAD, size - HEAD);
    const bool piped = (data[2] & 1) != 0 && bytes.size <= PIPE_BYTES_MAX;
    framestream_options o = {
        .name = "stream",
        .shards = 1 + data[0] % 4u,
        .frame_bytes_max = data[3] == 255 ? UINT32_MAX : data[3] * 16u,
    };
    o.shard = data[1] % o.shards;
    o.fd = piped ? open_pipe(bytes) : open_file(bytes);
    framestream *stream = NULL;
    meter_start();
    PROMISE(framestream_open(&o, &stream, NULL) == BW_OK);
    const uint64_t frames = read_all(stream, &o, bytes);
    framestream_close(stream);
    /* Two steps ahead of the bytes, and the buffer. */
    PROMISE(meter_peak() <= ((size_t)3 << 20));
    if (piped) {
        close(o.fd);
        return 0;
    }
    check_skips(&o, frames, 0);
    check_skips(&o, frames, 1);
    return 0;
}
