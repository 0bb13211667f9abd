// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What goes wrong, and how slow things are: rules that pick requests, and for each request picked a
 * plan of how it is applied, what is answered and how the answer ends. docs/design/teststore.md has
 * the fields as JSON. Any thread.
 */
#ifndef TESTSTORE_FAULTS_H
#define TESTSTORE_FAULTS_H

#include "base/buf.h"
#include "base/rng.h"
#include "failures.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** What a request asks for, whatever the dialect. */
typedef enum verb {
    VERB_GET,
    VERB_HEAD,
    VERB_PUT,    /* unconditional, or on a version */
    VERB_CREATE, /* if absent */
    VERB_DELETE,
    VERB_DELETE_MANY,
    VERB_LIST,
    VERB_CONTAINER, /* make one */
    VERB_PROBE,     /* ask about one */
    VERB_OTHER,     /* what the server does not know */
    VERB_CONTROL,   /* never a fault, never counted */
    VERB_COUNT
} verb;
const char *verb_name(verb v);

typedef enum apply_mode { APPLY_ONCE, APPLY_NONE, APPLY_LATE, APPLY_TWICE } apply_mode;
typedef enum reply_mode {
    REPLY_NORMAL,
    REPLY_ERROR,
    REPLY_OK_ERROR, /* status 200 with the body of the error */
    REPLY_CORRUPT,  /* one byte of the body is another */
    REPLY_FULL,     /* everything, whatever range was asked for */
    REPLY_SHORT     /* half of the range, consistently */
} reply_mode;
typedef enum end_mode { END_NORMAL, END_RESET, END_CLOSE, END_HANG } end_mode;
typedef enum condition_mode { CONDITION_HELD, CONDITION_IGNORED, CONDITION_RACY } condition_mode;

#define PLAN_TEXT_MAX 96u
#define PLAN_HEADERS_MAX 256u

typedef struct plan {
    apply_mode apply;
    reply_mode reply;
    end_mode end;
    condition_mode condition;
    failure error;
    int status;                     /* 0: as the dialect spells the failure */
    char code[PLAN_TEXT_MAX];       /* "": likewise */
    char headers[PLAN_HEADERS_MAX]; /* whole lines for the answer */
    int64_t delay_ns, reply_delay_ns;
    int64_t after_ns;               /* of a late or second application, from the answer on */
    int64_t window_ns;              /* between check and put */
    int64_t read_bytes;             /* of the request's body; -1: all */
    int64_t head_bytes, body_bytes; /* of the answer before its end; -1 both: nothing of it */
    int64_t corrupt_at;
    int64_t stale_ns;
    bool unordered;
    size_t repeat;
    uint64_t seed;
} plan;

/** The plan of a request with which nothing is wrong. */
void plan_plain(plan *p);

typedef struct faults faults;

faults *faults_new(uint64_t seed);
void faults_free(faults *f);
/** Replaces what the object names: seed, rules, latency, bandwidth, clock_skew_ms, idle_close_ms.
 * false: nothing is changed and `why` says what is wrong. */
bool faults_configure(faults *f, const json_t *settings, buf *why);
/** Every rule, with how often it matched and fired; the caller's reference. */
json_t *faults_report(faults *f);

typedef struct fault_subject {
    verb verb;
    dialect_id dialect;
    const char *container, *key;
    bool present; /* the key is there */
} fault_subject;
/** Whether any rule is there that could pick a request. */
bool faults_armed(faults *f);
void faults_plan(faults *f, const fault_subject *s, plan *out);

typedef struct latency {
    int64_t before_ns, after_ns; /* the application */
} latency;
latency faults_latency(faults *f, verb v, rng *random);

int64_t faults_skew_ms(const faults *f);
int64_t faults_idle_ns(const faults *f); /* 0: connections live for ever */

/** Bandwidth: bytes are paid for before they are sent or used. */
typedef struct pace {
    int64_t free_ns; /* of one connection */
} pace;
bool faults_paced(const faults *f);
/** When `size` more bytes have gone through the connection's and everybody's limit; `received`: of
 * a body that is taken in. */
int64_t faults_pay(faults *f, pace *own, uint64_t size, bool received, int64_t now_ns);

#endif
