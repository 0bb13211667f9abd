// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Cursors, keys, URLs, resume states, settings and streams of frames that are none. */
#include "rows.h"

#include "../fuzz/meter.h"
#include "api/config.h"
#include "codec/cursor.h"
#include "input/framestream.h"
#include "input/resume_state.h"
#include "store/store.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UUID "000102030405060708090a0b0c0d0e0f"
#define FIELDS(uuid, step, item, mode, dp, nonce, version, skips)                                  \
    "{\"batchweave\":1,\"namespace\":\"" uuid "\",\"step\":" step ",\"item\":" item                \
    ",\"mode\":" mode ",\"dp\":" dp ",\"nonce\":" nonce ",\"version\":" version                    \
    ",\"skips\":" skips "}"
#define REST                                                                                       \
    "\"namespace\":\"" UUID "\",\"step\":5,\"item\":0,\"mode\":\"same_batch\",\"dp\":2,"           \
    "\"nonce\":null,\"version\":1,\"skips\":[]}"
#define WITH(key, value) "{\"" key "\":" value "," REST
#define FIELDS_OPEN                                                                                \
    "{\"batchweave\":1,\"namespace\":\"" UUID "\",\"step\":5,\"item\":0,\"mode\":\"same_batch\","  \
    "\"dp\":2,\"nonce\":null,\"version\":1,\"skips\":["

typedef struct row row;

typedef struct trial {
    const row *row;
    buf text; /* the row's, with what it repeats; a NUL follows */
} trial;

struct row {
    const char *name;
    bw_status expected;
    bw_status (*attempt)(trial *t, bw_error *error);
    const char *text, *repeated;
    size_t bytes; /* of `repeated`, over all */
    const char *ending;
    uint32_t limit;
};

static char long_text[300]; /* of the letter a */

/* ---- the readers ---- */

static bw_status try_cursor(trial *t, bw_error *error)
{
    cursor c;
    const bw_status status = cursor_decode(view_of(t->text.data, t->text.size), &c, error);
    if (status == BW_OK)
        cursor_free(&c);
    return status;
}

/* Parsing a key has no error of its own. */
static bw_status try_key(trial *t, bw_error *error)
{
    key_fields f;
    key_parse(view_of(t->text.data, t->text.size), &f);
    return f.kind == KEY_FOREIGN ? error_set(error, BW_INVALID, "foreign") : BW_OK;
}

static bw_status try_url(trial *t, bw_error *error)
{
    store *s = NULL;
    const bw_status status = store_open_url(buf_text(&t->text), false, false, &s, error);
    if (status == BW_OK)
        store_close(s);
    return status;
}

static bw_status try_resume(trial *t, bw_error *error)
{
    resume state;
    return resume_decode(t->text.data, t->text.size, &state, error);
}

static bw_status try_setting(trial *t, bw_error *error)
{
    bw_config *config = bw_config_new();
    must(config != NULL, "memory");
    const bw_status status = bw_config_set(config, t->row->text, t->row->ending, error);
    bw_config_free(config);
    return status;
}

/* Values that are accepted one by one and refused where they are used. */
static bw_status consumer_or_producer(bw_error *t, const char *name, const char *value,
                                      const char *second, const char *second_value,
                                      bool is_consumer)
{
    bw_config *config = bw_config_new();
    must(config != NULL && bw_config_set(config, name, value, NULL) == BW_OK, name);
    must(second == NULL || bw_config_set(config, second, second_value, NULL) == BW_OK, name);
    producer_options for_producer;
    consumer_options for_consumer;
    const bw_status status = is_consumer ? config_consumer(config, &for_consumer, t)
                                         : config_producer(config, &for_producer, t);
    bw_config_free(config);
    return status;
}

