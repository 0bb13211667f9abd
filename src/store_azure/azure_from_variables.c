// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The account's key, or a shared access signature, in variables. They do not change. And what
 * stands in variables for others, and not for us. */
#include "store_azure/azure_chain.h"

#include "http/digest.h"

#include <stdio.h>
#include <string.h>

#define KEY_BYTES_MAX 256u

/* The account's key is base64 of bytes. */
static bw_status take_key(net_keys *out, const char *text, size_t size, bw_error *error)
{
    uint8_t bytes[KEY_BYTES_MAX];
    size_t count = 0;
    if (size > KEY_BYTES_MAX || !digest_base64_decode(text, size, bytes, &count))
        return error_set(error, BW_INVALID, "the account's key is no base64");
    const bw_status status = secret_set(&out->key, (const char *)bytes, count);
    secret_wipe(bytes, sizeof bytes);
    return status == BW_OK ? BW_OK : error_set(error, status, "no memory for a key");
}

static bw_status take_signature(net_keys *out, const char *text, size_t size, bw_error *error)
{
    if (size > 0 && *text == '?') {
        text++;
        size--;
    }
    (void)snprintf(out->key_id, sizeof out->key_id, AZURE_SIGNATURE);
    const bw_status status = secret_set(&out->token, text, size);
    if (status != BW_OK)
        return error_set(error, status, "no memory for a shared access signature");
    if (!net_is_plain(secret_text(&out->token)))
        return error_set(error, BW_INVALID,
                         "the shared access signature has blanks, line ends or bytes that are not "
                         "ASCII");
    return BW_OK;
}

/* "" when it is not in use, and the chain is told. */
static const char *find(net_chain *c, const char *name, net_keys *out)
{
    const char *value = net_variable(c->environment, name);
    if (*value == '\0') {
        net_chain_note(c, "%s is not set", name);
        return value;
    }
    out->kind = NET_KEYS_FIXED;
    (void)snprintf(out->source, sizeof out->source, "%s", name);
    return value;
}

bw_status azure_from_key(net_chain *c, net_keys *out, bw_error *error)
{
    const char *key = find(c, "AZURE_STORAGE_KEY", out);
    return *key != '\0' ? take_key(out, key, strlen(key), error) : BW_OK;
}

bw_status azure_from_signature(net_chain *c, net_keys *out, bw_error *error)
{
    const char *token = find(c, "AZURE_STORAGE_SAS_TOKEN", out);
    return *token != '\0' ? take_signature(out, token, strlen(token), error) : BW_OK;
}

/** name=value; …: the value of `name`, or NULL. */
static const char *setting(const char *text, const char *name, size_t *size)
{
    const size_t name_size = strlen(name);
    while (*text != '\0') {
        const size_t whole = strcspn(text, ";");
        if (whole > name_size && strncmp(text, name, name_size) == 0 && text[name_size] == '=') {
            *size = whole - name_size - 1;
            return text + name_size + 1;
        }
        text += whole + (text[whole] == ';');
    }
    return NULL;
}

bw_status azure_from_connection(net_chain *c, net_keys *out, bw_error *error)
{
    const char *ours = azure_chain_of(c)->account;
    const char *text = find(c, "AZURE_STORAGE_CONNECTION_STRING", out);
    size_t size = 0;
    if (*text == '\0')
        return BW_OK;
    const char *account = setting(text, "AccountName", &size);
    if (account != NULL && (strlen(ours) != size || memcmp(account, ours, size) != 0))
        return error_set(error, BW_INVALID,
                         "AZURE_STORAGE_CONNECTION_STRING is of another account than %s", ours);
    const char *key = setting(text, "AccountKey", &size);
    if (key != NULL)
        return take_key(out, key, size, error);
    const char *token = setting(text, "SharedAccessSignature", &size);
    if (token != NULL)
        return take_signature(out, token, size, error);
    return error_set(error, BW_INVALID,
                     "AZURE_STORAGE_CONNECTION_STRING has neither AccountKey nor "
                     "SharedAccessSignature");
}

/* The last to be asked: whoever has these set for other programs, and anything that we take, goes
 * by that. */
bw_status azure_from_client(net_chain *c, net_keys *out, bw_error *error)
{
    static const char *const others[] = {"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH"};
    (void)out;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (*net_variable(c->environment, others[i]) != '\0')
            return error_set(error, BW_UNSUPPORTED,
                             "%s is set, and signing in with a client's secret or certificate is "
                             "not supported. Looked at: %s. %s",
                             others[i], c->looked, c->sources->advice);
    return BW_OK;
}
