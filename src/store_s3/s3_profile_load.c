// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_profile.h"

#include <stdio.h>
#include <string.h>

static const char *const names[S3_SETTINGS] = {
    [S3_SET_KEY_ID] = "aws_access_key_id",
    [S3_SET_KEY] = "aws_secret_access_key",
    [S3_SET_TOKEN] = "aws_session_token",
    [S3_SET_REGION] = "region",
    [S3_SET_ENDPOINT] = "endpoint_url",
    [S3_SET_CA_FILE] = "ca_bundle",
    [S3_SET_ROLE] = "role_arn",
    [S3_SET_SOURCE_PROFILE] = "source_profile",
    [S3_SET_SOURCE] = "credential_source",
    [S3_SET_EXTERNAL_ID] = "external_id",
    [S3_SET_SESSION_NAME] = "role_session_name",
    [S3_SET_DURATION] = "duration_seconds",
    [S3_SET_MFA] = "mfa_serial",
    [S3_SET_TOKEN_FILE] = "web_identity_token_file",
    [S3_SET_PROCESS] = "credential_process",
    [S3_SET_SSO_SESSION] = "sso_session",
    [S3_SET_SSO_URL] = "sso_start_url",
    [S3_SET_LOGIN] = "login_session",
};

const char *s3_setting_name(s3_setting setting)
{
    return names[setting];
}

static void take_setting(void *context, const char *name, const char *value)
{
    const char **values = context;
    for (size_t i = 0; i < S3_SETTINGS; i++) {
        if (strcmp(name, names[i]) == 0)
            values[i] = value;
    }
}

static bool file_path(s3_file file, const net_environment *e, char path[NET_PATH_MAX])
{
    static const struct {
        const char *variable; /* that names it */
        const char *usual;    /* below the home directory */
    } files[S3_FILES] = {
        [S3_FILE_CREDENTIALS] = {"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"},
        [S3_FILE_CONFIG] = {"AWS_CONFIG_FILE", ".aws/config"},
    };
    const char *named = net_variable(e, files[file].variable);
    const char *home = net_variable(e, "HOME");
    const int size = *named != '\0'
                         ? snprintf(path, NET_PATH_MAX, "%s", named)
                         : snprintf(path, NET_PATH_MAX, "%s/%s", home, files[file].usual);
    return (*named != '\0' || *home != '\0') && size > 0 && (size_t)size < NET_PATH_MAX;
}

bw_status s3_profile_load(const net_environment *e, const char *name, s3_profile *out,
                          bw_error *error)
{
    memset(out, 0, sizeof *out);
    for (s3_file i = 0; i < S3_FILES; i++) {
        if (!file_path(i, e, out->paths[i]))
            continue;
        BW_TRY(net_file_read(out->paths[i], &out->texts[i], &out->sizes[i], error));
        if (out->texts[i] != NULL &&
            s3_profile_each(out->texts[i], name, i == S3_FILE_CONFIG, take_setting, out->values[i]))
            out->found = true;
    }
    return BW_OK;
}

void s3_profile_clear(s3_profile *p)
{
    for (s3_file i = 0; i < S3_FILES; i++)
        net_file_free(p->texts[i], p->sizes[i]);
    memset(p, 0, sizeof *p);
}

const char *s3_profile_get(const s3_profile *p, s3_setting setting)
{
    for (s3_file i = 0; i < S3_FILES; i++) {
        if (p->values[i][setting] != NULL && p->values[i][setting][0] != '\0')
            return p->values[i][setting];
    }
    return "";
}
