// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_azure/azure_internal.h"

#include <stdio.h>
#include <string.h>

void azure_about(const net_backend *net, store_facts *out)
{
    const azure_backend *b = (const azure_backend *)net;
    const char *slash = strrchr(b->folder, '/');
    out->cloud = STORE_CLOUD_AZURE;
    (void)snprintf(out->bucket, sizeof out->bucket, "%s", slash != NULL ? slash + 1 : b->folder);
    (void)snprintf(out->prefix, sizeof out->prefix, "%s", b->prefix);
    (void)snprintf(out->endpoint, sizeof out->endpoint, "%s", b->origin);
}
