// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The Python type Item: a buffer, writable and nobody else's, whose memory lives as long as it. */
#ifndef PYTHON_ITEM_H
#define PYTHON_ITEM_H

#include "core.h"

/** Takes over `item`; holds `lent`, the object whose memory it lies in (NULL: the library's). */
PyObject *item_new(core_state *state, bw_item *item, PyObject *lent);

#endif
