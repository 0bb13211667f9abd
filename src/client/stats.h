// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Histograms and request counts as JSON. */
#ifndef CLIENT_STATS_H
#define CLIENT_STATS_H

#include "base/hist.h"
#include "client/json.h"
#include "store/decorators.h"

/** {"count":…,"p50_us":…,"p99_us":…,"max_us":…} */
void json_put_hist(buf *out, const char *key, const hist *h);
/** Requests by kind, outcomes that were no success, and bytes. */
void json_put_meter(buf *out, const char *key, store_meter *meter);

#endif
