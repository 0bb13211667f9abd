// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_chain.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

net_chain *net_chain_new(size_t bytes, const net_sources *sources, net_environment *environment)
{
    net_chain *c = environment != NULL ? mem_zalloc(bytes) : NULL;
    if (c == NULL) {
        net_environment_free(environment);
        return NULL;
    }
    c->sources = sources;
    c->environment = environment;
    return c;
}

void net_chain_free(net_chain *c)
{
    if (c != NULL)
        net_environment_free(c->environment);
    mem_free(c);
}

void net_chain_note(net_chain *c, const char *format, ...)
{
    const size_t size = strlen(c->looked);
    const size_t room = sizeof c->looked - size;
    const int gap = snprintf(c->looked + size, room, "%s", size > 0 ? "; " : "");
    if (gap < 0 || (size_t)gap >= room)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->looked + size + (size_t)gap, room - (size_t)gap, format, args);
    va_end(args);
}

bw_status net_chain_find(net_chain *c, net_keys *out, bw_error *error)
{
    memset(out, 0, sizeof *out);
    c->looked[0] = '\0';
    for (c->source = 0; c->source < c->sources->count; c->source++) {
        const bw_status status = c->sources->rows[c->source](c, out, error);
        if (status != BW_OK) {
            net_keys_clear(out);
            return status;
        }
        if (net_keys_are_set(out))
            return BW_OK;
    }
    return error_set(error, BW_DENIED, "no %s. Looked at: %s. %s; anonymous=true goes without",
                     c->sources->what, c->looked, c->sources->advice);
}

bw_status net_chain_again(net_chain *c, net_keys *out, bw_error *error)
{
    memset(out, 0, sizeof *out);
    c->looked[0] = '\0';
    bw_status status = c->sources->rows[c->source](c, out, error);
    if (status == BW_OK && !net_keys_are_set(out))
        status = error_set(error, BW_DENIED, "there are no keys any more: %s", c->looked);
    if (status != BW_OK)
        net_keys_clear(out);
    return status;
}
