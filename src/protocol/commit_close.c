// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* How an attempt is closed: by CREATED or EXISTS and the marker check after it, or by a witness; by
 * nothing else (R4 – R6, R8). */
#include "protocol/commit_state.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/read.h"
#include <string.h>

static void ask_own_marker(commit *c, commit_state state)
{
    MUST_OR(c->attempt.next != NULL, return );
    MUST(c->attempt.landed);
    c->state = state;
    (void)ask_add(&c->asks, COMMIT_ASK_MARKER, STORE_GET,
                  genesis_block(chain_genesis(c->chain), c->attempt.next->version));
}

void commit_create(commit *c)
{
    MUST_OR(c->attempt.next != NULL, return );
    c->state = STATE_CREATE;
    c->report.attempts++;
    c->create_ns = c->now_ns;
    (void)ask_add(&c->asks, COMMIT_ASK_CREATE, STORE_CREATE, c->attempt.next->version);
}

void commit_again(commit *c, ask *a, const machine_reply *reply)
{
    MUST(a->state == ASK_SENT);
    const bool definite = reply->outcome != STORE_RETRY && reply->outcome != STORE_UNKNOWN;
    const bool late = c->now_ns >= c->deadline_ns;
    const bool doubtful = c->attempt.open && c->attempt.landed;
    const bw_status status = machine_status(reply);
    const char *why = reply->message != NULL ? reply->message : bw_status_text(status);
    if ((definite || late) && (!doubtful || MUTANT(deadline_is_failure))) {
        const uint32_t attempts = a->attempts + 1;
        ask_done(&c->asks, a);
        commit_fail(c, COMMIT_FAILED, status, "%s", why);
        error_set_attempts(&c->report.error, attempts);
        return;
    }
    /* In doubt nothing but an answer closes it (R6): a refusal of the store may be temporary. */
    if (definite || late)
        commit_overdue(c, why);
    ask_rest(&c->asks, a, c->now_ns);
}

void commit_created(commit *c, ask *a, machine_reply *reply)
{
    store_outcome outcome = reply->outcome;
    MUST(c->state == STATE_CREATE);
    MUST(a->number == c->attempt.next->version);
    c->report.create_ns = c->now_ns - c->create_ns;
    if ((outcome == STORE_UNKNOWN && MUTANT(unknown_is_success)) ||
        (outcome == STORE_EXISTS && MUTANT(exists_is_ours)))
        outcome = STORE_CREATED;
    if ((outcome == STORE_UNKNOWN && MUTANT(unknown_is_failure)) ||
        (outcome == STORE_EXISTS && MUTANT(exists_is_lost))) {
        ask_done(&c->asks, a);
        commit_lost(c);
        return;
    }
    switch (outcome) {
    case STORE_CREATED:
        ask_done(&c->asks, a);
        c->attempt.landed = true;
        ask_own_marker(c, STATE_MARK);
        break;
    case STORE_EXISTS:
        ask_done(&c->asks, a);
        c->attempt.landed = true;
        c->refetched = false;
        c->state = STATE_READ;
        (void)ask_add(&c->asks, COMMIT_ASK_READ, STORE_GET, c->attempt.next->version);
        break;
    default:
        if (reply->outcome == STORE_UNKNOWN) {
            c->attempt.landed = true; /* and no later RETRY takes that back */
            c->counts.unknown++;
        }
        if (reply->outcome == STORE_RETRY && MUTANT(retry_lowers_unknown))
            c->attempt.landed = false;
        if (reply->outcome == STORE_UNKNOWN && MUTANT(unknown_rebuilds)) {
            ask_done(&c->asks, a);
            commit_close_attempt(c);
            commit_consider(c);
            return;
        }
        c->counts.resent++;
        commit_again(c, a, reply);
    }
}

/* Ours, closed and proved. */
static void won(commit *c)
{
    const manifest *next = c->attempt.next;
    MUST_OR(next != NULL, return );
    MUST(c->attempt.landed);
    const uint64_t version = next->version;
    c->counts.manifest_bytes += next->object_bytes;
    c->counts.folds += c->attempt.folds;
    c->counts.merges += c->attempt.merges;
    c->report.version = version;
    chain_adopt(c->chain, c->attempt.next);
    commit_end_with(c, COMMIT_DONE, BW_OK);
    commit_put_hint(c, version);
}

static void judge_read(commit *c)
{
    manifest *m = c->read;
    MUST(c->state == STATE_READ_MARK);
    if (c->read_gone) {
        c->report.open_unknown = true;
        commit_fail(c, COMMIT_FAILED, BW_STORE_UNSAFE,
                    "version %llu exists for a create and not for a read",
                    (unsigned long long)c->attempt.next->version);
    } else if (m == NULL) {
        /* It may be our own, damaged. */
        c->report.open_unknown = true;
        error_copy(&c->report.error, &c->read_error);
        c->report.error.code = BW_CHAIN_BLOCKED;
        commit_end_with(c, COMMIT_FAILED, BW_CHAIN_BLOCKED);
    } else if ((token_equal(&m->nonce, &c->attempt.next->nonce) || MUTANT(nonce_ignored)) &&
               !MUTANT(nonce_never_ours)) {
        c->counts.exists_ours++;
        won(c);
    } else {
        c->counts.exists_other++;
        chain_adopt(c->chain, m);
        manifest_unref(m);
        c->read = NULL;
        commit_lost(c);
    }
}

void commit_marked(commit *c, ask *a, machine_reply *reply)
{
    const bool absent = reply->outcome == STORE_NOT_FOUND;
    MUST(c->state == STATE_MARK || c->state == STATE_READ_MARK);
    MUST(a->kind == STORE_GET);
    bool present = reply->outcome == STORE_OK || reply_damaged(reply);
    if (!absent && !present) {
        commit_again(c, a, reply);
        return;
    }
    if (present && c->state == STATE_MARK && MUTANT(marker_after_created))
        present = false;
    if (present && c->state == STATE_READ_MARK && MUTANT(marker_after_exists))
        present = false;
    ask_done(&c->asks, a);
    if (present) {
        if (c->state == STATE_MARK)
            c->counts.marker_after_created++;
        else
            c->counts.marker_after_exists++;
        log_line(c->options.log, LOG_LEVEL_INFO,
                 "commit: version %llu was retired, asking a witness",
                 (unsigned long long)c->attempt.next->version);
        manifest_unref(c->read);
        c->read = NULL;
        commit_walk(c, CHAIN_REOPEN);
    } else if (c->state == STATE_MARK) {
        c->counts.created++;
        won(c);
    } else {
        judge_read(c);
    }
}

void commit_read(commit *c, ask *a, machine_reply *reply)
{
    MUST(c->state == STATE_READ);
    MUST(c->read == NULL);
    c->read_gone = reply->outcome == STORE_NOT_FOUND;
    if (!c->read_gone && reply->outcome != STORE_OK && !reply_damaged(reply)) {
        commit_again(c, a, reply);
        return;
    }
    if (!c->read_gone) {
        c->read_status = manifest_read(reply, chain_genesis(c->chain), c->attempt.next->version,
                                       &c->attempt.next->previous, &c->read, &c->read_error);
        MUST((c->read_status == BW_OK) == (c->read != NULL));
        if (c->read_status == BW_NOMEM || (c->read_status != BW_OK && !c->refetched)) {
            c->refetched = c->read_status != BW_NOMEM;
            ask_rest(&c->asks, a, c->now_ns);
            return;
        }
    }
    ask_done(&c->asks, a);
    ask_own_marker(c, STATE_READ_MARK);
}
