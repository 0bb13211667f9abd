// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_environment.h"

#include "base/alloc.h"
#include "http/secret.h"

#include <string.h>

struct net_environment {
    size_t bytes; /* of all that follows */
    char *all[];  /* and the texts behind them */
};

net_environment *net_environment_copy(char *const *variables)
{
    size_t count = 0;
    size_t bytes = 0;
    for (; variables[count] != NULL; count++)
        bytes += strlen(variables[count]) + 1;
    bytes += (count + 1) * sizeof(char *);
    net_environment *e = mem_alloc(sizeof *e + bytes);
    if (e == NULL)
        return NULL;
    e->bytes = bytes;
    char *text = (char *)&e->all[count + 1];
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(variables[i]) + 1;
        memcpy(text, variables[i], size);
        e->all[i] = text;
        text += size;
    }
    e->all[count] = NULL;
    return e;
}

void net_environment_free(net_environment *e)
{
    if (e != NULL)
        secret_wipe(e->all, e->bytes);
    mem_free(e);
}

const char *net_variable(const net_environment *e, const char *name)
{
    const size_t size = strlen(name);
    for (size_t i = 0; e->all[i] != NULL; i++) {
        if (strncmp(e->all[i], name, size) == 0 && e->all[i][size] == '=')
            return e->all[i] + size + 1;
    }
    return "";
}

char *const *net_environment_all(const net_environment *e)
{
    return e->all;
}
