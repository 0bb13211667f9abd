// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_chain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STALL_S 5u
#define PAUSE_MS 200

/* ---- settings ---- */

static bool copy(char *to, size_t capacity, const char *from)
{
    const size_t size = strlen(from);
    if (size >= capacity)
        return false;
    memcpy(to, from, size + 1);
    return true;
}

static const char *first_of(const char *a, const char *b)
{
    return *a != '\0' ? a : b;
}

static bw_status take_settings(const s3_environment *e, const s3_profile *p, s3_settings *s,
                               bw_error *error)
{
    const char *region =
        first_of(s3_variable(e, "AWS_REGION"), s3_variable(e, "AWS_DEFAULT_REGION"));
    const char *all =
        first_of(s3_variable(e, "AWS_ENDPOINT_URL"), s3_profile_get(p, S3_SET_ENDPOINT));
    const char *endpoint = first_of(s3_variable(e, "AWS_ENDPOINT_URL_S3"), all);
    const char *sts = first_of(s3_variable(e, "AWS_ENDPOINT_URL_STS"), all);
    const char *ca_file =
        first_of(s3_variable(e, "AWS_CA_BUNDLE"), s3_profile_get(p, S3_SET_CA_FILE));
    if (!copy(s->region, sizeof s->region, first_of(region, s3_profile_get(p, S3_SET_REGION))) ||
        !copy(s->endpoint, sizeof s->endpoint, endpoint) ||
        !copy(s->sts_endpoint, sizeof s->sts_endpoint, sts) ||
        !copy(s->ca_file, sizeof s->ca_file, ca_file))
        return error_set(error, BW_INVALID,
                         "region, endpoint or CA file of the environment or of profile %s is too "
                         "long",
                         s->profile);
    return BW_OK;
}

bw_status s3_settings_find(const char *profile, const s3_environment *e, s3_settings *out,
                           bw_error *error)
{
    s3_profile p;
    memset(out, 0, sizeof *out);
    out->named = *profile != '\0';
    const char *name = first_of(first_of(profile, s3_variable(e, "AWS_PROFILE")), "default");
    if (!copy(out->profile, sizeof out->profile, name))
        return error_set(error, BW_INVALID, "the name of the profile is too long");
    bw_status status = s3_profile_load(e, name, &p, error);
    if (status == BW_OK && out->named && !p.found)
        status = error_set(error, BW_INVALID, "there is no profile %s", name);
    if (status == BW_OK)
        status = take_settings(e, &p, out, error);
    s3_profile_clear(&p);
    return status;
}

/* ---- the order ---- */

static const s3_source_fn sources[] = {
    s3_from_environment, s3_from_role,      s3_from_web_identity,
    s3_from_profile,     s3_from_container, s3_from_instance,
};

void s3_chain_note(s3_chain *c, const char *format, ...)
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

bw_status s3_chain_find(s3_chain *c, s3_keys *out, bw_error *error)
{
    memset(out, 0, sizeof *out);
    c->looked[0] = '\0';
    for (c->source = 0; c->source < sizeof sources / sizeof sources[0]; c->source++) {
        const bw_status status = sources[c->source](c, out, error);
        if (status != BW_OK) {
            s3_keys_clear(out);
            return status;
        }
        if (secret_is_set(&out->key))
            return BW_OK;
    }
    return error_set(error, BW_DENIED,
                     "no keys for S3. Looked at: %s. Set AWS_ACCESS_KEY_ID and "
                     "AWS_SECRET_ACCESS_KEY, or a profile; anonymous=true goes without",
                     c->looked);
}

bw_status s3_chain_again(s3_chain *c, s3_keys *out, bw_error *error)
{
    memset(out, 0, sizeof *out);
    c->looked[0] = '\0';
    bw_status status = sources[c->source](c, out, error);
    if (status == BW_OK && !secret_is_set(&out->key))
        status = error_set(error, BW_DENIED, "there are no keys any more: %s", c->looked);
    if (status != BW_OK)
        s3_keys_clear(out);
    return status;
}

/* ---- asking a service ---- */

static void pause_for(const s3_chain *c, uint32_t try)
{
    const struct timespec wait = {.tv_nsec = (long)PAUSE_MS * 1000000l};
    for (uint32_t i = 0; i < try && (c->stop == NULL || !atomic_load(c->stop)); i++)
        (void)nanosleep(&wait, NULL);
}

static bool may_pass(bw_status status, const http_request *r)
{
    if (status != BW_OK)
        return status == BW_IO && r->end != HTTP_REFUSED;
    return r->head.status == 429 || r->head.status >= 500;
}

bw_status s3_chain_ask(s3_chain *c, s3_ask *a, buf *answer, bw_error *error)
{
    const http_options options = {
        .connect_timeout_ns = a->connect_ns,
        .stall_s = STALL_S,
        .connections_max = 1,
        .plain_http = a->plain_http,
        .ca_file = c->settings.ca_file[0] != '\0' ? c->settings.ca_file : NULL,
    };
    bw_error why = {.code = BW_OK};
    bw_status status = BW_OK;
    for (uint32_t try = 1; try <= a->tries; try++) {
        status = http_fetch(&options, &a->request, c->stop, answer, &why);
        if (!may_pass(status, &a->request))
            break;
        if (try < a->tries)
            pause_for(c, try);
    }
    if (status != BW_OK)
        return error_set(error, status, "%s: %s", a->what, why.message);
    return BW_OK;
}

int64_t s3_answer_time(const http_request *request)
{
    const int64_t date_ms = request->head.date_ms;
    return date_ms != 0 ? date_ms : clock_wall_ms(clock_system());
}
