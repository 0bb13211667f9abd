// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/filereader.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_BYTES 10u

/** What unpacks a file that is compressed, by its first bytes; NULL: it is not. */
static const char *unpacker(const uint8_t *bytes, size_t size)
{
    static const struct {
        size_t at;
        const char *magic, *program;
    } rows[] = {
        {0, "\x1f\x8b", "zcat"},
        {0, "\x28\xb5\x2f\xfd", "zstdcat"},
        {1, "7zXZ", "xzcat"},
        {4, "1AY&SY", "bzcat"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t length = strlen(rows[i].magic);
        if (size >= rows[i].at + length && memcmp(bytes + rows[i].at, rows[i].magic, length) == 0)
            return rows[i].program;
    }
    return NULL;
}

const document *filereader_document(const filereader *f)
{
    return &f->options.files->list[f->file];
}

static void close_file(filereader *f)
{
    if (!f->is_open)
        return;
    f->broken = filereader_broken(f);
    f->bytes_before += f->bytes.offset;
    bytestream_close(&f->bytes);
    if (f->owns_fd)
        close(f->bytes.fd);
    f->is_open = false;
}

void filereader_go(filereader *f, uint64_t file, uint64_t at)
{
    close_file(f);
    f->file = file;
    f->at = at;
}

static bw_status check_listed(const filereader *f, int fd, bw_error *error)
{
    struct stat seen;
    const document *doc = filereader_document(f);
    if (fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode) && f->owns_fd &&
        (uint64_t)seen.st_size != doc->size)
        return record_fail(error, BW_INPUT_CHANGED, doc, f->at,
                           "the file changed since this run listed it");
    return BW_OK;
}

static bw_status go_there(filereader *f, bw_error *error)
{
    const document *doc = filereader_document(f);
    const uint8_t *bytes;
    size_t got;
    BW_TRY(bytestream_peek(&f->bytes, MAGIC_BYTES, &bytes, &got, error));
    const char *unpack = unpacker(bytes, got);
    if (unpack != NULL)
        return record_fail(error, BW_INPUT_BAD, doc, 0,
                           "it is compressed; unpack it, or pipe it: %s FILE | batchweave produce "
                           "… -",
                           unpack);
    uint64_t passed;
    BW_TRY(bytestream_skip(&f->bytes, f->at, &passed, error));
    if (passed < f->at)
        return record_fail(error, BW_INPUT_CHANGED, doc, passed,
                           "it ends before the place that this run goes on at");
    return BW_OK;
}

static bw_status open_file(filereader *f, bw_error *error)
{
    const document *doc = filereader_document(f);
    f->owns_fd = strcmp(doc->path, "-") != 0;
    const int fd = f->owns_fd ? open(doc->path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0) {
        char text[128];
        const bool gone = errno == ENOENT || errno == ENOTDIR;
        return record_fail(error, gone ? BW_INPUT_CHANGED : BW_INPUT_BAD, doc, f->at,
                           "cannot be opened: %s", strerror_r(errno, text, sizeof text));
    }
    f->is_open = true;
    bw_status status =
        bytestream_open(&f->bytes, fd, doc->name, f->options.tick, f->options.context, error);
    if (status == BW_OK)
        status = check_listed(f, fd, error);
    if (status == BW_OK)
        status = go_there(f, error);
    if (status != BW_OK)
        close_file(f);
    return status;
}

bw_status filereader_open(filereader *f, bw_error *error)
{
    const bw_status status = f->is_open ? BW_OK : open_file(f, error);
    f->broken = f->broken || status != BW_OK;
    return status;
}

bool filereader_broken(const filereader *f)
{
    return f->broken || (f->is_open && f->bytes.failed);
}

uint64_t filereader_at(const filereader *f)
{
    return f->is_open ? f->bytes.offset : f->at;
}

uint64_t filereader_bytes(const filereader *f)
{
    return f->bytes_before + (f->is_open ? f->bytes.offset : 0);
}
