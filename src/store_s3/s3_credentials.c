// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_credentials.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20)
#define PATH_BYTES_MAX 4096u

static const char *get_system(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

const s3_environment *s3_environment_system(void)
{
    static const s3_environment system = {get_system, NULL};
    return &system;
}

/* "" counts as not set. */
static const char *variable(const s3_environment *e, const char *name)
{
    const char *value = e->get(e->context, name);
    return value != NULL ? value : "";
}

static bool copy(char *to, size_t capacity, const char *from)
{
    const size_t size = strlen(from);
    if (size >= capacity)
        return false;
    memcpy(to, from, size + 1);
    return true;
}

void s3_credentials_clear(s3_credentials *c)
{
    secret_clear(&c->key);
    secret_clear(&c->token);
    memset(c, 0, sizeof *c);
}

static bw_status take_keys(s3_credentials *c, const char *key_id, const char *key,
                           const char *token, bw_error *error)
{
    if (!copy(c->key_id, sizeof c->key_id, key_id))
        return error_set(error, BW_INVALID, "%s: the access key id is too long", c->source);
    if (secret_set(&c->key, key, strlen(key)) != BW_OK ||
        secret_set(&c->token, token, strlen(token)) != BW_OK)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    return BW_OK;
}

/* ---- the files ---- */

/** A file as text, to be wiped; NULL with `*error` set, or without when there is no such file. */
static char *read_file(const char *path, size_t *size, bw_error *error)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[128];
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            (void)error_set(error, BW_INVALID, "%s cannot be read: %s", path,
                            strerror_r(errno, text, sizeof text));
        return NULL;
    }
    char *bytes = NULL;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        (void)error_set(error, BW_INVALID, "%s is no file of at most %u bytes", path,
                        FILE_BYTES_MAX);
    else if ((bytes = mem_alloc((size_t)info.st_size + 1)) == NULL)
        (void)error_set(error, BW_NOMEM, "no memory for credentials");
    *size = 0;
    while (bytes != NULL && *size < (size_t)info.st_size) {
        const ssize_t got = read(fd, bytes + *size, (size_t)info.st_size - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    (void)close(fd);
    if (bytes != NULL) {
        bytes[*size] = '\0';
        *size = (size_t)info.st_size;
    }
    return bytes;
}

/* What a profile says; the texts point into the file. */
typedef struct profile_settings {
    const char *key_id, *key, *token, *region, *endpoint, *ca_file;
    const char *other; /* another way to get credentials */
} profile_settings;

static void take_setting(void *context, const char *name, const char *value)
{
    static const char *const others[] = {
        "role_arn",      "credential_process",     "sso_session", "sso_start_url", "source_profile",
        "login_session", "web_identity_token_file"};
    profile_settings *p = context;
    const struct {
        const char *name, **to;
    } known[] = {
        {"aws_access_key_id", &p->key_id}, {"aws_secret_access_key", &p->key},
        {"aws_session_token", &p->token},  {"region", &p->region},
        {"endpoint_url", &p->endpoint},    {"ca_bundle", &p->ca_file},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i].name) == 0)
            *known[i].to = value;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (p->other == NULL && strcmp(name, others[i]) == 0)
            p->other = others[i];
    }
}

typedef struct profile_file {
    const char *variable; /* that names it */
    const char *usual;    /* below the home directory */
    bool config;
} profile_file;

static bool file_path(const profile_file *f, const s3_environment *e, char *path, size_t capacity)
{
    const char *named = variable(e, f->variable);
    const char *home = variable(e, "HOME");
    if (*named != '\0')
        return copy(path, capacity, named);
    const int size = snprintf(path, capacity, "%s/%s", home, f->usual);
    return *home != '\0' && size > 0 && (size_t)size < capacity;
}

static bw_status take_profile(const profile_settings *p, const char *path, const char *profile,
                              bool want_keys, s3_credentials *c, const char **other,
                              bw_error *error)
{
    bool fits = true;
    if (p->region != NULL && c->region[0] == '\0')
        fits = copy(c->region, sizeof c->region, p->region);
    if (p->endpoint != NULL && c->endpoint[0] == '\0')
        fits = copy(c->endpoint, sizeof c->endpoint, p->endpoint) && fits;
    if (p->ca_file != NULL && c->ca_file[0] == '\0')
        fits = copy(c->ca_file, sizeof c->ca_file, p->ca_file) && fits;
    if (!fits)
        return error_set(error, BW_INVALID, "%s: a setting of profile %s is too long", path,
                         profile);
    if (p->other != NULL && *other == NULL)
        *other = p->other;
    if (!want_keys || secret_is_set(&c->key) || p->key_id == NULL || p->key == NULL ||
        *p->key_id == '\0' || *p->key == '\0')
        return BW_OK;
    (void)snprintf(c->source, sizeof c->source, "profile %.64s of %.160s", profile, path);
    return take_keys(c, p->key_id, p->key, p->token != NULL ? p->token : "", error);
}

