// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The checks that begin every exported function. */
#ifndef API_CHECK_H
#define API_CHECK_H

#include "base/error.h"

#define CHECK_NOT_NULL(argument)                                                                   \
    do {                                                                                           \
        if ((argument) == NULL)                                                                    \
            return error_set(error, BW_INVALID, "%s: %s is NULL", __func__, #argument);            \
    } while (0)

#endif
