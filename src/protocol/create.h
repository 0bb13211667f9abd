// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * create: makes a namespace: genesis, then version 1; and finishes an interrupted one. Also used by
 * an opener for writing that finds a genesis without version 1.
 */
#ifndef PROTOCOL_CREATE_H
#define PROTOCOL_CREATE_H

#include "codec/manifest.h"
#include "protocol/machine.h"

typedef struct create create;
/** With `g`: a new namespace (the driver lists the prefix first: a hint against mistakes; the
 * create decides). NULL: finish the genesis that is there. */
bw_status create_new(const genesis *g, uint64_t clock_ms, const token128 *nonce, create **out);
void create_free(create *c);
void create_start(create *c, int64_t now_ns, int64_t deadline_ns);
extern const machine_type create_machine;
/** BW_NOT_EMPTY when another genesis is there; BW_NO_NAMESPACE (finish) when none is. */
bw_status create_result(const create *c, bw_error *error);

#endif
