// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What sources of keys use of each other. */
#ifndef STORE_S3_S3_SOURCE_H
#define STORE_S3_S3_SOURCE_H

#include "http/uri.h"
#include "store_s3/s3_chain.h"

/** Keys that a profile has itself, or that its credential_process hands out; none: BW_OK. */
bw_status s3_profile_keys(s3_chain *c, const s3_profile *p, const char *name, net_keys *out,
                          bw_error *error);

/** Runs `command`, without a shell, and takes the keys that it writes. */
bw_status s3_process_keys(s3_chain *c, const char *command, net_keys *out, bw_error *error);
/** The words of a command line: blanks part them, quotes and backslashes keep them together.
 * Changes `text`, in which the words stay. false: a quote is not closed, there is no word, or there
 * are more than `max` - 1. NULL is behind the last. */
bool s3_words(char *text, char **words, size_t max);

/** Keys of `role` for the token in the file `path`; "" as `session` is a name of ours. */
bw_status s3_web_identity_keys(s3_chain *c, const char *path, const char *role, const char *session,
                               net_keys *out, bw_error *error);

/** A call of the security token service that returns keys: AssumeRole and its kin. */
typedef struct s3_sts {
    const char *action;
    const uri_parameter *parameters; /* beside Action and Version; those with "" are left out */
    size_t count;
    const net_keys *signer; /* NULL: not signed */
    const secret *hidden;   /* of the parameters; NULL: none of them is a secret */
} s3_sts;

#define S3_STS_PARAMETERS_MAX 8u

/** BW_DENIED when it refuses, BW_IO when it cannot be asked. */
bw_status s3_sts_keys(s3_chain *c, const s3_sts *call, net_keys *out, bw_error *error);

#endif