static bw_status try_stream(trial *t, bw_error *error)
{
    const int fd = memfd_create("frames", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, t->text.data, t->text.size) == (ssize_t)t->text.size &&
             lseek(fd, 0, SEEK_SET) == 0,
         "memfd");
    const framestream_options options = {
        .fd = fd, .name = "stream", .shards = 1, .frame_bytes_max = t->row->limit};
    framestream *stream = NULL;
    bw_status status = framestream_open(&options, &stream, error);
    while (status == BW_OK) {
        void *frame = NULL;
        size_t size = 0;
        status = framestream_next(stream, &frame, &size, error);
        if (status == BW_OK)
            framestream_free(frame);
    }
    framestream_close(stream);
    close(fd);
    return status;
}

#define CURSOR(name, text)
#define LONG_CURSOR(name, text, repeated, bytes, ending)
#define KEY(name, text)
#define URL(name, status, text)
#define LONG_URL(name, status, text, repeated, bytes)
#define RESUME(name, text)
#define SETTING(name, setting, value)
#define OPTION(name, ...)                                                                          \
    static bw_status ROW_NAME(option_, __LINE__)(trial * of_row, bw_error * t)                     \
    {                                                                                              \
        (void)of_row;                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define STREAM(name, limit, ...) static const uint8_t ROW_NAME(stream_, __LINE__)[] = {__VA_ARGS__};
#include "text.def"
#undef CURSOR
#undef LONG_CURSOR
#undef KEY
#undef URL
#undef LONG_URL
#undef RESUME
#undef SETTING
#undef OPTION
#undef STREAM

static const row rows[] = {
#define CURSOR(name, text) {"cursor: " name, BW_CURSOR_INVALID, try_cursor, text, NULL, 0, NULL, 0},
#define LONG_CURSOR(name, text, repeated, bytes, ending)                                           \
    {"cursor: " name, BW_CURSOR_INVALID, try_cursor, text, repeated, bytes, ending, 0},
#define KEY(name, text) {"key: " name, BW_INVALID, try_key, text, NULL, 0, NULL, 0},
#define URL(name, status, text) {"url: " name, BW_##status, try_url, text, NULL, 0, NULL, 0},
#define LONG_URL(name, status, text, repeated, bytes)                                              \
    {"url: " name, BW_##status, try_url, text, repeated, bytes, "", 0},
#define RESUME(name, text) {"resume: " name, BW_INPUT_CHANGED, try_resume, text, NULL, 0, NULL, 0},
#define SETTING(name, setting, value)                                                              \
    {"setting: " name, BW_INVALID, try_setting, setting, NULL, 0, value, 0},
#define OPTION(name, ...)                                                                          \
    {"setting: " name, BW_INVALID, ROW_NAME(option_, __LINE__), "", NULL, 0, NULL, 0},
#define STREAM(name, limit, ...)                                                                   \
    {"stream: " name,                                                                              \
     BW_INPUT_BAD,                                                                                 \
     try_stream,                                                                                   \
     NULL,                                                                                         \
     (const char *)ROW_NAME(stream_, __LINE__),                                                    \
     sizeof ROW_NAME(stream_, __LINE__),                                                           \
     NULL,                                                                                         \
     limit},
#include "text.def"
};

static bw_status attempt(void *context, bw_error *error)
{
    trial *t = context;
    return t->row->attempt(t, error);
}

static void fill(trial *t)
{
    const row *r = t->row;
    buf_init(&t->text, (size_t)4 << 20);
    if (r->text == NULL) { /* bytes that may hold NUL */
        buf_put(&t->text, r->repeated, r->bytes);
        return;
    }
    buf_put_text(&t->text, r->text);
    const size_t size = r->repeated != NULL ? strlen(r->repeated) : 1;
    for (size_t at = 0; at + size <= r->bytes; at += size)
        buf_put_text(&t->text, r->repeated);
    if (r->repeated != NULL)
        buf_put_text(&t->text, r->ending);
    (void)buf_text(&t->text);
}

static void test_row(void **state)
{
    trial t = {.row = *state};
    fill(&t);
    expect_refusal(attempt, &t, t.row->expected, 0);
    buf_free(&t.text);
}

int main(void)
{
    memset(long_text, 'a', sizeof long_text - 1);
    meter_jansson();
    return run_rows("hostile_text", rows, COUNT(rows), sizeof rows[0], test_row);
}
