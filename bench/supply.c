// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "supply.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct maker {
    fill_plan plan; /* its share of the steps */
    const uint8_t *bytes;
    bw_space *space;
    bw_producer *producer;
    bool running;
    pthread_t thread;
    bw_status status;
    bw_error error;
} maker;

struct supply {
    uint32_t count;
    uint8_t *bytes; /* of every item */
    maker makers[SUPPLY_MAX];
};

static void *run(void *context)
{
    maker *m = context;
    m->status = BW_OK;
    for (uint64_t k = 0; k < m->plan.steps && m->status == BW_OK; k++)
        m->status = fill_put(m->producer, &m->plan, k, m->bytes, &m->error);
    if (m->status == BW_OK)
        m->status = bw_producer_finish(m->producer, BW_FOREVER, &m->error);
    return NULL;
}

static bw_status start_one(maker *m, bw_runtime *runtime, const char *url, const bw_config *config,
                           const char *id, bw_error *error)
{
    BW_TRY(bw_space_open(runtime, url, config, BW_FOREVER, &m->space, error));
    BW_TRY(bw_producer_open(m->space, id, config, BW_FOREVER, &m->producer, error));
    m->running = pthread_create(&m->thread, NULL, run, m) == 0;
    return m->running ? BW_OK : error_set(error, BW_NOMEM, "no thread for producer %s", id);
}

static bw_status start_all(supply *s, bw_runtime *runtime, const char *url, const fill_plan *plan,
                           const bw_config *config, bw_error *error)
{
    for (uint32_t k = 0; k < s->count; k++) {
        maker *m = &s->makers[k];
        char id[16];
        snprintf(id, sizeof id, "p%" PRIu32, k);
        m->bytes = s->bytes;
        m->plan = *plan;
        m->plan.steps = plan->steps / s->count + (k < plan->steps % s->count);
        BW_TRY(start_one(m, runtime, url, config, id, error));
    }
    return BW_OK;
}

bw_status supply_start(bw_runtime *runtime, const char *url, const fill_plan *plan, uint32_t count,
                       uint32_t staged, supply **started, bw_error *error)
{
    char limit[16];
    snprintf(limit, sizeof limit, "%" PRIu32, staged);
    const char *const pairs[] = {"mode",           "write", "durable", "false", "policy", "naive",
                                 "staged_batches", limit,   "events",  "0",     NULL};
    bw_config *config = NULL;
    supply *s = mem_zalloc(sizeof *s);
    uint8_t *bytes = mem_alloc(plan->item_bytes);
    if (s == NULL || bytes == NULL) {
        mem_free(s);
        mem_free(bytes);
        return error_set(error, BW_NOMEM, "no memory for the producers");
    }
    memset(bytes, 0x5a, plan->item_bytes);
    s->bytes = bytes;
    s->count = count;
    bw_status status = fill_config(pairs, &config, error);
    if (status == BW_OK)
        status = start_all(s, runtime, url, plan, config, error);
    bw_config_free(config);
    if (status != BW_OK) {
        supply_end(s, false, NULL);
        return status;
    }
    *started = s;
    return BW_OK;
}

bw_status supply_end(supply *s, bool wait, bw_error *error)
{
    bw_status status = BW_OK;
    if (s == NULL)
        return BW_OK;
    for (uint32_t k = 0; !wait && k < s->count; k++)
        if (s->makers[k].producer != NULL)
            bw_producer_interrupt(s->makers[k].producer, 1);
    for (uint32_t k = 0; k < s->count; k++) {
        maker *m = &s->makers[k];
        if (m->running)
            pthread_join(m->thread, NULL);
        if (m->running && status == BW_OK && m->status != BW_OK) {
            status = m->status;
            if (error != NULL)
                error_copy(error, &m->error);
        }
        /* Finished or given up: there is nothing to wait for. */
        bw_producer_close(m->producer, 0, NULL);
        bw_space_close(m->space);
    }
    mem_free(s->bytes);
    mem_free(s);
    return status;
}
