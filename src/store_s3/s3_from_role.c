// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A role that the profile assumes, with the keys of another profile or of a source that it names.
 */
#include "store_s3/s3_source.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

/* Roles that assume roles: each is a call, and who wrote a circle gets an end. */
#define ROLES_MAX 5u

static bw_status role_keys(s3_chain *c, const s3_profile *p, const char *name, unsigned depth,
                           net_keys *out, bw_error *error);

/* The keys of `name`, for a role of another profile, or for one of its own. */
static bw_status profile_keys(s3_chain *c, const char *name, unsigned depth, net_keys *out,
                              bw_error *error)
{
    s3_profile *p = mem_zalloc(sizeof *p);
    if (p == NULL)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    bw_status status = s3_profile_load(c->net.environment, name, p, error);
    if (status == BW_OK && !p->found)
        status = error_set(error, BW_INVALID, "there is no profile %s, which source_profile names",
                           name);
    if (status == BW_OK)
        status = s3_profile_keys(c, p, name, out, error);
    if (status == BW_OK && !secret_is_set(&out->key))
        status = role_keys(c, p, name, depth + 1, out, error);
    if (status == BW_OK && !secret_is_set(&out->key))
        status = error_set(error, BW_DENIED,
                           "profile %s, which source_profile names, has no keys and no role", name);
    s3_profile_clear(p);
    mem_free(p);
    return status;
}

static bw_status source_keys(s3_chain *c, const char *source, const char *name, net_keys *out,
                             bw_error *error)
{
    static const struct {
        const char *name;
        net_source_fn fetch;
    } known[] = {{"Environment", s3_from_environment},
                 {"EcsContainer", s3_from_container},
                 {"Ec2InstanceMetadata", s3_from_instance}};
    const bool named = c->settings.named;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(source, known[i].name) != 0)
            continue;
        c->settings.named = false; /* the profile asks for it */
        const bw_status status = known[i].fetch(&c->net, out, error);
        c->settings.named = named;
        if (status == BW_OK && !secret_is_set(&out->key))
            return error_set(error, BW_DENIED,
                             "profile %s takes keys by credential_source %s, which has none: %s",
                             name, source, c->net.looked);
        return status;
    }
    return error_set(error, BW_INVALID,
                     "profile %s: credential_source is Environment, EcsContainer or "
                     "Ec2InstanceMetadata",
                     name);
}

static bw_status assume(s3_chain *c, const s3_profile *p, const char *name, const net_keys *signer,
                        net_keys *out, bw_error *error)
{
    const char *session = s3_profile_get(p, S3_SET_SESSION_NAME);
    const char *role = s3_profile_get(p, S3_SET_ROLE);
    const uri_parameter parameters[] = {
        {"RoleArn", role},
        {"RoleSessionName", *session != '\0' ? session : "batchweave"},
        {"ExternalId", s3_profile_get(p, S3_SET_EXTERNAL_ID)},
        {"DurationSeconds", s3_profile_get(p, S3_SET_DURATION)},
    };
    const s3_sts call = {.action = "AssumeRole",
                         .parameters = parameters,
                         .count = sizeof parameters / sizeof parameters[0],
                         .signer = signer};
    (void)snprintf(out->source, sizeof out->source, "role %.120s of profile %.64s", role, name);
    const bw_status status = s3_sts_keys(c, &call, out, error);
    if (status != BW_OK)
        error_prefix(error, "role %.120s of profile %.64s, assumed with %.120s", role, name,
                     signer->source);
    return status;
}

static bw_status role_keys(s3_chain *c, const s3_profile *p, const char *name, unsigned depth,
                           net_keys *out, bw_error *error)
{
    const char *from = s3_profile_get(p, S3_SET_SOURCE_PROFILE);
    const char *source = s3_profile_get(p, S3_SET_SOURCE);
    const char *role = s3_profile_get(p, S3_SET_ROLE);
    const char *token_file = s3_profile_get(p, S3_SET_TOKEN_FILE);
    if (*role == '\0')
        return BW_OK;
    if (*token_file != '\0')
        return s3_web_identity_keys(c, token_file, role, s3_profile_get(p, S3_SET_SESSION_NAME),
                                    out, error);
    if (*s3_profile_get(p, S3_SET_MFA) != '\0')
        return error_set(error, BW_UNSUPPORTED,
                         "profile %s has an mfa_serial: nobody is there to type a code; export "
                         "keys (aws configure export-credentials --profile %s --format env)",
                         name, name);
    if (depth >= ROLES_MAX)
        return error_set(error, BW_INVALID,
                         "profile %s: source_profile leads from role to role more than %u times",
                         name, ROLES_MAX);
    if (*from == '\0' && *source == '\0')
        return error_set(error, BW_INVALID,
                         "profile %s has a role_arn, but neither source_profile nor "
                         "credential_source",
                         name);
    net_keys signer = {.expires_ns = 0};
    bw_status status = *from != '\0' ? profile_keys(c, from, depth, &signer, error)
                                     : source_keys(c, source, name, &signer, error);
    if (status == BW_OK)
        status = assume(c, p, name, &signer, out, error);
    net_keys_clear(&signer);
    return status;
}

bw_status s3_from_role(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    s3_profile p;
    const char *name = c->settings.profile;
    bw_status status = s3_profile_load(c->net.environment, name, &p, error);
    if (status == BW_OK && !p.found && strcmp(name, "default") != 0)
        status = error_set(error, BW_INVALID, "there is no profile %s", name);
    if (status == BW_OK)
        status = role_keys(c, &p, name, 0, out, error);
    s3_profile_clear(&p);
    return status;
}
