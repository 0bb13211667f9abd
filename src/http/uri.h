// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Percent-encoding (RFC 3986) as request signing wants it, and the parts of an endpoint. */
#ifndef HTTP_URI_H
#define HTTP_URI_H

#include "base/buf.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/** Everything but letters, digits and `-._~` becomes %XX in upper case; `/` stays on request. */
void uri_encode(buf *out, const char *text, size_t size, bool keep_slash);

typedef struct uri_parameter {
    const char *name, *value; /* plain */
} uri_parameter;

#define URI_PARAMETERS_MAX 16u
/** name=value pairs, encoded and in byte order of their encoded form: canonical, and what is sent.
 * More than URI_PARAMETERS_MAX: BW_TOO_LARGE of `out`. */
void uri_query(buf *out, const uri_parameter *parameters, size_t count);

/** Decodes %XX in place, and with `blanks` `+` as one; the new size, which is more than that of the
 * text when there is a NUL in it; SIZE_MAX when a % is not followed by two hex digits. */
size_t uri_decode(char *text, bool blanks);

#define URI_HOST_MAX 255u

/** An origin: `https://host`, `http://127.0.0.1:9000`, `https://[::1]:9000`. */
typedef struct uri_origin {
    bool tls;
    bool loopback;               /* localhost, 127.0.0.0/8 or ::1, by name: nothing is looked up */
    uint16_t port;               /* 0: the scheme's */
    char host[URI_HOST_MAX + 1]; /* lower case, with brackets if it has colons */
} uri_origin;

/** BW_INVALID unless it is scheme, host and port alone. */
bw_status uri_parse_origin(const char *text, uri_origin *out, bw_error *error);

#endif
