// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Profiles: sections of the files of AWS's command line. */
#ifndef STORE_S3_S3_PROFILE_H
#define STORE_S3_S3_PROFILE_H

#include "base/error.h"
#include "store_net/net_environment.h"
#include "store_net/net_file.h"
#include <stdbool.h>

/** Each `name = value` of the section `[profile]`, or `[profile NAME]` when `config`; a line that
 * is no such thing is skipped, as AWS's own tools do. True when the section is there. Changes
 * `text`. */
typedef void (*s3_setting_fn)(void *context, const char *name, const char *value);
bool s3_profile_each(char *text, const char *profile, bool config, s3_setting_fn setting,
                     void *context);

typedef enum s3_setting {
    S3_SET_KEY_ID,
    S3_SET_KEY,
    S3_SET_TOKEN,
    S3_SET_REGION,
    S3_SET_ENDPOINT,
    S3_SET_CA_FILE,
    S3_SET_ROLE,
    S3_SET_SOURCE_PROFILE,
    S3_SET_SOURCE,
    S3_SET_EXTERNAL_ID,
    S3_SET_SESSION_NAME,
    S3_SET_DURATION,
    S3_SET_MFA,
    S3_SET_TOKEN_FILE,
    S3_SET_PROCESS,
    S3_SET_SSO_SESSION,
    S3_SET_SSO_URL,
    S3_SET_LOGIN,
    S3_SETTINGS
} s3_setting;

typedef enum s3_file { S3_FILE_CREDENTIALS, S3_FILE_CONFIG, S3_FILES } s3_file;

/** What both files say of one profile. */
typedef struct s3_profile {
    bool found;
    const char *values[S3_FILES][S3_SETTINGS]; /* in the texts; NULL when not there */
    char *texts[S3_FILES];
    size_t sizes[S3_FILES];
    char paths[S3_FILES][NET_PATH_MAX];
} s3_profile;

/** A file that is not there says nothing; BW_INVALID when one cannot be read, BW_NOMEM. Clear it
 * whatever is returned: there are keys in the texts. */
bw_status s3_profile_load(const net_environment *e, const char *name, s3_profile *out,
                          bw_error *error);
void s3_profile_clear(s3_profile *p);
/** Of the credentials file, else of the config file; "" when not there. */
const char *s3_profile_get(const s3_profile *p, s3_setting setting);
/** As the files call it. */
const char *s3_setting_name(s3_setting setting);

#endif
