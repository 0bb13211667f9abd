// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/stats.h"

#define NS_PER_US 1000

void json_put_hist(buf *out, const char *key, const hist *h)
{
    json_put_object(out, key);
    json_put_u64(out, "count", h->count);
    json_put_i64(out, "p50_us", hist_quantile(h, 500) / NS_PER_US);
    json_put_i64(out, "p99_us", hist_quantile(h, 990) / NS_PER_US);
    json_put_i64(out, "max_us", h->max / NS_PER_US);
    json_put_object_end(out);
}

void json_put_meter(buf *out, const char *key, store_meter *meter)
{
    json_put_object(out, key);
    for (int kind = 0; kind < STORE_OP_KINDS; kind++)
        json_put_u64(out, store_op_name((store_op_kind)kind), atomic_load(&meter->ops[kind]));
    json_put_u64(out, "retry", atomic_load(&meter->outcomes[STORE_RETRY]));
    json_put_u64(out, "unknown", atomic_load(&meter->outcomes[STORE_UNKNOWN]));
    json_put_u64(out, "exists", atomic_load(&meter->outcomes[STORE_EXISTS]));
    json_put_u64(out, "failed",
                 atomic_load(&meter->outcomes[STORE_FATAL]) +
                     atomic_load(&meter->outcomes[STORE_DENIED]));
    json_put_u64(out, "bytes_read", atomic_load(&meter->bytes_read));
    json_put_u64(out, "bytes_written", atomic_load(&meter->bytes_written));
    json_put_u64(out, "throttled", atomic_load(&meter->throttled));
    json_put_u64(out, "waits", atomic_load(&meter->waits));
    json_put_u64(out, "hedges", atomic_load(&meter->hedges));
    json_put_u64(out, "hedges_won", atomic_load(&meter->hedges_won));
    json_put_object_end(out);
}
