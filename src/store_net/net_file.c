// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20)

bw_status net_file_read(const char *path, char **text, size_t *size, bw_error *error)
{
    struct stat info;
    char why[128];
    *text = NULL;
    *size = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return BW_OK;
    if (fd < 0)
        return error_set(error, BW_INVALID, "%s cannot be read: %s", path,
                         strerror_r(errno, why, sizeof why));
    bw_status status = BW_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        status =
            error_set(error, BW_INVALID, "%s is no file of at most %u bytes", path, FILE_BYTES_MAX);
    else if ((*text = mem_zalloc((size_t)info.st_size + 1)) == NULL)
        status = error_set(error, BW_NOMEM, "no memory for credentials");
    if (*text != NULL)
        *size = (size_t)info.st_size;
    for (size_t at = 0; at < *size;) {
        const ssize_t got = read(fd, *text + at, *size - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break; /* shorter by now: zeroes end it */
        at += (size_t)got;
    }
    (void)close(fd);
    return status;
}

void net_file_free(char *text, size_t size)
{
    if (text != NULL)
        secret_wipe(text, size);
    mem_free(text);
}

bw_status net_file_secret(const char *path, secret *out, bw_error *error)
{
    char *text = NULL;
    size_t size = 0;
    BW_TRY(net_file_read(path, &text, &size, error));
    if (text == NULL)
        return error_set(error, BW_INVALID, "there is no %s", path);
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    bw_status status = secret_set(out, text, length);
    if (status != BW_OK)
        (void)error_set(error, status, "%s: too long, or no memory for it", path);
    else if (length == 0)
        status = error_set(error, BW_INVALID, "%s is empty", path);
    net_file_free(text, size);
    return status;
}
