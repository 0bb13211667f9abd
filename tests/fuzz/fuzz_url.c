// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* URLs of stores. Opening for reading never writes, so any path may be named. */
#include "fuzz.h"
#include "store/store.h"
#include <stdio.h>
#include <string.h>

#define URL_MAX 1024u

static bw_status try_url(const char *url)
{
    store *s = NULL;
    bw_error error = {.code = BW_OK};
    const bw_status status = store_open_url(url, false, false, &s, &error);
    PROMISE((status == BW_OK) == (s != NULL));
    if (status == BW_OK) {
        store_close(s);
        return status;
    }
    PROMISE(status == BW_INVALID || status == BW_UNSUPPORTED || status == BW_NO_NAMESPACE ||
            status == BW_DENIED || status == BW_IO);
    check_told(status, &error);
    return status;
}

/* An absolute path, and a file URL that writes all of it as %xx, mean the same place. */
static void check_escaped(const char *path, bw_status status)
{
    char url[8 + 3 * URL_MAX] = "file://";
    size_t at = strlen(url);
    for (const char *c = path; *c != '\0'; c++)
        at += (size_t)snprintf(url + at, sizeof url - at, *c == '/' ? "/" : "%%%02x",
                               (unsigned)(unsigned char)*c);
    /* Three slashes and then another one: the authority is empty all the same. */
    PROMISE(try_url(url) == status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char url[URL_MAX + 1];
    if (size > URL_MAX)
        return 0;
    if (size > 0)
        memcpy(url, data, size);
    url[size] = '\0';
    const bw_status status = try_url(url);
    if (url[0] == '/' && strncmp(url, "/proc", 5) != 0)
        check_escaped(url, status);
    return 0;
}
