// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_store.h"

#include <string.h>

bw_status net_check_prefix(const char *prefix, size_t bytes_max, bw_error *error)
{
    bool good = strlen(prefix) <= bytes_max;
    for (const char *at = prefix; good && *prefix != '\0';) {
        const size_t size = strcspn(at, "/");
        good = size > 0 && !(size <= 2 && strncmp(at, "..", size) == 0);
        for (size_t i = 0; i < size && good; i++)
            good = (unsigned char)at[i] >= ' ' && at[i] != 127;
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    if (!good)
        return error_set(error, BW_INVALID,
                         "the prefix \"%.100s\" has segments that are empty, . or .., or more than "
                         "%zu bytes",
                         prefix, bytes_max);
    return BW_OK;
}

bw_status net_find_origin(const char *endpoint, bool plain_http, uri_origin *out, bw_error *error)
{
    BW_TRY(uri_parse_origin(endpoint, out, error));
    if (!out->tls && !out->loopback && !plain_http)
        return error_set(error, BW_INVALID,
                         "endpoint %.120s: plain http to another machine shows everybody on the "
                         "way what is stored; write https, or plain_http=true",
                         endpoint);
    return BW_OK;
}
