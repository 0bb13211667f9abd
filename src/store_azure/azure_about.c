// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_azure/azure_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variable that the key or the token was taken from: the first that is set. */
static const char *variable_used(void)
{
    static const char *const names[] = {"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
                                        "AZURE_STORAGE_CONNECTION_STRING"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return names[i];
    }
    return "an environment that has changed";
}

void azure_about(const net_backend *net, store_facts *out)
{
    const azure_backend *b = (const azure_backend *)net;
    const char *slash = strrchr(b->folder, '/');
    out->cloud = STORE_CLOUD_AZURE;
    (void)snprintf(out->bucket, sizeof out->bucket, "%s", slash != NULL ? slash + 1 : b->folder);
    (void)snprintf(out->prefix, sizeof out->prefix, "%s", b->prefix);
    (void)snprintf(out->endpoint, sizeof out->endpoint, "%s", b->origin);
    if (secret_is_set(&b->key) || secret_is_set(&b->token))
        (void)snprintf(out->keys, sizeof out->keys, "%s", variable_used());
}
