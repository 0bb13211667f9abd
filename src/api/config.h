// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Reading a bw_config inside the library. NULL is all defaults. */
#ifndef API_CONFIG_H
#define API_CONFIG_H

#include "api/properties.h"
#include "client/consumer.h"
#include "client/producer.h"
#include "client/reports.h"
#include "store/doctor.h"
#include <batchweave/config.h>

/** Set, or has a default. */
bool config_has(const bw_config *config, property_id id);
/** Set by the caller. */
bool config_is_set(const bw_config *config, property_id id);
/** Of sizes, times (ns), integers, switches (0, 1) and choices (their index); 0 when config_has is
 * false. */
uint64_t config_number(const bw_config *config, property_id id);
/** What bw_config_interrupt set; NULL of NULL. */
const atomic_int *config_stop(const bw_config *config);
/** BW_INTERRUPTED when it says so already. */
bw_status config_check_stop(const bw_config *config, bw_error *error);
/** What a call that was given `config` ends with: `status`, or BW_INTERRUPTED when it failed and
 * was to end. */
bw_status config_ended(const bw_config *config, bw_status status, bw_error *error);
/** As set, else the default, else NULL. */
const char *config_text(const bw_config *config, property_id id);

/* What each object needs, out of the table. */
void config_runtime(const bw_config *config, runtime_options *out);
void config_space(const bw_config *config, space_options *out);
bw_status config_genesis(const bw_config *config, genesis *out, bw_error *error);
bw_status config_producer(const bw_config *config, producer_options *out, bw_error *error);
bw_status config_consumer(const bw_config *config, consumer_options *out, bw_error *error);
void config_doctor(const bw_config *config, doctor_job *out);
void config_report(const bw_config *config, report_options *out);

#endif
