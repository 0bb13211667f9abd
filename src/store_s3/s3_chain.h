// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The chain: the sources of keys, in the order in which AWS's command line asks them. Each source
 * is a file of its own with one function (s3_from_*.c).
 */
#ifndef STORE_S3_S3_CHAIN_H
#define STORE_S3_S3_CHAIN_H

#include "store_net/net_chain.h"
#include "store_s3/s3_keys.h"
#include "store_s3/s3_profile.h"

/** What the environment and the profile say beside keys; "" when nothing. */
typedef struct s3_settings {
    char profile[128];
    bool named; /* the profile was: it goes before keys in the environment */
    char region[64];
    char endpoint[NET_TEXT_MAX];
    char sts_endpoint[NET_TEXT_MAX]; /* of the security token service */
    char ca_file[NET_PATH_MAX];
} s3_settings;

/** `profile` "": AWS_PROFILE, else "default". BW_INVALID when a profile that was named is not
 * there, or a file cannot be read. */
bw_status s3_settings_find(const char *profile, const net_environment *e, s3_settings *out,
                           bw_error *error);

typedef struct s3_chain {
    net_chain net;
    s3_settings settings;
} s3_chain;

/** Takes over `environment`, whatever is returned; NULL when there is no memory. */
s3_chain *s3_chain_new(const s3_settings *settings, net_environment *environment);

/* The sources, in their order. */
bw_status s3_from_environment(net_chain *c, net_keys *out, bw_error *error);
bw_status s3_from_role(net_chain *c, net_keys *out, bw_error *error); /* role_arn of the profile */
bw_status s3_from_web_identity(net_chain *c, net_keys *out, bw_error *error);
bw_status s3_from_profile(net_chain *c, net_keys *out, bw_error *error); /* what it has itself */
bw_status s3_from_container(net_chain *c, net_keys *out, bw_error *error);
bw_status s3_from_instance(net_chain *c, net_keys *out, bw_error *error);

static inline s3_chain *s3_chain_of(net_chain *c)
{
    return (s3_chain *)c;
}

#endif
