// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What AWS's chain adds to the stand of chains. */
#ifndef S3_STAND_H
#define S3_STAND_H

#include "store_s3/s3_chain.h"
#include "tests/unit/store_net/chain_stand.h"

/** The chain of a store that is opened in region eu-test-1; NULL with an error. */
s3_chain *stand_chain(chain_stand *t, const char *profile);
bw_status stand_find(chain_stand *t, const char *profile);

/** {"AccessKeyId": …} of `number`, which ends in `seconds`; static, sixteen of them. */
const char *stand_json(const char *token_name, unsigned number, int64_t seconds);
/** An answer of the token service. */
const char *stand_sts(const char *action, unsigned number, int64_t seconds);

#endif
