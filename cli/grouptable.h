// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The groups of a namespace as people read them. */
#ifndef CLI_GROUPTABLE_H
#define CLI_GROUPTABLE_H

#include <jansson.h>

/** `groups` as the report "info" has them, on standard output. */
void grouptable_print(const json_t *groups, int indent);
/** Each pin of one of them. */
void grouptable_pins(const json_t *group);

#endif
