// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The environment, as a copy: keys are fetched anew by a thread of our own, and the host may change
 * its environment meanwhile.
 */
#ifndef STORE_NET_NET_ENVIRONMENT_H
#define STORE_NET_NET_ENVIRONMENT_H

#include <stddef.h>

typedef struct net_environment net_environment;

/** Of `variables` ("NAME=value", NULL behind the last); NULL when there is no memory. The thread
 * that opens a store. */
net_environment *net_environment_copy(char *const *variables);
/** Zeroes it: there may be keys in it. NULL is fine. */
void net_environment_free(net_environment *e);
/** "" counts as not set, and the other way round. */
const char *net_variable(const net_environment *e, const char *name);
/** For programs that are run. */
char *const *net_environment_all(const net_environment *e);

#endif
