// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What each role must be allowed on a bucket, and nothing more, in the words of its cloud. */
#ifndef API_POLICY_H
#define API_POLICY_H

#include "base/buf.h"
#include "store/store_about.h"

/** `"policies":{"producer":{…},"trainer":{…},"sweeper":{…}}`: those roles that need `kind`. */
void policy_put(buf *out, const store_facts *facts, store_op_kind kind);

#endif
