// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** dlpack: an object with the buffer protocol as a DLPack tensor of uint8 (dmlc/dlpack, version
 * without a number: what every framework takes). */
#ifndef PYTHON_DLPACK_H
#define PYTHON_DLPACK_H

#include "core.h"

#define DLPACK_CPU 1

/** A capsule "dltensor" that keeps `owner` alive. */
PyObject *dlpack_of(PyObject *owner);

#endif
