// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Keys that a profile has itself, or that a program it names hands out. */
#include "store_s3/s3_source.h"

#include <stdio.h>

/* Both of a file, or none. */
static bw_status keys_of_file(const s3_profile *p, const char *name, s3_file file, net_keys *out,
                              bw_error *error)
{
    const char *const *values = p->values[file];
    const char *key_id = values[S3_SET_KEY_ID] != NULL ? values[S3_SET_KEY_ID] : "";
    const char *key = values[S3_SET_KEY] != NULL ? values[S3_SET_KEY] : "";
    const char *token = values[S3_SET_TOKEN] != NULL ? values[S3_SET_TOKEN] : "";
    if (*key_id == '\0' && *key == '\0')
        return BW_OK;
    if (*key_id == '\0' || *key == '\0')
        return error_set(error, BW_INVALID, "profile %s of %s has no %s", name, p->paths[file],
                         s3_setting_name(*key == '\0' ? S3_SET_KEY : S3_SET_KEY_ID));
    out->kind = NET_KEYS_STORED;
    (void)snprintf(out->source, sizeof out->source, "profile %.64s of %.160s", name,
                   p->paths[file]);
    const bw_status status = s3_keys_set(out, key_id, key, token, error);
    if (status != BW_OK)
        error_prefix(error, "profile %s of %s", name, p->paths[file]);
    return status;
}

bw_status s3_profile_keys(s3_chain *c, const s3_profile *p, const char *name, net_keys *out,
                          bw_error *error)
{
    static const s3_setting elsewhere[] = {S3_SET_SSO_SESSION, S3_SET_SSO_URL, S3_SET_LOGIN};
    const char *command = s3_profile_get(p, S3_SET_PROCESS);
    BW_TRY(keys_of_file(p, name, S3_FILE_CREDENTIALS, out, error));
    if (!secret_is_set(&out->key) && *command != '\0') {
        (void)snprintf(out->source, sizeof out->source, "credential_process of profile %.64s",
                       name);
        return s3_process_keys(c, command, out, error);
    }
    if (!secret_is_set(&out->key))
        BW_TRY(keys_of_file(p, name, S3_FILE_CONFIG, out, error));
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        if (!secret_is_set(&out->key) && *s3_profile_get(p, elsewhere[i]) != '\0')
            return error_set(error, BW_UNSUPPORTED,
                             "profile %s gets its keys by %s, which is not supported: run aws "
                             "configure export-credentials --profile %s --format env, or name a "
                             "program as credential_process",
                             name, s3_setting_name(elsewhere[i]), name);
    }
    return BW_OK;
}

bw_status s3_from_profile(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    s3_profile p;
    const char *name = c->settings.profile;
    bw_status status = s3_profile_load(c->net.environment, name, &p, error);
    if (status == BW_OK)
        status = s3_profile_keys(c, &p, name, out, error);
    if (status == BW_OK && !secret_is_set(&out->key))
        net_chain_note(&c->net, p.found ? "profile %s has no keys" : "there is no profile %s",
                       name);
    s3_profile_clear(&p);
    return status;
}
