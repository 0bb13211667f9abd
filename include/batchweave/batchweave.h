// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Everything: see the headers for the manual of each object. */
#ifndef BATCHWEAVE_BATCHWEAVE_H
#define BATCHWEAVE_BATCHWEAVE_H

#include <batchweave/config.h>
#include <batchweave/consumer.h>
#include <batchweave/doctor.h>
#include <batchweave/error.h>
#include <batchweave/group.h>
#include <batchweave/producer.h>
#include <batchweave/runtime.h>
#include <batchweave/samples.h>
#include <batchweave/space.h>
#include <batchweave/status.h>
#include <batchweave/tensors.h>

#endif
