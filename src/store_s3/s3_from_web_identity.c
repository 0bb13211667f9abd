// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A token in a file that somebody keeps fresh (Kubernetes does), for the keys of a role. */
#include "store_s3/s3_source.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

static bw_status read_token(const char *path, secret *out, bw_error *error)
{
    char *text = NULL;
    size_t size = 0;
    BW_TRY(s3_file_read(path, &text, &size, error));
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
    secret_wipe(text, size);
    mem_free(text);
    return status;
}

bw_status s3_web_identity_keys(s3_chain *c, const char *path, const char *role, const char *session,
                               s3_keys *out, bw_error *error)
{
    secret token = {NULL, 0};
    (void)snprintf(out->source, sizeof out->source, "web identity of role %.120s", role);
    /* Read each time: it is replaced before it ends. */
    bw_status status = read_token(path, &token, error);
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

bw_status s3_from_web_identity(s3_chain *c, s3_keys *out, bw_error *error)
{
    const s3_environment *e = c->environment;
    const char *path = s3_variable(e, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *role = s3_variable(e, "AWS_ROLE_ARN");
    if (c->settings.named)
        return BW_OK;
    if (*path == '\0') {
        s3_chain_note(c, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
        return BW_OK;
    }
    if (*role == '\0')
        return error_set(error, BW_INVALID,
                         "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not");
    return s3_web_identity_keys(c, path, role, s3_variable(e, "AWS_ROLE_SESSION_NAME"), out, error);
}
