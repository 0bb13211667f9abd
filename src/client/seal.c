// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/change.h"

bw_status space_seal(bw_space *space, bool force, int64_t timeout_ns, bw_error *error)
{
    change c;
    BW_TRY(change_open(&c, space, "seal", clock_deadline(clock_system(), timeout_ns), NULL, error));
    intent i = {.kind = INTENT_SEAL};
    i.seal.force = force;
    const bw_status status = change_make(&c, &i, error);
    change_close(&c);
    return status;
}
