// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The Python type Batch: one global batch in the making, and the memory that it borrows. */
#ifndef PYTHON_BATCH_H
#define PYTHON_BATCH_H

#include "owned.h"

/** An empty batch of `items_per_slice`; holds `producer`, whose handle is a bw_producer. */
PyObject *batch_make(core_state *state, owned *producer, uint32_t items_per_slice);
/** For bw_producer_put. NULL: it was put already; exception set. */
bw_batch *batch_handle(core_state *state, PyObject *batch);
/** The producer took it over: what stays is the borrowed memory, until the object is gone. */
void batch_taken(PyObject *batch);

#endif
