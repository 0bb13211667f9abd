// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The Python type Space. */
#ifndef PYTHON_SPACE_H
#define PYTHON_SPACE_H

#include "owned.h"

/** The open handle of a Space, held for the caller. NULL: it is no Space, or closed; exception
 * set. */
owned *space_hold(core_state *state, PyObject *space);
/** Of bw_space_report; used by Report. */
bw_space *space_of(const owned *o);

#endif
