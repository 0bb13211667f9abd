// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Keys of AWS: an id, a secret, often a token; and the JSON document that programs and services
 * hand them out in. */
#ifndef STORE_S3_S3_KEYS_H
#define STORE_S3_S3_KEYS_H

#include "store_net/net_keys.h"

/** BW_INVALID when there is a byte that no header can have, or too many; BW_NOMEM. */
bw_status s3_keys_set(net_keys *k, const char *key_id, const char *key, const char *token,
                      bw_error *error);
/** When they end, as ISO 8601 by a clock that shows `now_ms`; "": they do not. BW_CORRUPT. */
bw_status s3_keys_set_end(net_keys *k, const char *expiration, int64_t now_ms, bw_error *error);

/** AccessKeyId, SecretAccessKey, `token_name` and Expiration of a JSON object; whatever else there
 * is, is passed over. A `Code` that is not Success is the service's refusal: BW_DENIED. BW_CORRUPT
 * when it is no such document. No text of the document but Code is in the error. */
bw_status s3_keys_parse(net_keys *k, const void *json, size_t size, const char *token_name,
                        int64_t now_ms, bw_error *error);

#endif
