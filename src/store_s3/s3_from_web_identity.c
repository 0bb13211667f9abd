// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A token in a file that somebody keeps fresh (Kubernetes does), for the keys of a role. */
#include "store_s3/s3_source.h"

#include <stdio.h>

bw_status s3_web_identity_keys(s3_chain *c, const char *path, const char *role, const char *session,
                               net_keys *out, bw_error *error)
{
    secret token = {NULL, 0};
    (void)snprintf(out->source, sizeof out->source, "web identity of role %.120s", role);
    /* Read each time: it is replaced before it ends. */
    bw_status status = net_file_secret(path, &token, error);
    if (status == BW_OK) {
        const uri_parameter parameters[] = {
            {"RoleArn", role},
            {"RoleSessionName", *session != '\0' ? session : "batchweave"},
            {"WebIdentityToken", secret_text(&token)},
        };
        const s3_sts call = {.action = "AssumeRoleWithWebIdentity",
                             .parameters = parameters,
                             .count = sizeof parameters / sizeof parameters[0],
                             .hidden = &token};
        status = s3_sts_keys(c, &call, out, error);
    }
    secret_clear(&token);
    if (status != BW_OK)
        error_prefix(error, "web identity of role %.120s", role);
    return status;
}

bw_status s3_from_web_identity(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    const net_environment *e = c->net.environment;
    const char *path = net_variable(e, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *role = net_variable(e, "AWS_ROLE_ARN");
    if (c->settings.named)
        return BW_OK;
    if (*path == '\0') {
        net_chain_note(&c->net, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
        return BW_OK;
    }
    if (*role == '\0')
        return error_set(error, BW_INVALID,
                         "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not");
    return s3_web_identity_keys(c, path, role, net_variable(e, "AWS_ROLE_SESSION_NAME"), out,
                                error);
}
