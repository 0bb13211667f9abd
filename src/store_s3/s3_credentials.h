// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Credentials where users of S3 have them: the environment, or the shared credentials and config
 * files with their profiles. Nothing is fetched from anywhere.
 */
#ifndef STORE_S3_S3_CREDENTIALS_H
#define STORE_S3_S3_CREDENTIALS_H

#include "base/error.h"
#include "http/secret.h"

#define S3_TEXT_MAX 256u

typedef struct s3_credentials {
    char key_id[S3_TEXT_MAX];
    secret key, token;
    char source[S3_TEXT_MAX]; /* where they were found, for messages */
    /* What the environment or the profile says beside them; "" when nothing. */
    char region[64];
    char endpoint[S3_TEXT_MAX];
    char ca_file[1024];
} s3_credentials;

/** How the environment is read; tests have their own. */
typedef struct s3_environment {
    const char *(*get)(void *context, const char *name);
    void *context;
} s3_environment;
const s3_environment *s3_environment_system(void);

/** `profile` "": AWS_PROFILE, else "default". A profile that is named goes before keys in the
 * environment. `anonymous`: no keys are wanted. BW_DENIED when there are none; BW_UNSUPPORTED when
 * the profile gets them in a way that is not supported; BW_INVALID when a file cannot be read. */
bw_status s3_credentials_find(const char *profile, bool anonymous,
                              const s3_environment *environment, s3_credentials *out,
                              bw_error *error);
void s3_credentials_clear(s3_credentials *c);

/** Each `name = value` of the section `[profile]`, or `[profile NAME]` when `config`; a line that
 * is no such thing is skipped, as AWS's own tools do. True when the section is there. Changes
 * `text`. */
typedef void (*s3_setting_fn)(void *context, const char *name, const char *value);
bool s3_profile_each(char *text, const char *profile, bool config, s3_setting_fn setting,
                     void *context);

#endif