static bw_status take_file(const profile_file *f, const s3_environment *e, const char *profile,
                           bool want_keys, s3_credentials *c, const char **other, bool *found,
                           bw_error *error)
{
    char path[PATH_BYTES_MAX];
    size_t size = 0;
    profile_settings p = {0};
    bw_error why = {.code = BW_OK};
    if (!file_path(f, e, path, sizeof path))
        return BW_OK;
    char *text = read_file(path, &size, &why);
    if (text == NULL) {
        error_copy(error, &why);
        return why.code;
    }
    bw_status status = BW_OK;
    if (s3_profile_each(text, profile, f->config, take_setting, &p)) {
        *found = true;
        status = take_profile(&p, path, profile, want_keys, c, other, error);
    }
    secret_wipe(text, size);
    mem_free(text);
    return status;
}

/* ---- all of it ---- */

static bw_status take_environment(const s3_environment *e, bool want_keys, s3_credentials *c,
                                  bw_error *error)
{
    const char *region = variable(e, "AWS_REGION");
    const char *endpoint = variable(e, "AWS_ENDPOINT_URL_S3");
    if (*region == '\0')
        region = variable(e, "AWS_DEFAULT_REGION");
    if (*endpoint == '\0')
        endpoint = variable(e, "AWS_ENDPOINT_URL");
    if (!copy(c->region, sizeof c->region, region) ||
        !copy(c->endpoint, sizeof c->endpoint, endpoint) ||
        !copy(c->ca_file, sizeof c->ca_file, variable(e, "AWS_CA_BUNDLE")))
        return error_set(error, BW_INVALID,
                         "AWS_REGION, AWS_ENDPOINT_URL or AWS_CA_BUNDLE is too "
                         "long");
    const char *key_id = variable(e, "AWS_ACCESS_KEY_ID");
    const char *key = variable(e, "AWS_SECRET_ACCESS_KEY");
    if (!want_keys || (*key_id == '\0' && *key == '\0'))
        return BW_OK;
    if (*key_id == '\0' || *key == '\0')
        return error_set(error, BW_INVALID,
                         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong "
                         "together; one of them is not set");
    (void)copy(c->source, sizeof c->source, "the environment");
    return take_keys(c, key_id, key, variable(e, "AWS_SESSION_TOKEN"), error);
}

static bw_status judge(const s3_credentials *c, const char *profile, const char *other,
                       bw_error *error)
{
    if (secret_is_set(&c->key))
        return BW_OK;
    if (other != NULL)
        return error_set(error, BW_UNSUPPORTED,
                         "profile %.64s gets its keys by %s, which is not supported; export the "
                         "keys (aws configure export-credentials --format env)",
                         profile, other);
    return error_set(error, BW_DENIED,
                     "no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a "
                     "profile; anonymous=true goes without");
}

static bw_status find(const char *profile, bool anonymous, const s3_environment *e,
                      s3_credentials *out, bw_error *error)
{
    static const profile_file files[] = {
        {"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", false},
        {"AWS_CONFIG_FILE", ".aws/config", true},
    };
    const bool named = *profile != '\0';
    const char *other = NULL;
    bool found = false;
    if (!named)
        profile = variable(e, "AWS_PROFILE");
    if (*profile == '\0')
        profile = "default";
    BW_TRY(take_environment(e, !anonymous && !named, out, error));
    for (size_t i = 0; i < 2; i++)
        BW_TRY(take_file(&files[i], e, profile, !anonymous, out, &other, &found, error));
    if (!found && strcmp(profile, "default") != 0 && !secret_is_set(&out->key))
        return error_set(error, BW_INVALID, "there is no profile %.64s", profile);
    return anonymous ? BW_OK : judge(out, profile, other, error);
}

bw_status s3_credentials_find(const char *profile, bool anonymous,
                              const s3_environment *environment, s3_credentials *out,
                              bw_error *error)
{
    memset(out, 0, sizeof *out);
    const bw_status status = find(profile, anonymous, environment, out, error);
    if (status != BW_OK)
        s3_credentials_clear(out);
    return status;
}
