// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_chain.h"

#include <stdio.h>

bw_status s3_from_environment(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    const char *key_id = net_variable(c->net.environment, "AWS_ACCESS_KEY_ID");
    const char *key = net_variable(c->net.environment, "AWS_SECRET_ACCESS_KEY");
    if (c->settings.named)
        return BW_OK; /* the profile was asked for, not what happens to be there */
    if (*key_id == '\0' && *key == '\0') {
        net_chain_note(&c->net, "AWS_ACCESS_KEY_ID is not set");
        return BW_OK;
    }
    if (*key_id == '\0' || *key == '\0')
        return error_set(error, BW_INVALID,
                         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together; one of "
                         "them is not set");
    out->kind = NET_KEYS_FIXED;
    (void)snprintf(out->source, sizeof out->source, "the environment");
    const bw_status status =
        s3_keys_set(out, key_id, key, net_variable(c->net.environment, "AWS_SESSION_TOKEN"), error);
    if (status != BW_OK)
        error_prefix(error, "the environment");
    return status;
}
