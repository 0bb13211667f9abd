// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/machine.h"

#include "base/invariant.h"

bw_status machine_status(const machine_reply *reply)
{
    MUST(reply->outcome < STORE_OUTCOMES);
    MUST(reply->outcome != STORE_PENDING);
    if (reply->code != BW_OK)
        return reply->code;
    switch (reply->outcome) {
    case STORE_OK:
    case STORE_CREATED:
    case STORE_EXISTS:
        return BW_OK;
    case STORE_NOT_FOUND:
        return BW_NOT_FOUND;
    case STORE_DENIED:
        return BW_DENIED;
    case STORE_UNSUPPORTED:
        return BW_UNSUPPORTED;
    case STORE_UNKNOWN:
        return BW_UNKNOWN;
    default:
        return BW_IO;
    }
}
