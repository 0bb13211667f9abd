// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** place: the store at a URL. The one file that knows which stores there are. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include "api/config.h"
#include "store/store.h"

/** `file:///path`, a plain path, `s3://bucket/prefix?setting=value&…`, `gs://bucket/prefix?…` or
 * `az://account/container/prefix?…`, where the settings are those of the scope "store"; what the
 * URL says goes before `config`. */
bw_status place_open(const char *url, const bw_config *config, bool writable, store **out,
                     bw_error *error);
/** Whether the URL names a bucket, and no directory. */
bool place_is_bucket(const char *url);

#endif
