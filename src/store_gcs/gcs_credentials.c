// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_gcs/gcs_credentials.h"

#include "http/jsonmembers.h"

#include <string.h>

#define SOURCE "credential_source/"

typedef struct field {
    const char *path;
    size_t at, capacity;
} field;

#define FIELD(path, name)                                                                          \
    {                                                                                              \
        path, offsetof(gcs_credentials, name), sizeof(((gcs_credentials *)0)->name)                \
    }

static const field texts[] = {
    FIELD("type", type),
    FIELD("universe_domain", domain),
    FIELD("client_email", email),
    FIELD("private_key_id", key_id),
    FIELD("token_uri", token_uri),
    FIELD("client_id", client_id),
    FIELD("audience", audience),
    FIELD("subject_token_type", subject_type),
    FIELD("token_url", token_url),
    FIELD("service_account_impersonation_url", impersonation_url),
    FIELD("service_account_impersonation/token_lifetime_seconds", lifetime_s),
    FIELD("workforce_pool_user_project", workforce_project),
    FIELD(SOURCE "file", source_file),
    FIELD(SOURCE "url", source_url),
    FIELD(SOURCE "environment_id", source_aws),
    FIELD(SOURCE "executable/command", source_command),
    FIELD(SOURCE "format/type", format),
    FIELD(SOURCE "format/subject_token_field_name", field),
};

static const field secrets[] = {
    FIELD("private_key", private_key),
    FIELD("client_secret", client_secret),
    FIELD("refresh_token", refresh_token),
};

static const size_t text_count = sizeof texts / sizeof texts[0];
static const size_t secret_count = sizeof secrets / sizeof secrets[0];

/* Only what stands in a path of this machine may have blanks and more. */
static bool is_legal(const field *f, const char *text)
{
    return f->at == offsetof(gcs_credentials, source_file) ||
           f->at == offsetof(gcs_credentials, source_command) ||
           (net_is_plain(text) && strpbrk(text, "\"\\") == NULL);
}

static bw_status take_header(gcs_credentials *k, const char *name, const char *value, size_t size)
{
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const size_t name_size = strlen(name);
    if (k->header_count == GCS_SOURCE_HEADERS_MAX || name_size == 0 ||
        name_size >= sizeof k->header_names[0] || strspn(name, legal) != name_size ||
        strpbrk(value, "\r\n") != NULL)
        return BW_CORRUPT;
    memcpy(k->header_names[k->header_count], name, name_size + 1);
    return secret_set(&k->header_values[k->header_count++], value, size);
}

static bw_status on_member(void *context, const char *path, const char *text, size_t size)
{
    static const char headers[] = SOURCE "headers/";
    char *base = context;
    for (size_t i = 0; i < text_count; i++) {
        const field *f = &texts[i];
        if (strcmp(path, f->path) != 0)
            continue;
        if (size >= f->capacity || !is_legal(f, text))
            return BW_CORRUPT;
        memcpy(base + f->at, text, size + 1);
        return BW_OK;
    }
    for (size_t i = 0; i < secret_count; i++) {
        if (strcmp(path, secrets[i].path) == 0)
            return secret_set((secret *)(void *)(base + secrets[i].at), text, size);
    }
    if (strncmp(path, headers, sizeof headers - 1) == 0)
        return take_header(context, path + sizeof headers - 1, text, size);
    return BW_OK;
}

bw_status gcs_credentials_parse(gcs_credentials *k, const void *json, size_t size, bw_error *error)
{
    const char *bad = NULL;
    memset(k, 0, sizeof *k);
    const bw_status status = jsonmembers_each(json, size, on_member, k, &bad);
    if (status == BW_NOMEM)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    if (status != BW_OK)
        return error_set(error, BW_CORRUPT, "it is no JSON object of credentials: %s", bad);
    return BW_OK;
}

void gcs_credentials_clear(gcs_credentials *k)
{
    for (size_t i = 0; i < secret_count; i++)
        secret_clear((secret *)(void *)((char *)k + secrets[i].at));
    for (size_t i = 0; i < GCS_SOURCE_HEADERS_MAX; i++)
        secret_clear(&k->header_values[i]);
    memset(k, 0, sizeof *k);
}
