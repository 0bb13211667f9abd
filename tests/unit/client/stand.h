// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What the client tests share: a namespace on a memory store behind faults by rules. */
#ifndef TESTS_CLIENT_STAND_H
#define TESTS_CLIENT_STAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/consumer.h"
#include "client/producer.h"
#include "store/mem.h"

typedef struct stand {
    mem_space *contents;
    bw_runtime *runtime;
    bw_space *space;           /* behind the rules */
    int64_t commit_timeout_ns; /* of producers to come */
    uint32_t zstd_level;       /* as well */
    bw_error error;
} stand;

/** `dp` × 1 positions, tiny blocks and tails. `rules`: of store_fault_wrap, "" for none. Failed
 * operations are not repeated by the retry decorator when `impatient`. */
void stand_open(stand *s, uint32_t dp, const char *rules, bool impatient);
void stand_close(stand *s);
/** Another handle on the same contents, behind rules of its own. */
bw_space *stand_space(stand *s, const char *rules, bool impatient);
bw_status stand_try_space(stand *s, const char *rules, bool impatient, bw_space **space);
/** On the file store at a URL, as the API does it. */
bw_status stand_init_at(bw_runtime *runtime, const char *url, const space_options *options,
                        const genesis *draft, bw_error *error);
bw_status stand_open_at(bw_runtime *runtime, const char *url, const space_options *options,
                        int64_t timeout_ns, bw_space **space, bw_error *error);
/** … to go on from there. */
bw_space *stand_resume(stand *s, const resume_point *from);
void stand_expect(stand *s, bw_status status, bw_status expected);

bw_producer *stand_producer(stand *s, bw_space *space, const char *id, const char *policy);
/** One item a slice, which says `text`; not copied. */
void stand_put(stand *s, bw_producer *p, const char *text, uint64_t end_offset);
/** As above, with what is expected of the call. */
bw_status stand_try_put(stand *s, bw_producer *p, const char *text, uint64_t end_offset,
                        int64_t timeout_ns);
bw_consumer *stand_consumer(stand *s, bw_space *space, uint32_t d);
/** The next item says `text`. */
void stand_take(stand *s, bw_consumer *c, const char *text);
/** Takes events until one of `kind` comes, within ten seconds; returns its token, or 0. `message`
 * (may be NULL): room for EVENT_MESSAGE_MAX + 1. */
uint64_t stand_await(stand *s, bw_producer *p, bw_event_kind kind, char *message);

#endif
