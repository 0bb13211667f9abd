// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One request and its answer, between HTTP and the objects: what was asked (operation), what came
 * of it (outcome) and what is said (reply). A dialect translates at both ends and decides nothing
 * in between.
 */
#ifndef TESTSTORE_EXCHANGE_H
#define TESTSTORE_EXCHANGE_H

#include "base/buf.h"
#include "failures.h"
#include "faults.h"
#include "objects.h"
#include "request.h"

#define LIST_MAX 5000u
#define KEY_BYTES_MAX 1024u
#define DELETE_MAX 1000u
#define DATE_BYTES 96u

typedef enum range_kind { RANGE_NONE, RANGE_SPAN, RANGE_OPEN, RANGE_SUFFIX } range_kind;

typedef struct operation {
    verb verb;
    const char *container, *key; /* "" when there is none */
    condition_kind condition;
    uint64_t version;
    uint64_t generation; /* this content of the name is meant or nothing; 0: any */
    range_kind range;
    uint64_t first, last; /* of the range; RANGE_SUFFIX: last bytes of the object */
    const char *prefix, *after, *from;
    size_t max;
    char **names; /* VERB_DELETE_MANY */
    size_t name_count, name_capacity;
    bool metadata_only; /* GCS: the object's description and not its bytes */
    bool quiet, url_names;
    char token[KEY_BYTES_MAX + 1]; /* a decoded continuation token */
    char host[256];                /* the container, where the host names it */
} operation;

typedef struct outcome {
    failure failure;
    object object;
    uint64_t from, size; /* of its bytes */
    bool partial;
    listing listing;
    failure *each; /* VERB_DELETE_MANY, as many as names */
} outcome;

typedef struct reply {
    int status;
    buf head;      /* lines of headers, without status line and framing */
    buf body;      /* text, or */
    bool bytes;    /* the bytes of the outcome */
    bool bodiless; /* HEAD, 204: the length is said, nothing is sent */
} reply;

struct dialect;
struct server;

/** What the command line says; never changes. */
typedef struct settings {
    const char *access_key, *secret_key, *region, *session_token; /* NULL: not checked */
    const char *account, *account_key, *bearer;
    const char *s3_host;
    const struct dialect *forced;
    bool digest;
} settings;

typedef struct exchange {
    const settings *settings;
    objects *objects;
    faults *faults;
    struct server *server;
    const struct dialect *dialect;
    uint64_t id;
    request request;
    operation operation;
    plan plan;
    blob *body;    /* of the request; NULL when it has none */
    blob *payload; /* what is stored: the body, or a part of it */
    outcome outcome;
    reply reply;
    char date[DATE_BYTES]; /* as the server's clock, which may be skewed, has it */
} exchange;

typedef struct dialect {
    const char *name;
    dialect_id id;
    bool delete_of_nothing_succeeds;
    /** After the head: fills the operation. */
    failure (*parse)(exchange *x);
    /** After the body: checks and reads it. */
    failure (*accept)(exchange *x);
    /** The outcome of an operation that succeeded. */
    void (*answer)(exchange *x);
    /** The body and the headers of an error; the status is set. */
    void (*refuse)(exchange *x, failure f, int status, const char *code);
    /** Headers of every answer. */
    void (*sign)(exchange *x);
} dialect;

extern const dialect dialect_s3, dialect_gcs, dialect_azure, dialect_control;

void exchange_init(exchange *x);
/** Frees what one exchange took, keeps the buffers. */
void exchange_clear(exchange *x);
void exchange_free(exchange *x);

/** The head is parsed: chooses the dialect, fills operation and plan. */
void exchange_begin(exchange *x);
/** The body is complete (or there is none, or nobody wants it). */
void exchange_body(exchange *x);
/** Applies the operation as the plan says; true: again after the window of a race. */
bool exchange_apply(exchange *x, bool second_half);
void exchange_reply(exchange *x);

/** Applies a write that was delayed, from a copy of what it was. */
typedef struct late_write {
    verb verb;
    uint64_t request;
    condition_kind condition;
    uint64_t version;
    applied how;
    char *container, *key;
    blob *payload;
} late_write;
bool exchange_late(const exchange *x, late_write *out);
void late_write_apply(objects *o, late_write *w); /* and frees it */

/* ---- for the dialects ---- */

/** "Name: value" and a line's end. */
void reply_header(exchange *x, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The headers of an answer with (a part of) an object's bytes, and its status. */
void reply_object(exchange *x, const char *type);
/** "Sun, 06 Nov 1994 08:49:37 GMT"; `text` has room for DATE_BYTES. */
void http_date(int64_t unix_ms, char *text);
/** 1994-11-06T08:49:37.000Z */
void iso_date(int64_t unix_ms, char *text);
/** A Range header; what is none of a single range is ignored, as RFC 9110 has it. */
void parse_range(operation *op, const char *text);
/** Opaque tokens of lists: hex of the last name. */
void put_token(buf *out, const char *key);
bool read_token(operation *op, const char *text);
/** Text within XML; `url`: percent-encoded, as encoding-type=url asks. */
void put_xml(buf *out, const char *text);
void put_url(buf *out, const char *text, bool slash);
void put_base64(buf *out, const void *bytes, size_t size);
/** Exactly `size` bytes; false: it is something else. */
bool read_base64(const char *text, void *bytes, size_t size);
bool text_begins(const char *text, const char *with);

#endif
