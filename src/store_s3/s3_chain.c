// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_chain.h"

#include <string.h>

/* ---- settings ---- */

static bool copy(char *to, size_t capacity, const char *from)
{
    const size_t size = strlen(from);
    if (size >= capacity)
        return false;
    memcpy(to, from, size + 1);
    return true;
}

static const char *first_of(const char *a, const char *b)
{
    return *a != '\0' ? a : b;
}

static bw_status take_settings(const net_environment *e, const s3_profile *p, s3_settings *s,
                               bw_error *error)
{
    const char *region =
        first_of(net_variable(e, "AWS_REGION"), net_variable(e, "AWS_DEFAULT_REGION"));
    const char *all =
        first_of(net_variable(e, "AWS_ENDPOINT_URL"), s3_profile_get(p, S3_SET_ENDPOINT));
    const char *endpoint = first_of(net_variable(e, "AWS_ENDPOINT_URL_S3"), all);
    const char *sts = first_of(net_variable(e, "AWS_ENDPOINT_URL_STS"), all);
    const char *ca_file =
        first_of(net_variable(e, "AWS_CA_BUNDLE"), s3_profile_get(p, S3_SET_CA_FILE));
    if (!copy(s->region, sizeof s->region, first_of(region, s3_profile_get(p, S3_SET_REGION))) ||
        !copy(s->endpoint, sizeof s->endpoint, endpoint) ||
        !copy(s->sts_endpoint, sizeof s->sts_endpoint, sts) ||
        !copy(s->ca_file, sizeof s->ca_file, ca_file))
        return error_set(error, BW_INVALID,
                         "region, endpoint or CA file of the environment or of profile %s is too "
                         "long",
                         s->profile);
    return BW_OK;
}

bw_status s3_settings_find(const char *profile, const net_environment *e, s3_settings *out,
                           bw_error *error)
{
    s3_profile p;
    memset(out, 0, sizeof *out);
    out->named = *profile != '\0';
    const char *name = first_of(first_of(profile, net_variable(e, "AWS_PROFILE")), "default");
    if (!copy(out->profile, sizeof out->profile, name))
        return error_set(error, BW_INVALID, "the name of the profile is too long");
    bw_status status = s3_profile_load(e, name, &p, error);
    if (status == BW_OK && out->named && !p.found)
        status = error_set(error, BW_INVALID, "there is no profile %s", name);
    if (status == BW_OK)
        status = take_settings(e, &p, out, error);
    s3_profile_clear(&p);
    return status;
}

/* ---- the order ---- */

static const net_source_fn rows[] = {
    s3_from_environment, s3_from_role,      s3_from_web_identity,
    s3_from_profile,     s3_from_container, s3_from_instance,
};

static const net_sources sources = {
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .what = "keys for S3",
    .advice = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile",
};

s3_chain *s3_chain_new(const s3_settings *settings, net_environment *environment)
{
    s3_chain *c = s3_chain_of(net_chain_new(sizeof *c, &sources, environment));
    if (c == NULL)
        return NULL;
    c->settings = *settings;
    memcpy(c->net.ca_file, settings->ca_file, sizeof c->net.ca_file);
    return c;
}
